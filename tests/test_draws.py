"""Draws of missing values: from where they are likely to be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from amclust import ClAM, _native
from amclust._rows import TableRows

N = 40_000


def drawn(memories, row, seed=0, threads=1, inside=(-np.inf, np.inf)):
    """Draw what a row lacks many times."""
    Z = np.tile(row, (N, 1))
    units = _native.dense_rows(Z).in_units("euclidean", np.zeros(4), np.ones(4, np.float32), True)
    n_missing = np.isnan(row).sum()
    starts = np.arange(N + 1, dtype=np.int64) * n_missing
    found = np.empty(starts[-1], np.float32)
    low, high = np.full(4, inside[0]), np.full(4, inside[1])
    _native.draw_rows(units, memories, None, seed, low, high, starts, found, threads)
    told = _native.complete_rows(units, memories, np.array([0]), 1)
    return found.reshape(N, n_missing), told


def two_memories(own):
    rng = np.random.default_rng(3)
    mixing = rng.standard_normal((2 if own else 1, 4, 4)) + 2 * np.eye(4)
    covariances = mixing @ mixing.transpose(0, 2, 1) / 4
    means = np.array([[0.0, 0, 0, 0], [2.0, 2, -1, 1]])
    return covariances, _native.GaussianMemories.with_precisions(
        np.array([0.6, 0.4]), means, np.linalg.inv(covariances)
    )


@pytest.mark.parametrize("own", [False, True])
def test_draws_have_the_mean_and_the_variance_that_are_told(own):
    _, memories = two_memories(own)
    found, told = drawn(memories, np.array([0.8, np.nan, 0.2, np.nan]))
    spread = np.sqrt(told.variances)
    assert_allclose(found.mean(axis=0), told.means, atol=4 * spread.max() / np.sqrt(N))
    assert_allclose(found.var(axis=0), told.variances, rtol=0.05)


def test_draws_of_one_memory_have_its_conditional_covariance():
    covariance = two_memories(False)[0][0]
    memories = _native.GaussianMemories.with_precisions(
        np.ones(1), np.zeros((1, 4)), np.linalg.inv(covariance)[None]
    )
    found, _ = drawn(memories, np.array([0.8, np.nan, 0.2, np.nan]))
    hidden, seen = [1, 3], [0, 2]
    across = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    expected = covariance[np.ix_(hidden, hidden)] - across @ covariance[np.ix_(seen, hidden)]
    assert_allclose(np.cov(found.T), expected, atol=0.05 * expected.max())


def test_draws_by_factors_have_the_mean_and_the_variance_that_are_told():
    rng = np.random.default_rng(1)
    loadings = rng.standard_normal((4, 1))
    memories = _native.GaussianMemories.with_factors(
        np.ones(1), np.zeros((1, 4)), loadings, np.full(4, 0.3)
    )
    inside = 1 / (1 + (loadings[[0, 2]] ** 2).sum() / 0.3)  # the variance of the factor
    a, b = loadings[[1, 3], 0] * np.sqrt(inside)
    correlation = a * b / np.sqrt((a**2 + 0.3) * (b**2 + 0.3))
    found, told = drawn(memories, np.array([0.8, np.nan, 0.2, np.nan]))
    spread = np.sqrt(told.variances)
    assert_allclose(found.mean(axis=0), told.means, atol=4 * spread.max() / np.sqrt(N))
    assert_allclose(found.var(axis=0), told.variances, rtol=0.05)
    assert np.corrcoef(found.T)[0, 1] == pytest.approx(correlation, abs=0.02)


def test_draws_do_not_depend_on_threads():
    memories = two_memories(True)[1]
    row = np.array([np.nan, 1.0, np.nan, np.nan])
    assert_array_equal(drawn(memories, row, threads=1)[0], drawn(memories, row, threads=4)[0])


def test_draws_hang_on_the_seed_and_stay_inside():
    memories, row = two_memories(True)[1], np.array([np.nan, 1.0, np.nan, np.nan])
    found, told = drawn(memories, row)
    assert (found != drawn(memories, row, seed=1)[0]).all()
    kept, _ = drawn(memories, row, inside=(-0.5, 0.5))
    assert_array_equal(kept, np.clip(found, -0.5, 0.5))
    assert len(np.unique(found)) > 0.99 * found.size
    assert np.isfinite(told.means).all()


def test_means_are_filled_in_as_they_are_told():
    rng = np.random.default_rng(0)
    several = [two_memories(own)[1] for own in (False, True)]
    Z = rng.standard_normal((101, 4))
    Z[rng.random(Z.shape) < 0.4] = np.nan
    units = _native.dense_rows(Z).in_units("euclidean", np.zeros(4), np.ones(4, np.float32), True)
    starts = np.concatenate([[0], np.cumsum(np.isnan(Z).sum(axis=1))])
    told = [_native.complete_rows(units, one, None, 1).means for one in several]
    some = np.array([77, 3, 50])
    wide = np.full(4, 1e9)
    for rows in (None, some):
        found = np.full(starts[-1], 7.0, np.float32)
        _native.fill_rows(units, several, rows, -wide, wide, starts, found, 2)
        asked = np.isin(
            np.repeat(np.arange(101), np.diff(starts)), np.arange(101) if rows is None else rows
        )
        assert_allclose(found[asked], np.mean(told, axis=0)[asked], rtol=1e-6)
        assert (found[~asked] == 7.0).all()
    with pytest.raises(ValueError, match="place"):
        _native.fill_rows(
            units, several, None, -wide, wide, starts // 2 * 2, found[: starts[-1] // 2 * 2], 1
        )


def test_training_rows_are_drawn_by_their_order_and_all_others_are_means():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) + 4 * rng.integers(2, size=(300, 1))
    X[rng.random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    geometry, rows = ClAM(2, random_state=0).fit(X).network_.geometry, TableRows(X)
    order = rng.permutation(len(X))[:200]

    def read(which, **how):
        return _native.load_rows(geometry.read(which, has_missing=True, **how), None)

    means, found = read(rows), read(rows, order=order, seed=0)
    others = np.setdiff1d(np.arange(len(X)), order)
    assert_array_equal(found[others], means[others])
    missing = np.isnan(X)
    assert (found[order] != means[order])[missing[order]].mean() > 0.9
    assert_array_equal(found[~missing], means[~missing])
    # The same rows in another place of the table, in the same order, have the same draws.
    turned = TableRows(np.ascontiguousarray(X[::-1]))
    back = read(turned, order=len(X) - 1 - order, seed=0)
    assert_array_equal(back[::-1], found)
