"""One fit to convergence on large data: time and silhouette against scikit-learn and faiss."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from amclust import ClAM
from benchmarks.data import FloatArray, IntArray, load_fashion_mnist, make_mixture, standardise
from benchmarks.framework import (
    Entry,
    Line,
    Skipped,
    Target,
    Timed,
    UnavailableError,
    interleave,
    optional_module,
    seconds_of,
)

_SAMPLE_SIZE = 10_000
_WARM_UP_ROWS = 2_000
_FAISS_ITERATIONS = 25

Partition = tuple[IntArray, int]  # labels of all points, and how many iterations they took


class Scored(NamedTuple):
    """All rounds of one method on one data set."""

    seconds: list[float]
    silhouettes: list[float]
    n_clusters: list[int]
    iterations: list[int]
    converged: bool


def run(options: Namespace) -> Iterator[Entry]:
    """Compare on Fashion-MNIST and on made data of one million rows."""
    rows = 100_000 if options.quick else 1_000_000
    load_images = partial(load_fashion_mnist, options.fashion_mnist_dir)
    sets: tuple[tuple[str, int, Callable[[], FloatArray]], ...] = (
        ("Fashion-MNIST 60000x784, k=10", 10, load_images),
        (f"made {rows}x14, k=9", 9, lambda: standardise(make_mixture(rows, 14, 9))),
    )
    for name, k, load in sets:
        try:
            features = load()
        except UnavailableError as error:
            yield Skipped(name, str(error))
            continue
        yield from _compare(name, k, features, 1 if options.quick else 3)


def _compare(name: str, k: int, features: FloatArray, repeats: int) -> Iterator[Entry]:
    """Time all methods in turn, then score every partition on one and the same sample."""
    methods = {"ClAM": partial(_fit, ClAM), "KMeans(n_init=1)": partial(_fit, KMeans)}
    try:
        optional_module("faiss", "faiss-cpu")
        methods[f"faiss, {_FAISS_ITERATIONS} iterations"] = _faiss
    except UnavailableError as error:
        yield Skipped(f"{name}, faiss", str(error))
    for cluster in methods.values():
        cluster(features[:_WARM_UP_ROWS], k, 0)
    calls = {title: partial(cluster, features, k) for title, cluster in methods.items()}
    rounds = interleave(calls, range(repeats))
    sample = np.random.default_rng(0).choice(len(features), _SAMPLE_SIZE, replace=False)
    scored = {title: _scored(features[sample], sample, found) for title, found in rounds.items()}
    ours = scored.pop("ClAM")
    for title, peer in scored.items():
        yield from _lines(name, k, title, ours, peer)


def _scored(features: FloatArray, sample: IntArray, rounds: list[Timed[Partition]]) -> Scored:
    labels = [entry.result[0] for entry in rounds]
    return Scored(
        seconds_of(rounds),
        [_silhouette(features, partition[sample]) for partition in labels],
        [int(np.unique(partition).size) for partition in labels],
        [entry.result[1] for entry in rounds],
        all(entry.converged for entry in rounds),
    )


def _silhouette(features: FloatArray, labels: IntArray) -> float:
    """Silhouette, and -1 where everything fell into one cluster."""
    return float(silhouette_score(features, labels)) if np.unique(labels).size > 1 else -1.0


def _lines(name: str, k: int, title: str, ours: Scored, peer: Scored) -> Iterator[Line]:
    converged = "all converged" if ours.converged else "OURS DID NOT CONVERGE: does not count"
    yield Line.of_pairs(
        f"{name}, one fit with labels",
        "s",
        ours.seconds,
        peer.seconds,
        peer_name=title,
        target=Target("ratio", "<=", 1.0),
        valid=ours.converged,
        note=f"{len(ours.seconds)} interleaved seeds; {converged}; iterations ours "
        f"{ours.iterations}, peer {peer.iterations}; faiss: train and search over all points",
    )
    yield Line.of_means(
        f"{name}, silhouette",
        ours.silhouettes,
        peer.silhouettes,
        peer_name=title,
        target=Target("difference", ">=", 0.0),
        valid=min(ours.n_clusters) == k,
        note=f"mean over {len(ours.silhouettes)} seeds on one sample of {_SAMPLE_SIZE}; clusters "
        f"ours {ours.n_clusters}, peer {peer.n_clusters} (fewer than k do not count)",
    )


def _fit(kind: type, features: FloatArray, n_clusters: int, seed: int) -> Partition:
    model = kind(n_clusters, n_init=1, random_state=seed).fit(features)
    return model.labels_, int(model.n_iter_)


def _faiss(features: FloatArray, n_clusters: int, seed: int) -> Partition:
    """Train on all points (faiss would take 256 a centroid), then label all of them."""
    faiss = optional_module("faiss", "faiss-cpu")
    n_samples, n_features = features.shape
    sizes = {"niter": _FAISS_ITERATIONS, "max_points_per_centroid": n_samples}
    kmeans = faiss.Kmeans(n_features, n_clusters, **sizes, seed=seed)
    kmeans.train(features)
    _, labels = kmeans.index.search(features, 1)
    return labels.ravel(), _FAISS_ITERATIONS
