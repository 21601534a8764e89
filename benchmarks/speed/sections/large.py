"""One fit to convergence on large data: time and silhouette against scikit-learn and faiss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from amclust import ClAM
from benchmarks.data import (
    FloatArray,
    IntArray,
    load_fashion_mnist,
    make_mixture,
    standardise,
)
from benchmarks.framework import (
    Entry,
    Line,
    Skipped,
    Target,
    Timed,
    UnavailableError,
    interleave,
    median_ratio,
    optional_module,
    seconds_of,
)
from benchmarks.speed.settings import Settings

_SAMPLE_SIZE = 10_000
_WARM_UP_ROWS = 2_000
_FAISS_ITERATIONS = 25


class Partition(NamedTuple):
    """Labels of all points and how many iterations they took."""

    labels: IntArray
    n_iter: int


class Case(NamedTuple):
    """A data set of this section; ``load`` may find that it is not installed."""

    name: str
    n_clusters: int
    load: Callable[[], FloatArray]


class Method(NamedTuple):
    """A method and how it is named in the table."""

    title: str
    cluster: Callable[[FloatArray, int, int], Partition]


class Scored(NamedTuple):
    """All rounds of one method on one data set."""

    seconds: list[float]
    silhouettes: list[float]
    living: list[int]
    iterations: list[int]
    converged: bool


def run(settings: Settings) -> Iterator[Entry]:
    """Compare on Fashion-MNIST and on made data of one million rows."""
    rows = settings.pick(full=1_000_000, quick=100_000)
    cases = (
        Case(
            "Fashion-MNIST 60000x784, k=10",
            10,
            lambda: load_fashion_mnist(settings.fashion_mnist_dir),
        ),
        Case(f"made {rows}x14, k=9", 9, lambda: standardise(make_mixture(rows, 14, 9))),
    )
    for case in cases:
        try:
            features = case.load()
        except UnavailableError as error:
            yield Skipped(case.name, str(error))
            continue
        yield from _compare(case, features, settings.pick(full=3, quick=1))


def _compare(case: Case, features: FloatArray, repeats: int) -> Iterator[Entry]:
    methods = {"ours": Method("ClAM", _clam), "kmeans": Method("KMeans(n_init=1)", _kmeans)}
    try:
        optional_module("faiss", "faiss-cpu")
        methods["faiss"] = Method(f"faiss, {_FAISS_ITERATIONS} iterations", _faiss)
    except UnavailableError as error:
        yield Skipped(f"{case.name}, faiss", str(error))
    for method in methods.values():
        method.cluster(features[:_WARM_UP_ROWS], case.n_clusters, 0)
    scored = _score(case, features, methods, repeats)
    for name, method in methods.items():
        if name != "ours":
            yield _time_line(case, scored["ours"], scored[name], method.title)
            yield _silhouette_line(case, scored["ours"], scored[name], method.title)


def _score(
    case: Case, features: FloatArray, methods: Mapping[str, Method], repeats: int
) -> dict[str, Scored]:
    """Time all methods in turn, then score every partition on one and the same sample."""
    k = case.n_clusters
    rounds = interleave(
        {name: partial(method.cluster, features, k) for name, method in methods.items()},
        range(repeats),
    )
    sample = np.random.default_rng(0).choice(len(features), _SAMPLE_SIZE, replace=False)
    return {name: _scored(features, sample, entries) for name, entries in rounds.items()}


def _scored(features: FloatArray, sample: IntArray, rounds: list[Timed[Partition]]) -> Scored:
    labels = [entry.result.labels for entry in rounds]
    return Scored(
        seconds_of(rounds),
        [_silhouette(features[sample], partition[sample]) for partition in labels],
        [int(np.unique(partition).size) for partition in labels],
        [entry.result.n_iter for entry in rounds],
        all(entry.converged for entry in rounds),
    )


def _silhouette(features: FloatArray, labels: IntArray) -> float:
    """Silhouette, and -1 where everything fell into one cluster."""
    if np.unique(labels).size == 1:
        return -1.0
    return float(silhouette_score(features, labels))


def _time_line(case: Case, ours: Scored, peer: Scored, peer_title: str) -> Line:
    ratio = median_ratio(ours.seconds, peer.seconds)
    converged = "all converged" if ours.converged else "OURS DID NOT CONVERGE: does not count"
    return Line(
        what=f"{case.name}, one fit with labels",
        unit="s",
        ours=median(ours.seconds),
        peer=median(peer.seconds),
        peer_name=peer_title,
        value=ratio,
        ratio=ratio,
        target=Target("ratio", "<=", 1.0),
        valid=ours.converged,
        note=f"{len(ours.seconds)} interleaved seeds; {converged}; iterations ours "
        f"{ours.iterations}, peer {peer.iterations}; faiss: train and search over all points",
        samples={"ours": ours.seconds, "peer": peer.seconds},
    )


def _silhouette_line(case: Case, ours: Scored, peer: Scored, peer_title: str) -> Line:
    mine, theirs = fmean(ours.silhouettes), fmean(peer.silhouettes)
    return Line(
        what=f"{case.name}, silhouette",
        ours=mine,
        peer=theirs,
        peer_name=peer_title,
        value=mine - theirs,
        target=Target("difference", ">=", 0.0),
        valid=min(ours.living) == case.n_clusters,
        note=f"mean over {len(ours.silhouettes)} seeds on one sample of {_SAMPLE_SIZE}; living "
        f"clusters ours {ours.living}, peer {peer.living} (fewer than k do not count)",
        samples={"ours": ours.silhouettes, "peer": peer.silhouettes},
    )


def _clam(features: FloatArray, n_clusters: int, seed: int) -> Partition:
    model = ClAM(n_clusters, n_init=1, random_state=seed).fit(features)
    return Partition(model.labels_, int(model.n_iter_))


def _kmeans(features: FloatArray, n_clusters: int, seed: int) -> Partition:
    model = KMeans(n_clusters, n_init=1, random_state=seed).fit(features)
    return Partition(model.labels_, int(model.n_iter_))


def _faiss(features: FloatArray, n_clusters: int, seed: int) -> Partition:
    """Train on all points (faiss would take 256 a centroid), then label all of them."""
    faiss = optional_module("faiss", "faiss-cpu")
    n_samples, n_features = features.shape
    kmeans = faiss.Kmeans(
        n_features,
        n_clusters,
        niter=_FAISS_ITERATIONS,
        max_points_per_centroid=n_samples,
        seed=seed,
    )
    kmeans.train(features)
    _, labels = kmeans.index.search(features, 1)
    return Partition(labels.ravel(), _FAISS_ITERATIONS)
