"""Silhouettes of single rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import normalize, scale

from amclust import ClAM, ClAMSearch
from amclust._silhouettes import silhouette_values

X = load_iris().data


def with_holes(X, part=0.2):
    X = X.copy()
    holes = np.random.default_rng(0).random(X.shape) < part
    X[holes & ~(holes.sum(axis=1) == X.shape[1])[:, None]] = np.nan
    return X


def fit(X, **params):
    return ClAM(3, n_init=2, random_state=0, **params).fit(X)


def test_they_are_those_of_scikit_learn_on_scaled_columns():
    model = fit(X)
    expected = silhouette_samples(scale(X), model.labels_)
    assert_allclose(silhouette_values(model, X), expected, atol=1e-5)


def test_cosine_compares_directions():
    model = fit(X, metric="cosine")
    expected = silhouette_samples(normalize(X), model.labels_)
    assert_allclose(silhouette_values(model, X), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("metric", "rows"),
    [
        ("euclidean", X),
        ("euclidean", with_holes(X)),
        ("cosine", X),
        ("cosine", with_holes(X)),
        ("mahalanobis", X),
    ],
)
def test_their_mean_is_the_score(metric, rows):
    model = fit(rows, metric=metric)
    assert_allclose(silhouette_values(model, rows).mean(), model.score(rows), atol=1e-5)


def test_of_any_partition():
    model = fit(X)
    labels = KMeans(4, n_init=1, random_state=0).fit(scale(X)).labels_
    names = np.array(["a", "b", "c", "d"])[labels]
    expected = silhouette_samples(scale(X), labels)
    assert_allclose(silhouette_values(model, X, names), expected, atol=1e-5)


def test_large_tables_are_sampled():
    rows, _ = make_blobs(300, random_state=0)
    model = fit(rows)
    values = silhouette_values(model, rows, max_rows=100)
    assert np.isfinite(values).sum() == 100
    rest = np.isfinite(values)
    assert_allclose(values[rest], silhouette_values(model, rows[rest]), atol=1e-6)


def test_one_cluster_and_single_rows_have_none():
    model = fit(X)
    assert not silhouette_values(model, X, np.zeros(len(X))).any()
    alone = np.r_[1, np.zeros(len(X) - 1)]
    assert silhouette_values(model, X, alone)[0] == 0


def test_a_search_has_those_of_its_best_estimator():
    search = ClAMSearch(2, budget=200, n_init=1, random_state=0).fit(X)
    values = silhouette_values(search, X)
    assert_allclose(values, silhouette_values(search.best_estimator_, X))


def test_labels_must_fit_the_rows():
    with pytest.raises(ValueError, match=r"labels must have shape \(150,\).*got \(149,\)"):
        silhouette_values(fit(X), X, np.zeros(149))
