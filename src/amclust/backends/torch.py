"""Torch: restarts are trained as stacks of tensors, on any device, with any energy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust import _native
from amclust._geometry import Geometry
from amclust._rows import Indices
from amclust.backends.base import (
    Answers,
    EnergyAnswers,
    EnergySeeding,
    Progress,
    Seeding,
    TrainingSet,
)
from amclust.backends.native import NativeBackend
from amclust.torch import functional as F
from amclust.torch._device import find_device
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

__all__ = [
    "TorchBackend",
    "energy_arrays",
    "energy_function",
    "learned_values",
    "restored_energy",
]

Want = _native.Want

# Entries of a (rows, memories, features) array.
MAX_CELLS = 2**23
# Rows of the sample that the distances to initial memories are measured on.
MAX_MEASURED = 4096


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
        return _measured(data, memories, energy, sample_seed)

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows, stacked where they fit together.

        Exact steps have no gradient: these are the core's.
        """
        exact = [place for place, plan in enumerate(plans) if plan.exact]
        others = [place for place, plan in enumerate(plans) if not plan.exact]
        found: dict[int, _native.Record] = {}
        for places, way in ((exact, super().train), (others, self._train)):
            if places:
                records = way(data, [plans[place] for place in places], progress)
                found |= dict(zip(places, records, strict=True))
        return [found[place] for place in range(len(plans))]

    def _train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        return train(data, plans, self.device, progress)

    @torch.no_grad()
    def infer(
        self,
        network: Network,
        rows: _native.Rows,
        want: Want,
        *,
        indices: Indices | None = None,
        threads: int = 1,
        fill_from_observed: bool = True,
    ) -> Answers:
        """Ask a network about rows in core units; the core answers for the energies it has."""
        only_scale = want == Want.ROW_SCALE
        if network.energy_function is None or only_scale:
            return super().infer(
                network,
                rows,
                want,
                indices=indices,
                threads=threads,
                fill_from_observed=fill_from_observed,
            )
        found: dict[str, list[NDArray[Any]]] = {}
        asked = _Asked(network, fill_from_observed=fill_from_observed)
        for x, missing in _blocks(rows, indices, asked.energy, asked.memories):
            for name, values in asked.answers(x, missing, want):
                found.setdefault(name, []).append(values.numpy())
        joined = {
            name: np.concatenate(values, axis=1 if name == "trajectory" else 0)
            for name, values in found.items()
        }
        labels = joined.get("labels")
        if labels is not None and Want.COUNTS in want:
            counts = np.bincount(labels[labels >= 0], minlength=network.n_memories)
            joined["counts"] = counts.astype(np.float64)
        if Want.ROW_SCALE in want and rows.energy == "cosine":
            scale = super().infer(network, rows, Want.ROW_SCALE, indices=indices).row_scale
            joined["row_scale"] = scale
        return EnergyAnswers(**joined)


class _Asked:
    """A network with an energy of its own, as tensors."""

    def __init__(self, network: Network, *, fill_from_observed: bool) -> None:
        assert isinstance(network.energy_function, Energy)
        self.energy = network.energy_function
        self.memories = torch.tensor(network.memories)
        self.fill = torch.tensor(network.geometry.fill)
        self.beta, self.fill_from_observed = network.beta, fill_from_observed
        self.given: dict[str, Any] = {
            "energy": self.energy,
            "log_weights": torch.tensor(network.log_weights),
        }
        steps = {"n_steps": network.n_steps, "step_size": network.step_size}
        self.dynamics = self.given | steps

    def answers(
        self, x: Tensor, missing: Tensor | None, want: Want
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield what is wanted of rows, by name."""
        # What is filled is where states live already; the observed values stay as they are.
        x = self.energy.place(x) if missing is None else self._filled(x, missing)
        net, given, dynamics = (x, self.memories, self.beta), self.given, self.dynamics
        if Want.LABELS in want or Want.COUNTS in want:
            yield "labels", F.assign(*net, **dynamics).to(torch.int32)
        if Want.MEMBERSHIPS in want:
            yield "memberships", F.memberships(*net, **given)
        if Want.ENERGY in want:
            yield "energy", F.energy(*net, **given)
        if Want.ENTROPY in want:
            yield "entropy", F.entropy(*net, **given)
        if Want.SQUARE_DISTANCES in want:
            yield "square_distances", self.energy.distances(x, self.memories).clamp(min=0)
        if Want.STATE in want:
            yield "state", F.recall(*net, **dynamics)
        if Want.TRAJECTORY in want:
            yield "trajectory", F.recall(*net, **dynamics, return_trajectory=True)
        if Want.FILLED in want:
            yield "filled", x

    def _filled(self, x: Tensor, missing: Tensor) -> Tensor:
        """Fill missing values, from where the observed ones point or from the mask value."""
        more: dict[str, Any] = {"missing": missing, **self.dynamics}
        if self.fill_from_observed:
            return F.complete(x, self.memories, self.beta, **more)
        state = F.recall(x, self.memories, self.beta, hidden=missing, fill=self.fill, **more)
        return torch.where(missing, state, x)


def _blocks(
    rows: _native.Rows, indices: Indices | None, energy: Energy, memories: Tensor
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield rows a chunk at a time, and where they have no value."""
    every = np.arange(rows.n_rows) if indices is None else indices
    k, d = memories.shape
    width = max(d, energy.embed(memories[:1]).shape[-1])
    size = max(1, MAX_CELLS // (k * width))
    for start in range(0, len(every), size):
        chunk = np.ascontiguousarray(every[start : start + size], dtype=np.int64)
        x = torch.from_numpy(_native.load_rows(rows, chunk))
        missing = x.isnan()
        yield x, missing if rows.has_missing and bool(missing.any()) else None


@torch.no_grad()
def _measured(
    data: TrainingSet, memories: NDArray[np.float32], energy: Energy, sample_seed: int
) -> EnergySeeding:
    """Return given memories as a seeding, with the distances of an energy."""
    indices = np.arange(data.rows.n_rows) if data.indices is None else data.indices
    weights = np.ones(len(indices), np.float32) if data.weights is None else data.weights
    if len(indices) > MAX_MEASURED:
        pick = np.random.default_rng(sample_seed).choice(len(indices), MAX_MEASURED, replace=False)
        indices, weights = indices[np.sort(pick)], weights[np.sort(pick)]
    patterns = energy.place(torch.tensor(memories))
    distances, embedded, squares = [], [], []
    for x, missing in _blocks(data.rows, indices, energy, patterns):
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
