"""Rows without any value: they do not train, and get the answer for an unknown row."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from amclust import ClAM, ClAMSearch
from amclust._rows import empty_rows, observed_weights
from amclust._warnings import EmptyRowsWarning

ANSWERS = ("transform", "predict_proba", "energy", "entropy", "recall", "complete")
EMPTY = np.array([0, 17, 18, 299])


def table(missing=0.0, columns=3):
    X, _ = make_blobs(300, columns, centers=3, random_state=0)
    X -= 2.0  # some columns far from zero, all rows with a direction
    rng = np.random.default_rng(0)
    holes = rng.random(X.shape) < missing
    holes[np.arange(len(X)), rng.integers(0, columns, len(X))] = False
    X[holes] = np.nan
    return X


def with_empty(X, rows=EMPTY):
    X = X.copy()
    X[rows] = np.nan
    return X


def make(n_clusters=3, **given):
    return ClAM(n_clusters, **({"n_init": 2, "max_epochs": 30, "random_state": 0} | given))


def caught(ask, *given, **more):
    """Return an answer, and what was warned of rows without any value."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        answer = ask(*given, **more)
    return answer, [str(one.message) for one in seen if one.category is EmptyRowsWarning]


def fitted(model, X, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **given)


# --- which rows -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 20),
    d=st.integers(0, 5),
    rate=st.sampled_from([0.0, 0.3, 0.9]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_empty_rows_are_those_of_nan_alone(seed, n, d, rate, dtype):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d)).astype(dtype)
    X[rng.random((n, d)) < rate] = np.nan
    X[rng.random(n) < 0.3] = np.nan
    expected = np.flatnonzero(np.isnan(X).all(axis=1)) if d else []
    assert_array_equal(empty_rows(X), expected)
    assert_array_equal(empty_rows(sparse.csr_array(X)), expected)
    weights, count = observed_weights(X, None)
    assert count == len(expected)
    assert weights is None if not count else np.count_nonzero(weights) == n - count


def test_entries_that_are_not_stored_are_values():
    data, indices = np.full(5, np.nan), np.array([0, 1, 1, 0, 1])
    X = sparse.csr_array((data, indices, np.array([0, 1, 3, 5])), shape=(3, 2))
    assert_array_equal(empty_rows(X), [2])  # the second row has one of its entries twice


def test_given_weights_are_left_alone():
    X, weights = with_empty(table()), np.full(300, 2.0, np.float32)
    changed, count = observed_weights(X, weights)
    assert count == len(EMPTY)
    assert (weights == 2.0).all()
    assert_array_equal(np.flatnonzero(changed == 0.0), EMPTY)
    assert observed_weights(table(), weights)[0] is weights


# --- fits -----------------------------------------------------------------------------------------

SETTINGS = {
    "silhouette": {},
    "batches": {"batch_size": 64},
    "completion": {"objective": "completion"},
    "reconstruction": {"objective": "reconstruction"},
    "cosine": {"metric": "cosine"},
    "robust": {"scale": "robust"},
    "auto": {"n_clusters": "auto"},
    "memories": {"n_memories": 20},
    "shapes": {"n_memories": "auto"},
    "random": {"init": "random"},
    "learned weights": {"weights": "learn"},
}


@pytest.mark.parametrize(("missing", "weighted"), [(0.0, False), (0.1, True)])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_fit_finds_what_it_finds_without_them(name, missing, weighted):
    X = with_empty(table(missing))
    kept = np.delete(np.arange(len(X)), EMPTY)
    weights = np.random.default_rng(1).integers(1, 4, len(X)) if weighted else None
    model, told = caught(make(**SETTINGS[name]).fit, X, sample_weight=weights)
    (words,) = told
    assert words.startswith("4 of 300 rows have no value at all (all NaN): they do not count")
    given = None if weights is None else weights[kept]
    expected = fitted(make(**SETTINGS[name]), X[kept], sample_weight=given)
    assert_array_equal(model.memories_, expected.memories_)
    assert_array_equal(model.labels_[kept], expected.labels_)
    assert model.silhouette_ == expected.silhouette_
    assert model.labels_.shape == (300,)
    labels, told = caught(model.predict, X)
    assert len(told) == 1
    assert_array_equal(model.labels_, labels)
    score, told = caught(model.score, X, sample_weight=weights)
    assert len(told) == 1
    assert score == model.silhouette_


@pytest.mark.parametrize(
    "name", ["silhouette", "completion", "reconstruction", "cosine", "memories"]
)
def test_answers_are_finite_and_do_not_depend_on_other_rows(name):
    X = with_empty(table(0.1))
    model = fitted(make(**SETTINGS[name]), X)
    assert len(np.unique(model.labels_[EMPTY])) == 1
    for ask in (*ANSWERS, "predict"):
        answer, told = caught(getattr(model, ask), X)
        assert told == [
            "4 of 300 rows have no value at all (all NaN): they get the answer for an unknown row."
        ]
        alone, told = caught(getattr(model, ask), X[EMPTY[:1]])
        assert told == [
            "1 of 1 rows has no value at all (all NaN): it gets the answer for an unknown row."
        ]
        assert np.isfinite(answer).all()
        assert_array_equal(answer[EMPTY], np.repeat(alone, len(EMPTY), axis=0))
        observed = getattr(model, ask)(X[1:17])
        assert_array_equal(observed, answer[1:17])


