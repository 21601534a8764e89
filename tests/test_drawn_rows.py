"""Rows that stand for many: how they are drawn, and fits that look at no others."""

import dataclasses
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from amclust import ClAM
from amclust._objectives import find_objective
from amclust._options import Options
from amclust._preparing import draw_rows, prepare
from amclust._recipe import Recipe
from amclust._rows import TableSource, draw_places
from amclust._training import make_plan, seed_runs, train_plans
from amclust.backends import find_backend


class Drawing(ClAM):
    """Draws rows of small tables already; of more than 10,000 a silhouette is of a sample."""

    recipe = Recipe(max_drawn_rows=300, min_drawn_rows=100, drawn_rows_per_memory=10, batch_rows=64)


def blobs(n=1200, missing=0.0, dtype=np.float64):
    X, _ = make_blobs(n, 3, centers=4, cluster_std=1.5, random_state=0)
    if missing:
        X[:, 1:][np.random.default_rng(0).random((n, 2)) < missing] = np.nan
    return X.astype(dtype)


def some_weights(n=1200):
    rng = np.random.default_rng(0)
    return rng.integers(1, 6, n) / 2 * (rng.random(n) > 0.3)


# --- places ---------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 10**12), st.integers(1, 500), st.integers(0, 2**31 - 1))
def test_one_row_is_drawn_of_each_of_equal_stretches(n, count, seed):
    count = min(n, count)
    places = draw_places(n, count, seed)
    assert places.dtype == np.int64
    assert len(places) == count
    edges = np.array([at * n // count for at in range(count + 1)])
    assert (edges[:-1] <= places).all()
    assert (places < edges[1:]).all()  # so they are distinct and ascending
    assert np.diff(edges).max() - np.diff(edges).min() <= 1
    assert_array_equal(draw_places(n, count, seed), places)


def test_all_places_are_drawn_as_often_as_each_other():
    counts = np.zeros(10)
    for seed in range(3000):
        counts[draw_places(10, 4, seed)] += 1
    stretches = np.repeat([2, 3, 2, 3], [2, 3, 2, 3])
    assert np.abs(counts * stretches / 3000 - 1).max() < 0.15
    assert_array_equal(draw_places(7, 7, 1), np.arange(7))


# --- fits -----------------------------------------------------------------------------------------


def assert_whole(model, X, weights=None):
    """Labels are of all rows, and the silhouette is that of the score."""
    assert len(model.labels_) == X.shape[0]
    assert_array_equal(model.predict(X), model.labels_, strict=True)
    assert model.score(X, sample_weight=weights) == model.silhouette_


CASES = {
    "plain": {},
    "missing": {"missing": 0.1},
    "float32": {"dtype": np.float32},
    "judged by a sample": {"n": 12_000},
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_to_drawn_rows_labels_and_judges_all(case, weighted):
    X = blobs(**CASES[case])
    weights = some_weights(len(X)) if weighted else None
    model = Drawing(4, n_init=2, random_state=0).fit(X, sample_weight=weights)
    assert_whole(model, X, weights)
    drawn = draw_rows(TableSource(X), 0, lambda size: 300)
    assert len(drawn.trained) == 300
    assert drawn.is_sample


@pytest.mark.parametrize(
    "settings", [{"n_memories": 20}, {"metric": "cosine"}, {"scale": "robust"}]
)
def test_a_fit_of_any_kind_to_drawn_rows_labels_and_judges_all(settings):
    X = blobs()
    model = Drawing(4, n_init=2, random_state=0, **settings).fit(X)
    assert_whole(model, X)


def test_a_fit_to_drawn_sparse_rows_labels_and_judges_all():
    X = sparse.csr_array(np.maximum(blobs(), 0.0) + np.eye(3)[np.arange(1200) % 3])
    assert_whole(Drawing(4, n_init=2, random_state=0, scale=None).fit(X), X)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_threads_change_no_bit(missing):
    X, weights = blobs(missing=missing), some_weights()
    models = [
        Drawing(4, n_init=3, random_state=0, n_jobs=n_jobs).fit(X, sample_weight=weights)
        for n_jobs in (1, 2, 3)
    ]
    for model in models[1:]:
        assert_array_equal(model.memories_, models[0].memories_, strict=True)
        assert_array_equal(model.runs_, models[0].runs_)
        assert_array_equal(model.labels_, models[0].labels_)


def test_rows_of_no_weight_are_not_drawn():
    X, weights = blobs(), some_weights()
    far = X.copy()
    far[weights == 0] = 1e6
    model = Drawing(4, n_init=2, random_state=0).fit(X, sample_weight=weights)
    other = Drawing(4, n_init=2, random_state=0).fit(far, sample_weight=weights)
    dropped = Drawing(4, n_init=2, random_state=0).fit(
        X[weights > 0], sample_weight=weights[weights > 0]
    )
    for found in (other, dropped):
        assert_array_equal(found.memories_, model.memories_, strict=True)
        assert found.silhouette_ == model.silhouette_
    assert len(other.labels_) == len(X)


def test_units_are_those_of_all_rows():
    X = blobs()
    X[np.setdiff1d(np.arange(1200), draw_places(1200, 300, 0)), 0] *= 10.0
    model = Drawing(4, n_init=1, random_state=0).fit(X)
    whole = ClAM(4, n_init=1, random_state=0).fit(X)
    assert_array_equal(model.network_.geometry.column_scale, whole.network_.geometry.column_scale)


# --- pickles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("count", [None, 300])
def test_rows_and_plans_train_to_the_same_bits_after_a_pickle(missing, weighted, count):
    X = blobs(missing=missing)
    weights = some_weights().astype(np.float32) if weighted else None
    model = Drawing(4, max_epochs=5)
    options, backend = Options.of(model, 4), find_backend("native", None, "euclidean")
    drawn = draw_rows(TableSource(X, weights), 0, lambda size: count)
    data = prepare(drawn, options, n_clusters=4, threads=1, feature_names=None)
    seeds = np.array([1, 2])
    starts = seed_runs(data, options, 4, seeds, 0, backend, model.recipe)
    objective = find_objective("silhouette")
    plans = [
        make_plan(data, start, seed, objective, options, model.recipe)
        for start, seed in zip(starts, seeds, strict=True)
    ]
    copies = pickle.loads(pickle.dumps((data, plans)))
    for run, copied in zip(
        train_plans(data, plans, seeds, backend, None),
        train_plans(*copies, seeds, backend, None),
        strict=True,
    ):
        assert_array_equal(copied.record.memories, run.record.memories, strict=True)
        assert_array_equal(copied.record.loss_curve, run.record.loss_curve, strict=True)
        again = pickle.loads(pickle.dumps(run.record))
        assert_array_equal(again.memories, run.record.memories, strict=True)


# --- full passes ----------------------------------------------------------------------------------


def inertia_of(model, X, weights=None):
    return float(np.average(model.transform(X).min(axis=1) ** 2, weights=weights)) * (
        len(X) if weights is None else float(np.sum(weights))
    )


@pytest.mark.parametrize("weights", [None, some_weights()])
def test_inertia_is_that_of_all_rows(weights):
    X = blobs()
    model = Drawing(4, objective="reconstruction", random_state=0).fit(X, sample_weight=weights)
    assert model.inertia_ == pytest.approx(inertia_of(model, X, weights), rel=1e-5)


def test_memories_of_exact_steps_are_the_means_of_all_their_rows():
    X = blobs()
    model = Drawing(4, objective="reconstruction", tol=0.0, random_state=0)
    model.recipe = dataclasses.replace(Drawing.recipe, full_passes=50)
    model.fit(X)
    for cluster, center in enumerate(model.cluster_centers_):
        np.testing.assert_allclose(center, X[model.labels_ == cluster].mean(axis=0), atol=1e-4)


@pytest.mark.parametrize("settings", [{"n_memories": 4}, {"metric": "mahalanobis"}])
def test_no_inertia_is_told_that_is_not_of_all_rows(settings):
    model = Drawing(4, objective="reconstruction", random_state=0, **settings).fit(blobs())
    assert not hasattr(model, "inertia_")


@pytest.mark.parametrize("exponent", [-3, -5, -7])
def test_means_are_right_for_weights_of_any_size(exponent):
    X = blobs()
    weights = np.ones(len(X))
    far = X[:, 0] > np.median(X[:, 0])
    weights[far] = 10.0**exponent
    model = Drawing(4, objective="reconstruction", tol=0.0, random_state=0)
    model.fit(X, sample_weight=weights)
    low, high = X.min(axis=0), X.max(axis=0)
    assert ((model.cluster_centers_ >= low) & (model.cluster_centers_ <= high)).all()


def test_full_passes_do_not_lower_a_silhouette():
    X, _ = make_blobs(3000, 5, centers=30, cluster_std=2.0, random_state=3)
    few = dataclasses.replace(Drawing.recipe, drawn_rows_per_memory=1000, max_drawn_values=2000)
    with_passes, without = (Drawing(30, n_init=2, random_state=0) for _ in range(2))
    with_passes.recipe = few
    without.recipe = dataclasses.replace(few, full_passes=0)
    assert with_passes.fit(X).silhouette_ >= without.fit(X).silhouette_


@pytest.mark.parametrize("value", [741474.3356, 1e9 + 0.1, 3.3e-7, -(2.0**19.6), 1e15])
def test_a_constant_column_has_no_variance(value):
    X = blobs()
    X[:, 1] = value
    stats = draw_rows(TableSource(X)).rows.statistics(None, None, 1)
    assert stats.variance[1] == 0.0
    assert stats.mean[1] == value
    assert Drawing(4, random_state=0).fit(X).network_.geometry.scale[1] < 10.0


@pytest.mark.parametrize("center", [1.7e9, 1.7e12, 33_333_333.0])
@pytest.mark.parametrize("spread", [1.0, 1e-2])
def test_small_variances_far_from_zero_are_right(center, spread):
    values = np.random.default_rng(0).normal(center, spread, 500)
    X = np.column_stack([values, np.arange(500.0)])
    stats = draw_rows(TableSource(X)).rows.statistics(None, None, 1)
    mean = sum(map(Fraction, values)) / 500
    exact = sum((Fraction(value) - mean) ** 2 for value in values) / 500
    rounding = 2.0**-100 * (center / spread) ** 2  # of sums in pairs of doubles
    assert stats.variance[0] == pytest.approx(float(exact), rel=max(1e-9, rounding))
