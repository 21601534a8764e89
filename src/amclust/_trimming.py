"""Rows that belong nowhere, by what was learned.

Trimming is that of trimmed k-means: memories are learned without the rows that lie highest above
them, and which these are is asked again of what was learned, until that does not change. How high
rows may lie above each memory is then kept in the network, which marks new rows by it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from amclust._distant import Outermost, find_outermost, is_outside, place_weights, seen_places
from amclust._judging import judge
from amclust._network import Network
from amclust._rows import DrawnRows, Indices, RowSource, TableRows, Weights
from amclust._runs import Fit
from amclust._silhouettes import judge_on
from amclust.backends import TrainingSet

Floats = NDArray[np.float64]

# Weights are counted in so many parts of their mean.
WEIGHT_QUANTA = 2.0**20
TINY = 1e-30
# By what part of the way to those of new rows `partial_fit` moves thresholds.
MOVED_PART = 0.1
# Up to how many times the mean height of all rows a cluster of larger spread may have.
MAX_SPREAD = 1.5

# --- what was learned -----------------------------------------------------------------------------


def find_scales(
    network: Network, memories: NDArray[np.int32], heights: Floats, weights: Floats
) -> Floats:
    """Return in what units the heights of rows that fall to each memory are compared.

    It is halfway between the mean height of these rows and that of all: clusters of larger spread
    may have rows farther out. One that holds little else than such rows must not make them near: so
    the spread of a cluster counts up to a bound.
    """
    inside = memories >= 0
    memories, heights, weights = memories[inside], heights[inside], weights[inside]
    k = network.n_memories
    totals = np.bincount(memories, weights, minlength=k)
    sums = np.bincount(memories, weights * heights, minlength=k)
    overall = sums.sum() / max(totals.sum(), TINY)
    own = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), overall)
    scales: Floats = np.maximum((np.minimum(own, MAX_SPREAD * overall) + overall) / 2, TINY)
    return scales


def in_scales(memories: NDArray[np.int32], heights: Floats, scales: Floats) -> Floats:
    """Return heights in the units of the memories that rows fall to."""
    return np.where(memories < 0, np.inf, heights / scales[memories])


def find_high(
    network: Network,
    data: TrainingSet,
    places: Indices,
    weights: Floats,
    outside: NDArray[np.bool_],
    share: float,
) -> tuple[Outermost, Floats]:
    """Return which rows lie highest above the memories, and the units of the memories for that.

    The rows that were outside so far say nothing about these units.
    """
    memories, heights = network.heights(data.labelled_rows, indices=places, n_jobs=data.threads)
    scales = find_scales(network, memories, heights, np.where(outside, 0.0, weights))
    return find_outermost(in_scales(memories, heights, scales), weights, share), scales


def with_threshold(network: Network, scales: Floats, threshold: float) -> Network:
    """Return a network that marks rows above a threshold."""
    return dataclasses.replace(network, max_energy=threshold * scales)


def find_farther(
    network: Network, data: TrainingSet, places: Indices, weights: Floats, share: float
) -> NDArray[np.bool_]:
    """Return which rows lie highest, in the units that a network has for that."""
    scales = np.ones(network.n_memories)
    if network.max_energy is not None and np.isfinite(network.max_energy).all():
        scales = np.maximum(network.max_energy, TINY)
    found = network.heights(data.labelled_rows, indices=places, n_jobs=data.threads)
    return find_outermost(in_scales(*found, scales), weights, share).outside


def mark_outliers(
    source: RowSource,
    found: Fit,
    drawn: DrawnRows,
    trimmed: DrawnRows,
    data: TrainingSet,
    share: float,
    earlier: Network | None = None,
    *,
    known: bool = False,
) -> Fit:
    """Return a fit whose network marks rows that belong nowhere, and labels that do.

    Its labels mark a share of the rows, exactly where all of them are in memory. Thresholds of
    earlier rows are moved part of the way. Where it is `known` which rows belong nowhere, they are
    those that were trimmed, and the others keep their labels.
    """
    places = seen_places(drawn)
    weights = place_weights(drawn, places)
    high, scales = find_high(
        found.network, data, places, weights, is_outside(trimmed, places), share
    )
    threshold = high.threshold
    if drawn.is_sample:
        mean_weight = data.total_weight / source.n_counted
        has_missing = data.has_missing or data.geometry.limits is not None
        count = CountHeights(found.network, scales, mean_weight, has_missing)
        threshold = find_threshold(source, count, share, data.threads)
    highest = threshold * scales
    if earlier is not None and earlier.max_energy is not None:
        highest = earlier.max_energy + MOVED_PART * (highest - earlier.max_energy)
    network = dataclasses.replace(found.network, max_energy=highest)
    rows = data.labelled_rows
    labels = network.core_labels(rows, n_jobs=data.threads)
    if known:
        labels = found.labels.copy()
        labels[places[is_outside(trimmed, places)]] = -1
    elif earlier is None and not drawn.is_sample:
        every = dataclasses.replace(network, max_energy=None)
        labels[places] = every.core_labels(rows, indices=places, n_jobs=data.threads)
        labels[places[high.outside]] = -1
    (judged,) = judge(dataclasses.replace(data, judged=judge_on(drawn)), [network])
    run = dataclasses.replace(
        found.best,
        silhouette=judged.silhouette,
        n_nonempty=judged.n_nonempty,
        largest_share=judged.largest_share,
    )
    runs = [*found.runs[: found.chosen], run, *found.runs[found.chosen + 1 :]]
    return dataclasses.replace(found, network=network, labels=labels, runs=runs)


# --- tables that are trained on in part -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CountHeights:
    """What is made of a block of rows: the weight of rows by height, as float32 in two halves."""

    network: Network
    scales: Floats
    mean_weight: float
    has_missing: bool  # in any of the blocks
    upper: int | None = None  # count the lower halves of those with this upper one; None: upper

    def __call__(
        self, rows: TableRows, indices: Indices | None, weights: Weights | None, threads: int
    ) -> NDArray[np.int64]:
        """Return the weights of some rows, in whole quanta; None: all, and all of weight 1."""
        core = self.network.geometry.read(rows, has_missing=self.has_missing, threads=threads)
        found = self.network.heights(core, indices=indices, n_jobs=threads)
        keys = in_scales(*found, self.scales).astype(np.float32).view(np.uint32)
        quanta = np.ones(len(keys)) if weights is None else weights / self.mean_weight
        quanta = np.rint(quanta * WEIGHT_QUANTA)
        halves = keys >> 16
        if self.upper is not None:
            inside = halves == self.upper
            halves, quanta = keys[inside] & 0xFFFF, quanta[inside]
        return np.bincount(halves, quanta, minlength=2**16).astype(np.int64)


def find_threshold(source: RowSource, count: CountHeights, share: float, threads: int) -> float:
    """Return what height as near as may be to a share of a table's weight exceeds.

    Two passes over its rows, and sums of whole numbers: the same bits in whatever blocks they lie.
    """
    upper = source.total(count, threads)
    target, total = share * upper.sum(), upper.sum()
    above = total - np.cumsum(upper)  # the weight above each upper half
    half = int(np.argmax(above <= target))
    lower = source.total(dataclasses.replace(count, upper=half), threads)
    # The weight of rows from each key of this half on.
    since = above[half] + np.cumsum(lower[::-1])[::-1]
    gaps = np.abs(np.append(since, above[half]) - target)
    # Halfway between the heights that are as near to the share, so that rounding does not matter.
    cuts = (half << 16) + np.flatnonzero(gaps == gaps.min())
    ends = np.array([max(int(cuts[0]) - 1, 0), int(cuts[-1])], np.uint32).view(np.float32)
    low, high = ends.astype(np.float64)
    return float(low + (high - low) / 2 if np.isfinite(high) else low)
