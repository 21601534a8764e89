"""Documents, as words and as embeddings: ClAM's spherical variant beside the peers on text."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import product
from math import log
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from amclust import ClAM
from benchmarks.data import IntArray, make_directions, make_documents
from benchmarks.framework.environment import optional_module
from benchmarks.framework.lines import Entry, Line, Target, interleave, seconds_of
from benchmarks.speed.k_means_peers import warm_up

RESTARTS = 10  # for every method but one
_COMPONENTS = 100

Cluster = Callable[[Any, int, int], IntArray]  # from rows, the number of clusters and a seed


class Texts(NamedTuple):
    """How many documents, words, topics and draws."""

    n_documents: int
    n_words: int
    n_topics: int
    draws: int


TEXTS = (
    Texts(2_000, 5_000, 5, 3),
    Texts(5_000, 20_000, 20, 3),
    Texts(20_000, 100_000, 50, 1),
)


def _fit(make: Callable[..., Any], rows: Any, k: int, seed: int) -> IntArray:
    return np.asarray(make(k, n_init=RESTARTS, random_state=seed).fit_predict(rows))


def _reduced(rows: Any, k: int, seed: int) -> IntArray:
    """Latent semantic analysis first, as scikit-learn's own example on text does."""
    lsa = make_pipeline(TruncatedSVD(_COMPONENTS, random_state=seed), Normalizer(copy=False))
    return _fit(KMeans, lsa.fit_transform(rows), k, seed)


def _sparse_k_means(rows: Any, k: int, seed: int) -> IntArray:
    """Fit it once: on two cores a start takes as long as all restarts of the others."""
    make = optional_module("sparsekmeans", "sparsekmeans").LloydKmeans
    rows = sparse.csr_matrix(rows, dtype=np.float64)
    with redirect_stdout(StringIO()):  # it prints how many rows there are
        return np.asarray(make(n_clusters=k, random_state=seed).fit(rows))


_OURS = 'ClAM(metric="cosine")'
_K_MEANS, _SPARSE = "KMeans", "sparsekmeans, one start"
METHODS: dict[str, Cluster] = {
    _OURS: partial(_fit, partial(ClAM, metric="cosine")),
    _K_MEANS: partial(_fit, KMeans),
    "MiniBatchKMeans": partial(_fit, MiniBatchKMeans),
    f"TruncatedSVD({_COMPONENTS}) + KMeans": _reduced,
    _SPARSE: _sparse_k_means,
}
_LIMITS = {_K_MEANS: 0.5, _SPARSE: 1.0}


def text(options: Namespace) -> Iterator[Entry]:
    """Compare on documents whose topics are known, by tf-idf, by counts and as embeddings."""
    yield from _words(options)
    yield _columns(options)
    yield from _embeddings(options)


def _words(options: Namespace) -> Iterator[Entry]:
    methods = yield from warm_up("text", METHODS, make_documents(2_000, 500, 10).tfidf)
    texts = TEXTS[:1] if options.quick else TEXTS
    for (n_documents, n_words, n_topics, draws), kind in product(texts, ("tfidf", "counts")):
        drawn = [make_documents(n_documents, n_words, n_topics, seed) for seed in range(draws)]
        rows = [getattr(documents, kind) for documents in drawn]

        def run(cluster: Cluster, seed: int, rows: Any = rows, k: int = n_topics) -> IntArray:
            return cluster(rows[seed], k, seed)

        calls = {name: partial(run, cluster) for name, cluster in methods.items()}
        rounds = interleave(calls, range(draws))
        aris = {
            name: [
                float(adjusted_rand_score(documents.topics, one.result))
                for documents, one in zip(drawn, found, strict=True)
            ]
            for name, found in rounds.items()
        }
        what = f"{n_documents}x{n_words} {kind}, {n_topics} topics"
        note = f"{draws} draws, {RESTARTS} restarts where nothing else is said"
        for peer in methods:
            if peer == _OURS:
                continue
            limit = _LIMITS.get(peer)
            yield Line.of_pairs(
                what,
                "s",
                seconds_of(rounds[_OURS]),
                seconds_of(rounds[peer]),
                peer_name=peer,
                target=Target("ratio") if limit is None else Target("ratio", "<=", limit),
                note=note,
            )
            yield Line.of_means(
                f"{what}, ARI",
                aris[_OURS],
                aris[peer],
                peer_name=peer,
                target=Target("difference", ">=", 0.0)
                if peer == _K_MEANS
                else Target("difference"),
                note=note,
            )


