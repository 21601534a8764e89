"""The cases: partitions within limits of size beside a peer's, random tables, and a large one."""

import time
import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

from amclust import ClAM
from benchmarks.data import FloatArray, load_set, standardise
from benchmarks.framework.cases import Case
from benchmarks.framework.environment import optional_module
from benchmarks.framework.running import Unfinished

TABLES = ("zoo", "ecoli", "movement_libras", "ctg", "segment")
MADE = ("clouds", "crowd and stragglers")
NUMBERS = (3, 10, 30)
# Limits as parts of n / k: sizes that differ by one, and by a third to both sides.
LIMITS = {"equal": (1.0, 1.0), "loose": (0.67, 1.33)}
PEER = "k-means-constrained"
METHODS: dict[str, dict[str, Any]] = {
    PEER: {},
    "amclust": {"objective": "auto"},
    "amclust-reconstruction": {"objective": "reconstruction"},
}
RANDOM_TABLES = 300
LARGE = {"clouds": 1.0, "noise": 0.0}  # 1,000,000 x 10, how far apart their centres are


class Key(NamedTuple):
    """What is compared: a table, a number of clusters, limits, a method."""

    group: str
    set: str
    n_clusters: int
    limits: str
    method: str


def cases(options: Namespace) -> list[Case[Key]]:
    found = [
        Case(Key("peer", name, k, limits, method), {"restarts": 10, **METHODS[method]})
        for name in (*TABLES, *MADE)
        for k in NUMBERS
        for limits in LIMITS
        for method in options.methods or METHODS
    ]
    found.append(Case(Key("random", "tables", 0, "any", "amclust"), {"tables": RANDOM_TABLES}))
    found += [
        Case(Key("large", name, 20, limits, "amclust"), {"rows": 1_000_000})
        for name in LARGE
        for limits in ("free", *LIMITS)
    ]
    return found


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    if case.key.group == "random":
        return {"violated": count_violated(case.definition["tables"])}
    if case.key.group == "large":
        return measure_large(case, unfinished)
    X = rows_of(case.key.set, options.data_dir)
    k, (least, most) = case.key.n_clusters, bounds(len(X), case.key.n_clusters, case.key.limits)
    start = time.process_time()
    if case.key.method == PEER:
        peer = optional_module("k_means_constrained", PEER).KMeansConstrained
        n_init = case.definition["restarts"]
        model = peer(k, size_min=least, size_max=most, n_init=n_init, random_state=0, n_jobs=1)
    else:
        model = ClAM(
            k,
            size_min=least,
            size_max=most,
            objective=case.definition["objective"],
            n_init=case.definition["restarts"],
            scale=None,
            random_state=0,
            n_jobs=1,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = np.asarray(model.fit(X).labels_)
    unfinished.seconds = time.process_time() - start
    agreed = float(np.mean(model.predict(X) == labels)) if case.key.method != PEER else None
    return {
        "inertia": inertia(X, labels),
        "violated": violated(labels, k, least, most),
        "predicted": agreed,
        "rows": len(X),
    }


def rows_of(name: str, folder: Path) -> FloatArray:
    """Give standardised rows."""
    if name in TABLES:
        return standardise(load_set(name, folder).features)
    if name == MADE[0]:
        return standardise(make_blobs(2000, n_features=8, centers=12, random_state=5)[0])
    rng = np.random.default_rng(5)
    crowd, stragglers = rng.normal(size=(1200, 4)), 6 * rng.standard_t(3, size=(300, 4))
    return standardise(np.concatenate([crowd, stragglers]))


def bounds(n: int, k: int, limits: str) -> tuple[int, int]:
    least, most = LIMITS[limits]
    return int(least * n / k), int(np.ceil(most * n / k))


def violated(labels: NDArray[Any], k: int, least: int, most: int) -> bool:
    sizes = np.bincount(labels, minlength=k)
    return bool(sizes.min() < least or sizes.max() > most)


def inertia(X: FloatArray, labels: NDArray[Any]) -> float:
    """Sum the squared distances of rows to the mean of their cluster."""
    parts = (X[labels == cluster] for cluster in np.unique(labels))
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def count_violated(tables: int) -> int:
    """Count the random tables on which a limit was violated."""
    found = 0
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(5, 400)), int(rng.integers(2, 9))
        k = int(rng.integers(1, min(n, 30) + 1))
        X = rng.normal(size=(n, d)) * rng.lognormal(size=(n, 1))
        if seed % 3 == 0:
            X[rng.random(X.shape) < 0.2] = np.nan
            X[:, 0] = rng.normal(size=n)
        least, most = int(rng.integers(0, n // k + 1)), int(rng.integers(-(-n // k), n + 1))
        metric = "cosine" if seed % 5 == 4 else "euclidean"
        model = ClAM(
            k, size_min=least, size_max=most, metric=metric, n_init=2, max_epochs=5, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found += violated(model.fit(X).labels_, k, least, most)
    return found


def measure_large(case: Case[Key], unfinished: Unfinished) -> dict[str, Any]:
    """Fit a large table, freely or within limits: wall time and time of all processors."""
    n, k = case.definition["rows"], case.key.n_clusters
    centers = make_blobs(k, n_features=10, centers=k, random_state=0)[0] * LARGE[case.key.set]
    rng = np.random.default_rng(0)
    X = (centers[rng.integers(k, size=n)] + rng.normal(size=(n, 10))).astype(np.float32)
    limits = {}
    if case.key.limits != "free":
        limits = dict(zip(("size_min", "size_max"), bounds(n, k, case.key.limits), strict=True))
    model = ClAM(k, random_state=0, **limits)
    start, of_processors = time.perf_counter(), time.process_time()
    model.fit(X)
    unfinished.seconds = time.perf_counter() - start
    of_processors = time.process_time() - of_processors
    least, most = limits.values() if limits else (0, n)
    return {
        "processor_seconds": of_processors,
        "violated": violated(model.labels_, k, least, most),
        "predicted": float(np.mean(model.predict(X) == model.labels_)),
    }
