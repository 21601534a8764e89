"""k-POD, k-means for data with missing entries: the peer of training with missing values."""

from typing import Literal, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from benchmarks.data import BoolArray, FloatArray, IntArray

Stop = Literal["assignments", "loss"]

_SETTLED = 1e-6


class KPod(NamedTuple):
    """Labels, centroids, completed data, loss over the observed entries, and number of rounds."""

    labels: IntArray
    centers: FloatArray
    completed: FloatArray
    loss: float
    n_iter: int


def k_pod(
    features: FloatArray,
    n_clusters: int,
    *,
    n_init: int = 10,
    max_iter: int = 100,
    stop: Stop = "assignments",
    random_state: int = 0,
) -> KPod:
    """Cluster rows with missing entries by k-POD (Chi, Chi, Baraniuk, Am. Stat. 70(1), 2016).

    Missing entries start at the feature's observed mean. Then k-means on the filled data, from the
    centroids it has (at first k-means++), and refilling the missing values from the assigned
    centroids take turns, until no assignment changes, as in the authors' program, which leaves some
    of the initial mean in the missing values; or with ``stop="loss"`` until the loss has settled.
    Of ``n_init`` restarts the one with the lowest sum of squares over the observed entries is kept.

    >>> X = np.array([[0.0, 0.0], [0.2, np.nan], [5.0, 5.0], [np.nan, 5.2]])
    >>> result = k_pod(X, 2)
    >>> bool(result.labels[0] == result.labels[1] != result.labels[2] == result.labels[3])
    True
    >>> k_pod(X, 2, stop="loss").completed.round(1).tolist()
    [[0.0, 0.0], [0.2, 0.0], [5.0, 5.0], [5.0, 5.2]]
    """
    missing = np.isnan(features)
    mean_filled = np.where(missing, np.nanmean(features, axis=0), features)
    seeds = np.random.SeedSequence(random_state).generate_state(n_init)
    first_rounds = (
        _round(mean_filled, missing, KMeans(n_clusters, n_init=1, random_state=int(seed)))
        for seed in seeds
    )
    restarts = (_iterate(first, missing, max_iter, stop) for first in first_rounds)
    return min(restarts, key=lambda restart: restart.loss)


def _iterate(current: KPod, missing: BoolArray, max_iter: int, stop: Stop) -> KPod:
    """Fill and cluster in turn until the stopping rule holds."""
    settled = False
    while not settled and current.n_iter < max_iter:
        previous = current
        k_means = KMeans(len(previous.centers), init=previous.centers, n_init=1)
        current = _round(previous.completed, missing, k_means)
        current = current._replace(n_iter=previous.n_iter + 1)
        if stop == "assignments":
            settled = np.array_equal(current.labels, previous.labels)
        else:
            settled = previous.loss - current.loss <= _SETTLED * previous.loss
    return current


def _round(filled: FloatArray, missing: BoolArray, k_means: KMeans) -> KPod:
    """Cluster filled data, then refill every missing value from the assigned centroid."""
    k_means.fit(filled)
    assigned = k_means.cluster_centers_[k_means.labels_]
    loss = float(np.square((filled - assigned)[~missing]).sum())
    completed = np.where(missing, assigned, filled)
    return KPod(k_means.labels_, k_means.cluster_centers_, completed, loss, n_iter=1)
