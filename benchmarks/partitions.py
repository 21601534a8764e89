"""What is said of a partition, and the one rule that chooses among restarts: for all benchmarks."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from amclust import _native
from benchmarks.data import FloatArray, IntArray


def draw_seeds(seed: int, count: int) -> list[int]:
    return [int(one) for one in np.random.SeedSequence(seed).generate_state(count)]


def silhouettes(features: FloatArray, labelings: IntArray) -> FloatArray:
    """Score several partitions, a row each with labels from 0 on, by the exact silhouette.

    In one thread; NaN for a partition with a single cluster.
    """
    n_samples, n_features = features.shape
    no_shift, no_scale = np.zeros(n_features), np.ones(n_features, np.float32)
    rows = _native.dense_rows(features).in_units("euclidean", no_shift, no_scale, False)
    labelings = np.ascontiguousarray(labelings, dtype=np.int32)
    n_clusters = int(labelings.max()) + 1
    return _native.silhouette(rows, np.arange(n_samples), None, labelings, n_clusters, 1)


def choose(labelings: IntArray, scores: FloatArray) -> int:
    """Give the index of the best silhouette among the partitions with fewest empty clusters."""
    living = [living_clusters(labels) for labels in labelings]
    ranks = zip(living, np.nan_to_num(scores, nan=-1.0), strict=True)
    return max(enumerate(ranks), key=lambda entry: entry[1])[0]


def living_clusters(labels: IntArray) -> int:
    """Count the clusters that have rows."""
    return int(np.unique(labels).size)


def largest_share(labels: IntArray) -> float:
    return float(np.unique(labels, return_counts=True)[1].max() / labels.size)


def stability(labelings: Sequence[IntArray]) -> float:
    """Give the mean adjusted Rand index between partitions; NaN where there is only one."""
    pairs = [adjusted_rand_score(a, b) for a, b in combinations(labelings, 2)]
    return float(np.mean(pairs)) if pairs else float("nan")
