"""What is learned in a stack of runs, by Adam as in the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust import _native

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
# As good as no step; the inverse of less does not fit float32.
MIN_RATE = 1e-30


class Rates:
    """The factors of Adam's steps in one epoch, which differ by run."""

    def __init__(
        self, rates: Sequence[float], steps: Sequence[int], n_batches: int, device: torch.device
    ) -> None:
        step = np.arange(1, n_batches + 1)[:, None] + np.array(steps)
        # rate m c1 / (sqrt(v c2) + epsilon), in the fewest operations: m / (sqrt(v) root + floor)
        rate = np.maximum(rates, MIN_RATE) / (1 - BETA1**step)
        root = 1 / (rate * np.sqrt(1 - BETA2**step))
        self._root, self._floor = (
            torch.from_numpy(values[..., None, None].astype(np.float32)).to(device)
            for values in (root, EPSILON / rate)
        )

    def __getitem__(self, batch: int) -> tuple[Tensor, Tensor]:
        """Return root and floor of one step, (runs, 1, 1)."""
        return self._root[batch], self._floor[batch]


class Learned:
    """Stacked values that are learned, (runs, ..., ...): now, at their best, and Adam's moments."""

    def __init__(self, values: Tensor, best: Tensor, moments: Tensor) -> None:
        self.values, self.best, self.measured = values, best, values
        self.sum, self.n_summed = torch.zeros_like(values, dtype=torch.float64), 0
        self.first, self.second = moments[:, 0].contiguous(), moments[:, 1].contiguous()

    def step(self, gradient: Tensor, rates: tuple[Tensor, Tensor]) -> None:
        """Change the values in place, down the gradient."""
        root, floor = rates
        self.first.lerp_(gradient, 1 - BETA1)
        self.second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        self.values.addcdiv_(self.first, torch.addcmul(floor, self.second.sqrt(), root), value=-1)

    def add(self) -> None:
        """Add the values to what their mean is made of."""
        self.sum += self.values
        self.n_summed += 1

    def replace(self, run: int, places: Tensor, values: Tensor | float) -> None:
        """Put other values in some places of a run, without a past."""
        self.values[run, places] = values
        self.first[run, places] = self.second[run, places] = 0.0

    def stay(self, runs: list[int]) -> None:
        """Go on with these runs only."""
        self.values, self.best = self.values[runs], self.best[runs]
        self.first, self.second = self.first[runs], self.second[runs]
        self.sum = self.sum[runs]

    def record(self, run: int, keep: _native.Keep) -> list[NDArray[np.float32]]:
        """Return what a run has found, its last values, and the moments of the latter."""
        last, moments = self.values[run], torch.stack([self.first[run], self.second[run]])
        kept = self.best[run] if keep == _native.Keep.BEST else last
        if keep == _native.Keep.MEAN and self.n_summed:
            kept = (self.sum[run] / self.n_summed).to(last)
        found = (kept, last, moments)
        return [np.ascontiguousarray(values.cpu().numpy().copy()) for values in found]