# --- columns --------------------------------------------------------------------------------------

_COLUMN_EPOCHS = 20


def _columns(options: Namespace) -> Line:
    """Measure how the time of a fit grows with the columns while the entries stay as many."""
    n_documents, sizes = (1_000, (4_000, 16_000)) if options.quick else (5_000, (10_000, 100_000))
    repeats = 1 if options.quick else 5
    rows = {size: make_documents(n_documents, size, 10).tfidf for size in sizes}

    def fit(size: int, seed: int) -> None:
        # As many epochs for all: where training stops is another matter.
        given: dict[str, Any] = {"early_stopping": False, "max_epochs": _COLUMN_EPOCHS}
        ClAM(10, metric="cosine", n_init=2, random_state=seed, **given).fit(rows[size])

    calls = {str(size): partial(fit, size) for size in sizes}
    interleave(calls, range(1))
    rounds = interleave(calls, range(repeats))
    few, many = (seconds_of(rounds[str(size)]) for size in sizes)
    growth = sizes[1] / sizes[0]
    exponent = log(median(many) / median(few)) / log(growth)
    return Line(
        f"{n_documents} documents, {sizes[1]} words beside {sizes[0]}",
        median(many),
        median(few),
        f"{sizes[0]} words",
        value=exponent,
        target=Target("exponent", "<=", 0.2),
        unit="s",
        note=f"about 85 entries a row; {_COLUMN_EPOCHS} epochs; median of {repeats} interleaved",
        samples={"ours": many, "peer": few},
    )


# --- embeddings -----------------------------------------------------------------------------------

# How long the noise is beside a centre of length 1, before rows are scaled to length 1.
_NOISES = (1.5, 3.0, 5.0)


def _faiss_spherical(rows: Any, k: int, seed: int) -> IntArray:
    faiss = optional_module("faiss", "faiss-cpu")
    model = faiss.Kmeans(rows.shape[1], k, spherical=True, seed=seed + 1)
    model.train(rows)
    return np.asarray(model.index.search(rows, 1)[1].ravel())


def _one_fit(rows: Any, k: int, seed: int) -> IntArray:
    return np.asarray(ClAM(k, metric="cosine", n_init=1, random_state=seed).fit_predict(rows))


def _embeddings(options: Namespace) -> Iterator[Entry]:
    """Compare on unit vectors about directions drawn at random, one start for both."""
    n_samples, n_features, k = (2_000, 64, 10) if options.quick else (50_000, 768, 100)
    seeds = range(1 if options.quick else 3)
    peer = "faiss, spherical"
    methods: dict[str, Cluster] = {_OURS: _one_fit, peer: _faiss_spherical}
    for noise in _NOISES[:1] if options.quick else _NOISES:
        table = make_directions(n_samples, n_features, k, noise)
        there = yield from warm_up("embeddings", methods, table.features)
        if peer not in there:
            return
        calls = {name: partial(cluster, table.features, k) for name, cluster in there.items()}
        rounds = interleave(calls, seeds)
        what = f"{n_samples}x{n_features} unit vectors, noise {noise}, k={k}"
        note = f"{len(seeds)} interleaved seeds, one start; faiss as shipped"
        ours, theirs = rounds[_OURS], rounds[peer]
        yield Line.of_pairs(
            what,
            "s",
            seconds_of(ours),
            seconds_of(theirs),
            peer_name=peer,
            target=Target("ratio", "<=", 1.0),
            note=note,
        )
        scores = [
            [float(adjusted_rand_score(table.classes, one.result)) for one in found]
            for found in (ours, theirs)
        ]
        yield Line.of_means(
            f"{what}, ARI",
            *scores,
            peer_name=peer,
            target=Target("difference", ">", 0.0),
            note=note,
        )
