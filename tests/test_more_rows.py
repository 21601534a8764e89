"""What is known of missing values grows with the rows of `partial_fit`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amclust import ClAM, _native
from amclust._mixtures import Learner, Mixture, _maximised, in_units
from amclust._more_rows import in_new_units, made_of, with_more_rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def correlated(n=600, d=4, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(0, 3, d)
    hidden = rng.random(X.shape) < share
    hidden[np.arange(n), rng.integers(d, size=n)] = False
    return X, hidden


def learned(Z, kind):
    one = Learner(np.ascontiguousarray(Z), None, 1)
    alone = one.all_in_one()
    if kind == "factors":
        return one, one.by_factors(one.filled(alone), np.arange(len(Z)) % 2, 2)
    return one, one.several(one.filled(alone), 3, kind == "shared", 0)


@pytest.mark.parametrize("kind", ["shared", "own"])
def test_a_mixture_is_made_of_its_sums(kind):
    X, hidden = correlated()
    one, mixture = learned(np.where(hidden, np.nan, X), kind)
    sums = _native.gaussian_sums(one.rows, mixture.memories, None, None, 1)
    step = _maximised(mixture, sums)
    again = made_of(step, sums.weight, np.full(4, sums.weight))
    for name in ("sizes", "sums", "squares"):
        expected = getattr(sums, name)
        found = getattr(again, name)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["shared", "own", "factors"])
def test_units_change_no_completion(kind):
    X, hidden = correlated(d=6)
    one, mixture = learned(np.where(hidden, np.nan, X), kind)
    shift, factor = np.arange(6) / 3, 1 + np.arange(6) / 5
    other = in_new_units(mixture, shift, factor)
    moved = Learner(np.ascontiguousarray((one.Z - shift) * factor), None, 1)
    assert_allclose(moved.filled(other) / factor + shift, one.filled(mixture), atol=1e-5)


@pytest.mark.parametrize("kind", ["shared", "own", "factors"])
def test_more_of_the_same_rows_change_little_and_others_much(kind):
    X, hidden = correlated(d=6)
    Z = np.where(hidden, np.nan, X)
    one, mixture = learned(Z, kind)
    known = (~hidden).sum(axis=0).astype(float)

    def more(rows):
        units = in_units(_native.dense_rows(rows), np.zeros(6), np.ones(6))
        counts = {"n_before": 600.0, "known_before": known, "n_rows": 600.0}
        return with_more_rows(mixture, units, None, **counts, threads=1)

    assert abs(one.likelihood(more(Z)) - one.likelihood(mixture)) < 0.1
    others = np.ascontiguousarray(Z + 5)
    there = Learner(others, None, 1)
    assert there.likelihood(more(others)) > there.likelihood(mixture) + 0.5
    assert isinstance(more(Z), Mixture)


def streamed(X, parts, **given):
    model = ClAM(2, random_state=0, n_jobs=1, n_init=1, **given)
    for rows in np.array_split(X, parts):
        model.partial_fit(rows)
    return model


def rmse(model, X, hidden):
    completed = model.complete(np.where(hidden, np.nan, X))
    return np.sqrt((((completed - X) / X.std(axis=0))[hidden] ** 2).mean())


@pytest.mark.parametrize("first_is_complete", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis"])
def test_sorted_rows_are_completed_about_as_well_as_in_one_fit(metric, first_is_complete):
    X, hidden = correlated(900)
    order = X[:, 0].argsort()
    X, hidden = X[order], hidden[order]
    if first_is_complete:
        hidden[:150] = False
    holed = np.where(hidden, np.nan, X)
    whole = ClAM(2, random_state=0, n_jobs=1, n_init=1, metric=metric).fit(holed)
    stream = streamed(holed, 6, metric=metric)
    first = ClAM(2, random_state=0, n_jobs=1, n_init=1, metric=metric).partial_fit(holed[:150])
    assert rmse(stream, X, hidden) < 1.2 * rmse(whole, X, hidden)
    assert rmse(stream, X, hidden) < 0.8 * rmse(first, X, hidden)
    geometry = stream.network_.geometry
    assert_array_equal(geometry.low, np.nanmin(holed, axis=0))
    assert_array_equal(geometry.high, np.nanmax(holed, axis=0))
    known = geometry.completion
    assert known.n_rows == 900
    assert_allclose(known.known, (~hidden).sum(axis=0))
    assert_allclose(known.mean, np.nanmean(holed, axis=0), rtol=1e-9)
    assert_allclose(known.spread, np.nanstd(holed, axis=0), rtol=1e-9)


def test_ranges_grow_also_where_memories_complete():
    X, hidden = correlated()
    holed = np.where(hidden, np.nan, X)
    model = streamed(holed, 3, objective="completion")
    assert model.network_.geometry.completion is None
    assert_array_equal(model.network_.geometry.high, np.nanmax(holed, axis=0))


def test_a_column_without_a_value_and_a_single_row_teach_what_they_can():
    X, hidden = correlated()
    holed = np.where(hidden, np.nan, X)
    model = streamed(holed, 1)
    before = model.network_.geometry
    some = X[:20].copy()
    some[:, 1] = np.nan
    model.partial_fit(some)
    after = model.network_.geometry
    assert after.completion.known[1] == before.completion.known[1]
    assert after.completion.mean[1] == pytest.approx(before.completion.mean[1])
    assert after.low[1] == before.low[1]
    model.partial_fit(100 * X[:1])
    assert np.isfinite(model.complete(holed)).all()


def test_threads_change_no_bit():
    X, hidden = correlated()
    holed = np.where(hidden, np.nan, X)
    one, four = streamed(holed, 3), ClAM(2, random_state=0, n_jobs=4, n_init=1)
    for rows in np.array_split(holed, 3):
        four.partial_fit(rows)
    assert_array_equal(one.complete(holed, return_std=True), four.complete(holed, return_std=True))
