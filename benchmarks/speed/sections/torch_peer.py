"""The paper's protocol against a natural PyTorch loop of the same algorithm, on zoo.

Once by the native core, and once by ``backend="torch"``, all restarts as one stack of tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from benchmarks.data import load_table, standardise
from benchmarks.framework import Entry, Line, Target, optional_module, timed
from benchmarks.protocol import EPOCHS, PROTOCOLS, RESTARTS, paper_clam
from benchmarks.speed import torch_loop
from benchmarks.speed.settings import Settings

_WHAT = "zoo, 10 restarts x 200 epochs"


def run_native(settings: Settings) -> Iterator[Entry]:
    """Time fits of the native core."""
    yield _compare(settings, "native", _WHAT, Target("speed-up", ">=", 500, "x"), 3)


def run_stacked(settings: Settings) -> Iterator[Entry]:
    """Time fits of the torch backend."""
    target, each_side = Target("speed-up", ">=", 20, "x"), settings.pick(full=3, quick=1)
    yield _compare(settings, "torch", f'{_WHAT}, backend="torch"', target, each_side)


def _compare(settings: Settings, backend: str, what: str, target: Target, each_side: int) -> Line:
    """Time our fits before and after the one long run of the loop."""
    torch = optional_module("torch", "torch")
    table = load_table("zoo", settings.data_dir)
    features, protocol = standardise(table.features), PROTOCOLS["zoo"]
    restarts = settings.pick(full=RESTARTS, quick=1)
    epochs = settings.pick(full=EPOCHS, quick=20)
    scale = RESTARTS * EPOCHS / (restarts * epochs)

    def fit(n_epochs: int = EPOCHS) -> float:
        model = paper_clam(table.n_clusters, protocol, epochs=n_epochs)
        return timed(lambda: model.set_params(backend=backend).fit(features)).seconds

    # Batches of eight leave a second thread nothing to do but wait, on a busy machine for long.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    fit(1)
    torch_loop.train(features, table.n_clusters, protocol, restarts=1, epochs=1)
    ours = [fit() for _ in range(each_side)]
    loop = timed(
        lambda: torch_loop.train(
            features, table.n_clusters, protocol, restarts=restarts, epochs=epochs
        )
    )
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
