"""Adam on stacked parameters, and the learning rate of a run: as in the native core."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
# As good as no step; the inverse of less does not fit float32.
LEAST_RATE = 1e-30
# Converged: so many plateaus in a row that together took so many steps.
PLATEAUS, STEPS = 2, 60


@dataclass
class Schedule:
    """The learning rate of one run over the epochs, and when to stop."""

    settings: dict[str, Any]
    steps_per_epoch: int
    learning_rate: float
    best: float = math.inf
    waited: int = 0
    plateaus: int = 0

    def is_reseeding(self, epoch: int) -> bool:
        """Whether there is time left to train memories that begin anew."""
        s = self.settings
        return bool(s["reseed"]) and 2 * epoch < s["max_epochs"] and self.plateaus == 0

    def after_epoch(self, loss: float) -> bool:
        """Lower the rate where the loss has not improved for long; True: training has converged."""
        s = self.settings
        if loss < self.best - s["tol"] * abs(self.best) or not math.isfinite(self.best):
            self.best = loss
            self.waited = self.plateaus = 0
            return False
        self.waited += 1
        if self.waited < s["patience"]:
            return False
        self.waited = 0
        self.plateaus += 1
        at_floor = self.learning_rate <= s["min_lr"]
        floor = min(s["min_lr"], self.learning_rate)
        self.learning_rate = max(self.learning_rate * s["lr_factor"], floor)
        steps = self.plateaus * s["patience"] * self.steps_per_epoch
        enough = self.plateaus >= PLATEAUS and steps >= STEPS
        return bool(s["early_stopping"]) and (at_floor or enough)


class Rates:
    """The factors of Adam's steps in one epoch, which differ by run."""

    def __init__(
        self, rates: Sequence[float], steps: Sequence[int], n_batches: int, device: torch.device
    ) -> None:
        step = np.arange(1, n_batches + 1)[:, None] + np.array(steps)
        # rate m c1 / (sqrt(v c2) + epsilon), in the fewest operations: m / (sqrt(v) root + floor)
        rate = np.maximum(rates, LEAST_RATE) / (1 - BETA1**step)
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
