"""Torch: restarts are trained as stacks of tensors, on any device, with any energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._geometry import Geometry
from amclust._rows import Indices
from amclust.backends.base import Answers, Progress, Seeding, TrainingSet
from amclust.backends.native import NativeBackend
from amclust.torch._answers import infer
from amclust.torch._device import find_device
from amclust.torch._scales import measure
from amclust.torch._training import train
from amclust.torch.energies import Energy, make_energy
from amclust.torch.energies._arrays import (
    energy_arrays,
    learned_values,
    set_energy_arrays,
    set_learned_values,
)

if TYPE_CHECKING:
    from amclust._network import Network


class TorchBackend(NativeBackend):
    """Trains in torch. Seeds, and answers for the energies that it has, are the core's."""

    def __init__(self, device: Any) -> None:
        self.device = find_device(device)

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> Sequence[Seeding]:
        """Return the core's initial memories, with scales in the distances of the energy."""
        found = super().seed(data, n_clusters, methods, seeds, sample_seed)
        if data.geometry.is_native or min(one.distinct for one in found) < n_clusters:
            return found
        return [self.measure(data, one.memories, sample_seed) for one in found]

    def measure(
        self, data: TrainingSet, memories: NDArray[np.float32], sample_seed: int
    ) -> Seeding:
        """Return given initial memories, with scales in the distances of the energy."""
        energy = energy_function(data.geometry, len(memories))
        if energy is None:
            return super().measure(data, memories, sample_seed)
        return measure(data, memories, energy, sample_seed)

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows, stacked where they fit together."""
        return train(data, plans, self.device, progress)

    def infer(
        self,
        network: Network,
        rows: _native.Rows,
        want: _native.Want,
        *,
        indices: Indices | None = None,
        threads: int = 1,
        fill_from_observed: bool = True,
    ) -> Answers:
        """Ask a network about rows in core units."""
        if network.energy_function is None or want == _native.Want.ROW_SCALE:
            return super().infer(
                network,
                rows,
                want,
                indices=indices,
                threads=threads,
                fill_from_observed=fill_from_observed,
            )
        return infer(network, rows, want, indices, fill_from_observed=fill_from_observed)


def energy_function(
    geometry: Geometry, n_memories: int, learned: NDArray[np.float32] | None = None
) -> Energy | None:
    """Return the energy of a metric, with what was learned of it; None: the core has it."""
    energy = make_energy(geometry.metric, dim=geometry.n_features, n_memories=n_memories)
    if energy is not None and learned is not None and len(learned):
        set_learned_values(energy, learned)
    return energy


def restored_energy(
    geometry: Geometry, n_memories: int, arrays: dict[str, NDArray[Any]]
) -> Energy | None:
    """Return the energy of a metric by name, made of what it was made of; None: the core has it.

    Raises
    ------
    ValueError
        If the arrays are not those of such an energy.
    """
    energy = energy_function(geometry, n_memories)
    if energy is not None:
        set_energy_arrays(energy, arrays)
    return energy


__all__ = [
    "TorchBackend",
    "energy_arrays",
    "energy_function",
    "learned_values",
    "restored_energy",
]