def test_completed_directions_have_a_length():
    X = with_empty(table())
    model = fitted(make(metric="cosine"), X)
    completed, _ = caught(model.complete, X)
    assert_array_equal(completed[1:17], X[1:17])
    lengths = np.linalg.norm(completed, axis=1)
    assert lengths[1:17].min() < lengths[EMPTY].min()
    assert lengths[EMPTY].max() < lengths[1:17].max()


@pytest.mark.parametrize("form", [sparse.csr_array, pd.DataFrame, pl.DataFrame, np.float32])
def test_every_kind_of_table(form):
    X = with_empty(table())
    given = form(X)
    model, told = caught(make().fit, given)
    assert told[0].startswith("4 of 300 rows")
    labels, told = caught(model.predict, given)
    assert told[0].startswith("4 of 300 rows")
    assert_array_equal(model.labels_, labels)


def test_a_sparse_row_of_zeros_has_values():
    X = np.maximum(table(), 0.0)
    X[5] = 0.0
    make(scale=None).fit(sparse.csr_array(X))  # and warns of nothing


def test_columns_are_those_of_rows_that_count():
    X = with_empty(table())
    X[1:, 2] = np.nan
    X[0] = np.nan
    with pytest.raises(ValueError, match="No observed value in column 2"):
        fitted(make(), X)


def test_too_few_distinct_rows_are_left():
    X = np.full((5, 2), np.nan)
    X[:2] = [[0.0, 1.0], [2.0, 3.0]]
    with pytest.raises(ValueError, match="distinct rows of X, which is 2"):
        fitted(make(3), X)


def test_partial_fit_leaves_them_out():
    X = table()
    holed = with_empty(X[:200], [3, 4])
    model, told = caught(make().partial_fit, holed)
    assert told[0].startswith("2 of 200 rows")
    expected = make().partial_fit(np.delete(holed, [3, 4], axis=0))
    assert_array_equal(model.memories_, expected.memories_)
    _, told = caught(model.partial_fit, with_empty(X[200:], [7]))
    assert told[0].startswith("1 of 100 rows has no value at all (all NaN): it does not count")
    expected.partial_fit(np.delete(X[200:], 7, axis=0))
    assert_array_equal(model.memories_, expected.memories_)
    with pytest.raises(ValueError, match="No row of X has an observed value"):
        model.partial_fit(np.full((3, 3), np.nan))
    assert_array_equal(model.memories_, expected.memories_)


@pytest.mark.parametrize("ask", ["fit_predict", "fit_transform"])
def test_a_fit_and_its_answer_warn_once(ask):
    answer, told = caught(getattr(make(), ask), with_empty(table()))
    assert len(told) == 1
    assert len(answer) == 300


def test_a_search_leaves_them_out():
    X = with_empty(table())
    search, told = caught(
        ClAMSearch([2, 3], budget=200, n_init=2, max_epochs=20, random_state=0).fit, X
    )
    assert len(told) == 1
    labels, _ = caught(search.predict, X)
    assert_array_equal(search.labels_, labels)
    score, _ = caught(search.score, X)
    assert score == pytest.approx(search.best_score_)


def test_silhouettes_leave_them_out():
    X = with_empty(table())
    network = fitted(make(), X).network_
    values = network.silhouette_values(X)
    assert_array_equal(np.flatnonzero(np.isnan(values)), EMPTY)
    kept = np.delete(X, EMPTY, axis=0)
    assert network.silhouette(X) == network.silhouette(kept)
    assert np.isnan(network.silhouette(X[EMPTY]))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_rows_of_the_torch_backend(metric):
    pytest.importorskip("torch")
    X = with_empty(table(0.1))
    model, told = caught(make(metric=metric, backend="torch").fit, X)
    assert len(told) == 1
    labels, _ = caught(model.predict, X)
    assert_array_equal(model.labels_, labels)


@pytest.mark.parametrize("metric", ["manhattan", "epanechnikov"])
def test_rows_of_the_energies_of_torch(metric):
    pytest.importorskip("torch")
    X = with_empty(table(0.1))
    model = fitted(make(metric=metric, backend="torch", beta=0.5, objective="silhouette"), X)
    for ask in ("predict", "predict_proba", "complete"):
        answer, _ = caught(getattr(model, ask), X)
        assert np.isfinite(answer).all()


def test_a_report_and_displays(tmp_path):
    pytest.importorskip("plotly")
    from amclust import plotting

    X = with_empty(table(0.1))
    model = fitted(make(), X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", EmptyRowsWarning)
        assert model.report(X, tmp_path / "report.html").exists()
        for name in ("Basins", "Energy", "Entropy", "Silhouette", "Sizes", "Trajectory"):
            getattr(plotting, f"{name}Display").from_estimator(model, X)
        top = model.top_features(2, X=X)
    assert len(top.names) == 3
