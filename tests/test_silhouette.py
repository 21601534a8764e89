"""The native silhouette against scikit-learn's."""

import numpy as np
import pytest
from native import rows_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import silhouette_samples, silhouette_score
from sklearn.metrics.pairwise import nan_euclidean_distances

from amclust import _native


def native_silhouette(X, labels, k, weights=None, rows=None, threads=1, metric="euclidean"):
    labels = np.atleast_2d(labels).astype(np.int32)
    return _native.silhouette(
        rows_of(X, metric),
        np.arange(len(X)) if rows is None else rows,
        weights,
        labels,
        k,
        threads,
    )


def make_rows(n, d, dtype=np.float64):
    return np.random.default_rng([n, d]).normal(size=(n, d)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d", "k"), [(5, 1, 2), (16, 3, 3), (65, 2, 5), (333, 17, 20)])
def test_silhouette_equals_scikit_learn(n, d, k, dtype, instruction_set):
    X = make_rows(n, d, dtype)
    labels = np.random.default_rng(1).permutation(np.arange(n) % k)
    assert_allclose(
        native_silhouette(X, labels, k), [silhouette_score(X, labels)], rtol=1e-5, atol=1e-6
    )


def test_several_labelings_are_scored_at_once():
    X = make_rows(200, 4)
    rng = np.random.default_rng(2)
    labelings = np.stack([rng.integers(k, size=200) for k in (2, 3, 6)] + [X[:, 0] > 0])
    expected = [silhouette_score(X, labels) for labels in labelings]
    assert_allclose(native_silhouette(X, labelings, 6), expected, rtol=1e-5, atol=1e-6)


def test_a_singleton_scores_zero():
    X = make_rows(30, 3)
    labels = np.zeros(30, int)
    labels[4], labels[10:20] = 1, 2
    assert_allclose(native_silhouette(X, labels, 3), [silhouette_score(X, labels)], rtol=1e-5)


def test_clusters_without_rows_are_passed_over():
    X = make_rows(40, 3)
    labels = np.where(X[:, 0] > 0, 5, 2)
    assert_allclose(native_silhouette(X, labels, 9), [silhouette_score(X, labels)], rtol=1e-5)


def test_a_single_cluster_has_no_silhouette():
    X = make_rows(20, 3)
    one, two = native_silhouette(X, [np.full(20, 3), np.arange(20) % 2], 4)
    assert np.isnan(one)
    assert np.isfinite(two)


def test_coinciding_rows_score_zero():
    X = np.ones((6, 2))
    assert_array_equal(native_silhouette(X, [0, 0, 0, 1, 1, 1], 2), [0.0])


def test_a_weight_is_a_number_of_copies():
    X = make_rows(60, 3)
    labels = np.random.default_rng(3).integers(4, size=60)
    labels[0] = 4  # a singleton, but for its copies
    copies = np.random.default_rng(4).integers(0, 4, size=60)
    copies[0] = 2
    expected = silhouette_score(np.repeat(X, copies, axis=0), np.repeat(labels, copies))
    found = native_silhouette(X, labels, 5, copies.astype(np.float32))
    assert_allclose(found, [expected], rtol=1e-5)


def test_listed_rows_only():
    X = make_rows(80, 3)
    rows = np.random.default_rng(5).choice(80, 33, replace=False)
    labels = np.arange(33) % 3
    expected = silhouette_score(X[rows], labels)
    assert_allclose(native_silhouette(X, labels, 3, rows=rows), [expected], rtol=1e-5, atol=1e-6)


def test_cosine_takes_distances_on_the_sphere():
    X = make_rows(50, 4)
    labels = np.arange(50) % 3
    expected = silhouette_score(X / np.linalg.norm(X, axis=1, keepdims=True), labels)
    found = native_silhouette(X, labels, 3, metric="cosine")
    assert_allclose(found, [expected], rtol=1e-5, atol=1e-6)


def test_missing_values_are_left_out_of_distances(instruction_set):
    X = make_rows(150, 7)
    X[np.random.default_rng(6).random(X.shape) < 0.3] = np.nan
    X[:, 2] = 1.0  # every two rows have a feature in common
    labels = np.arange(150) % 4
    expected = silhouette_score(nan_euclidean_distances(X), labels, metric="precomputed")
    assert_allclose(native_silhouette(X, labels, 4), [expected], rtol=1e-4, atol=1e-6)


def test_rows_without_a_common_feature_do_not_meet():
    X = make_rows(12, 2)
    labels = (X[:, 0] > 0).astype(int)
    stranger = np.array([[np.nan, 5.0]])
    X[:, 1] = np.nan
    with_stranger = np.vstack([X, stranger])
    # The others are scored as if it were not there; it meets nobody and scores 0. (Distances over
    # one of two features are scaled up, which cancels.)
    expected = silhouette_samples(X[:, :1], labels).sum() / 13
    found = native_silhouette(with_stranger, np.append(labels, 0), 2)
    assert_allclose(found, [expected], rtol=1e-5)


def test_silhouette_does_not_depend_on_the_threads():
    X = make_rows(400, 5)
    X[::3, 1] = np.nan
    labels = np.arange(400) % 7
    one = native_silhouette(X, labels, 7)
    for threads in (2, 4):
        assert_array_equal(native_silhouette(X, labels, 7, threads=threads), one)


def test_labels_out_of_range_are_refused():
    with pytest.raises(IndexError, match="label"):
        native_silhouette(make_rows(4, 2), [0, 1, 2, 0], 2)
