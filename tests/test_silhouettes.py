"""Silhouettes of single rows."""

import numpy as np
import pytest
from native import rows_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import normalize, scale

from amclust import ClAM, _native

X = load_iris().data


def with_missing(X, part=0.2):
    X = X.copy()
    missing = np.random.default_rng(0).random(X.shape) < part
    X[missing & ~(missing.sum(axis=1) == X.shape[1])[:, None]] = np.nan
    return X


def fit(X, **params):
    return ClAM(3, n_init=2, random_state=0, **params).fit(X)


@pytest.mark.parametrize(
    ("metric", "prepared", "atol"), [("euclidean", scale, 1e-5), ("cosine", normalize, 1e-4)]
)
def test_they_are_those_of_scikit_learn(metric, prepared, atol):
    model = fit(X, metric=metric)
    expected = silhouette_samples(prepared(X), model.labels_)
    assert_allclose(model.network_.silhouette_values(X), expected, atol=atol)


@pytest.mark.parametrize(
    ("metric", "rows"),
    [
        ("euclidean", X),
        ("euclidean", with_missing(X)),
        ("cosine", X),
        ("cosine", with_missing(X)),
        ("mahalanobis", X),
    ],
)
def test_their_mean_is_the_score(metric, rows):
    model = fit(rows, metric=metric)
    assert_allclose(model.network_.silhouette_values(rows).mean(), model.score(rows), atol=1e-5)


def test_of_any_partition():
    model = fit(X)
    labels = KMeans(4, n_init=1, random_state=0).fit(scale(X)).labels_
    names = np.array(["a", "b", "c", "d"])[labels]
    expected = silhouette_samples(scale(X), labels)
    assert_allclose(model.network_.silhouette_values(X, names), expected, atol=1e-5)


def test_large_tables_are_sampled():
    rows, _ = make_blobs(300, random_state=0)
    model = fit(rows)
    values = model.network_.silhouette_values(rows, max_rows=100)
    assert np.isfinite(values).sum() == 100
    rest = np.isfinite(values)
    assert_allclose(values[rest], model.network_.silhouette_values(rows[rest]), atol=1e-6)


def test_one_cluster_and_single_rows_have_none():
    model = fit(X)
    assert not model.network_.silhouette_values(X, np.zeros(len(X))).any()
    alone = np.r_[1, np.zeros(len(X) - 1)]
    assert model.network_.silhouette_values(X, alone)[0] == 0


def test_without_labels_they_are_those_of_the_network():
    model = fit(X)
    values = model.network_.silhouette_values(X)
    assert_allclose(values, model.network_.silhouette_values(X, model.predict(X)))
    assert_array_equal(values, model.network_.silhouette_values(X, n_jobs=1))


def test_the_core_gives_each_row_what_it_gives_their_mean():
    rng = np.random.default_rng(0)
    for rows in (X, with_missing(X)):
        data = rows_of(rows)
        which, labels = np.arange(len(X))[::-1].copy(), rng.integers(0, 4, len(X), dtype=np.int32)
        for weights in (None, rng.integers(0, 4, len(X)).astype(np.float32)):
            values = _native.silhouette_values(data, which, weights, labels, 5, 1)
            score = _native.silhouette(data, which, weights, labels[None], 5, 1)
            assert_allclose(np.average(values, weights=weights), score[0], rtol=1e-12)
            again = _native.silhouette_values(data, which, weights, labels, 5, 3)
            assert_array_equal(values, again)
    complete = _native.silhouette_values(rows_of(X), np.arange(len(X)), None, labels, 4, 1)
    assert_allclose(complete, silhouette_samples(X, labels), atol=1e-5)


def test_rows_without_a_common_feature_do_not_meet():
    nan = np.nan
    rows = np.array([[0.0, nan], [1.0, nan], [nan, 0.0], [5.0, 5.0]])
    values = _native.silhouette_values(
        rows_of(rows), np.arange(4), None, np.array([0, 0, 0, 1], np.int32), 2, 1
    )
    assert values[2] == 0  # alone, as it sees it
    assert_allclose(values[0], 0.8, rtol=1e-6)


def test_the_core_refuses_labels_that_do_not_fit():
    data, rows = rows_of(X), np.arange(len(X))
    with pytest.raises(ValueError, match="one entry per row"):
        _native.silhouette_values(data, rows, None, np.zeros(149, np.int32), 1, 1)
    with pytest.raises(IndexError, match="out of range"):
        _native.silhouette_values(data, rows, None, np.full(150, 2, np.int32), 2, 1)


def test_labels_must_fit_the_rows():
    with pytest.raises(ValueError, match=r"labels must have shape \(150,\).*got \(149,\)"):
        fit(X).network_.silhouette_values(X, np.zeros(149))
