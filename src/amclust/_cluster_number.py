"""The number of clusters, estimated from the data.

Resamples of the rows are partitioned into every candidate number of clusters. A partition is scored
by its silhouette (distances to cluster centres, so it is linear in the rows), adjusted for chance
as the Rand index is: 0 is what rows without clusters reach, 1 is perfect. Each resample votes for
its best number, and the median vote is the estimate.

The rows without clusters are uniform, with the covariance of the resample: of all distributions
with a single mode, the flat one is the most easily mistaken for clusters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import kmeans_plusplus

from amclust import _native
from amclust._network import Network, Want
from amclust._recipe import Recipe
from amclust.backends import TrainingSet

AUTO = range(1, 21)
# The adjusted silhouette that clusters must exceed to be more than one. Single clouds (normal,
# uniform, heavy-tailed, correlated; 100 rows or more) stay below it, tables with clusters above.
ONE_CLUSTER = 0.1
# What the estimate sees of a large table: some rows, of wide ones fewer, and their main directions.
SAMPLE_ROWS, SAMPLE_VALUES, SAMPLE_DIRECTIONS = 2_000, 2**25, 64
# Part of the rows in a resample; and how many resamples, more when they are small.
RESAMPLE = 0.8
RESAMPLED_ROWS, FEWEST_RESAMPLES, MOST_RESAMPLES = 16_000, 7, 25
# Partitions begin with this many times the largest candidate, and are merged from there.
OVERCLUSTERING = 3
# A cluster this much smaller than the average of its partition is a few outliers.
OUTLIERS = 0.1

EVIDENCE_DTYPE = np.dtype(
    [
        ("n_clusters", np.int64),
        ("silhouette", np.float64),
        ("reference", np.float64),
        ("adjusted", np.float64),
        ("votes", np.int64),
        ("chosen", np.bool_),
    ]
)

Rows = NDArray[np.float32]


class Partition(NamedTuple):
    """Rows divided among centres."""

    labels: NDArray[np.int64]
    centers: Rows
    sizes: NDArray[np.int64]


def candidate_numbers(n_clusters: Any, objective: str) -> list[int] | None:
    """Return the numbers of clusters to choose from, ascending; None: the number is given."""
    if isinstance(n_clusters, Integral):
        return None
    if isinstance(n_clusters, str):
        return [k for k in AUTO if k > 1 or objective != "silhouette"]
    values: list[Any] = list(n_clusters)
    whole = all(isinstance(k, Integral) and not isinstance(k, bool) for k in values)
    if not whole or len(set(values)) < 2 or min(values) < 1:
        msg = (
            "n_clusters must be 'auto', an int, or a range or sequence of at least two different "
            f"ints of at least 1, got {n_clusters!r}."
        )
        raise ValueError(msg)
    if objective == "silhouette" and min(values) == 1:
        msg = f"objective='silhouette' needs n_clusters of at least 2, got {n_clusters!r}."
        raise ValueError(msg)
    return sorted({int(k) for k in values})


def estimate_n_clusters(
    data: TrainingSet, candidates: Sequence[int], seed: int
) -> tuple[int, NDArray[np.void]]:
    """Choose among the candidates; also return the evidence, one row a candidate."""
    rng = np.random.default_rng(seed)
    rows, copies = _sample(data, max(candidates), rng)
    possible = [k for k in candidates if k <= len(rows)] or [min(candidates)]
    evidence = np.zeros(len(possible), dtype=EVIDENCE_DTYPE)
    evidence["n_clusters"] = possible
    for name in ("silhouette", "reference", "adjusted"):
        evidence[name] = np.nan
    evidence["adjusted"][evidence["n_clusters"] == 1] = ONE_CLUSTER
    size = int(np.ceil(RESAMPLE * len(rows)))
    # A cluster has at least two rows; four rows are the fewest in which two clusters can be seen.
    scored = [k for k in possible if 1 < k <= size // 2]
    if scored:
        chosen = _vote(_principal(rows), size, scored, evidence, rng)
    elif copies:  # of a handful of distinct rows, each is a cluster
        chosen = possible[-1]
    else:
        chosen = possible[0]
    evidence["chosen"] = evidence["n_clusters"] == chosen
    return chosen, evidence


def _vote(
    rows: Rows,
    size: int,
    scored: Sequence[int],
    evidence: NDArray[np.void],
    rng: np.random.Generator,
) -> int:
    """Let every resample vote; fill in the evidence and return the median vote."""
    n_resamples = int(np.clip(RESAMPLED_ROWS // size, FEWEST_RESAMPLES, MOST_RESAMPLES))
    found, chance = np.empty((2, n_resamples, len(scored)))
    for r in range(n_resamples):
        resample = rows[rng.permutation(len(rows))[:size]]
        uniform = rng.uniform(-np.sqrt(3), np.sqrt(3), resample.shape) * resample.std(axis=0)
        found[r] = _silhouettes(resample, scored, rng)
        chance[r] = _silhouettes(uniform.astype(np.float32), scored, rng)
    reference = chance.mean(axis=0)
    adjusted = (found - reference) / (1 - reference)
    numbers = evidence["n_clusters"]
    columns = np.searchsorted(numbers, scored)
    evidence["silhouette"][columns] = found.mean(axis=0)
    evidence["reference"][columns] = reference
    evidence["adjusted"][columns] = adjusted.mean(axis=0)
    scores = np.full((n_resamples, len(numbers)), -np.inf)
    scores[:, numbers == 1] = ONE_CLUSTER
    scores[:, columns] = adjusted
    votes = numbers[scores.argmax(axis=1)]
    evidence["votes"] = np.count_nonzero(votes[:, None] == numbers, axis=0)
    return int(np.sort(votes)[(n_resamples - 1) // 2])


def _sample(data: TrainingSet, most_clusters: int, rng: np.random.Generator) -> tuple[Rows, bool]:
    """Return distinct complete rows, in the core's units, and whether they stand for twice as many.

    Copies of a row are no further evidence: a table of small whole numbers has many.
    """
    rows = np.arange(data.n_rows) if data.indices is None else data.indices
    n_features = data.rows.n_features
    limit = max(200, min(SAMPLE_ROWS, SAMPLE_VALUES // n_features))
    counts = np.ones(len(rows)) if data.counts is None else data.counts
    if len(rows) > limit:
        pick = np.sort(rng.choice(len(rows), limit, replace=False))
        rows, counts = rows[pick], counts[pick]
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    memories, beta = np.zeros((1, n_features), np.float32), 1.0
    if data.rows.has_missing:  # filled from memories that are as many as there may be clusters
        seed = int(rng.integers(np.iinfo(np.int32).max))
        k = min(most_clusters, len(rows))
        (found,) = _native.seed(
            data.rows, rows, None, k, ["k-means++"], [seed], seed, data.geometry.fill, data.threads
        )
        memories = found.memories
        beta = Recipe().inverse_temperature(False, found.mean_square, found.median_gap)
    k = len(memories)
    network = Network(
        memories, np.zeros(k, np.float32), beta, 1.0, 1, data.geometry, np.arange(k, dtype=np.int32)
    )
    filled = network.infer(data.rows, Want.FILLED, indices=rows, n_jobs=data.threads).filled
    distinct = np.unique(filled, axis=0)
    return distinct, bool(counts.sum() >= 2 * len(distinct))


def _principal(rows: Rows) -> Rows:
    """Return the rows in their main directions, which are uncorrelated."""
    centred = rows - rows.mean(axis=0, dtype=np.float64)
    wide = centred.shape[1] > len(centred)
    values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
    main = np.argsort(values)[::-1][:SAMPLE_DIRECTIONS]
    main = main[values[main] > 1e-10 * values.max()]
    turned = vectors[:, main] * np.sqrt(values[main]) if wide else centred @ vectors[:, main]
    return np.ascontiguousarray(turned / np.sqrt(values.sum() / len(rows)), dtype=np.float32)


def _silhouettes(
    rows: Rows, numbers: Sequence[int], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Score a partition into each of the numbers of clusters (ascending)."""
    scores = {len(p.sizes): _silhouette(rows, p) for p in _partitions(rows, numbers, rng)}
    # Rows that coincide may leave fewer centres than asked for.
    return np.array([scores.get(k, 0.0) for k in numbers])


