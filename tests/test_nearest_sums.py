"""Rows added to their nearest memories, in fixed point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from native import infer, network_of
from scipy import sparse

from amclust import _native

QUANTUM = 2.0**-24


def rows_in_units(X, metric="euclidean", as_csr=False, missing=None):
    d = X.shape[1]
    if as_csr:
        csr = sparse.csr_array(X)
        index = csr.indices.astype(np.int32), csr.indptr.astype(np.int32)
        rows = _native.csr_rows(csr.data, *index, d)
    else:
        rows = _native.dense_rows(np.ascontiguousarray(X))
    has_missing = bool(np.isnan(X).any()) if missing is None else missing
    return rows.in_units(metric, np.zeros(d), np.ones(d, np.float32), has_missing)


def sums(X, network, weights=None, threads=1, **units):
    d = X.shape[1]
    return _native.nearest_sums(
        network,
        rows_in_units(X, **units),
        np.zeros(d, np.float32),
        None,
        weights,
        np.full(d, QUANTUM),
        threads,
    )


def table(rng, n, d, missing):
    X = np.round(rng.normal(size=(n, d)), 2).astype(np.float32)
    X[rng.random(X.shape) < 0.3] = 0.0
    if missing:
        X[:, 1:][rng.random((n, d - 1)) < 0.1] = np.nan
    X[:, 0] += 3.0  # no row is zero
    return X


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 300),
    d=st.integers(2, 40),
    k=st.integers(1, 40),
    kind=st.sampled_from(["dense", "missing", "csr"]),
    metric=st.sampled_from(["euclidean", "cosine"]),
    cuts=st.lists(st.integers(0, 300), max_size=5),
)
def test_blocks_add_up_to_the_same_bits(seed, n, d, k, kind, metric, cuts):
    rng = np.random.default_rng(seed)
    X = table(rng, n, d, kind == "missing")
    network = network_of(table(rng, k, d, False), metric=metric)
    weights = rng.random(n).astype(np.float32)
    units = {"metric": metric, "as_csr": kind == "csr", "missing": kind == "missing"}
    whole = sums(X, network, weights, **units)
    blocks = np.split(np.arange(n), sorted(min(cut, n) for cut in cuts))
    parts = [
        sums(X[block], network, weights[block], threads=1 + i % 3, **units)
        for i, block in enumerate(blocks[::-1])
    ]
    for i in range(3):
        assert np.array_equal(sum(part[i] for part in parts), whole[i])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("as_csr", [False, True])
def test_sums_are_those_of_the_nearest_rows(metric, as_csr):
    rng = np.random.default_rng(1)
    X, memories = table(rng, 500, 6, False), table(rng, 9, 6, False)
    weights = rng.uniform(0.5, 2.0, 500).astype(np.float32)
    found, sizes, loss = sums(
        X, network_of(memories, metric=metric), weights, metric=metric, as_csr=as_csr
    )
    x, m = X.astype(float), memories.astype(float)
    if metric == "cosine":
        x, m = (a / np.linalg.norm(a, axis=1, keepdims=True) for a in (x, m))
    squares = ((x[:, None] - m) ** 2).sum(axis=2)
    nearest = squares.argmin(axis=1)
    expected = np.zeros((9, 6))
    np.add.at(expected, nearest, weights[:, None] * x)
    assert np.allclose(found * QUANTUM, expected, atol=1e-4)
    assert np.allclose(sizes * 2.0**-20, np.bincount(nearest, weights, minlength=9), atol=1e-3)
    assert loss * 2.0**-40 == pytest.approx((weights * squares.min(axis=1)).sum(), rel=1e-4)


def test_ties_go_to_the_lowest_number_and_missing_values_to_the_memory():
    memories = np.float32([[1, 0], [1, 0], [5, 9]])
    X = np.float32([[1, 0], [5, np.nan], [1, 0]])
    network = network_of(memories, beta=50.0, n_steps=20, step_size=0.5)
    found, sizes, loss = sums(X, network)
    assert (sizes * 2.0**-20).tolist() == [2.0, 0.0, 1.0]
    assert np.allclose(found * QUANTUM, [[2, 0], [0, 0], [5, 9]], atol=1e-4)
    assert loss * 2.0**-40 == pytest.approx(0.0, abs=1e-6)
    labels = infer(X, memories, "labels", beta=50.0, n_steps=20, step_size=0.5)
    assert labels.tolist() == [0, 2, 0]


def test_a_quantum_that_is_too_small_is_refused():
    rows, network = rows_in_units(np.full((4, 2), 1e6, np.float32)), network_of(np.eye(2))
    fill = np.zeros(2, np.float32)
    for small in (2.0**-60, 2.0**-42):  # one value overflows; four of them do
        with pytest.raises(OverflowError, match="too small"):
            _native.nearest_sums(network, rows, fill, None, None, np.full(2, small), 1)
    with pytest.raises(ValueError, match="above 0"):
        _native.nearest_sums(network, rows, fill, None, None, np.zeros(2), 1)
