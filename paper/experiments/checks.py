"""What was looked into where our numbers are not the paper's: partitions that explain, or do not.

A check is one partition of a set, made in a way that the paper may have used; its silhouette, NMI
and ARI stand beside the paper's for one method.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.data import IntArray, Table, standardise
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import living_clusters, silhouettes
from paper import sets
from paper.methods.classical import embed
from paper.published import TABLES
from paper.records import Case, Run
from paper.settings import Settings

_SMOOTHING = 0.75
_RESTARTS = 20
_WHITE = -1.0


class Check(NamedTuple):
    """A partition to make, for the cell of the paper's tables that it is to explain."""

    set: str
    method: str
    what: str
    partition: Callable[[Table, dict[str, Any]], IntArray]
    parameters: dict[str, Any]
    # Whether images are smoothed before they are standardised.
    smoothed: bool = False


def _k_means(table: Table, parameters: dict[str, Any]) -> IntArray:
    chosen = {"n_clusters": table.n_clusters, "n_init": _RESTARTS, "random_state": 0, **parameters}
    return KMeans(**chosen).fit_predict(table.features)


def _agglomerative(table: Table, parameters: dict[str, Any]) -> IntArray:
    return AgglomerativeClustering(table.n_clusters, **parameters).fit_predict(table.features)


def _spectral(table: Table, parameters: dict[str, Any]) -> IntArray:
    maps = embed(table.features, table.n_clusters, parameters["affinity"], parameters["width"])
    return KMeans(table.n_clusters, n_init=_RESTARTS, random_state=0).fit_predict(maps)


def _spectral_of_scikit_learn(table: Table, parameters: dict[str, Any]) -> IntArray:
    model = SpectralClustering(table.n_clusters, n_init=_RESTARTS, random_state=0, **parameters)
    return model.fit_predict(table.features)


def _fewer_clusters(table: Table, parameters: dict[str, Any]) -> IntArray:
    """Of k-means with 2 to k clusters, give what is nearest to the paper's three numbers."""
    name, method = parameters["set"], parameters["method"]
    paper = [column[name][method] or 0.0 for column in TABLES.values()]

    def distance(labels: IntArray) -> float:
        return float(np.linalg.norm(np.subtract(list(_scores(table, labels).values()), paper)))

    counts = range(2, table.n_clusters + 1)
    return min((_k_means(table, {"n_clusters": k}) for k in counts), key=distance)


def _rbf(width: float) -> dict[str, Any]:
    return {"affinity": "rbf", "width": width}


_AVERAGE, _WARD = {"linkage": "average"}, {"linkage": "ward"}
_NEIGHBOURS = {"affinity": "nearest_neighbors", "width": 10}
_smoothed = partial(Check, "usps_test", smoothed=True)
CHECKS = {
    "usps-smoothed-kmeans": _smoothed("kmeans", "k-means on smoothed pixels", _k_means, {}),
    "usps-smoothed-agglomerative": _smoothed(
        "agglomerative",
        "average linkage, Manhattan, on smoothed pixels",
        _agglomerative,
        {**_AVERAGE, "metric": "manhattan"},
    ),
    "usps-smoothed-spectral": _smoothed(
        "spectral", "Gaussian affinity, γ = 0.01, on smoothed pixels", _spectral, _rbf(0.01)
    ),
    "mice-average": Check(
        "mice_protein", "agglomerative", "average linkage", _agglomerative, _AVERAGE
    ),
    "mice-ward": Check("mice_protein", "agglomerative", "Ward linkage", _agglomerative, _WARD),
    "ecoli-spectral": Check(
        "ecoli",
        "spectral",
        "Gaussian affinity, γ = 0.1, scikit-learn's eigensolver",
        _spectral_of_scikit_learn,
        {"affinity": "rbf", "gamma": 0.1},
    ),
    "yale-spectral": Check("yale", "spectral", "10 neighbours", _spectral, _NEIGHBOURS),
    "ctg-spectral": Check("ctg", "spectral", "Gaussian affinity, γ = 0.05", _spectral, _rbf(0.05)),
    "segment-spectral": Check(
        "segment", "spectral", "Gaussian affinity, γ = 0.1", _spectral, _rbf(0.1)
    ),
    **{
        f"yale-kmeans-{seed}": Check(
            "yale",
            "kmeans",
            f"lowest inertia of 1000 restarts, random_state={seed}",
            _k_means,
            {"n_init": 1000, "random_state": seed},
        )
        for seed in range(4)
    },
    **{
        f"{name}-fewer": Check(
            name,
            "clam",
            "k-means with 2 to k clusters: the nearest to the paper's three numbers",
            _fewer_clusters,
            {"set": name, "method": "clam"},
        )
        for name in ("mice_protein", "ctg", "segment")
    },
    "fashion-ward": Check(
        "fashion_mnist", "agglomerative", "Ward linkage, a sample", _agglomerative, _WARD
    ),
    "fashion-average": Check(
        "fashion_mnist", "agglomerative", "average linkage, a sample", _agglomerative, _AVERAGE
    ),
}


def runs(settings: Settings) -> Iterator[Run]:
    for name, check in CHECKS.items():
        if settings.has(check.set):
            yield Run("checks", check.set, name, "check")


def definition(run: Run, settings: Settings) -> dict[str, Any]:
    check = CHECKS[run.method]
    return {
        "what": check.what,
        "parameters": check.parameters,
        "smoothing": _SMOOTHING if check.smoothed else None,
        "rows": settings.sample_rows,
    }


def perform(case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
    check = CHECKS[case.key.method]
    load = _load_smoothed if check.smoothed else sets.load
    table = load(check.set, settings.data_dir, case.definition["rows"])
    labels = check.partition(table, check.parameters)
    return {
        "n_clusters": table.n_clusters,
        "living": living_clusters(labels),
        **{name: round(score, 5) for name, score in _scores(table, labels).items()},
    }


def _scores(table: Table, labels: IntArray) -> dict[str, float]:
    score = silhouettes(np.ascontiguousarray(table.features), labels[None])[0]
    return {
        "silhouette": float(score),
        "nmi": float(normalized_mutual_info_score(table.classes, labels)),
        "ari": float(adjusted_rand_score(table.classes, labels)),
    }


def _load_smoothed(name: str, folder: Path, rows: int) -> Table:
    """Give images as if they had been printed a little out of focus, standardised."""
    raw = sets.load_raw(name, folder, rows)
    images = raw.features.reshape(-1, *sets.IMAGES[name]).astype(np.float64)
    blurred = [gaussian_filter(image, _SMOOTHING, mode="constant", cval=_WHITE) for image in images]
    features = np.stack(blurred).reshape(len(images), -1)
    return raw._replace(features=standardise(features))
