"""The plane on which tables with many features are looked at."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import normalize, scale

from amclust import ClAM, ClAMSearch
from amclust._plane import Plane

IRIS = load_iris(as_frame=True).data
X = IRIS.to_numpy()


def fit(X, **params):
    return ClAM(3, n_init=2, random_state=0, **params).fit(X)


@pytest.fixture(scope="module")
def model():
    return fit(X)


def test_principal_components_are_those_of_the_scaled_columns(model):
    plane = Plane.from_estimator(model, X)
    pca = PCA(2).fit(scale(X))
    assert_allclose(np.abs(plane.project(X)), np.abs(pca.transform(scale(X))), atol=1e-5)
    assert plane.labels == ("PC 1 (73 % of the variance)", "PC 2 (23 % of the variance)")
    unscaled = Plane.from_estimator(fit(X, scale=None), X)
    assert_allclose(np.abs(unscaled.rows), np.abs(PCA(2).fit_transform(X)), atol=1e-5)


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
@pytest.mark.parametrize("features", [None, (2, 0)])
def test_lifted_points_project_to_themselves(metric, features):
    plane = Plane.from_estimator(fit(X, metric=metric), X, features)
    points = np.random.default_rng(0).normal(size=(20, 2))
    assert_allclose(plane.flatten(plane.lift(points)), points, atol=1e-9)


def test_two_columns_are_the_plane():
    model = fit(X[:, 2:])
    plane = Plane.from_estimator(model, X[:, 2:])
    assert plane.labels == ("x0", "x1")
    assert_allclose(plane.project(X[:, 2:]), X[:, 2:])
    assert_allclose(plane.lift(X[:5, 2:]), X[:5, 2:])
    assert_allclose(plane.memories, model.cluster_centers_)


def test_chosen_features_leave_the_others_at_their_mean():
    plane = Plane.from_estimator(fit(IRIS), IRIS, ("petal width (cm)", 0))
    assert plane.labels == ("petal width (cm)", "sepal length (cm)")
    assert_allclose(plane.project(X), X[:, [3, 0]])
    assert_allclose(plane.rows, X[:, [3, 0]])
    assert_allclose(plane.lift([[7, 8]]), [[8, X[:, 1].mean(), X[:, 2].mean(), 7]])


def test_a_column_of_weight_zero_stays_at_its_mean():
    plane = Plane.from_estimator(fit(X, feature_weights=[1, 1, 1, 0]), X)
    rows = plane.lift(plane.project(X))
    assert_allclose(rows[:, 3], X[:, 3].mean())


def test_a_row_to_go_through(model):
    plane = Plane.from_estimator(model, X, (0, 1), through=[1, 2, 3, 4])
    assert_allclose(plane.lift([[7, 8]]), [[7, 8, 3, 4]])
    plane = Plane.from_estimator(model, X, through=X[3])
    assert_allclose(plane.lift(plane.project(X[3:4])), X[3:4])


def test_the_grid_holds_rows_and_memories_and_a_margin(model):
    plane = Plane.from_estimator(model, X)
    xs, ys = plane.ranges(30, 0.25)
    assert (len(xs), len(ys)) == (30, 30)
    seen = np.concatenate([plane.rows, plane.memories])
    extent = np.ptp(seen, axis=0)
    low, high = [xs[0], ys[0]], [xs[-1], ys[-1]]
    assert_allclose(low, seen.min(axis=0) - extent / 4)
    assert_allclose(high, seen.max(axis=0) + extent / 4)


def test_asking_on_a_grid_is_asking_about_its_rows(model, monkeypatch):
    plane = Plane.from_estimator(model, X)
    xs, ys = plane.ranges(20)
    xs = xs[:15]
    points = np.stack([plane.lift(np.column_stack([xs, np.full(15, y)])) for y in ys])
    monkeypatch.setattr("amclust._plane.BLOCK_CELLS", 64)  # in many chunks
    labels = plane.ask(model.network_.labels, xs, ys)
    assert labels.shape == (20, 15)
    assert_array_equal(labels.ravel(), model.predict(points.reshape(-1, 4)))
    assert plane.ask(model.network_.memberships, xs, ys).shape == (20, 15, 3)


def test_missing_values_are_filled_by_the_model():
    rows = X.copy()
    rows[::3, 1] = np.nan
    model = fit(rows)
    plane = Plane.from_estimator(model, rows)
    assert_allclose(plane.project(rows), plane.project(model.complete(rows)))


def test_cosine_looks_at_directions():
    model = fit(X, metric="cosine")
    plane = Plane.from_estimator(model, X)
    assert_allclose(plane.project(7 * X), plane.project(X))
    assert_allclose(np.abs(plane.rows), np.abs(PCA(2).fit_transform(normalize(X))), atol=1e-6)
    assert Plane.from_estimator(model, X, (0, 1)).labels[0] == "x0 (rows of unit length)"


def test_zero_is_no_direction_but_may_be_on_the_plane():
    rows = X[:, :2] - X[:, :2].mean(axis=0)
    plane = Plane.from_estimator(fit(rows, metric="cosine"), rows)
    assert plane.ask(plane.network.labels, np.array([0.0]), np.array([0.0])).shape == (1, 1)


def test_sparse_rows_are_those_of_the_dense_table():
    rows = np.where(X > 3, X, 0)
    model = fit(rows, metric="cosine")
    dense, compressed = (
        Plane.from_estimator(model, table) for table in (rows, sparse.csr_matrix(rows))
    )
    assert_allclose(compressed.rows, dense.rows, atol=1e-7)


def test_a_single_column_has_one_axis():
    model = fit(X[:, 2:3])
    plane = Plane.from_estimator(model, X[:, 2:3])
    assert plane.labels == ("x0", "")
    assert_allclose(plane.rows, np.c_[X[:, 2], np.zeros(len(X))])
    assert_allclose(plane.lift([[3, 99]]), [[3]])


def test_rows_that_do_not_vary_have_a_plane(model):
    plane = Plane.from_estimator(model, X[:1])
    xs, ys = plane.ranges(5)
    assert np.isfinite(plane.lift(np.column_stack([xs, ys]))).all()
    assert xs[0] < xs[-1]
    assert ys[0] < ys[-1]


def test_a_search_has_the_plane_of_its_best_estimator():
    search = ClAMSearch(2, budget=200, n_init=1, random_state=0).fit(X)
    assert_allclose(
        Plane.from_estimator(search, X).rows, Plane.from_estimator(search.best_estimator_, X).rows
    )


def test_columns_in_a_wrong_order_are_refused():
    model = fit(IRIS)
    with pytest.raises(ValueError, match="feature names"):
        Plane.from_estimator(model, IRIS[IRIS.columns[::-1]])


@pytest.mark.parametrize(
    ("features", "words"),
    [
        ("petal", "features must be a pair of columns, by number or name, got 'petal'"),
        ((1, 2, 3), "features must be a pair"),
        (3, "features must be a pair"),
        ((0, 4), "features has column 4; the columns are numbered from 0 to 3"),
        ((0, "petals"), "features has the column 'petals', which is not there. There are: 'sepal"),
        ((1, "sepal width (cm)"), "two different columns, got column 'sepal width (cm)' twice"),
    ],
)
def test_wrong_features(features, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Plane.from_estimator(fit(IRIS), IRIS, features)


def test_names_need_a_model_with_names(model):
    with pytest.raises(ValueError, match="fitted to rows without names: give numbers from 0 to 3"):
        Plane.from_estimator(model, X, ("petal width (cm)", 0))


def test_wrong_row_to_go_through(model):
    with pytest.raises(ValueError, match="through must be a row of 4 finite numbers"):
        Plane.from_estimator(model, X, through=[1, 2, np.nan, 3])


def test_a_network_has_the_plane_of_its_estimator(model):
    plane = Plane.of(model.network_, X, n_jobs=1)
    assert_allclose(plane.rows, Plane.from_estimator(model, X).rows)
    assert_allclose(plane.memories, plane.flatten(model.cluster_centers_))


def test_an_unfitted_model_is_refused():
    with pytest.raises(NotFittedError):
        Plane.from_estimator(ClAM(3), X)


def test_wide_tables_and_missing_values_work_together():
    frame = pd.DataFrame(load_wine().data).add_prefix("w")
    frame.iloc[::4, 3] = np.nan
    plane = Plane.from_estimator(fit(frame), frame)
    assert np.isfinite(plane.rows).all()


def test_rows_that_do_not_differ_lie_in_the_plane_of_two_columns():
    plane = Plane.from_estimator(fit(X), X[:1])
    assert plane.labels == ("x0", "x1")
    assert_allclose(plane.rows, X[:1, :2])


def test_a_blank_name_is_told():
    frame = pd.DataFrame(X[:, :2], columns=["a", "  "])
    assert Plane.from_estimator(fit(frame), frame).labels == ("a", "(no name)")
