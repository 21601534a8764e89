"""Documents as tf-idf: ClAM's spherical variant beside the k-means that people run on text."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from amclust import ClAM
from benchmarks.data import IntArray, make_documents
from benchmarks.framework.environment import optional_module
from benchmarks.framework.lines import Entry, Line, Target, interleave, seconds_of
from benchmarks.speed.k_means_peers import warm_up

RESTARTS = 10  # for every method
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
    """Fit it as often as the others start, and keep the partition of the least inertia."""
    make = optional_module("sparsekmeans", "sparsekmeans").LloydKmeans
    rows = sparse.csr_matrix(rows, dtype=np.float64)
    best, explained = np.zeros(rows.shape[0], np.int64), -1.0
    for restart in range(RESTARTS):
        with redirect_stdout(StringIO()):  # it prints how many rows there are
            labels = make(n_clusters=k, random_state=RESTARTS * seed + restart).fit(rows)
        member = sparse.csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))))
        sizes = np.maximum(member.sum(axis=1), 1.0)
        value = float(((member @ rows).power(2).sum(axis=1).ravel() / sizes).sum())
        if value > explained:
            best, explained = labels, value
    return best


_OURS = 'ClAM(metric="cosine")'
_K_MEANS, _SPARSE = "KMeans", "sparsekmeans"
METHODS: dict[str, Cluster] = {
    _OURS: partial(_fit, partial(ClAM, metric="cosine")),
    _K_MEANS: partial(_fit, KMeans),
    "MiniBatchKMeans": partial(_fit, MiniBatchKMeans),
    f"TruncatedSVD({_COMPONENTS}) + KMeans": _reduced,
    _SPARSE: _sparse_k_means,
}
_LIMITS = {_K_MEANS: 0.5, _SPARSE: 1.0}


def text(options: Namespace) -> Iterator[Entry]:
    """Compare partitions and times on documents whose topics are known, by tf-idf and by counts."""
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
        note = f"{draws} draws, {RESTARTS} restarts for every method"
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
