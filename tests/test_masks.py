"""Which entries of a row the completion objective hides."""

import numpy as np
import pytest
from native import plan_of, rows_of
from numpy.testing import assert_array_equal

from amclust import _native


def draw(n, d, fraction, missing=None, seed=0, epoch=0, rows=None):
    """Hidden features of every row as a boolean matrix, and as they come."""
    missing = np.zeros((n, d), np.uint8) if missing is None else missing.astype(np.uint8)
    rows = np.arange(n) if rows is None else rows
    drawn = _native.draw_masks(seed, epoch, rows, fraction, missing)
    hidden = np.zeros((n, d + 1), dtype=int)
    np.add.at(hidden, (np.arange(n)[:, None], drawn), 1)
    return hidden[:, :d], drawn


def expected_count(fraction, observed):
    """Rounded, at least one hidden and one visible; nothing where that cannot be."""
    return np.where(observed < 2, 0, np.clip(np.round(fraction * observed), 1, observed - 1))


@pytest.mark.parametrize("fraction", [1e-9, 0.15, 0.33, 0.5, 0.9, 1 - 1e-9])
@pytest.mark.parametrize("d", [2, 3, 7, 40])
def test_masks_are_drawn_without_replacement_and_leave_something_to_see(d, fraction):
    hidden, _ = draw(500, d, fraction)
    assert hidden.max() == 1
    counts = hidden.sum(axis=1)
    assert (counts >= 1).all()
    assert (counts <= d - 1).all()
    assert_array_equal(counts, expected_count(fraction, np.full(500, d)))


@pytest.mark.parametrize("fraction", [0.1, 0.4])
def test_missing_values_are_never_hidden(fraction):
    rng = np.random.default_rng(0)
    missing = rng.random((800, 9)) < rng.random((800, 1))
    hidden, _ = draw(800, 9, fraction, missing)
    assert not (hidden.astype(bool) & missing).any()
    assert hidden.max() == 1
    observed = (~missing).sum(axis=1)
    assert {0, 1, 9} <= set(observed)  # else the test does not see the corners
    assert_array_equal(hidden.sum(axis=1), expected_count(fraction, observed))


@pytest.mark.parametrize("d", [5, 12])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_every_feature_is_hidden_equally_often(d, count):
    n = 20_000
    hidden, _ = draw(n, d, count / d)
    share = hidden.mean(axis=0)
    deviation = np.sqrt(count / d * (1 - count / d) / n)
    np.testing.assert_allclose(share, count / d, atol=5 * deviation)


def test_features_are_hidden_equally_often_among_the_observed():
    n, missing = 20_000, np.zeros((20_000, 6), bool)
    missing[:, [0, 3]] = True
    hidden, _ = draw(n, 6, 0.5, missing)
    np.testing.assert_allclose(hidden.mean(axis=0), [0, 0.5, 0.5, 0, 0.5, 0.5], atol=0.02)


def test_every_pair_of_features_is_hidden_equally_often():
    hidden, _ = draw(30_000, 5, 0.4)
    together = (hidden.T @ hidden)[np.triu_indices(5, 1)] / 30_000
    np.testing.assert_allclose(together, 0.1, atol=5 * np.sqrt(0.1 * 0.9 / 30_000))


def test_masks_differ_between_rows_epochs_and_seeds():
    masks = [
        draw(300, 20, 0.5, seed=seed, epoch=epoch)[0] for seed, epoch in [(0, 0), (0, 1), (1, 0)]
    ]
    assert len(np.unique(masks[0], axis=0)) > 250
    for other in masks[1:]:
        # Unrelated masks agree on half of the entries.
        assert abs((masks[0] == other).mean() - 0.5) < 0.05


def test_the_same_seed_draws_the_same_masks():
    assert_array_equal(draw(50, 9, 0.3, seed=7, epoch=3)[1], draw(50, 9, 0.3, seed=7, epoch=3)[1])


def test_a_mask_belongs_to_the_row_and_not_to_the_batch():
    _, all_rows = draw(50, 9, 0.3)
    some = np.array([44, 3, 17])
    _, these = draw(3, 9, 0.3, rows=some)
    assert_array_equal(these, all_rows[some])


@pytest.mark.parametrize("holes", [False, True])
def test_the_objective_hides_what_is_drawn(holes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 8)).astype(np.float32)
    if holes:
        X[rng.random(X.shape) < 0.3] = np.nan
        X[:, 0] = 1.0
    _, drawn = draw(100, 8, 0.25, np.isnan(X), seed=11)
    memories = rng.normal(size=(3, 8))
    plan = plan_of(memories, seed=11, mask_prob=0.25)
    by_itself, told = (
        _native.evaluate(rows_of(X), np.arange(100), None, plan, hidden) for hidden in (None, drawn)
    )
    assert by_itself.loss == told.loss
    assert_array_equal(by_itself.by_memories, told.by_memories)
