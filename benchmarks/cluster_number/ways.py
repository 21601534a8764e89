"""The ways to tell the number of clusters of some rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances, silhouette_score

from amclust import ClAM, _native
from benchmarks.data import FloatArray

CANDIDATES = range(2, 21)


def by_silhouette(rows: FloatArray, seed: int) -> int:
    some = np.random.default_rng(seed).permutation(rows)[:1000].astype(np.float32)
    distances = pairwise_distances(some)
    numbers = [k for k in CANDIDATES if k < len(some)]
    found = _native.merged_partitions(some, numbers, _native.NClustersSettings(), seed)
    scores = {
        k: silhouette_score(distances, labels, metric="precomputed")
        for k, labels in zip(numbers, found, strict=True)
        if labels[0] >= 0
    }
    return max(scores, key=lambda k: scores[k])


def by_persistence(rows: FloatArray, seed: int) -> int:
    some = np.random.default_rng(seed).permutation(rows)[:300]
    typical = np.median(pairwise_distances(some, metric="sqeuclidean"))
    counts = [_n_attractors(some, beta) for beta in np.geomspace(0.5, 100, 40) / typical]
    lengths = dict.fromkeys(CANDIDATES, 0)
    run = 0
    for before, found in zip([0, *counts], counts, strict=False):
        run = run + 1 if found == before else 1
        if found in lengths:
            lengths[found] = max(lengths[found], run)
    return max(lengths, key=lambda k: lengths[k])


def _n_attractors(rows: FloatArray, beta: float) -> int:
    states = rows
    for _ in range(60):
        squares = pairwise_distances(states, rows, metric="sqeuclidean")
        weights = np.exp(-beta * (squares - squares.min(axis=1, keepdims=True)))
        before, states = states, weights @ rows / weights.sum(axis=1, keepdims=True)
        if np.abs(states - before).max() < 1e-4 / np.sqrt(beta):
            break
    near = pairwise_distances(states, metric="sqeuclidean") < 0.01 / beta
    sizes = np.bincount(connected_components(near)[1])
    return int(np.count_nonzero(sizes >= 0.02 * len(rows)))


def by_g_means(rows: FloatArray, seed: int) -> int:
    waiting, k = [rows], 0
    while waiting and k + len(waiting) < max(CANDIDATES):
        cluster = waiting.pop()
        halves = KMeans(2, n_init=3, random_state=seed).fit(cluster) if len(cluster) > 8 else None
        if halves is None or _normal(cluster @ np.diff(halves.cluster_centers_, axis=0)[0]):
            k += 1
        else:
            waiting += [cluster[halves.labels_ == half] for half in (0, 1)]
    return k + len(waiting)


def _normal(values: FloatArray) -> bool:
    """Anderson and Darling's test of a normal distribution with unknown mean and variance."""
    n = len(values)
    if values.std() == 0:
        return True
    z = np.sort((values - values.mean()) / values.std(ddof=1))
    odd = 2 * np.arange(1, n + 1) - 1
    statistic = -n - np.mean(odd * (norm.logcdf(z) + norm.logsf(z[::-1])))
    return bool(statistic * (1 + 4 / n - 25 / n**2) <= 1.8692)


def by_amclust(rows: FloatArray, seed: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit that follows the estimate is cut short
        model = ClAM("auto", scale=None, n_init=1, max_epochs=1, random_state=seed)
        return model.fit(rows).n_clusters_


WAYS: dict[str, Callable[[FloatArray, int], int]] = {
    "silhouette": by_silhouette,
    "persistence": by_persistence,
    "g-means": by_g_means,
    "amclust": by_amclust,
}
