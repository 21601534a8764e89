"""Torch: restarts are trained as stacks of tensors, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amclust import _native
from amclust.backends.base import Progress, TrainingSet
from amclust.backends.native import NativeBackend
from amclust.torch._device import find_device
from amclust.torch._training import train


class TorchBackend(NativeBackend):
    """Trains in torch; seeds and what a network is asked are the core's."""

    def __init__(self, device: Any) -> None:
        self.device = find_device(device)

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows, stacked where they fit together."""
        return train(data, plans, self.device, progress)
