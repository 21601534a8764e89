"""Statistics of columns: the same bits in whatever blocks, and in whatever order, rows come."""

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from amclust import _native

COLUMNS = ["weight", "mean", "variance", "min", "max"]
ROWS = ["missing", "infinite_row", "infinite_column", "empty_row", "zero_row"]


def native_rows(X, as_csr):
    if not as_csr:
        return _native.dense_rows(np.ascontiguousarray(X))
    csr = sparse.csr_array(X)
    indices, indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
    return _native.csr_rows(csr.data, indices, indptr, X.shape[1])


def partial(X, weights=None, as_csr=False, threads=1):
    return _native.partial_statistics(native_rows(X, as_csr), None, weights, threads)


def columns(stats):
    return {name: getattr(stats, name).tobytes() for name in COLUMNS}


def wild_table(rng, n, d, dtype):
    """Return values of sizes from 1e-18 to 1e18, with ties, zeros of both signs and gaps."""
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-18, 19, size=(n, d))
    X[rng.random((n, d)) < 0.1] = 0.0
    X[rng.random((n, d)) < 0.05] = -0.0
    halves = rng.random((n, d)) < 0.2  # of units of the bins: where rounding has ties
    X[halves] = np.sign(X[halves]) * 2.0 ** (rng.integers(-1, 2, halves.sum()) * 40 - 1)
    X[rng.random((n, d)) < 0.1] = np.nan
    return X.astype(dtype)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 200),
    d=st.integers(1, 19),
    dtype=st.sampled_from([np.float32, np.float64]),
    weighted=st.booleans(),
    cuts=st.lists(st.integers(0, 200), max_size=6),
    data=st.data(),
)
def test_blocks_and_their_order_change_no_bit(seed, n, d, dtype, weighted, cuts, data):
    rng = np.random.default_rng(seed)
    X = wild_table(rng, n, d, dtype)
    weights = (rng.random(n) * 10.0 ** rng.integers(-6, 7, n)).astype(np.float32)
    weights[rng.random(n) < 0.1] = 0.0
    whole = partial(X, weights if weighted else None)
    bounds = [0, *sorted(min(cut, n) for cut in cuts), n]
    blocks = [slice(a, b) for a, b in pairwise(bounds)]

    def add_up(blocks):
        total = None
        for block in blocks:
            w = weights[block] if weighted else None
            as_csr, threads = data.draw(st.booleans()), data.draw(st.integers(1, 3))
            part = pickle.loads(pickle.dumps(partial(X[block], w, as_csr, threads)))
            if total is None:
                total = part
            else:
                total.add(part)
        return total

    in_order = add_up(blocks)
    assert in_order.n_rows == n
    assert in_order.n_counted == (np.count_nonzero(weights) if weighted else n)
    assert columns(in_order.finish()) == columns(whole.finish())
    assert all(getattr(in_order.finish(), name) == getattr(whole.finish(), name) for name in ROWS)
    shuffled = add_up(data.draw(st.permutations(blocks)))
    assert columns(shuffled.finish()) == columns(whole.finish())
    assert shuffled.finish().missing == whole.finish().missing


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 60),
    centre=st.sampled_from([0.0, 1.0, 1e6, 1e9]),
    spread=st.sampled_from([1.0, 1e-3, 1e4]),
    dtype=st.sampled_from([np.float32, np.float64]),
    weighted=st.booleans(),
)
def test_statistics_are_right(seed, n, centre, spread, dtype, weighted):
    rng = np.random.default_rng(seed)
    X = (centre + spread * rng.normal(size=(n, 5))).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    weights = rng.uniform(0.1, 3.0, n).astype(np.float32) if weighted else np.ones(n, np.float32)
    stats = partial(X, weights if weighted else None).finish()
    for j in range(5):
        seen = [
            (Fraction(float(x)), Fraction(float(w)))
            for x, w in zip(X[:, j], weights, strict=True)
            if x == x
        ]
        total = sum(w for _, w in seen)
        assert stats.weight[j] == float(total)
        if not seen:
            continue
        mean = sum(w * x for x, w in seen) / total
        size = sum(w * abs(x) for x, w in seen) / total
        variance = sum(w * (x - mean) ** 2 for x, w in seen) / total
        assert abs(Fraction(stats.mean[j]) - mean) <= size * Fraction(2) ** -52
        # Around the rounded mean; of squares, what is below 2^-80 of the largest is dropped.
        rounding = variance * Fraction(2) ** -50 + size**2 * Fraction(2) ** -74
        assert abs(Fraction(stats.variance[j]) - variance) <= rounding
        assert stats.min[j] == np.nanmin(X[:, j])
        assert stats.max[j] == np.nanmax(X[:, j])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("centre", [1e6, 1e9])
