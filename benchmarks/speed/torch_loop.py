"""The paper's training loop as a researcher writes it in PyTorch: the peer of the native core."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.data import FloatArray
from benchmarks.framework import optional_module
from benchmarks.protocol import Protocol


class TorchRun(NamedTuple):
    """The memories of the best restart and their loss."""

    memories: FloatArray
    loss: float


def train(
    features: FloatArray,
    n_clusters: int,
    protocol: Protocol,
    *,
    restarts: int,
    epochs: int,
    seed: int = 0,
) -> TorchRun:
    """Train by the paper's algorithm 1, one restart after the other.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
        Standardised data, so that the mask value "mean" is 0.
    n_clusters : int
        Number of memories.
    protocol : Protocol
        The paper's hyperparameters.
    restarts, epochs : int
        Length of the run.
    seed : int, default=0
        Seed of the run's own generator.

    Returns
    -------
    TorchRun
        The restart with the lowest loss of its last epoch.
    """
    torch = optional_module("torch", "torch")
    generator = torch.Generator().manual_seed(seed)
    data = torch.as_tensor(features, dtype=torch.float32)
    best: TorchRun | None = None
    for _ in range(restarts):
        run = _train_once(torch, data, n_clusters, protocol, epochs, generator)
        if best is None or run.loss < best.loss:
            best = run
    if best is None:
        message = f"restarts must be at least 1, got {restarts}"
        raise ValueError(message)
    return best


def _train_once(
    torch: Any, data: Any, n_clusters: int, protocol: Protocol, epochs: int, generator: Any
) -> TorchRun:
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
    return TorchRun(memories.detach().numpy(), epoch_loss)


def _completion_loss(torch: Any, batch: Any, hidden: Any, memories: Any, protocol: Protocol) -> Any:
    """Complete the hidden entries by T steps of the dynamics and compare."""
    state = batch.masked_fill(hidden, 0.0)
    for _ in range(protocol.n_steps):
        gaps = memories - state.unsqueeze(1)
        memberships = torch.softmax(-float(protocol.beta) * gaps.square().sum(dim=2), dim=1)
        pull = (memberships.unsqueeze(2) * gaps).sum(dim=1)
        state = state + protocol.step_size * hidden * pull
    return (hidden * (batch - state)).square().sum()
