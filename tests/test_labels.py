"""Labels come from a certificate where it holds: they are those of the dynamics, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from amclust import _native

Want = _native.Want
N_ROWS = 150
RESOLVED = 1e-6  # of the squared norms: differences of squared distances that float32 can tell


def native_answers(
    X, memories, log_weights, metric, beta, step_size, n_steps, want=Want.LABELS, **options
):
    d = X.shape[1]
    if sparse.issparse(X):
        rows = _native.csr_rows(X.data, X.indices, X.indptr, d)
        has_missing = False
    else:
        rows = _native.dense_rows(np.ascontiguousarray(X, dtype=np.float32))
        has_missing = bool(np.isnan(X).any())
    rows = rows.in_units(metric, np.zeros(d), np.ones(d, np.float32), has_missing)
    network = _native.Network(
        memories.astype(np.float32), log_weights, metric, beta, step_size, n_steps
    )
    prepared = _native.PreparedNetwork(network)
    return _native.infer(prepared, rows, np.zeros(d, np.float32), want, **options)


def native_labels(*network, **options):
    return native_answers(*network, **options).labels


def carried(X, memories, log_weights, metric, beta, step_size, n_steps):
    """Labels by the definition, every step for every row, and whether float32 can tell them."""
    X, memories = X.astype(np.float64), memories.astype(np.float64)
    spherical = metric == "cosine"
    if spherical:
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        memories = memories / np.linalg.norm(memories, axis=1, keepdims=True)

    def closeness(v):
        return v @ memories.T if spherical else 2 * v @ memories.T - (memories**2).sum(axis=1)

    v = X
    for _ in range(n_steps):
        logits = log_weights + beta * closeness(v)
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        v = v + step_size * (p @ memories - (0 if spherical else v))
        if spherical:
            v /= np.linalg.norm(v, axis=1, keepdims=True)
    final = closeness(v)
    labels = final.argmax(axis=1)
    first, second = np.sort(np.c_[final, np.full(len(v), -np.inf)], axis=1)[:, :-3:-1].T
    squares = (v**2).sum(axis=1) + (memories[labels] ** 2).sum(axis=1)
    return labels, first - second > RESOLVED * squares


@st.composite
def networks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d, k = draw(st.integers(1, 12)), draw(st.sampled_from([1, 2, 3, 7, 16, 17, 40, 130, 300]))
    metric = draw(st.sampled_from(["euclidean", "cosine"] if d > 1 else ["euclidean"]))
    spread = draw(st.sampled_from([0.05, 0.5, 2.0]))
    memories = rng.normal(size=(k, d)).astype(np.float32)
    if draw(st.booleans()):  # a few of them share a place
        memories = memories[rng.integers(0, k, k)] * 3
        memories += rng.normal(scale=draw(st.sampled_from([0.1, 0.5])), size=(k, d))
    X = memories[rng.integers(0, k, N_ROWS)] + spread * rng.normal(size=(N_ROWS, d))
    log_weights = np.zeros(k, np.float32)
    if draw(st.booleans()):
        log_weights = rng.normal(scale=2.0, size=k).astype(np.float32)
    beta = 10.0 ** draw(st.floats(-3, 4))
    step_size, n_steps = draw(st.floats(0.05, 1.0)), draw(st.integers(1, 25))
    return X.astype(np.float32), memories, log_weights, metric, beta, step_size, n_steps


def assert_labels_of_the_dynamics(network):
    X, *rest = network
    expected, sure = carried(X, *rest)
    # Rows on a border between basins may fall to either side by rounding.
    rng = np.random.default_rng(0)
    for _ in range(4):
        sure &= carried(X * (1 + 1e-4 * rng.normal(size=X.shape)), *rest)[0] == expected
    assert_array_equal(native_labels(X, *rest)[sure], expected[sure])


@settings(max_examples=150, deadline=None)
@given(networks())
def test_labels_are_those_of_the_dynamics(network):
    assert_labels_of_the_dynamics(network)


def pairs(n_pairs, apart, beta, metric="euclidean", seed=0):
    """Memories in pairs that share rows, far from other pairs: certain among these two only."""
    rng = np.random.default_rng(seed)
    centers = 6 * rng.normal(size=(n_pairs, 5))
    memories = np.repeat(centers, 2, axis=0) + apart * rng.normal(size=(2 * n_pairs, 5))
    X = centers[rng.integers(0, n_pairs, 600)] + 1.5 * apart * rng.normal(size=(600, 5))
    memories, X = memories.astype(np.float32), X.astype(np.float32)
    return X, memories, np.zeros(2 * n_pairs, np.float32), metric, beta, 0.5, 10


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("beta", [0.3, 3.0, 30.0])
@pytest.mark.parametrize("n_pairs", [1, 8, 60])
def test_labels_among_pairs_of_memories(instruction_set, n_pairs, beta, metric):
    assert_labels_of_the_dynamics(pairs(n_pairs, 1.0, beta, metric))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_labels_do_not_depend_on_blocks_or_threads(metric):
    X, *rest = pairs(40, 1.0, 1.0, metric)
    labels = native_labels(X, *rest)
    assert_array_equal(native_labels(X, *rest, threads=3), labels)
    order = np.random.default_rng(3).permutation(len(X))
    assert_array_equal(native_labels(X[order], *rest), labels[order])
    alone = [native_labels(X[i : i + 1], *rest)[0] for i in range(0, len(X), 10)]
    assert_array_equal(alone, labels[::10])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("beta", [0.3, 3.0, 30.0])
def test_labels_of_sparse_rows(metric, beta):
    X, *rest = pairs(40, 1.0, beta, metric)
    X[np.random.default_rng(4).random(X.shape) < 0.5] = 0.0
    X = X[(X != 0).any(axis=1)]
    _, sure = carried(X, *rest)
    differ = native_labels(sparse.csr_array(X), *rest) != native_labels(X, *rest)
    assert np.count_nonzero(differ & sure) <= 1


@pytest.mark.parametrize("beta", [0.3, 3.0, 30.0])
def test_labels_of_rows_with_missing_values(beta):
    X, *rest = pairs(40, 1.0, beta)
    X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    found = native_answers(X, *rest, want=Want.LABELS | Want.FILLED)
    assert_array_equal(found.labels, native_labels(found.filled, *rest))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("beta", [0.01, 1.0, 30.0, 3000.0])
def test_labels_do_not_depend_on_what_else_is_asked(metric, beta):
    rng = np.random.default_rng(1)
    memories = rng.normal(size=(30, 6)).astype(np.float32)
    X = rng.normal(size=(700, 6)).astype(np.float32)
    given_network = (X, memories, np.zeros(30, np.float32), metric, beta, 0.5, 10)
    # With states, all rows go through all steps.
    differ = native_labels(*given_network) != native_labels(
        *given_network, want=Want.LABELS | Want.STATE
    )
    assert np.count_nonzero(differ) <= 2


def test_equal_memories_and_rows_at_memories():
    memories = np.array([[0.0, 0], [0, 0], [1, 1], [1, 1.1]])
    labels = native_labels(memories, memories, np.zeros(4, np.float32), "euclidean", 1e6, 0.5, 10)
    assert_array_equal(labels[[0, 1, 2]], [0, 0, 2])


@pytest.mark.parametrize("beta", [1e6, 1e9, 1e12, 1e15])
def test_a_large_beta_leaves_rows_at_their_nearest_memory(beta):
    X = np.linspace(-2, 2, 1001)[:, None]
    memories = np.linspace(-2, 2, 101)[:, None]
    labels = native_labels(X, memories, np.zeros(101, np.float32), "euclidean", beta, 0.5, 10)
    away = np.abs(X - memories[labels])[:, 0]
    assert (away <= np.abs(X - memories.T).min(axis=1) + 1e-5).all()
