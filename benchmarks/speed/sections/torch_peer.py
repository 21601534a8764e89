"""The paper's protocol against its training loop as a researcher writes it in PyTorch, on zoo.

Once by the native core, and once by ``backend="torch"``, all restarts as one stack of tensors.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from statistics import median
from typing import Any

from benchmarks.data import FloatArray, load_table, standardise
from benchmarks.framework import Entry, Line, Target, optional_module, timed
from benchmarks.protocol import EPOCHS, PROTOCOLS, RESTARTS, Protocol, paper_clam

_WHAT = "zoo, 10 restarts x 200 epochs"


def run_native(options: Namespace) -> Iterator[Entry]:
    """Time fits of the native core."""
    yield _compare(options, "native", _WHAT, Target("speed-up", ">=", 500, "x"), each_side=3)


def run_stacked(options: Namespace) -> Iterator[Entry]:
    """Time fits of the torch backend."""
    target, each_side = Target("speed-up", ">=", 20, "x"), 1 if options.quick else 3
    yield _compare(options, "torch", f'{_WHAT}, backend="torch"', target, each_side)


def _compare(options: Namespace, backend: str, what: str, target: Target, each_side: int) -> Line:
    """Time our fits before and after the one long run of the loop."""
    torch = optional_module("torch", "torch")
    table = load_table("zoo", options.data_dir)
    features, protocol = standardise(table.features), PROTOCOLS["zoo"]
    restarts, epochs = (1, 20) if options.quick else (RESTARTS, EPOCHS)
    scale = RESTARTS * EPOCHS / (restarts * epochs)

    def fit(n_epochs: int = EPOCHS) -> float:
        model = paper_clam(table.n_clusters, protocol, epochs=n_epochs)
        return timed(lambda: model.set_params(backend=backend).fit(features)).seconds

    # Batches of eight leave a second thread nothing to do but wait, on a busy machine for long.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    fit(1)
    train(torch, features, table.n_clusters, protocol, restarts=1, epochs=1)
    ours = [fit() for _ in range(each_side)]
    loop = timed(lambda: train(torch, features, table.n_clusters, protocol, restarts, epochs))
    ours += [fit() for _ in range(each_side)]
    torch.set_num_threads(threads)
    peer = loop.seconds * scale
    extrapolated = f", extrapolated x{scale:g}" if scale != 1.0 else ", run in full"
    return Line(
        what=what,
        unit="s",
        ours=median(ours),
        peer=peer,
        peer_name="natural PyTorch loop",
        value=peer / median(ours),
        target=target,
        note=f"loop: {restarts} restart(s) x {epochs} epochs in {loop.seconds:.1f} s"
        f"{extrapolated}, one torch thread" + (" for both" if backend == "torch" else ""),
        samples={"ours": ours, "peer": [loop.seconds]},
    )


def train(
    torch: Any,
    features: FloatArray,
    n_clusters: int,
    protocol: Protocol,
    restarts: int,
    epochs: int,
) -> FloatArray:
    """Train by the paper's algorithm 1, one restart after the other; give the best memories.

    The data are standardised, so that the mask value "mean" is 0.
    """
    generator = torch.Generator().manual_seed(0)
    data = torch.as_tensor(features, dtype=torch.float32)
    runs = [
        _train_once(torch, data, n_clusters, protocol, epochs, generator) for _ in range(restarts)
    ]
    return min(runs, key=lambda run: run[0])[1]


def _train_once(
    torch: Any, data: Any, n_clusters: int, protocol: Protocol, epochs: int, generator: Any
) -> tuple[float, FloatArray]:
    n_samples, n_features = data.shape
    start = 0.1 + 0.1 * torch.randn(n_clusters, n_features, generator=generator)
    memories = torch.nn.Parameter(start)
    optimizer = torch.optim.Adam([memories], lr=protocol.learning_rate)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.8, patience=5, min_lr=1e-5
    )
    epoch_loss = 0.0
    for _ in range(epochs):
        epoch_loss = 0.0
        order = torch.randperm(n_samples, generator=generator)
        for rows in order.split(protocol.batch_size):
            batch = data[rows]
            hidden = torch.rand(batch.shape, generator=generator) < protocol.mask_prob
            loss = _completion_loss(torch, batch, hidden, memories, protocol)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        scheduler.step(epoch_loss)
    return epoch_loss, memories.detach().numpy()


def _completion_loss(torch: Any, batch: Any, hidden: Any, memories: Any, protocol: Protocol) -> Any:
    """Complete the hidden entries by T steps of the dynamics and compare."""
    state = batch.masked_fill(hidden, 0.0)
    for _ in range(protocol.n_steps):
        gaps = memories - state.unsqueeze(1)
        memberships = torch.softmax(-float(protocol.beta) * gaps.square().sum(dim=2), dim=1)
        pull = (memberships.unsqueeze(2) * gaps).sum(dim=1)
        state = state + protocol.step_size * hidden * pull
    return (hidden * (batch - state)).square().sum()
