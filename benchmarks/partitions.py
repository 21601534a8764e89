"""What is said of a partition, and the one rule that chooses among restarts: for all benchmarks."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from sklearn.metrics import adjusted_rand_score, silhouette_score

from amclust import _native
from benchmarks.data import FloatArray, IntArray

_ROWS_A_CHUNK = 65_536


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


def silhouette(features: FloatArray, labels: IntArray) -> float:
    """Score a partition by scikit-learn's silhouette; -1 where everything is in one cluster."""
    return float(silhouette_score(features, labels)) if living_clusters(labels) > 1 else -1.0


def inertia(features: FloatArray, labels: IntArray, centers: FloatArray) -> float:
    """Sum the squared distances of the rows to the centres they are labelled with, in float64."""
    starts = range(0, len(features), _ROWS_A_CHUNK)
    parts = (slice(start, start + _ROWS_A_CHUNK) for start in starts)
    gaps = (features[part] - np.asarray(centers, dtype=float)[labels[part]] for part in parts)
    return float(sum(np.einsum("ij,ij", gap, gap) for gap in gaps))


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