def test_variance_far_from_zero(centre, weighted):
    X = centre + np.array([[-1.0], [1.0]] * 5000)
    weights = np.full(len(X), 0.3, np.float32) if weighted else None
    stats = _native.statistics(native_rows(X, False), None, weights, 1)
    assert stats.variance[0] == pytest.approx(1.0, abs=1e-5)
    assert stats.mean[0] == centre


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("as_csr", [False, True])
def test_threads_and_instruction_sets_change_no_bit(dtype, weighted, as_csr):
    rng = np.random.default_rng(3)
    X = wild_table(
        rng, 30_000, 11, dtype
    )  # enough for a sum in doubles to be flushed, and for threads
    weights = rng.random(len(X)).astype(np.float32) if weighted else None
    rows = native_rows(X, as_csr)
    first = columns(_native.statistics(rows, None, weights, 1))
    for threads in (2, 3):
        assert columns(_native.statistics(rows, None, weights, threads)) == first
    try:
        for name in ("baseline", "avx2", "avx512"):
            if _native.use_instruction_set(name):
                assert columns(_native.statistics(rows, None, weights, 2)) == first
    finally:
        _native.use_instruction_set("best")


def test_row_numbers_go_on_from_block_to_block():
    X = np.ones((12, 2))
    X[4], X[7], X[9, 1] = 0.0, np.nan, np.inf
    total = partial(X[:3])
    total.add(partial(X[3:6]))
    some = np.array([0, 2, 3, 5])  # of the last block: rows 6, 8, 9 and 11
    total.add(_native.partial_statistics(native_rows(X[6:], False), some, None, 1))
    stats = total.finish()
    assert (stats.zero_row, stats.empty_row) == (4, -1)
    assert (stats.infinite_row, stats.infinite_column) == (9, 1)
    assert (total.n_rows, total.n_counted) == (12, 10)
    total.add(partial(X))
    assert (total.finish().infinite_row, total.finish().empty_row, total.finish().zero_row) == (
        9,
        19,
        4,
    )


def test_huge_and_infinite_values_are_kept_apart():
    X = np.array([[1.0, 1e200, np.inf], [2.0, 1.0, 1.0], [3.0, 1.0, -np.inf]])
    for parts in ([X], [X[:1], X[1:]], [X[1:], X[:1]]):
        total = partial(parts[0])
        for part in parts[1:]:
            total.add(partial(part))
        stats = total.finish()
        assert (stats.mean[0], stats.max[1]) == (2.0, 1e200)
        assert np.isinf(stats.variance[1:]).all()


def test_blocks_must_have_the_same_columns():
    with pytest.raises(ValueError, match="other columns"):
        partial(np.ones((2, 3))).add(partial(np.ones((2, 4))))


def test_a_damaged_pickle_is_refused():
    stats = partial(np.ones((2, 3)))
    counts, ranges, tops, units = stats.__getstate__()
    for parts in [
        (counts[:-1], ranges, tops, units),
        (counts, ranges[:-1], tops, units),
        (counts, ranges, tops[:-1], units),
        (counts, ranges, tops, units[:-2]),
        (counts, ranges, tops + 100, units),
    ]:
        with pytest.raises(ValueError, match="these are no"):
            _native.PartialStatistics.__new__(_native.PartialStatistics).__setstate__(parts)
