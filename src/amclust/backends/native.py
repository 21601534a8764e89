"""The compiled core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._rows import Indices
from amclust.backends.base import Progress, TrainingSet

if TYPE_CHECKING:
    from amclust._network import Network


class NativeBackend:
    """The compiled core, on the CPU."""

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> list[_native.Seeding]:
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
    ) -> _native.Seeding:
        """Return given initial memories, with the scales that a seeding has."""
        return _native.measure(
            data.rows, data.indices, data.weights, memories, sample_seed, data.geometry.fill
        )

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows, in one call."""
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
    ) -> _native.Answers:
        """Ask a network about rows in core units."""
        return _native.infer(
            _native.Network(
                network.memories,
                network.log_weights,
                network.geometry.energy,
                network.beta,
                network.step_size,
                network.n_steps,
            ),
            rows,
            network.geometry.fill,
            want,
            indices,
            threads,
            fill_from_observed,
        )
