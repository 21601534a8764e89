"""The programs that ClAM is timed beside as k-means, each as its users run it.

One fit from one start, with the labels of all rows.
"""

from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from benchmarks.data import FloatArray, IntArray
from benchmarks.framework.environment import UnavailableError, optional_module
from benchmarks.framework.lines import Skipped

FAISS_ITERATIONS = 25  # its default

_WARM_UP_ROWS = 2_000
_WARM_UP_CLUSTERS = 10


class Found(NamedTuple):
    labels: IntArray
    centers: FloatArray


Result = TypeVar("Result")
Cluster = Callable[[FloatArray, int, int], Found]  # from rows, the number of clusters and a seed


def fit(make: Callable[..., Any], features: FloatArray, n_clusters: int, seed: int) -> Found:
    """Fit an estimator of scikit-learn's kind."""
    model = make(n_clusters, n_init=1, random_state=seed).fit(features)
    return Found(model.labels_, model.cluster_centers_)


def _intel(features: FloatArray, n_clusters: int, seed: int) -> Found:
    make = optional_module("sklearnex.cluster", "scikit-learn-intelex").KMeans
    return fit(make, features, n_clusters, seed)


def _faiss(features: FloatArray, n_clusters: int, seed: int) -> Found:
    """Train on what faiss takes by itself, 256 rows a centroid."""
    faiss = optional_module("faiss", "faiss-cpu")
    return _search(faiss.Kmeans(features.shape[1], n_clusters, seed=seed), features)


def faiss_all_rows(features: FloatArray, n_clusters: int, seed: int) -> Found:
    faiss = optional_module("faiss", "faiss-cpu")
    n_samples, n_features = features.shape
    sizes = {"niter": FAISS_ITERATIONS, "max_points_per_centroid": n_samples}
    return _search(faiss.Kmeans(n_features, n_clusters, **sizes, seed=seed), features)


def _search(model: Any, features: FloatArray) -> Found:
    model.train(features)
    _, labels = model.index.search(features, 1)
    return Found(labels.ravel(), model.centroids)


def _super_k_means(features: FloatArray, n_clusters: int, seed: int) -> Found:
    make = optional_module("superkmeans", "superkmeans").SuperKMeans
    features = np.ascontiguousarray(features, dtype=np.float32)
    model = make(n_clusters, features.shape[1], seed=seed)
    centers = model.train(features)
    return Found(model.assign(features, centers), centers)


K_MEANS, MINI_BATCH = "KMeans(n_init=1)", "MiniBatchKMeans(n_init=1)"
INTEL, SUPER = "scikit-learn-intelex", "superkmeans"
FAISS, FAISS_ALL = "faiss as shipped", f"faiss, all rows, {FAISS_ITERATIONS} iterations"
PEERS: dict[str, Cluster] = {
    K_MEANS: partial(fit, KMeans),
    MINI_BATCH: partial(fit, MiniBatchKMeans),
    INTEL: _intel,
    SUPER: _super_k_means,
    FAISS: _faiss,
    FAISS_ALL: faiss_all_rows,
}


def warm_up(
    what: str, methods: Mapping[str, Callable[[Any, int, int], Result]], features: Any
) -> Generator[Skipped, None, dict[str, Callable[[Any, int, int], Result]]]:
    """Give the methods that are on this machine, after a first call of each; name the others.

    The first call pays for loading and for starting threads.
    """
    there = {}
    for name, cluster in methods.items():
        try:
            cluster(features[:_WARM_UP_ROWS], _WARM_UP_CLUSTERS, 0)
        except UnavailableError as error:
            yield Skipped(f"{what}, {name}", str(error))
            continue
        there[name] = cluster
    return there
