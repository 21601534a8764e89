"""The compiled core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._objectives import OBJECTIVES, find_objective
from amclust._rows import Indices, Weights
from amclust.backends.base import Answers, Progress, Seeding, TrainingSet

if TYPE_CHECKING:
    from amclust._network import Network


# What the core has found out about the memories of networks that were asked, as long as they live.
_PREPARED: WeakKeyDictionary[Network, _native.PreparedNetwork] = WeakKeyDictionary()


def _prepared(network: Network) -> _native.PreparedNetwork:
    found = _PREPARED.get(network)
    if found is None:
        found = _native.PreparedNetwork(
            _native.Network(
                network.memories,
                network.log_weights,
                network.geometry.energy,
                network.beta,
                network.step_size,
                network.n_steps,
            )
        )
        _PREPARED[network] = found
    return found


@dataclass(frozen=True, eq=False)
class NearestSums:
    """Sums over the rows that are nearest to each memory, or labelled so, in whole numbers."""

    sums: NDArray[np.int64]  # (n_memories, n_features), in the quantum of each column
    sizes: NDArray[np.int64]  # (n_memories,), of weights, in 2^-20
    loss: int  # sum of squared distances, in 2^-40

    def __add__(self, other: NearestSums) -> NearestSums:
        return NearestSums(self.sums + other.sums, self.sizes + other.sizes, self.loss + other.loss)


def nearest_sums(
    network: Network,
    rows: _native.Rows,
    indices: Indices | None,
    weights: Weights | None,
    quantum: NDArray[np.float64],
    threads: int,
    labels: NDArray[np.int32] | None = None,
) -> NearestSums:
    """Return the sums of the rows that are nearest to each memory, or have its number as label."""
    fill = network.geometry.fill
    return NearestSums(
        *_native.nearest_sums(
            _prepared(network), rows, fill, indices, weights, quantum, threads, labels
        )
    )


class NativeBackend:
    """The compiled core, on the CPU."""

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> Sequence[Seeding]:
        """Return initial memories for each seed, by the method of each."""
        return _native.seed(
            data.rows,
            data.indices,
            data.weights,
            n_clusters,
            methods,
            seeds,
            sample_seed,
            data.geometry.fill,
            data.threads,
        )

    def measure(
        self, data: TrainingSet, memories: NDArray[np.float32], sample_seed: int
    ) -> Seeding:
        """Return given initial memories, with the scales that a seeding has."""
        return _native.measure(
            data.rows, data.indices, data.weights, memories, sample_seed, data.geometry.fill
        )

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows, in one call."""
        for name in {plan.objective.name for plan in plans}:
            if not find_objective(name).native:
                names = ", ".join(repr(known.name) for known in OBJECTIVES.values() if known.native)
                msg = (
                    f"objective={name!r} is not in the compiled core, which has {names}. Set "
                    "backend='torch' (its loss is registered by "
                    "amclust.torch.register_torch_objective), or use one of these."
                )
                raise ValueError(msg)
        return _native.train(data.rows, data.indices, data.weights, plans, data.threads, progress)

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
        return _native.infer(
            _prepared(network),
            rows,
            network.geometry.fill,
            want,
            indices,
            threads,
            fill_from_observed,
        )