def _silhouette(rows: Rows, partition: Partition) -> float:
    """Return the silhouette by distances to centres.

    One row of each cluster counts nothing, as in a cluster of a single row: it is the price of the
    centre. Outliers score nothing and are nobody's second nearest cluster.
    """
    labels, centers, sizes = partition
    n, k = len(rows), len(sizes)
    few = sizes < max(2.0, OUTLIERS * n / k)
    squares = _offsets(rows, centers) + np.square(rows).sum(axis=1)[:, None]
    distances = np.sqrt(np.maximum(squares, 0))
    own = distances[np.arange(n), labels]
    distances[np.arange(n), labels] = np.inf
    distances[:, few] = np.inf
    other = distances.min(axis=1)
    counted = ~few[labels] & np.isfinite(other) & (other > 0)
    values = (other[counted] - own[counted]) / np.maximum(other[counted], own[counted])
    return float(values.sum(dtype=np.float64) / n * (1 - k / n))


def _partitions(
    rows: Rows, numbers: Sequence[int], rng: np.random.Generator
) -> Iterator[Partition]:
    """Yield a k-means partition for each number of clusters, from the largest to the smallest.

    Many small clusters are merged, the pair that costs least at a time (Ward), and settled again.
    This finds better partitions than restarts do, and all of them at the price of a few.
    """
    start = min(OVERCLUSTERING * numbers[-1], len(rows))
    seed = int(rng.integers(np.iinfo(np.int32).max))
    centers = _settle(rows, kmeans_plusplus(rows, start, random_state=seed)[0], 10)
    while True:
        k = len(centers)
        labels = _offsets(rows, centers).argmin(axis=1)
        sizes = np.bincount(labels, minlength=k)
        if k in numbers:
            yield Partition(labels, centers, sizes)
        if k <= numbers[0]:
            return
        centers = _settle(rows, _merge(centers, sizes), 20 if k <= numbers[-1] + 1 else 1)


