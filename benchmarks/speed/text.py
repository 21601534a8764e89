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
from sklearn.preprocessing import Normalizer, normalize

from amclust import ClAM
from benchmarks.data import IntArray, make_directions, make_documents
from benchmarks.framework.environment import optional_module
from benchmarks.framework.lines import Entry, Line, Target, interleave, seconds_of
from benchmarks.speed.k_means_peers import warm_up

RESTARTS = 10  # of every method
_COMPONENTS = 100
_LEAST_LEAD = -0.02  # in ARI, on any draw

Cluster = Callable[[Any, int, int], IntArray]  # from rows, the number of clusters and a seed


class Texts(NamedTuple):
    """How many documents, words, topics and draws."""

    n_documents: int
    n_words: int
    n_topics: int
    draws: int


TEXTS = (
    Texts(2_000, 5_000, 5, 10),
    Texts(5_000, 20_000, 20, 10),
    Texts(20_000, 100_000, 50, 2),  # a draw takes minutes
)


def _fit(make: Callable[..., Any], rows: Any, k: int, seed: int) -> IntArray:
    return np.asarray(make(k, n_init=RESTARTS, random_state=seed).fit_predict(rows))


def _reduced(rows: Any, k: int, seed: int) -> IntArray:
    """Latent semantic analysis first, as scikit-learn's own example on text does."""
    lsa = make_pipeline(TruncatedSVD(_COMPONENTS, random_state=seed), Normalizer(copy=False))
    return _fit(KMeans, lsa.fit_transform(rows), k, seed)


def _sparse_k_means(rows: Any, k: int, seed: int) -> IntArray:
    """Start it as often as the others; it has no such parameter itself."""
    make = optional_module("sparsekmeans", "sparsekmeans").LloydKmeans
    rows = sparse.csr_matrix(rows, dtype=np.float64)
    with redirect_stdout(StringIO()):  # it prints how many rows there are
        found = [
            np.asarray(make(n_clusters=k, random_state=RESTARTS * seed + start).fit(rows))
            for start in range(RESTARTS)
        ]
    return max(found, key=partial(_explained, rows))


def _explained(rows: sparse.csr_matrix, labels: IntArray) -> float:
    """Return the scatter that clusters explain: what is left of the squares is the inertia."""
    places = (labels, np.arange(len(labels)))
    sums = sparse.csr_matrix((np.ones(len(labels)), places)) @ rows
    squares = np.asarray(sums.multiply(sums).sum(axis=1)).ravel()
    return float((squares / np.maximum(np.bincount(labels), 1)).sum())


_OURS, _K_MEANS, _SPARSE = 'ClAM(metric="cosine")', "KMeans", "sparsekmeans"
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
    texts = (TEXTS[0]._replace(draws=2),) if options.quick else TEXTS
    for case, kind in product(texts, ("tfidf", "counts")):
        yield from _one_text(case, kind, methods)


def _one_text(case: Texts, kind: str, methods: dict[str, Cluster]) -> Iterator[Entry]:
    """Compare with k-means on all draws, with the others on the first.

    The peers get rows of length 1, which tf-idf has anyway: on counts they find next to nothing.
    """
    n_documents, n_words, k, draws = case
    drawn = [make_documents(n_documents, n_words, k, seed) for seed in range(draws)]
    rows = [getattr(documents, kind) for documents in drawn]
    unit_rows = [normalize(counts) for counts in rows]

    def run(name: str, seed: int) -> IntArray:
        return methods[name]((rows if name == _OURS else unit_rows)[seed], k, seed)

    both = {name: partial(run, name) for name in methods if name in (_OURS, _K_MEANS)}
    others = {name: partial(run, name) for name in methods if name not in both}
    rounds = interleave(both, range(draws)) | interleave(others, range(1))
    aris = {
        name: [
            float(adjusted_rand_score(documents.topics, one.result))
            for documents, one in zip(drawn, found, strict=False)
        ]
        for name, found in rounds.items()
    }
    what = f"{n_documents}x{n_words} {kind}, {k} topics"
    for peer, found in rounds.items():
        if peer == _OURS:
            continue
        shared = len(found)
        note = f"{shared} draws, {RESTARTS} restarts of both; peers on rows of length 1"
        limit = _LIMITS.get(peer)
        yield Line.of_pairs(
            what,
            "s",
            seconds_of(rounds[_OURS])[:shared],
            seconds_of(found),
            peer_name=peer,
            target=Target("ratio") if limit is None else Target("ratio", "<=", limit),
            note=note,
        )
        ours, theirs = aris[_OURS][:shared], aris[peer]
        is_bar = peer == _K_MEANS
        yield Line.of_means(
            f"{what}, ARI",
            ours,
            theirs,
            peer_name=peer,
            target=Target("difference", ">=", 0.0) if is_bar else Target("difference"),
            note=note,
        )
        if is_bar:
            worst = min(range(shared), key=lambda draw: ours[draw] - theirs[draw])
            yield Line(
                f"{what}, ARI, the draw with the least lead",
                ours[worst],
                theirs[worst],
                peer,
                value=ours[worst] - theirs[worst],
                target=Target("difference", ">=", _LEAST_LEAD),
                note=note,
            )


# --- columns --------------------------------------------------------------------------------------


def _columns(options: Namespace) -> Line:
    """Measure how the time of a fit grows with the columns while the entries stay as many."""
    n_documents, sizes = (1_000, (5_000, 20_000)) if options.quick else (5_000, (10_000, 100_000))
    repeats = 1 if options.quick else 5
    rows = {size: make_documents(n_documents, size, 10).tfidf for size in sizes}
    calls = {str(size): partial(METHODS[_OURS], rows[size], 10) for size in sizes}
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
        note=f"about 85 entries a row; {RESTARTS} restarts; median of {repeats} interleaved",
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
