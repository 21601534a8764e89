"""What fits to complete rows know of values that new rows lack."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import amclust
from amclust import ClAM, ClAMSearch
from amclust._cluster_mixtures import (
    MAX_COLUMNS,
    MAX_OWN_VALUES,
    errors_between_halves,
    mixtures_of_clusters,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(n=400, d=5, k=3, seed=0):
    """Return correlated rows, their clusters, and a copy that lacks values."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % k
    X = rng.normal(0, 4, (k, d))[labels] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    hidden = rng.random(X.shape) < 0.2
    hidden[np.arange(n), rng.integers(d, size=n)] = False
    return X, labels, hidden


def quick(n_clusters=3, **given):
    settings = {"n_init": 2, "max_epochs": 8, "random_state": 0, "n_jobs": 1} | given
    return ClAM(n_clusters, **settings)


def error(model, X, hidden):
    completed = model.complete(np.where(hidden, np.nan, X))
    return np.sqrt((((completed - X) / X.std(axis=0))[hidden] ** 2).mean())


def test_mixtures_are_the_moments_of_clusters():
    X, labels, _ = table()
    shares = np.random.default_rng(0).random(len(X))
    shares /= shares.sum()
    whole, own = mixtures_of_clusters(X, shares, labels)
    assert_allclose(whole.means[0], shares @ X)
    for cluster in range(3):
        here = labels == cluster
        assert_allclose(own.parts[cluster], shares[here].sum())
        assert_allclose(own.means[cluster], np.average(X[here], axis=0, weights=shares[here]))
        spread = np.sqrt(np.cov(X[here].T, aweights=shares[here], bias=True).diagonal())
        found = np.sqrt(own.covariances[cluster].diagonal())
        assert_allclose(found, spread, rtol=0.3)


@pytest.mark.parametrize(("d", "k"), [(5, 3), (5, MAX_OWN_VALUES // 25 + 1), (120, 3)])
def test_errors_are_as_large_as_deviations_say(d, k):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2 * k + 600, d))
    Z[:, 0] = Z[:, 1] + 0.1 * Z[:, 0]
    shares = np.full(len(Z), 1 / len(Z))
    labels = np.arange(len(Z)) % k if k < 100 else np.r_[np.arange(2 * k) // 2, np.zeros(600, int)]
    errors = errors_between_halves(Z, shares, labels)
    assert errors.size >= Z.size / 4
    assert 0.9 < (errors < 1.96).mean() < 0.99 or k > 100


@pytest.mark.parametrize("d", [5, 120])
def test_new_rows_are_completed_as_well_as_after_a_fit_that_lacks_a_value(d):
    X, _, hidden = table(800, d)
    before, after = X[:400], X[400:]
    lacking = before.copy()
    lacking[0, 0] = np.nan
    plain, learned = quick().fit(before), quick().fit(lacking)
    found = error(plain, after, hidden[400:])
    assert found < 1.25 * error(learned, after, hidden[400:])
    memories = quick(objective="completion").fit(before)
    assert found < 0.9 * error(memories, after, hidden[400:])
    completed, std = plain.complete(np.where(hidden[400:], np.nan, after), return_std=True)
    inside = (np.abs(completed - after) <= 1.96 * std)[hidden[400:]]
    assert 0.88 < inside.mean() < 0.99


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_answers_to_complete_rows_do_not_hang_on_it(metric, monkeypatch):
    X, _, _ = table()
    model = quick(metric=metric).fit(X)
    assert model.network_.geometry.completion is not None
    monkeypatch.setattr("amclust._fitting.completion_of_clusters", lambda *_, **__: None)
    without = quick(metric=metric).fit(X)
    assert without.network_.geometry.completion is None
    for ask in ("predict", "energy", "transform", "recall"):
        assert_array_equal(getattr(model, ask)(X), getattr(without, ask)(X))


def test_copies_threads_and_searches_know_the_same(tmp_path):
    X, _, hidden = table()
    holed = np.where(hidden, np.nan, X)
    model = quick().fit(X)
    expected = model.complete(holed, return_std=True)
    model.save(tmp_path / "model.amc")
    others = [
        amclust.load(tmp_path / "model.amc"),
        pickle.loads(pickle.dumps(model)),
        quick(n_jobs=4).fit(X),
    ]
    for other in others:
        assert_array_equal(other.complete(holed, return_std=True), expected)
        assert_array_equal(other.predict(holed), model.predict(holed))
    search = ClAMSearch(3, budget=20, n_init=2, max_epochs=4, random_state=0).fit(X)
    assert search.best_estimator_.complete(holed, return_std=True)[1].max() > 0


def test_weights_are_copies():
    X, _, hidden = table(200)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    holed = np.where(hidden, np.nan, X)
    weighted = quick().fit(X, sample_weight=weights).complete(holed, return_std=True)
    copies = quick().fit(np.repeat(X, weights, axis=0)).complete(holed, return_std=True)
    assert_array_equal(weighted, copies)


@pytest.mark.filterwarnings("ignore:.*are in one of n_clusters")
def test_what_is_too_wide_or_sparse_is_left_to_the_memories():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, MAX_COLUMNS + 1))
    for rows in (X, sparse.csr_array(X[:, :40])):
        model = quick(2).fit(rows)
        assert model.network_.geometry.completion is None
        holed = rows.copy() if sparse.issparse(rows) else X.copy()
        holed[0, 1] = np.nan
        completed = model.complete(holed)
        completed = completed.toarray() if sparse.issparse(completed) else completed
        assert np.isfinite(completed).all()


def test_shapes_know_it_too():
    X, _, hidden = table(300, 2)
    model = quick(n_memories=12).fit(X)
    completed, std = model.complete(np.where(hidden, np.nan, X), return_std=True)
    assert np.isfinite(completed).all()
    assert (std[hidden] > 0).all()
