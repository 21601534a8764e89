"""Sparse rows of many columns: the same bits for any threads, the labels of dense rows."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from amclust import ClAM, _native
from amclust._recipe import Recipe
from amclust._rows import TableRows
from amclust._silhouettes import Judged, judged_rows
from benchmarks.data import make_documents


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_bits_do_not_depend_on_threads(metric):
    # Columns in several parts, and more numbers than a slice of Adam's has.
    rows = make_documents(1_200, 4_500, 20, seed=1).tfidf
    settings = {"metric": metric, "n_init": 1, "max_epochs": 4, "random_state": 0}
    with pytest.warns(ConvergenceWarning):  # so few epochs
        first, *others = (ClAM(20, **settings, n_jobs=jobs).fit(rows) for jobs in (1, 2, 3))
    for other in others:
        assert_array_equal(other.cluster_centers_, first.cluster_centers_)
        assert_array_equal(other.labels_, first.labels_)
        assert other.loss_ == first.loss_


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("beta", [4.0, 8.0, 12.0, 16.0, 20.0, 60.0, 200.0])
def test_labels_without_states_are_those_of_the_dynamics(metric, beta):
    rng = np.random.default_rng(0)
    n, k, d = 400, 12, 300
    memories = rng.normal(size=(k, d)).astype(np.float32)
    if metric == "cosine":
        memories /= np.linalg.norm(memories, axis=1, keepdims=True)
    # Rows between two memories, which only the dynamics can tell.
    pairs = rng.integers(k, size=(n, 2))
    share = rng.uniform(0.4, 0.6, (n, 1))
    X = share * memories[pairs[:, 0]] + (1 - share) * memories[pairs[:, 1]]
    X[rng.random(X.shape) < 0.5] = 0.0
    scaled = beta / np.median(((memories - memories[0]) ** 2).sum(axis=1)[1:])
    log_weights = (0.3 * rng.normal(size=k)).astype(np.float32)
    network = _native.Network(memories, log_weights, metric, scaled, 0.5, 10)

    def labels(X, threads):
        table = TableRows(sparse.csr_array(X) if threads else X).read()
        rows = table.in_units(metric, np.zeros(d), np.ones(d, np.float32), False)
        prepared = _native.PreparedNetwork(network)
        fill = np.zeros(d, np.float32)
        return _native.infer(prepared, rows, fill, _native.Want.LABELS, threads=threads or 1).labels

    dense = labels(X, 0)
    # With a small beta memories attract together: how sharp memberships are decides the label.
    assert len(np.unique(dense)) > 3 or beta < 20
    assert np.count_nonzero(labels(X, 1) != dense) <= 1  # of equals
    assert_array_equal(labels(X, 3), labels(X, 1))


def test_starts_are_judged_on_a_sample_that_keeps_heavy_rows():
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    X = np.concatenate([X, np.tile(X[7], (6_000, 1))])
    judged = judged_rows(TableRows(X), None)
    assert len(judged.indices) == 3_000
    some = judged.some(500)
    assert some.is_sample
    assert len(some.indices) == 500
    assert some.counts.max() == 6_001
    assert_array_equal(some.indices, judged.some(500).indices)
    assert isinstance(judged.some(5_000), Judged)
    assert judged.some(5_000) is judged


def test_a_start_whose_sample_is_one_cluster_is_judged_by_all_rows():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(6_000, 2)), 50 + rng.normal(size=(3, 2))])
    with pytest.warns(UserWarning, match="6,000 of 6,003 rows are in one of n_clusters=2"):
        model = ClAM(2, random_state=0, n_init=5).fit(X)
    assert np.bincount(model.labels_).tolist() in ([6_000, 3], [3, 6_000])
    assert np.isfinite(model.runs_["silhouette"]).all()


def test_on_the_sphere_half_as_many_restarts_are_trained():
    rows = make_documents(1_000, 500, 4).tfidf
    trained = ClAM(4, metric="cosine", n_init=10, random_state=0).fit(rows).runs_["n_iter"] > 0
    assert np.count_nonzero(trained) == 2
    assert Recipe().n_trained(10, 999, spherical=True) == 10
    assert Recipe(trained_share=1.0).n_trained(10, 1_000, spherical=True) == 5


@pytest.mark.parametrize(("noise", "settled"), [(0.05, True), (2.0, False)])
def test_clusters_without_rows_between_them_are_settled(noise, settled):
    # In many columns silhouettes are small even where no row is near a border.
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(20, 400))
    X = centers[rng.integers(20, size=4_000)] + 20 * noise * rng.normal(size=(4_000, 400))
    rows = TableRows(X.astype(np.float32)).read()
    units = rows.in_units("euclidean", np.zeros(400), np.ones(400, np.float32), False)
    seeding = _native.measure(
        units, None, None, centers.astype(np.float32), 0, np.zeros(400, np.float32)
    )
    assert seeding.separated == settled


def test_explicit_zeros_change_nothing():
    rows = make_documents(300, 200, 3).tfidf
    dotted = rows.tocoo()
    empty = np.argwhere(rows.toarray()[:, :50] == 0)[::7]
    places = np.concatenate([np.array(dotted.coords), empty.T], axis=1)
    values = np.concatenate([dotted.data, np.zeros(len(empty), rows.dtype)])
    dotted = sparse.coo_array((values, tuple(places)), shape=rows.shape).tocsr()
    assert dotted.nnz > rows.nnz
    plain, other = (ClAM(3, scale=None, n_init=2, random_state=0).fit(X) for X in (rows, dotted))
    assert_array_equal(plain.cluster_centers_, other.cluster_centers_)
    assert_array_equal(plain.labels_, other.predict(rows))


def test_initial_memories_may_be_sparse():
    rows = make_documents(300, 200, 3).tfidf
    starts = [rows[:3], rows[:3].toarray()]
    first, second = (ClAM(3, metric="cosine", init=start).fit(rows) for start in starts)
    assert_array_equal(first.labels_, second.labels_)