def _merge(centers: Rows, sizes: NDArray[np.int64]) -> Rows:
    """Merge the two clusters whose union adds least to the scatter."""
    k = len(centers)
    weights = np.maximum(sizes, 1).astype(np.float32)
    norms = np.square(centers).sum(axis=1)
    cost = norms[:, None] + norms - 2 * centers @ centers.T
    cost *= weights[:, None] * weights / (weights[:, None] + weights)
    cost[np.tril_indices(k)] = np.inf
    i, j = divmod(int(cost.argmin()), k)
    merged = np.delete(centers, j, axis=0)
    merged[i] = (weights[i] * centers[i] + weights[j] * centers[j]) / (weights[i] + weights[j])
    return merged


def _settle(rows: Rows, centers: Rows, steps: int) -> Rows:
    """Take a few steps of k-means; a centre without rows is dropped."""
    before = None
    for _ in range(steps):
        labels = _offsets(rows, centers).argmin(axis=1)
        if before is not None and np.array_equal(labels, before):
            break
        members = np.zeros((len(rows), len(centers)), np.float32)
        members[np.arange(len(rows)), labels] = 1
        sizes = members.sum(axis=0)
        living = sizes > 0
        centers = (members.T @ rows)[living] / sizes[living, None]
        before = labels if living.all() else None
    return centers


def _offsets(rows: Rows, centers: Rows) -> Rows:
    """Return squared distances of rows to centres, less the squared length of the row."""
    return rows @ (-2 * centers.T) + np.square(centers).sum(axis=1)
