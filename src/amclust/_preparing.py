"""From a table to the rows that are trained on, in core units."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._completion import DRAW_SEED, Completion, Range, learn_completion
from amclust._distant import find_distant, place_weights, seen_places, without
from amclust._geometry import Geometry, Whitened, Whitening
from amclust._metrics import find_metric
from amclust._options import Options
from amclust._recipe import Recipe
from amclust._rows import (
    DrawnRows,
    Indices,
    Places,
    Rows,
    RowSource,
    TableRows,
    TableSize,
    draw_places,
)
from amclust._silhouettes import judge_on, judged_places
from amclust._validation import (
    check_columns,
    check_distinct,
    check_feature_weights,
    check_rows,
)
from amclust._winsorising import Limits, Quartiles
from amclust.backends import TrainingSet
from amclust.backends.base import is_drawn, read_to_train


def n_drawn(size: TableSize, batch_size: int, recipe: Recipe, n_memories: int) -> int | None:
    """Return on how many rows of a table so many memories are trained; None: on all of them."""
    enough = max(recipe.n_drawn(*size, n_memories), batch_size)
    return enough if enough < size.n_counted else None


def draw_rows(
    source: RowSource, seed: int = 0, count: Callable[[TableSize], int | None] | None = None
) -> DrawnRows:
    """Bring the rows that a fit looks at to memory: as many as the table's size asks for, or all.

    They are drawn by their places in the table, so that it does not matter where these lie.
    """

    def choose(size: TableSize) -> Places:
        if not size.n_counted:
            msg = "sample_weight must have at least one positive weight, got only zeros."
            raise ValueError(msg)
        some = None if count is None else count(size)
        trained = None if some is None else draw_places(size.n_counted, some, seed)
        return Places(trained, judged_places(size.n_counted))

    return source.draw(choose)


def prepare_trimmed(
    drawn: DrawnRows, options: Options, **settings: Any
) -> tuple[DrawnRows, TrainingSet]:
    """Prepare rows without those that are far from the others, where some belong nowhere.

    The settings are those of `prepare`.
    """
    data = prepare(drawn, options, **settings)
    if not options.contamination:
        return drawn, data
    places = seen_places(drawn)
    weights = place_weights(drawn, places)
    outside = find_distant(data, places, weights, options.contamination).outside
    trimmed = without(drawn, places[outside])
    return trimmed, prepare(trimmed, options, untrimmed=drawn, **settings)


def prepare(
    drawn: DrawnRows,
    options: Options,
    *,
    n_clusters: int,
    threads: int,
    feature_names: tuple[str, ...] | None,
    geometry: Geometry | None = None,
    more_rows: bool = False,
    n_memories: Sequence[int] | None = None,
    reads_completed: bool = True,
    untrimmed: DrawnRows | None = None,
) -> TrainingSet:
    """Check rows and bring them into core units, which are chosen here if not given.

    Where one batch holds all rows, the distinct ones are trained on, weighted: then neither their
    order nor how copies are given matters. `more_rows` are others than those that a given geometry
    was taken from, and add to what it knows of missing values. `n_memories` are those that may
    share the covariance of "mahalanobis"; None: as many as there are clusters. `feature_names` are
    those of the columns of the user, of which categories have several features. Without
    `reads_completed`, what rows lack is left to the memories. `untrimmed` are the rows with those
    that are left out: columns are scaled by what these deviate inside the range of the others.
    """
    rows, sample_weight = drawn.rows, drawn.sample_weight
    layout, columns = rows.categories, feature_names
    if layout is not None:
        feature_names = layout.feature_names
    indices, counts = drawn.trained, sample_weight
    whole = rows.n_rows <= options.batch_size and not drawn.is_sample
    if whole:
        indices, counts = rows.distinct(None, sample_weight)
        if geometry is None:
            weighted = sample_weight is not None and not sample_weight.all()
            advice = "Rows of weight 0 do not count." if weighted else ""
            if untrimmed is not None:
                share = options.contamination
                advice = f"Those that contamination={share} leaves out do not count."
            check_distinct(len(indices), n_clusters, rows.n_rows, advice)
    elif counts is not None and indices is not None:
        counts = np.ascontiguousarray(counts[indices])
    if drawn.statistics is not None:
        everything, stats = drawn.statistics.everything, drawn.statistics.counted
    else:
        # Rows of weight 0 are not trained on, but they get labels.
        everything = stats = check_rows(rows, options.metric, feature_names, threads)
        if (geometry is None or more_rows) and (whole or sample_weight is not None):
            counted, weights = (indices, counts) if whole else drawn.counted
            stats = rows.statistics(counted, weights, threads)
    incomplete, whitens = everything.missing > 0, find_metric(options.metric).whitens
    whitened = None
    if geometry is not None:
        if more_rows:
            geometry = geometry.with_more(
                rows, stats, indices=indices, weights=counts, threads=threads
            )
    else:
        check_columns(stats, feature_names, options.metric)
        n_columns = rows.n_features if layout is None else layout.n_columns
        weighted_columns = check_feature_weights(
            options.feature_weights, n_columns, columns, options.metric
        )
        if layout is not None and weighted_columns is not None:
            weighted_columns = layout.spread(weighted_columns)
        seen: Rows = rows
        seen_indices, seen_stats, quartiles = indices, stats, None
        if options.scale == "robust" and find_metric(options.metric).scales:
            quartiles = Quartiles.of(rows, indices, counts)
            seen, seen_indices = TableRows(quartiles.limits.apply(rows.take(indices))), None
            seen_stats = seen.statistics(None, counts, threads)
            check_columns(seen_stats, feature_names, options.metric)
            incomplete = incomplete or seen_stats.missing > 0
        completion = None
        if incomplete and (whitens or options.completes):
            completion = learn_completion(
                seen, seen_stats, indices=seen_indices, weights=counts, threads=threads
            )
        if whitens:
            sharing = [n_clusters] if n_memories is None else n_memories
            whitening = Whitening.fit(rows, stats, indices, counts, sharing, threads)
            whitened = Whitened(
                whitening, _drawn_and_whitened(rows, whitening, completion, stats, indices, threads)
            )
        geometry = Geometry.fit(
            seen,
            seen_stats,
            metric=options.metric,
            scale=options.scale,
            mask_value=options.mask_value,
            indices=seen_indices,
            weights=counts,
            threads=threads,
            feature_names=feature_names,
            completion=completion,
            whitened=whitened,
            quartiles=quartiles,
            feature_weights=weighted_columns,
            scaling_variance=(
                None if untrimmed is None else _variance_within(untrimmed, stats, threads)
            ),
        )
        geometry = dataclasses.replace(geometry, reads_completed=whitens or reads_completed)
    missing, others_missing = stats.missing > 0, everything.missing > stats.missing
    if geometry.limits is not None:  # what is not believed is missing, too
        lacking = geometry.lacks_values(rows, threads)
        missing = bool((lacking if indices is None else lacking[indices]).any())
        others_missing = bool(lacking.any()) and not missing
    drawn_alike = not missing or is_drawn(rows.n_rows if indices is None else len(indices))
    if whitened is None or not drawn_alike:  # few rows are trained on what is likely, not on draws
        core = read_to_train(geometry, rows, indices, missing, threads)
    else:
        core = geometry.read_whitened(whitened.rows)
    weights = counts
    if counts is not None:  # only ratios matter to the loss
        weights = np.ascontiguousarray(counts / counts.mean(dtype=np.float64), dtype=np.float32)
    if drawn.is_sample:  # a column without missing values has the weight of all rows
        total = float(stats.weight.max())
    elif counts is not None:
        total = float(counts.sum(dtype=np.float64))
    else:
        total = float(rows.n_rows if indices is None else len(indices))
    return TrainingSet(
        table=rows,
        rows=core,
        geometry=geometry,
        indices=indices,
        weights=weights,
        counts=counts,
        judged=judge_on(drawn),
        has_missing=missing,
        threads=threads,
        is_sample=drawn.is_sample,
        total_weight=total,
        ranges=(everything.min, everything.max),
        others_missing=others_missing,
        sample_weight=sample_weight,
        missing_share=1.0 - float(stats.weight.mean() / max(total, 1e-30)),
    )


def _variance_within(
    drawn: DrawnRows, stats: _native.Statistics, threads: int
) -> NDArray[np.float64] | None:
    """Return the variance of columns with all values brought inside the range of some rows.

    None where the rows stand for others, too: the statistics are those of all rows then.
    """
    if drawn.is_sample:
        return None
    low, high = np.asarray(stats.min), np.asarray(stats.max)
    if np.isnan(low).any():
        return None
    far = np.full(len(low), np.inf)
    if drawn.rows.is_sparse:
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    limits = Limits(low, high, -far, far)
    return np.asarray(limits.within(drawn.rows).statistics(*drawn.counted, threads).variance)


def _drawn_and_whitened(
    rows: Rows,
    whitening: Whitening,
    completion: Completion | None,
    stats: _native.Statistics,
    indices: Indices | None,
    threads: int,
) -> Rows:
    """Return all rows whitened, what they lack drawn as for training."""
    X = rows.take(None)
    if completion is not None:
        inside = Range(np.asarray(stats.min), np.asarray(stats.max))
        fills = completion.fills(rows, inside, threads, order=indices, seed=DRAW_SEED)
        X = completion.filled(X, fills)
    return TableRows(whitening.apply(X))
