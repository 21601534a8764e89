"""Exact steps over all rows of a table, where memories were trained on some of them.

A step (assign every row to its nearest memory, add, average) needs nothing of the rows but sums,
and these are made block by block, in fixed point: the same bits in whatever blocks rows lie.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._judging import judge_runs
from amclust._network import Network
from amclust._rows import Indices, RowSource, TableRows, Weights
from amclust._runs import Fit
from amclust.backends import TrainingSet
from amclust.backends.native import NearestSums, nearest_sums

# In these the core counts weights and squared distances.
SIZE_QUANTUM, LOSS_QUANTUM = 2.0**-20, 2.0**-40
# Sums of all rows stay below this many quanta.
MAX_QUANTA = 2.0**62


@dataclass(frozen=True, eq=False)
class AddNearest:
    """What is made of a block of rows."""

    network: Network
    quantum: NDArray[np.float64]
    mean_weight: float
    has_missing: bool  # in any of the blocks

    def __call__(
        self, rows: TableRows, indices: Indices | None, weights: Weights | None, threads: int
    ) -> NearestSums:
        """Return the sums over some rows; None: all, and all of weight 1."""
        if weights is not None:  # as sizes can be counted, so that means are means
            counted = np.rint(weights / (self.mean_weight * SIZE_QUANTUM)) * SIZE_QUANTUM
            weights = counted.astype(np.float32)
        geometry = self.network.geometry
        core = geometry.read(rows, has_missing=self.has_missing, threads=threads)
        if self.network.max_energy is not None:
            labels = self.network.core_labels(core, indices=indices, n_jobs=threads)
            inside = np.flatnonzero(labels >= 0)
            indices = inside if indices is None else indices[inside]
            weights = None if weights is None else np.ascontiguousarray(weights[inside])
        return nearest_sums(self.network, core, indices, weights, self.quantum, threads)


def take_full_passes(
    source: RowSource, data: TrainingSet, found: Fit, *, max_passes: int, tol: float
) -> Fit:
    """Return a fit whose memories are the means of all their rows, and its loss over all rows.

    Each pass measures memories and averages their rows; the last averages that were measured are
    kept. Passes end where one gains less than `tol` of what is left. Where another objective was
    trained than the loss, they are kept only if the silhouette is no worse.
    """
    geometry, network = data.geometry, found.network
    if geometry.whitening is not None or not geometry.is_native or not max_passes:
        return found  # of whitened rows no sums can be had
    quantum = quantum_of(data, source.n_counted)
    mean_weight = data.total_weight / source.n_counted
    best: tuple[Network, int] | None = None
    for _ in range(max_passes):
        has_missing = data.has_missing or geometry.limits is not None
        part = AddNearest(network, quantum, mean_weight, has_missing)
        seen: NearestSums = source.total(part, data.threads)
        gained = np.inf if best is None else best[1] - seen.loss
        if gained > 0:
            best = network, seen.loss
        if gained <= tol * seen.loss:
            break
        network = dataclasses.replace(network, memories=means_of(network, seen, quantum, data.rows))
    assert best is not None
    network, loss = best
    run = dataclasses.replace(found.best, moved=network.memories)
    judge_runs(data, [run])
    if not run.plan.exact and not run.silhouette >= found.best.silhouette:
        return found
    return dataclasses.replace(
        found,
        network=network,
        runs=[*found.runs[: found.chosen], run, *found.runs[found.chosen + 1 :]],
        labels=data.labels(network),
        square_distances=None if data.has_missing else loss * LOSS_QUANTUM * mean_weight,
    )


def means_of(
    network: Network, seen: NearestSums, quantum: NDArray[np.float64], rows: _native.Rows
) -> NDArray[np.float32]:
    """Return the mean of each memory's rows; a memory without rows stays where it is."""
    sizes = seen.sizes * SIZE_QUANTUM
    means: NDArray[Any] = seen.sums * quantum / np.where(sizes > 0, sizes, 1.0)[:, None]
    if rows.gives_entries and rows.origin is not None:  # their zeros were not added
        means = means + rows.origin
    if network.geometry.spherical:
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-30)
    return np.where(sizes[:, None] > 0, means, network.memories).astype(np.float32)


def quantum_of(data: TrainingSet, n_rows: int) -> NDArray[np.float64]:
    """Return in which units the columns of so many rows can be summed: powers of 2."""
    largest = np.ones(data.geometry.n_features)
    if not data.geometry.spherical:
        geometry, (low, high) = data.geometry, data.ranges
        if geometry.whitening is not None:
            mean, forward = geometry.whitening.mean, np.abs(geometry.whitening.forward)
            reach = np.maximum(np.abs(low - mean), np.abs(high - mean)) @ forward
            low, high = -reach, reach
        size = np.maximum(np.abs(low - geometry.offset), np.abs(high - geometry.offset))
        largest = np.maximum(size * geometry.scale, 1e-30)
    # A little more than that: directions are a little longer than 1, and sums may just fill a bit.
    bits = np.ceil(np.log2(largest * n_rows * (1 + 1e-6)))
    return np.exp2(bits) / MAX_QUANTA
