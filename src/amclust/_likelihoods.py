"""Memories of tables with categories by likelihood: what training found is made likelier.

A memory has means of numbers and shares of levels. Squared distances to shares tell little of a
level that is rare in a cluster; the logarithm of its share tells it all. So, where nothing else was
asked for, the rows of such a table are explained as a mixture: numbers are normal with one spread a
column, levels come with the shares of the memory, and what is missing is left out. Expectation and
maximisation start from k-means along the leading directions of numbers and levels (rare levels in
units of their own spread), and from what training found.

The network stays what it is. With u the logarithms of shares over `SHARPNESS`, a memory that has
u + t in the place of shares is nearer to a row, in squares, by twice the u of the row's level; t is
chosen for every memory and column so that the rest is the same for all memories.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust._categories import MISSING, Categories, MixedTable
from amclust._geometry import SHARPNESS, Geometry
from amclust._judging import judge_runs
from amclust._mixtures import nearest_clusters
from amclust._network import Network
from amclust._options import Options
from amclust._rows import draw_places
from amclust._runs import Fit, Refined
from amclust._threads import single_threaded_blas
from amclust._validation import check_feature_weights
from amclust.backends import TrainingSet

Floats = NDArray[np.float64]

# So many rows say enough of shares and means.
MAX_ROWS = 8_192
# With more features the start is what training found.
MAX_FEATURES = 1_000
N_STARTS = 10
MAX_STEPS, MIN_CHANGE = 100, 1e-3
# What a row of the start belongs to its cluster, the rest to all others alike.
FIRST_SHARE = 0.9
# Rows of all clusters that are added to each: half a level's worth, and a bound for spreads.
PRIOR = 0.5
MIN_VARIANCE = 0.05
# By what the temperature is lowered until the dynamics keeps so many rows with their memory.
COOLING, MAX_COOLINGS, KEPT = 4.0, 4, 0.995
TINY = 1e-12


class Cells(NamedTuple):
    """Rows as the mixture sees them."""

    numbers: Floats  # in core units, 0 where missing
    seen: Floats  # 1 where a number is there
    levels: sparse.csr_array  # 1 a level, nothing where it is missing
    categories: Categories
    weights: Floats  # of rows
    number_weights: Floats  # of columns
    level_weights: Floats
    by_column: bool  # whether numbers may differ in their units


class Explained(NamedTuple):
    """A mixture."""

    log_parts: Floats
    means: Floats
    variances: Floats
    log_shares: Floats


class Sums(NamedTuple):
    """What the rows of each cluster add up to."""

    sizes: Floats
    counts: Floats  # of the numbers that are there
    numbers: Floats
    squares: Floats
    levels: Floats


def can_refine(options: Options, data: TrainingSet, n_clusters: int) -> bool:
    """Whether likelihood is what was asked for: categories, and nothing that says otherwise."""
    return (
        data.geometry.categories is not None
        and n_clusters > 1
        and options.objective == "auto"
        and options.metric == "euclidean"
        and isinstance(options.beta, str)
        and isinstance(options.init, str)
        and options.weights is None
        and not options.contamination
    )


def refined(
    data: TrainingSet,
    found: Fit,
    options: Options,
    read: Callable[[Geometry], TrainingSet],
) -> tuple[Fit, TrainingSet]:
    """Return a fit whose memories are likelier, in units of its own, and its rows.

    What was found stays where a cluster would lose all of its rows.
    """
    k = found.network.n_memories
    with single_threaded_blas():
        cells, places = _cells(data, options)
        first: NDArray[np.integer] = found.labels if places is None else found.labels[places]
        if len(data.geometry.offset) <= MAX_FEATURES:
            first = _first_labels(cells, k, found.best.seed)
        explained = _explain(cells, first, k)
        wanted = _scores(cells, explained).argmax(axis=1)
    if len(np.unique(wanted)) < k:
        return found, data
    sizes = data.total_weight * np.exp(explained.log_parts)
    fit, again = _with_mixture(data, found, cells, places, explained, sizes, read)
    if len(np.unique(fit.labels)) < k:
        return found, data
    fit = dataclasses.replace(fit, total_weight=None, collapsed=False, trained_in=data.geometry)
    return fit, again


def gone_on(
    data: TrainingSet,
    found: Fit,
    earlier: Network,
    options: Options,
    read: Callable[[Geometry], TrainingSet],
) -> tuple[Fit, TrainingSet]:
    """Return a fit that explains more rows with those it had: one step, in which all count alike.

    `found` is what the rows are to the `earlier` network. One that has no sizes, as of a layer of
    torch, counts as much as these rows.
    """
    with single_threaded_blas():
        cells, places = _cells(data, options)
        share = data.total_weight / cells.weights.sum()
        cells = cells._replace(weights=cells.weights * share)
        before = _told_by(earlier, cells)
        total = data.total_weight if earlier.sizes is None else float(earlier.sizes.sum())
        sums = _added(_sums(cells, _parts(_scores(cells, before))), before, total)
        # The shares that were there have their prior already.
        prior = PRIOR * data.total_weight / (data.total_weight + total)
        explained = _maximised(cells, sums, prior)
    fit, again = _with_mixture(data, found, cells, places, explained, sums.sizes, read)
    return dataclasses.replace(fit, total_weight=None), again


def _with_mixture(
    data: TrainingSet,
    found: Fit,
    cells: Cells,
    places: NDArray[np.int64] | None,
    explained: Explained,
    sizes: Floats,
    read: Callable[[Geometry], TrainingSet],
) -> tuple[Fit, TrainingSet]:
    """Return the fit whose network says what a mixture says, and the rows in its units."""
    wanted = _scores(cells, explained).argmax(axis=1)
    geometry, memories = _in_squares(data.geometry, cells, explained)
    again = read(geometry)
    unit = _unit(explained)
    best: tuple[float, Network] | None = None
    for power in range(MAX_COOLINGS):
        factor = COOLING**power
        one = dataclasses.replace(
            found.network,
            memories=memories,
            log_weights=(factor * (explained.log_parts - explained.log_parts.max())).astype(
                np.float32
            ),
            beta=factor / (2.0 * unit),
            geometry=again.geometry,
            sizes=sizes,
        )
        told = one.core_labels(again.labelled_rows, indices=places, n_jobs=again.threads)
        kept = float(np.average(told == wanted, weights=cells.weights))
        if best is None or kept > best[0]:
            best = kept, one
        if kept >= KEPT:
            break
    assert best is not None
    network = best[1]
    run = dataclasses.replace(
        found.best, refined=Refined(network.memories, network.log_weights, network.beta)
    )
    runs = [*found.runs[: found.chosen], run, *found.runs[found.chosen + 1 :]]
    labels = network.core_labels(again.labelled_rows, n_jobs=again.threads)
    judge_runs(again, [run])
    return dataclasses.replace(found, network=network, runs=runs, labels=labels), again


# --- rows -----------------------------------------------------------------------------------------


def _cells(data: TrainingSet, options: Options) -> tuple[Cells, NDArray[np.int64] | None]:
    """Return the rows that are trained on, or some of them, and which these are."""
    geometry, places, counts = data.geometry, data.indices, data.counts
    n = data.n_rows
    if n > MAX_ROWS:
        some = draw_places(n, MAX_ROWS, 0)
        counts = None if counts is None else counts[some]
        places = some if places is None else places[some]
        n = len(some)
    rows = data.table if geometry.limits is None else geometry.limits.within(data.table)
    table = rows.take(places)
    assert isinstance(table, MixedTable)
    categories = table.categories
    numbers = categories.starts[categories.numbers]
    values = (table.numbers.astype(np.float64) - geometry.offset[numbers]) * geometry.scale[numbers]
    seen = ~np.isnan(values)
    there = table.codes != MISSING
    at = categories.starts[categories.categorical] - _numbers_before(categories)
    row, column = np.nonzero(there)
    ones = np.ones(len(row))
    levels = sparse.csr_array(
        (ones, (row, at[column] + table.codes[there])),
        shape=(n, int(categories.n_levels.sum())),
    )
    column_weights = check_feature_weights(
        options.feature_weights, categories.n_columns, categories.names, options.metric
    )
    if column_weights is None:
        column_weights = np.ones(categories.n_columns)
    weights = np.ones(n) if counts is None else counts.astype(np.float64)
    cells = Cells(
        np.where(seen, values, 0.0),
        seen.astype(np.float64),
        levels,
        categories,
        weights,
        column_weights[categories.numbers],
        column_weights[categories.categorical],
        geometry.scaling is not None,
    )
    return cells, places


def _numbers_before(categories: Categories) -> NDArray[np.int64]:
    """Return how many numbers stand before each category."""
    return np.searchsorted(categories.numbers, categories.categorical)


def _blocks(categories: Categories) -> list[slice]:
    """Return the levels of each category, among all levels."""
    widths = categories.n_levels[categories.categorical].astype(np.int64)
    ends = np.cumsum(widths)
    return [slice(int(end - width), int(end)) for end, width in zip(ends, widths, strict=True)]


def _first_labels(cells: Cells, k: int, seed: int) -> NDArray[np.int64]:
    """Return clusters by k-means along as many leading directions as there are clusters."""
    share = cells.weights / cells.weights.sum()
    spread = np.sqrt(share @ cells.numbers**2 / np.maximum(share @ cells.seen, TINY))
    numbers = cells.numbers / np.maximum(spread, TINY) * (spread > 0) * cells.number_weights
    levels = _scaled_levels(cells, share)
    mean = np.concatenate([share @ numbers, share @ levels])
    weighted, with_levels = numbers * share[:, None], levels * share[:, None]
    both = levels.T @ weighted
    products = np.block(
        [[numbers.T @ weighted, both.T], [both, (levels.T @ with_levels).toarray()]]
    )
    _, directions = np.linalg.eigh(products - mean[:, None] * mean)
    leading = np.ascontiguousarray(directions[:, ::-1][:, :k])
    m = numbers.shape[1]
    points = numbers @ leading[:m] + levels @ leading[m:] - mean @ leading
    starts = [nearest_clusters(points, cells.weights, k, seed + at) for at in range(N_STARTS)]
    return min(starts, key=lambda labels: _scatter(points, cells.weights, labels, k))


def _scaled_levels(cells: Cells, share: Floats) -> sparse.csr_array:
    """Return indicators in units of their own spread; those that are missing are at their mean."""
    blocks = _blocks(cells.categories)
    frequency = share @ cells.levels
    means, scales = np.zeros(len(frequency)), np.zeros(len(frequency))
    for block, weight in zip(blocks, cells.level_weights, strict=True):
        shares = frequency[block] / max(float(frequency[block].sum()), TINY)
        means[block] = shares
        scales[block] = np.where(shares > 0, weight / np.sqrt(np.maximum(shares, TINY)), 0.0)
    owner = np.repeat(np.arange(len(blocks)), [block.stop - block.start for block in blocks])
    every = np.arange(len(owner))
    belongs = sparse.csr_array((np.ones(len(owner)), (every, owner)))
    lacking = sparse.csr_array(1.0 - (cells.levels @ belongs).toarray())
    at_means = lacking @ sparse.csr_array((means, (owner, every)))
    return sparse.csr_array((cells.levels + at_means).multiply(scales[None]))


def _scatter(points: Floats, weights: Floats, labels: NDArray[np.int64], k: int) -> float:
    """Return the sum of squared distances to the means of clusters."""
    members = np.zeros((k, len(points)))
    members[labels, np.arange(len(points))] = weights
    sizes = members.sum(axis=1)
    means = members @ points / np.maximum(sizes, TINY)[:, None]
    return float(weights @ ((points - means[labels]) ** 2).sum(axis=1))


# --- expectation and maximisation -----------------------------------------------------------------


def _explain(cells: Cells, labels: NDArray[np.integer], k: int) -> Explained:
    """Return the mixture that steps from some clusters lead to."""
    n = len(labels)
    parts = np.full((n, k), (1.0 - FIRST_SHARE) / (k - 1))
    parts[np.arange(n), labels] = FIRST_SHARE
    total = cells.weights.sum()
    for _ in range(MAX_STEPS):
        mixture = _maximised(cells, _sums(cells, parts), PRIOR)
        likely = _parts(_scores(cells, mixture))
        changed = float(cells.weights @ np.abs(likely - parts).sum(axis=1)) / total
        parts = likely
        if changed < MIN_CHANGE:
            break
    return mixture


def _parts(scores: Floats) -> Floats:
    """Return which part of each row comes of each memory."""
    likely = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    return likely


def _sums(cells: Cells, parts: Floats) -> Sums:
    members = (parts * cells.weights[:, None]).T
    return Sums(
        members.sum(axis=1),
        members @ cells.seen + TINY,
        members @ cells.numbers,
        members @ cells.numbers**2,
        np.ascontiguousarray((cells.levels.T @ members.T).T),
    )


def _added(sums: Sums, before: Explained, total: float) -> Sums:
    """Add what so many rows were that a mixture was made of, as if they had all values."""
    sizes = total * np.exp(before.log_parts)
    each = sizes[:, None]
    return Sums(
        sums.sizes + sizes,
        sums.counts + each,
        sums.numbers + each * before.means,
        sums.squares + each * (before.variances + before.means**2),
        sums.levels + each * np.exp(before.log_shares),
    )


def _maximised(cells: Cells, sums: Sums, prior: float) -> Explained:
    sizes, counts = sums.sizes, sums.counts
    means = sums.numbers / counts
    over_all = counts.sum(axis=0)
    squares = (sums.squares - means**2 * counts).sum(axis=0) / over_all
    # The variance of the columns around their own mean.
    mean = (means * counts).sum(axis=0) / over_all
    whole = sums.squares.sum(axis=0) / over_all - mean**2
    variances = np.maximum(squares, MIN_VARIANCE * np.maximum(whole, TINY))
    counted = cells.number_weights > 0
    if not cells.by_column and counted.any():  # of the columns before they were weighted
        own = variances[counted] / cells.number_weights[counted]
        common = float(over_all[counted] @ own / over_all[counted].sum())
        variances = np.where(counted, common * cells.number_weights, variances)
    frequency = sums.levels
    log_shares = np.empty_like(frequency)
    for block in _blocks(cells.categories):
        every = frequency[:, block].sum(axis=0)
        every = every / max(float(every.sum()), TINY)
        found = frequency[:, block] + prior * np.count_nonzero(every) * every + 1e-9
        log_shares[:, block] = np.log(found / found.sum(axis=1, keepdims=True))
    log_parts = np.log(np.maximum(sizes, TINY) / sizes.sum())
    return Explained(log_parts, means, variances, log_shares)


def _scores(cells: Cells, mixture: Explained) -> Floats:
    """Return the logarithm of how likely each row comes of each memory; but for what all share."""
    precision = cells.number_weights / mixture.variances
    squares = cells.numbers**2 @ precision
    towards = 2.0 * cells.numbers @ (precision * mixture.means).T
    scores = -0.5 * (squares[:, None] - towards + cells.seen @ (precision * mixture.means**2).T)
    scores -= 0.5 * (cells.seen @ (cells.number_weights * np.log(mixture.variances)))[:, None]
    log_shares = mixture.log_shares * np.repeat(
        cells.level_weights, cells.categories.n_levels[cells.categories.categorical]
    )
    found: Floats = scores + cells.levels @ log_shares.T + mixture.log_parts
    return found


# --- the same in squares --------------------------------------------------------------------------


def _in_squares(
    geometry: Geometry, cells: Cells, mixture: Explained
) -> tuple[Geometry, NDArray[np.float32]]:
    """Return units and memories whose squared distances say what the mixture says."""
    categories = cells.categories
    unit = _unit(mixture)
    factors = np.ones(geometry.n_features)
    numbers = categories.starts[categories.numbers]
    factors[numbers] = np.sqrt(unit * cells.number_weights / mixture.variances)
    scale = geometry.scale.astype(np.float64) * factors
    k = len(mixture.means)
    memories = np.zeros((k, geometry.n_features))
    memories[:, numbers] = mixture.means * factors[numbers]
    columns = categories.categorical
    for column, block, weight in zip(
        columns, _blocks(categories), cells.level_weights, strict=True
    ):
        features = categories.block(int(column))
        size = np.sqrt(unit * weight * SHARPNESS)
        scale[features] = size
        blocks = _balanced(mixture.log_shares[:, block] / SHARPNESS)
        memories[:, features] = size * (blocks - geometry.offset[features])
    old = np.where(geometry.scale > 0, geometry.scale, 1.0)
    return (
        dataclasses.replace(
            geometry,
            scale=scale.astype(np.float32),
            fill=(geometry.fill * (scale / old)).astype(np.float32),
            log_levels=True,
        ),
        np.ascontiguousarray(memories, dtype=np.float32),
    )


def _unit(mixture: Explained) -> float:
    """Return the variance of all numbers in the units of the network."""
    return float(np.mean(mixture.variances)) if len(mixture.variances) else 1.0


def _told_by(network: Network, cells: Cells) -> Explained:
    """Return the mixture that a network says in squares: the way back from `_in_squares`."""
    categories, geometry = cells.categories, network.geometry
    memories = network.memories.astype(np.float64)
    numbers = categories.starts[categories.numbers]
    unit = 1.0 / (2.0 * network.beta)
    for column, weight in zip(categories.categorical, cells.level_weights, strict=True):
        if weight > 0:
            size = float(geometry.scale[categories.starts[column]])
            unit = size**2 / (weight * SHARPNESS)
    centers = geometry.centers(memories)
    shares = np.concatenate(
        [centers[:, categories.block(int(column))] for column in categories.categorical], axis=1
    )
    logs = network.log_weights.astype(np.float64) / (2.0 * network.beta * unit)
    parts = np.exp(logs - logs.max())
    return Explained(
        np.log(np.maximum(parts / parts.sum(), TINY)),
        memories[:, numbers],
        np.maximum(unit * cells.number_weights, TINY),
        np.log(np.maximum(shares, TINY)),
    )


def _balanced(logs: Floats) -> Floats:
    """Add to each memory's logarithms what makes the rest of the squares the same for all.

    The square of the distance to a level is 1 - 2 (u + t) + |u + t|^2, and the last two parts
    without u are -(2 t - |u + t|^2): at most so much as where u + t sums to 1.
    """
    levels = logs.shape[1]
    sums, squares = logs.sum(axis=1), (logs**2).sum(axis=1)
    rest = (1.0 - sums) ** 2 / levels - squares
    under = np.maximum((1.0 - sums) ** 2 - levels * (squares + rest.min()), 0.0)
    shifts = (1.0 - sums - np.sqrt(under)) / levels
    found: Floats = logs + shifts[:, None]
    return found
