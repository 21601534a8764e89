"""Rows that are far from the others, and tables without some of their rows.

Before anything is learned that says which rows belong nowhere: those without neighbours. Rows that
are left out count as rows of weight 0 do, so that no objective, backend or silhouette sees them.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._network import Network, Want
from amclust._rows import DrawnRows, Indices, draw_places
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
    rows, memories = data.rows, _native.load_rows(data.rows, places[standing])
    if data.has_missing and geometry.whitening is None:  # what they have, however far away
        rows = rows.as_observed()
        observed = _native.load_rows(rows, places[standing])
        memories = np.where(np.isnan(observed), memories, observed)
    memories = np.where(np.isnan(memories), geometry.fill, memories)
    if not geometry.is_native:  # the nearest metric that the core has
        geometry = dataclasses.replace(geometry, metric=geometry.energy)
    network = Network(
        np.ascontiguousarray(memories, dtype=np.float32),
        np.zeros(m, np.float32),
        SHARP,
        1.0,
        1,
        geometry,
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
            rows, Want.SQUARE_DISTANCES, indices=places[part], n_jobs=data.threads
        ).square_distances.astype(np.float64)
        nearest = np.argpartition(squares, looked_at - 1, axis=1)[:, :looked_at]
        near = np.take_along_axis(squares, nearest, axis=1)
        order = np.lexsort((nearest, near), axis=1)
        nearest = np.take_along_axis(nearest, order, axis=1)
        near = np.take_along_axis(near, order, axis=1)
        # A row is not its own neighbour, but its copies are.
        itself = nearest == own[part, None]
        sums = np.cumsum(np.maximum(counts[nearest] - itself, 0.0), axis=1)
        enough = np.argmax(sums >= np.minimum(wanted, sums[:, -1:]) - 1e-9, axis=1)
        found[part] = near[np.arange(len(near)), enough]
    if data.has_missing:
        partly, factors = geometry.incomplete(data.rows, places, data.threads)
        found[partly] *= factors
    return found


# --- which rows are trained on --------------------------------------------------------------------


def seen_places(drawn: DrawnRows) -> Indices:
    """Return the rows that a fit looks at and that count."""
    judged = judged_of(drawn)
    return judged if drawn.trained is None else np.union1d(drawn.trained, judged)


def judged_of(drawn: DrawnRows) -> Indices:
    """Return the rows that partitions are judged on."""
    counted, _ = drawn.counted
    every = np.arange(drawn.rows.n_rows) if counted is None else counted
    return every if drawn.judged is None else drawn.judged


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
        return dataclasses.replace(
            drawn, trained=kept(drawn.trained), judged=kept(judged_of(drawn))
        )
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
