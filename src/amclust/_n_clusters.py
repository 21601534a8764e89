"""The number of clusters, estimated from the data.

Some rows, in their principal directions, go to the core (training/n_clusters.hpp): resamples of
them vote for the number whose partition has the largest silhouette, adjusted for chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import InvalidParameterError

from amclust import _native
from amclust._network import Network, Want
from amclust._objectives import OBJECTIVES
from amclust._recipe import Recipe
from amclust._threads import single_threaded_blas
from amclust.backends import TrainingSet

AUTO = range(1, 21)
# What the estimate sees of a large table: some rows, of wide ones fewer, and their main directions.
SAMPLE_ROWS, SAMPLE_VALUES, SAMPLE_DIRECTIONS = 2_000, 2**25, 64
# Where rows lack a larger part of their values, those that lack the same columns are alike at the
# means of these, and look like clusters: there it sees draws, which blur fine clusters.
MAX_MEANS_SHARE = 0.25

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


def candidate_numbers(n_clusters: Any, objective: str) -> list[int] | None:
    """Return the numbers of clusters to choose from, ascending; None: the number is given."""
    if isinstance(n_clusters, bool):
        msg = (
            "The 'n_clusters' parameter of ClAM must be 'auto', an int of at least 1, or a range "
            f"or sequence of ints. Got {n_clusters!r} instead."
        )
        raise InvalidParameterError(msg)
    if isinstance(n_clusters, Integral):
        return None
    if np.ndim(n_clusters) != 1 and not isinstance(n_clusters, str):
        n_clusters = [n_clusters]  # refused below
    smallest = OBJECTIVES[objective].min_clusters if objective in OBJECTIVES else 1
    if isinstance(n_clusters, str):
        return [k for k in AUTO if k >= smallest]
    values: list[Any] = list(n_clusters)
    whole = all(isinstance(k, Integral) and not isinstance(k, bool) for k in values)
    if not whole or len(set(values)) < 2 or min(values) < 1:
        msg = (
            "n_clusters must be 'auto', an int, or a range or sequence of at least two different "
            f"ints of at least 1, got {n_clusters!r}."
        )
        raise ValueError(msg)
    if min(values) < smallest:
        msg = (
            f"objective={objective!r} needs n_clusters of at least {smallest}, got {n_clusters!r}."
        )
        raise ValueError(msg)
    return sorted({int(k) for k in values})


def estimate_n_clusters(
    data: TrainingSet,
    candidates: Sequence[int],
    seed: int,
    recipe: Recipe,
    settings: _native.NClustersSettings | None = None,
) -> tuple[int, NDArray[np.void]]:
    """Choose among the candidates; also return the evidence, one row per candidate."""
    rng = np.random.default_rng(seed)
    rows, copies = _sample(data, max(candidates), rng, recipe)
    possible = [k for k in candidates if k <= len(rows)] or [min(candidates)]
    found = _native.estimate_n_clusters(
        _principal(rows),
        possible,
        settings or _native.NClustersSettings(),
        int(rng.integers(np.iinfo(np.int64).max)),
        data.threads,
    )
    chosen = found.n_clusters
    if chosen is None:  # too few rows to see clusters; if they repeat, each is one
        chosen = possible[-1] if copies else possible[0]
    evidence = np.zeros(len(possible), dtype=EVIDENCE_DTYPE)
    evidence["n_clusters"] = possible
    for name in ("silhouette", "reference", "adjusted", "votes"):
        evidence[name] = getattr(found, name)
    evidence["chosen"] = evidence["n_clusters"] == chosen
    return chosen, evidence


def _sample(
    data: TrainingSet, max_clusters: int, rng: np.random.Generator, recipe: Recipe
) -> tuple[Rows, bool]:
    """Return distinct complete rows, in core units, and whether they stand for twice as many.

    Copies of a row are no further evidence: a table of small whole numbers has many.
    """
    rows = np.arange(data.n_rows) if data.indices is None else data.indices
    at_means = data.has_missing and data.missing_share <= MAX_MEANS_SHARE
    read = data.labelled_rows if at_means else data.drawn_rows()
    n_features = data.rows.n_features
    limit = max(200, min(SAMPLE_ROWS, SAMPLE_VALUES // n_features))
    counts = np.ones(len(rows)) if data.counts is None else data.counts
    if len(rows) > limit:
        pick = np.sort(rng.choice(len(rows), limit, replace=False))
        rows, counts = rows[pick], counts[pick]
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    memories, beta = np.zeros((1, n_features), np.float32), 1.0
    if read.has_missing:  # filled from memories that are as many as there may be clusters
        seed = int(rng.integers(np.iinfo(np.int32).max))
        k = min(max_clusters, len(rows))
        (found,) = _native.seed(
            read, rows, None, k, ["k-means++"], [seed], seed, data.geometry.fill, data.threads
        )
        memories = found.memories
        beta = recipe.inverse_temperature(False, found.mean_square, found.median_gap)
    k = len(memories)
    network = Network(
        memories, np.zeros(k, np.float32), beta, 1.0, 1, data.geometry, np.arange(k, dtype=np.int32)
    )
    filled = network.infer(read, Want.FILLED, indices=rows, n_jobs=data.threads).filled
    distinct = np.unique(filled, axis=0)
    return distinct, bool(counts.sum() >= 2 * len(distinct))


def _principal(rows: Rows) -> Rows:
    """Return the rows in their main directions, which are uncorrelated."""
    centred = rows - rows.mean(axis=0, dtype=np.float64)
    wide = centred.shape[1] > len(centred)
    with single_threaded_blas():
        values, vectors = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
        if not values.max() > 0:  # a single row
            return np.zeros((len(rows), 1), np.float32)
        main = np.argsort(values)[::-1][:SAMPLE_DIRECTIONS]
        main = main[values[main] > 1e-10 * values.max()]
        turned = vectors[:, main] * np.sqrt(values[main]) if wide else centred @ vectors[:, main]
    return np.ascontiguousarray(turned / np.sqrt(values.sum() / len(rows)), dtype=np.float32)
