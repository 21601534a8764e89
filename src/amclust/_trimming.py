"""Rows that belong nowhere: which they are, and training without them.

Trimming is that of trimmed k-means: memories are learned without the rows that lie farthest from
them, and which these are is asked again of what was learned, until that does not change. The first
time there are no memories: then it is the rows that are far from the others. Rows that are trimmed
count as rows of weight 0 do, so that no objective, backend or silhouette sees them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._judging import judge
from amclust._metrics import find_metric
from amclust._network import Network, Want
from amclust._rows import DrawnRows, Indices, RowSource, TableRows, Weights, draw_places
from amclust._runs import Fit
from amclust._silhouettes import judge_on
from amclust.backends import TrainingSet

Floats = NDArray[np.float64]

# How far a row is from the others is its distance to so many of the rows that stand for them.
NEIGHBOURS, STANDING_ROWS = 8, 1024
# Neighbours that are looked at where rows have weights.
LOOKED_AT = 4 * NEIGHBOURS
# What rows lack is taken from the nearest of those that stand for all.
SHARP = 100.0
# Distances that are held at a time.
MAX_DISTANCES = 2**22
# Weights are counted in so many parts of their mean.
WEIGHT_QUANTA = 2.0**20
TINY = 1e-30
# By what part of the way to those of new rows `partial_fit` moves thresholds.
MOVED_PART = 0.1


class Outermost(NamedTuple):
    """The rows of the highest energy."""

    outside: NDArray[np.bool_]
    threshold: float  # what lies above it is outside; of rows as high, the last ones may be, too


def find_outermost(heights: Floats, weights: Floats, share: float) -> Outermost:
    """Return which rows have the largest heights, as near as may be to a share of the weight.

    Of equal heights the last rows go first.
    """
    order = np.lexsort((np.arange(len(heights)), heights))[::-1]
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    count = int(np.argmin(np.abs(sums - share * sums[-1])))
    outside = np.zeros(len(heights), bool)
    outside[order[:count]] = True
    if not count:
        return Outermost(outside, np.inf)
    # Halfway, so that rounding does not matter.
    inner, outer = heights[order[count : count + 1]].max(initial=0.0), heights[order[count - 1]]
    return Outermost(outside, float(inner + (outer - inner) / 2 if np.isfinite(outer) else inner))


def find_distant(data: TrainingSet, places: Indices, weights: Floats, share: float) -> Outermost:
    """Return which rows are the farthest from the others."""
    heights = _distances_to_others(data, places, weights)
    return find_outermost(heights, weights, share)


def _distances_to_others(data: TrainingSet, places: Indices, weights: Floats) -> Floats:
    """Return the squared distance of each row to a few of those nearest to it."""
    n, geometry = len(places), data.geometry
    standing = np.arange(n)
    if n > STANDING_ROWS:
        standing = draw_places(n, STANDING_ROWS, 0)
    m = len(standing)
    memories = _native.load_rows(data.rows, places[standing])
    memories = np.where(np.isnan(memories), geometry.fill, memories)
    native = geometry if geometry.is_native else dataclasses.replace(geometry, metric="euclidean")
    if find_metric(geometry.metric).spherical:
        native = dataclasses.replace(geometry, metric="cosine")
    network = Network(
        np.ascontiguousarray(memories, dtype=np.float32),
        np.zeros(m, np.float32),
        SHARP,
        1.0,
        1,
        native,
        np.arange(m, dtype=np.int32),
    )
    counts = weights[standing] / weights[standing].mean()
    own = np.full(n, -1)
    own[standing] = np.arange(m)
    wanted, looked_at = min(NEIGHBOURS, m - 1), min(LOOKED_AT, m)
    found = np.zeros(n)
    step = max(1, MAX_DISTANCES // m)
    for first in range(0, n, step):
        part = slice(first, first + step)
        squares = network.infer(
            data.rows, Want.SQUARE_DISTANCES, indices=places[part], n_jobs=data.threads
        ).square_distances.astype(np.float64)
        nearest = np.argpartition(squares, looked_at - 1, axis=1)[:, :looked_at]
        near = np.take_along_axis(squares, nearest, axis=1)
        order = np.lexsort((nearest, near), axis=1)
        nearest, near = (np.take_along_axis(a, order, axis=1) for a in (nearest, near))
        # A row is not its own neighbour, but its copies are.
        itself = nearest == own[part, None]
        sums = np.cumsum(np.maximum(counts[nearest] - itself, 0.0), axis=1)
        enough = np.argmax(sums >= min(wanted, sums[:, -1].min()) - 1e-9, axis=1)
        found[part] = near[np.arange(len(near)), enough]
    if data.rows.has_missing:  # the others were completed
        partly, factors = geometry.incomplete(data.rows, places, data.threads)
        found[partly] *= factors
    return found


# --- which rows are trained on --------------------------------------------------------------------


def seen_places(drawn: DrawnRows) -> Indices:
    """Return the rows that a fit looks at and that count."""
    counted, _ = drawn.counted
    if drawn.trained is None:
        return np.arange(drawn.rows.n_rows) if counted is None else counted
    if drawn.judged is None:
        return drawn.trained
    return np.union1d(drawn.trained, drawn.judged)


def place_weights(drawn: DrawnRows, places: Indices) -> Floats:
    """Return the weights of some rows."""
    if drawn.sample_weight is None:
        return np.ones(len(places))
    return drawn.sample_weight[places].astype(np.float64)


def without(drawn: DrawnRows, places: Indices) -> DrawnRows:
    """Return what a fit looks at without some rows."""
    inside = np.ones(drawn.rows.n_rows, bool)
    inside[places] = False

    def kept(some: Indices | None) -> Indices | None:
        return None if some is None else some[inside[some]]

    if drawn.is_sample:  # they stand for rows that nobody has looked at: units are those of all
        return dataclasses.replace(drawn, trained=kept(drawn.trained), judged=kept(drawn.judged))
    weights = np.ones(len(inside), np.float32)
    weights = (weights if drawn.sample_weight is None else drawn.sample_weight) * inside
    return dataclasses.replace(
        drawn,
        sample_weight=weights,
        trained=np.flatnonzero(weights),
        judged=kept(drawn.judged),
        statistics=None,
    )


def is_outside(trimmed: DrawnRows, places: Indices) -> NDArray[np.bool_]:
    """Return which of the rows that a fit has seen are not among those that it is trained on."""
    return ~np.isin(places, seen_places(trimmed))


# --- what was learned -----------------------------------------------------------------------------


def find_scales(
    network: Network, memories: NDArray[np.int32], heights: Floats, weights: Floats
) -> Floats:
    """Return in what units the heights of rows that fall to each memory are compared.

    It is halfway between the mean height of these rows and that of all: clusters of larger spread
    may have rows farther out, but none that holds little else than such rows makes them near.
    """
    inside = memories >= 0
    memories, heights, weights = memories[inside], heights[inside], weights[inside]
    k = network.n_memories
    totals = np.bincount(memories, weights, minlength=k)
    sums = np.bincount(memories, weights * heights, minlength=k)
    overall = sums.sum() / max(totals.sum(), TINY)
    own = np.where(totals > 0, sums / np.where(totals > 0, totals, 1.0), overall)
    scales: Floats = np.maximum((own + overall) / 2, TINY)
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
) -> Fit:
    """Return a fit whose network marks rows that belong nowhere, and labels that do.

    Its labels mark a share of the rows, exactly where all of them are in memory. Thresholds of
    earlier rows are moved part of the way.
    """
    places = seen_places(drawn)
    weights = place_weights(drawn, places)
    high, scales = find_high(
        found.network, data, places, weights, is_outside(trimmed, places), share
    )
    threshold = high.threshold
    if drawn.is_sample:
        mean_weight = data.total_weight / source.n_counted
        count = CountHeights(found.network, scales, mean_weight, data.has_missing)
        threshold = find_threshold(source, count, share, data.threads)
    network = with_threshold(found.network, scales, threshold)
    if earlier is not None and earlier.max_energy is not None:
        moved = earlier.max_energy + MOVED_PART * (network.max_energy - earlier.max_energy)
        network = dataclasses.replace(network, max_energy=moved)
    rows = data.labelled_rows
    labels = network.core_labels(rows, n_jobs=data.threads)
    if earlier is None and not drawn.is_sample:
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
    key = int(np.argmin(np.abs(np.append(since, above[half]) - target)))
    cut = (half << 16) + key  # the least key that is outside
    return float(np.array(max(cut - 1, 0), np.uint32).view(np.float32))
