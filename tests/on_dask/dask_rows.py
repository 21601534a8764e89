"""Tables in blocks, and what has to be the same of them and of the concatenated rows."""

import time
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

import amclust
import amclust.dask
from amclust._recipe import Recipe

# Of small tables some rows are drawn already.
SMALL = Recipe(max_drawn_rows=160, min_drawn_rows=80, drawn_rows_per_memory=10, batch_rows=64)
MANY, FEW = 600, 120  # rows: some are drawn, all are taken
K = 4


class Local(amclust.ClAM):
    recipe = SMALL


class OnDask(amclust.dask.ClAM):
    recipe = SMALL


QUICK = {"n_init": 2, "random_state": 0, "max_epochs": 300}


def local(n_clusters=K, **settings):
    return Local(n_clusters, **(QUICK | settings))


def on_dask(n_clusters=K, **settings):
    return OnDask(n_clusters, **(QUICK | settings))


def blobs(n=MANY, *, missing=0.0, dtype=np.float64, seed=0, columns=3):
    X, _ = make_blobs(n, columns, centers=K, cluster_std=1.5, random_state=seed)
    rng = np.random.default_rng(seed)
    if missing:
        gaps = rng.random(X.shape) < missing
        gaps[np.arange(n), rng.integers(0, columns, n)] = False  # a value in every row
        X[gaps] = np.nan
    return X.astype(dtype)


def some_weights(n=MANY, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 6, n) / 2
    weights[rng.random(n) < 0.15] = 0.0
    return weights


def sparse_rows(n=MANY, columns=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, columns)) * (rng.random((n, columns)) < 0.3)
    X[np.arange(n), np.arange(n) % K] += 3.0
    return X


def random_cuts(rng, n, n_blocks):
    """Return lengths of blocks, some empty, some of one row."""
    edges = np.sort(rng.integers(0, n + 1, n_blocks - 1))
    if len(edges) > 3:
        edges[1] = edges[0]
        edges[3] = min(n, edges[2] + 1)
        edges.sort()
    return tuple(int(length) for length in np.diff(np.r_[0, edges, n]))


def as_array(X, lengths, columns=None):
    return da.from_array(X, chunks=(tuple(lengths), columns or X.shape[1]))


def as_csr(X, lengths):
    return as_array(X, lengths).map_blocks(sparse.csr_array, dtype=X.dtype).persist()


def as_blocks(X, lengths):
    """Return a list of delayed blocks of an array or a frame."""
    return [dask.delayed(block) for block in cut(X, lengths)]


def cut(X, lengths):
    edges = np.cumsum(np.r_[0, lengths])
    return [X[a:b] for a, b in pairwise(edges)]


def names_of(X):
    return [f"column {at}" for at in range(X.shape[1])]


def as_pandas(X):
    n = len(X)
    return pd.DataFrame(X, columns=names_of(X), index=pd.Index(np.arange(n) * 3 + 7, name="id"))


def as_frame(X, lengths):
    """Return a frame with partitions of these lengths, and an index that is not 0 ... n - 1."""
    frame = X if isinstance(X, pd.DataFrame) else as_pandas(X)
    return dd.from_delayed(as_blocks(frame, lengths), meta=frame.iloc[:0], verify_meta=False)


def computed(answer):
    """Return an answer in one piece."""
    if isinstance(answer, list) and all(isinstance(block, Delayed) for block in answer):
        blocks = dask.compute(*answer)
        if hasattr(blocks[0], "columns") or hasattr(blocks[0], "index"):
            return pd.concat(blocks)
        if sparse.issparse(blocks[0]):
            return sparse.vstack(blocks)
        return np.concatenate(blocks)
    return answer.compute() if dask.is_dask_collection(answer) else answer


def assert_same_fit(model, expected):
    """All that was found is the same, to the last bit."""
    network, other = model.network_, expected.network_
    for name in ("memories", "log_weights", "assembly"):
        assert_array_equal(getattr(network, name), getattr(other, name), strict=True)
    assert network.beta == other.beta
    assert model.beta_ == expected.beta_
    assert_same_records(model.runs_, expected.runs_)
    assert_array_equal(model.cluster_centers_, expected.cluster_centers_, strict=True)
    assert_array_equal(model.loss_curve_, expected.loss_curve_)
    assert_array_equal(model.silhouette_, expected.silhouette_)
    assert model.n_clusters_ == expected.n_clusters_
    assert model.n_features_in_ == expected.n_features_in_
    for name in ("inertia_", "feature_names_in_", "merge_tree_", "n_clusters_evidence_"):
        assert hasattr(model, name) == hasattr(expected, name), name
        if hasattr(expected, name):
            assert_same_records(getattr(model, name), getattr(expected, name))
    if hasattr(expected, "shape_evidence_"):
        for name in expected.shape_evidence_.columns:
            assert_array_equal(model.shape_evidence_[name], expected.shape_evidence_[name])


def assert_same_records(found, expected):
    """Arrays are the same, those of records too: NaN where NaN is."""
    names = getattr(np.asarray(expected).dtype, "names", None)
    for name in names or [...]:
        assert_array_equal(np.asarray(found)[name], np.asarray(expected)[name], strict=True)


def assert_same(model, expected, rows, X, sample_weight=None, weights=None):
    """All that was found, and the labels and the score of the rows, are the same."""
    assert_same_fit(model, expected)
    labels = computed(model.labels_)
    assert_array_equal(np.asarray(labels), expected.labels_, strict=True)
    assert model.score(rows, sample_weight=weights) == expected.score(
        X, sample_weight=sample_weight
    )


def wait_until(condition, seconds=60):
    """Wait for what takes a moment; it fails where that never comes."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "never came true"
        time.sleep(0.05)
