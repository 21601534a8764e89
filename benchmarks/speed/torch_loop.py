"""The paper's training loop as a researcher writes it in PyTorch."""

import torch
from torch import Tensor

from benchmarks.data import FloatArray
from benchmarks.protocol import Protocol


def train(
    features: FloatArray, n_clusters: int, protocol: Protocol, restarts: int, epochs: int
) -> FloatArray:
    """Train by the paper's algorithm 1, one restart after the other; give the best memories.

    The data are standardised, so that the mask value "mean" is 0.
    """
    generator = torch.Generator().manual_seed(0)
    data = torch.as_tensor(features, dtype=torch.float32)
    runs = [_train_once(data, n_clusters, protocol, epochs, generator) for _ in range(restarts)]
    return min(runs, key=lambda run: run[0])[1]


def _train_once(
    data: Tensor, n_clusters: int, protocol: Protocol, epochs: int, generator: torch.Generator
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
            loss = _completion_loss(batch, hidden, memories, protocol)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        scheduler.step(epoch_loss)
    return epoch_loss, memories.detach().numpy()


def _completion_loss(batch: Tensor, hidden: Tensor, memories: Tensor, protocol: Protocol) -> Tensor:
    """Complete the hidden entries by T steps of the dynamics and compare."""
    state = batch.masked_fill(hidden, 0.0)
    for _ in range(protocol.n_steps):
        gaps = memories - state.unsqueeze(1)
        memberships = torch.softmax(-float(protocol.beta) * gaps.square().sum(dim=2), dim=1)
        pull = (memberships.unsqueeze(2) * gaps).sum(dim=1)
        state = state + protocol.step_size * hidden * pull
    return (hidden * (batch - state)).square().sum()
