"""Adam on stacked parameters, as in the core."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

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


class Adam:
    """Adam's moments of stacked parameters, (runs, ..., ...)."""

    def __init__(self, first: Tensor, second: Tensor) -> None:
        self.first, self.second = first, second

    def step(self, values: Tensor, gradient: Tensor, rates: tuple[Tensor, Tensor]) -> None:
        """Change the values in place."""
        root, floor = rates
        self.first.lerp_(gradient, 1 - BETA1)
        self.second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        values.addcdiv_(self.first, torch.addcmul(floor, self.second.sqrt(), root), value=-1)
