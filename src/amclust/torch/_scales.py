"""How far rows are from initial memories, in the distances of an energy."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust.backends.base import EnergySeeding, TrainingSet
from amclust.torch._answers import blocks
from amclust.torch.energies import Energy

# On a sample of so many rows.
MAX_ROWS = 4096


@torch.no_grad()
def measure(
    data: TrainingSet, memories: NDArray[np.float32], energy: Energy, sample_seed: int
) -> EnergySeeding:
    """Return given memories as a seeding."""
    indices = np.arange(data.rows.n_rows) if data.indices is None else data.indices
    weights = np.ones(len(indices), np.float32) if data.weights is None else data.weights
    if len(indices) > MAX_ROWS:
        pick = np.random.default_rng(sample_seed).choice(len(indices), MAX_ROWS, replace=False)
        indices, weights = indices[np.sort(pick)], weights[np.sort(pick)]
    patterns = energy.place(torch.tensor(memories))
    distances, embedded, squares = [], [], []
    for x, missing in blocks(data.rows, indices, energy, patterns):
        seen = None if missing is None else ~missing
        x = x if missing is None else torch.where(missing, 0.0, x)
        x = energy.place(x, missing)
        two = energy.distances(x, patterns, seen).topk(min(2, len(patterns)), largest=False)
        own = patterns[two.indices[:, 0]]
        if missing is not None:
            x = torch.where(missing, own, x)
        # Squares, as the core has them: between directions these are 2 - 2 cos.
        distances.append(two.values.clamp(min=0) * (2 if energy.spherical else 1))
        embedded.append(energy.embed(x))
        squares.append((embedded[-1] - energy.embed(own)).square().sum(-1))
    nearest, weight = torch.cat(distances).double(), torch.from_numpy(weights).double()
    weight = weight / weight.sum()
    places = torch.cat(embedded).double()
    mean = weight @ places
    gap = 0.0 if nearest.shape[1] < 2 else _median(nearest[:, 1] - nearest[:, 0], weight)
    return EnergySeeding(
        memories,
        float(weight @ torch.cat(squares).double()),
        gap,
        float(weight @ (places - mean).square().sum(-1)),
        len(memories),
        float(weight @ nearest[:, 0]),
        energy.compact,
    )


def _median(values: Tensor, weight: Tensor) -> float:
    ordered, order = values.sort()
    place = int(torch.searchsorted(weight[order].cumsum(0), torch.tensor(0.5).double()))
    return float(ordered[min(place, len(ordered) - 1)])
