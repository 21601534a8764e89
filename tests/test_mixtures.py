"""Mixtures of memories with covariances: what expectation and maximisation has to keep."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from amclust import _mixtures, _native
from amclust._mixtures import (
    EARLY_ROWS,
    OWN,
    RIDGE,
    SHARED,
    SHRINKAGE,
    Learner,
    Mixture,
    in_units,
)


def correlated(n=300, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)


def clusters(n=300, d=4, k=3, seed=0):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(d, d)) / np.sqrt(d)
    return rng.normal(0, 3, (k, d))[np.arange(n) % k] + rng.normal(size=(n, d)) @ mixed


def holed(X, share=0.2, seed=0):
    """Return a copy with missing values, but a value in each row."""
    rng = np.random.default_rng(seed)
    holes = rng.random(X.shape) < share
    holes[np.arange(len(X)), rng.integers(0, X.shape[1], len(X))] = False
    return np.where(holes, np.nan, X)


def learner(Z, weights=None, threads=1):
    return Learner(np.ascontiguousarray(Z), weights, threads)


def likelihoods(one, mixture, steps=12):
    """Return the likelihood after each step."""
    found = []
    for _ in range(steps):
        sums = _native.gaussian_sums(one.rows, mixture.memories, None, one.weights, 1)
        found.append(sums.likelihood / sums.weight)
        mixture = _mixtures._maximised(mixture, sums)
    return np.array(found)


def same(a, b):
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            assert_array_equal(x, y, strict=True)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    d=st.integers(1, 7),
    m=st.integers(1, 4),
    share=st.sampled_from([0.0, 0.3, 0.8]),
)
def test_completions_are_the_conditional_means_of_numpy(seed, d, m, share):
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(d, d))
    covariance = mixed @ mixed.T + 0.3 * np.eye(d)
    means = rng.normal(size=(m, d))
    parts = rng.random(m) + 0.1
    mixture = Mixture(parts / parts.sum(), means, covariance[None])
    rows = rng.normal(size=(9, d)).astype(np.float32).astype(np.float64)
    rows[rng.random(rows.shape) < share] = np.nan
    found = _native.complete_rows(learner(rows).rows, mixture.memories, None, 1)
    for i, row in enumerate(rows):
        hidden, seen = np.flatnonzero(np.isnan(row)), np.flatnonzero(~np.isnan(row))
        inside = covariance[np.ix_(seen, seen)]
        gain = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(inside)
        apart = row[seen] - means[:, seen]
        energy = np.einsum("mi,ij,mj->m", apart, np.linalg.inv(inside), apart) / 2
        share_of = mixture.parts * np.exp(-(energy - energy.min()))
        share_of /= share_of.sum()
        under = means[:, hidden] + apart @ gain.T
        expected = share_of @ under
        left = covariance[np.ix_(hidden, hidden)] - gain @ covariance[np.ix_(seen, hidden)]
        variances = np.diag(left) + share_of @ (under - expected) ** 2
        here = slice(found.starts[i], found.starts[i + 1])
        assert_allclose(found.means[here], expected, rtol=1e-5, atol=1e-5)
        assert_allclose(found.variances[here], variances, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_complete_rows_give_their_covariance(weighted):
    Z = correlated().astype(np.float32).astype(np.float64)
    weights = np.random.default_rng(1).integers(1, 4, len(Z)).astype(np.float32)
    weights = weights if weighted else None
    mean = np.average(Z, axis=0, weights=weights)
    sample = np.cov(Z.T, bias=True, fweights=None if weights is None else weights.astype(int))
    expected = (1 - SHRINKAGE) * sample + SHRINKAGE * np.diag(np.diag(sample))
    found = learner(Z, weights).all_in_one()
    assert_allclose(found.means[0], mean, atol=1e-10)
    assert_allclose(found.shared, expected + RIDGE * np.eye(Z.shape[1]), atol=1e-10)
    assert_allclose(found.precisions[0] @ found.shared, np.eye(Z.shape[1]), atol=1e-9)


@pytest.mark.parametrize(("share", "seed"), [(0.0, 0), (0.2, 1), (0.5, 2)])
def test_the_likelihood_never_falls(monkeypatch, seed, share):
    # What keeps covariances regular is no part of the likelihood.
    monkeypatch.setattr(_mixtures, "SHRINKAGE", 0.0)
    monkeypatch.setattr(_mixtures, "RIDGE", 0.0)
    Z = holed(clusters(seed=seed), share, seed)
    d = Z.shape[1]
    rng = np.random.default_rng(seed)
    for count in (1, 3):
        parts = np.full(count, 1 / count)
        means = rng.normal(size=(count, d))
        mixture = Mixture(parts, means, 4.0 * np.eye(d)[None])
        found = likelihoods(learner(Z), mixture)
        assert (np.diff(found) > -1e-9).all()
        assert found[-1] > found[0] + 0.1


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_likelihood_of_factors_never_falls(monkeypatch, share):
    monkeypatch.setattr(_mixtures, "RIDGE", 0.0)
    monkeypatch.setattr(_mixtures, "FACTOR_NOISE", 1e-9)
    Z = holed(correlated(200, 12), share)
    rng = np.random.default_rng(3)
    d, rank = Z.shape[1], 2
    start = Mixture(
        np.ones(1), np.zeros((1, d)), np.zeros((0, d, d)), rng.normal(size=(d, rank)), np.ones(d)
    )
    found = likelihoods(learner(Z), start)
    assert (np.diff(found) > -1e-9).all()
    assert found[-1] > found[0]


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_learning_ends_at_least_as_likely_as_it_began(share):
    Z = holed(clusters(), share)
    one = learner(Z)
    alone = one.all_in_one()
    filled = one.filled(alone)
    assert_array_equal(filled[~np.isnan(Z)], Z[~np.isnan(Z)])
    assert np.isfinite(filled).all()
    shared = one.several(filled, 3, True, 0)
    own = one.several(filled, 3, False, 0)
    assert one.likelihood(shared) > one.likelihood(alone) + 0.3
    assert one.likelihood(own) > one.likelihood(shared) - 0.05


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
def test_factors_find_what_made_the_rows(share):
    rng = np.random.default_rng(0)
    d, rank = 110, 3
    loadings = rng.normal(size=(d, rank))
    Z = rng.normal(size=(500, rank)) @ loadings.T + 0.4 * rng.normal(size=(500, d))
    spread = Z.std(axis=0)
    found = learner(holed(Z / spread, share)).all_in_one()
    assert found.loadings is not None
    # As near as the covariance of the complete rows is, about.
    assert_allclose(found.shared, np.cov((Z / spread).T), atol=0.3)
    assert np.abs(found.shared - np.cov((Z / spread).T)).mean() < 0.1


def test_memories_of_one_cluster_each_share_its_covariance():
    rng = np.random.default_rng(0)
    mixed = np.array([[1.0, 0.9, 0], [0, 0.3, 0], [0, 0.2, 2.0]])
    centres = 12 * rng.normal(size=(4, 3))
    Z = centres[np.arange(2000) % 4] + rng.normal(size=(2000, 3)) @ mixed
    expected = mixed.T @ mixed
    for rows in (Z, holed(Z, 0.15)):
        for numbers in ([4], [2, 4]):
            found = learner(rows).shared_covariance(numbers)
            shrunk = (1 - SHRINKAGE) * expected + SHRINKAGE * np.diag(np.diag(expected))
            assert_allclose(found, shrunk, atol=0.25)
    alone = learner(Z).shared_covariance([1])
    assert np.trace(alone) > 5 * np.trace(expected)


@pytest.mark.parametrize("d", [4, 110])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_threads_change_no_bit(d, missing):
    Z = holed(clusters(200, d), missing)
    for one, four in zip(learner(Z).mixtures(), learner(Z, None, 4).mixtures(), strict=True):
        same(one, four)


@pytest.mark.parametrize("d", [4, 110])
def test_a_row_of_weight_two_is_two_rows(d):
    Z = holed(clusters(90, d))
    weights = np.random.default_rng(0).integers(1, 3, len(Z))
    once = learner(Z, weights.astype(np.float32)).all_in_one()
    twice = learner(np.repeat(Z, weights, axis=0)).all_in_one()
    assert_allclose(once.means, twice.means, atol=1e-8)
    assert_allclose(once.shared, twice.shared, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_beginning_on_some_rows_ends_as_likely(monkeypatch, weighted):
    n = 2 * EARLY_ROWS
    # Sorted by cluster: some of the rows are of all of them.
    Z = holed(clusters(n))[np.argsort(np.arange(n) % 3, kind="stable")]
    weights = np.random.default_rng(1).integers(1, 4, n).astype(np.float32) if weighted else None
    one = learner(Z, weights)
    assert len(one.some.Z) == EARLY_ROWS
    found = one.likelihood(one.several(one.filled(one.all_in_one()), 3, False, 0))
    monkeypatch.setattr(_mixtures, "EARLY_ROWS", n)
    assert found > one.likelihood(one.several(one.filled(one.all_in_one()), 3, False, 0)) - 0.01


def test_only_columns_that_are_tied_have_several_memories():
    Z = clusters(200, 6)
    Z[:100, :3] = np.nan
    Z[100:, 3:] = np.nan
    assert [len(one.parts) for one in learner(Z).mixtures()] == [1]
    several = [*SHARED, *OWN]
    assert [len(one.parts) for one in learner(holed(clusters(200, 6))).mixtures()] == several
    # A column that all rows have ties the others, and one that hardly any row has does not count.
    tied = np.column_stack([Z, clusters(200, 6)[:, 0], np.full(200, np.nan)])
    tied[0, -1] = 1.0
    assert [len(one.parts) for one in learner(tied).mixtures()] == several


def test_memories_are_no_more_than_rows_allow():
    for n in (1, 2, 9, 10, 25):
        for mixture in learner(clusters(n, 3)).mixtures():
            assert len(mixture.parts) == 1 or n // _mixtures.ROWS_PER_MEMORY >= len(mixture.parts)


def test_rows_and_memories_of_other_sizes_are_refused():
    d = 3
    memories = Mixture(np.ones(1), np.zeros((1, d)), np.eye(d)[None]).memories
    wide = learner(np.zeros((4, d + 1))).rows
    with pytest.raises(ValueError, match="do not fit"):
        _native.complete_rows(wide, memories, None, 1)
    with pytest.raises(ValueError, match="do not fit"):
        _native.gaussian_sums(wide, memories, None, None, 1)
    plain = _native.dense_rows(np.zeros((4, d)))
    with pytest.raises(ValueError, match="may lack values"):
        _native.complete_rows(plain, memories, None, 1)
    rows = in_units(plain, np.zeros(d), np.ones(d))
    with pytest.raises((ValueError, IndexError)):
        _native.complete_rows(rows, memories, np.array([4]), 1)
    for parts, means, precisions in [
        (np.ones(2), np.zeros((1, d)), np.eye(d)[None]),
        (np.ones(1), np.zeros((1, d)), np.eye(d - 1)[None]),
        (np.ones(3), np.zeros((3, d)), np.stack([np.eye(d)] * 2)),
        (np.ones(1), np.zeros((1, d)), np.zeros((0, d, d))),
        (np.ones(1), np.zeros((1, d)), -np.eye(d)[None]),
        (np.ones(1), np.full((1, d), np.nan), np.eye(d)[None]),
    ]:
        with pytest.raises(ValueError, match="fit|finite|positive|shape|size|precisions|parts"):
            _native.GaussianMemories.with_precisions(parts, means, precisions)
    with pytest.raises(ValueError, match="factor"):
        _native.GaussianMemories.with_factors(
            np.ones(1), np.zeros((1, d)), np.zeros((d, 0)), np.ones(d)
        )
