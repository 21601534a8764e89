"""Whatever the chunks, the workers and the kind of table: the bits of the concatenated rows."""

import re

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_rows import (
    FEW,
    MANY,
    K,
    as_array,
    as_blocks,
    as_csr,
    as_frame,
    as_pandas,
    assert_same,
    assert_same_fit,
    blobs,
    local,
    on_dask,
    random_cuts,
    some_weights,
    sparse_rows,
)
from distributed import Client, LocalCluster
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from amclust import _assemblies
from amclust._warnings import EmptyRowsWarning

KINDS = ["array", "column chunks", "unknown chunks", "frame", "arrays", "frames"]
CUTS = random_cuts(np.random.default_rng(0), MANY, 7)


def in_blocks(kind, X, lengths):
    """Return a table of Dask, and the same in memory."""
    if kind == "array":
        return as_array(X, lengths), X
    if kind == "column chunks":
        return as_array(X, lengths, 2), X
    if kind == "unknown chunks":
        rows = as_array(X, lengths)
        rows._chunks = ((np.nan,) * len(lengths), rows.chunks[1])
        return rows, X
    if kind == "arrays":
        return as_blocks(X, lengths), X
    frame = as_pandas(X)
    if kind == "frame":
        return as_frame(frame, lengths), frame
    return as_blocks(frame, lengths), frame


pytestmark = [
    pytest.mark.filterwarnings("ignore:X is not persisted"),
    pytest.mark.filterwarnings("ignore:.*still improving"),
]


# To make a failing example smaller would take longer than the time limit.
@settings(max_examples=30, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 2**32 - 1),
    n_blocks=st.integers(1, 12),
    kind=st.sampled_from(KINDS),
    n=st.sampled_from([FEW, MANY]),
    missing=st.sampled_from([0.0, 0.1]),
    weighted=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_chunks_change_no_bit(seed, n_blocks, kind, n, missing, weighted, dtype):
    X = blobs(n, missing=missing, dtype=dtype)
    lengths = random_cuts(np.random.default_rng(seed), n, n_blocks)
    rows, table = in_blocks(kind, X, lengths)
    sample_weight = some_weights(n) if weighted else None
    weights = as_blocks(sample_weight, lengths) if weighted else None
    expected = local(max_epochs=20).fit(table, sample_weight=sample_weight)
    model = on_dask(max_epochs=20).fit(rows, sample_weight=weights)
    assert_same(model, expected, rows, table, sample_weight, weights)


def assert_same_in_blocks(X, settings, kind="array", lengths=CUTS, weights=None, **given):
    rows, table = in_blocks(kind, X, lengths)
    cut_weights = None if weights is None else as_blocks(weights, lengths)
    expected = local(**settings).fit(table, sample_weight=weights)
    model = on_dask(**settings, **given).fit(rows, sample_weight=cut_weights)
    assert_same(model, expected, rows, table, weights, cut_weights)
    return model


SETTINGS = {
    "cosine": {"metric": "cosine"},
    "mahalanobis": {"metric": "mahalanobis"},
    "mahalanobis, reconstruction": {"metric": "mahalanobis", "objective": "reconstruction"},
    "robust": {"scale": "robust"},
    "outliers": {"contamination": 0.1},
    "outliers, reconstruction": {"contamination": 0.1, "objective": "reconstruction"},
    "feature weights": {"feature_weights": [1.0, 0.5, 0.0]},
    "not scaled": {"scale": None},
    "auto": {"n_clusters": "auto"},
    "candidates": {"n_clusters": [2, 4, 6]},
    "assemblies": {"n_memories": 20},
    "shapes": {"n_memories": "auto"},
    "shapes and numbers": {"n_memories": "auto", "n_clusters": "auto"},
    "reconstruction": {"objective": "reconstruction"},
    "completion": {"objective": "completion"},
    "weights": {"weights": "learn", "objective": "completion"},
    "given weights": {"weights": [1.0, 2.0, 3.0, 4.0]},
    "init": {"init": blobs(K, seed=1)},
    "random": {"init": "random"},
    "beta": {"beta": 3.0},
    "recorded": {"record_epochs": [0, 2, 5]},
    "one": {"n_clusters": 1},
}


@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize("name", SETTINGS)
def test_parameters_change_no_bit(name, n):
    lengths = random_cuts(np.random.default_rng(n), n, 6)
    model = assert_same_in_blocks(blobs(n), {"max_epochs": 20} | SETTINGS[name], lengths=lengths)
    assert model.client is None


@pytest.mark.parametrize(
    "name",
    [
        *("robust", "shapes", "auto", "completion", "reconstruction", "weights", "cosine"),
        *("mahalanobis", "mahalanobis, reconstruction"),
    ],
)
def test_missing_values_and_weights_change_no_bit(name):
    X = blobs(missing=0.1)
    settings = {"max_epochs": 20} | SETTINGS[name]
    assert_same_in_blocks(X, settings, "frame", weights=some_weights())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [FEW, MANY])
@pytest.mark.parametrize("name", ["plain", "auto", "shapes", "reconstruction", "cosine"])
def test_rows_without_any_value_change_no_bit(name, n, weighted):
    X = blobs(n, missing=0.1 if name == "cosine" else 0.0)
    empty = np.r_[0:7, n // 2, n - 1]  # the first block has no other rows, some blocks have none
    X[empty] = np.nan
    lengths = (7, n // 2 - 17, 10, 30, 0, n - n // 2 - 30)
    rows, table = in_blocks("frame" if weighted else "array", X, lengths)
    weights = some_weights(n) if weighted else None
    cut_weights = None if weights is None else as_blocks(weights, lengths)
    settings = {"max_epochs": 20} | SETTINGS.get(name, {})
    told = rf"^9 of {n} rows have no value at all \(all NaN\): they do not count in training"
    with pytest.warns(EmptyRowsWarning, match=told):
        expected = local(**settings).fit(table, sample_weight=weights)
    with pytest.warns(EmptyRowsWarning, match=told) as caught:
        model = on_dask(**settings).fit(rows, sample_weight=cut_weights)
    assert sum(w.category is EmptyRowsWarning for w in caught) == 1
    assert model.n_missing_.min() >= 9
    whole, block = f"^9 of {n} rows have .* they get the answer", r"^Block \d of X: \d+ of \d+ row"
    with pytest.warns(EmptyRowsWarning, match=f"{whole}|{block}") as caught:
        assert_same(model, expected, rows, table, weights, cut_weights)
    for kind in (whole, block):  # workers tell of their own
        assert any(re.match(kind, str(w.message)) for w in caught)


def test_sparse_rows_without_any_value_change_no_bit():
    X = sparse_rows()
    X[[3, 250, 599]] = np.nan
    settings = {"scale": None, "max_epochs": 20}
    with pytest.warns(EmptyRowsWarning, match="^3 of 600 rows"):
        expected = local(**settings).fit(sparse.csr_array(X))
    with pytest.warns(EmptyRowsWarning, match="^3 of 600 rows"):
        model = on_dask(**settings).fit(as_csr(X, CUTS))
    assert_same_fit(model, expected)
    with pytest.warns(EmptyRowsWarning, match=r"^Block \d of X: 1 of"):
        assert_array_equal(model.labels_.compute(), expected.labels_)


# --- other tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("n", [FEW, MANY])
def test_sparse_blocks_change_no_bit(n, metric):
    X = sparse_rows(n)
    lengths = random_cuts(np.random.default_rng(1), n, 6)
    rows, table = as_csr(X, lengths), sparse.csr_array(X)
    settings = {"metric": metric, "scale": None, "max_epochs": 20}
    expected = local(**settings).fit(table)
    model = on_dask(**settings).fit(rows)
    assert_same(model, expected, rows, table)


def test_sparse_blocks_with_weights_and_column_chunks_change_no_bit():
    X, weights = sparse_rows(), some_weights()
    rows = as_array(X, CUTS, 3).map_blocks(sparse.csr_matrix, dtype=X.dtype)
    expected = local(max_epochs=20).fit(sparse.csr_matrix(X), sample_weight=weights)
    model = on_dask(max_epochs=20).fit(rows, sample_weight=weights)
    assert_same(model, expected, rows, sparse.csr_matrix(X), weights, weights)


def test_columns_of_several_types_change_no_bit():
    frame = as_pandas(blobs(missing=0.1))
    frame["count"] = np.arange(MANY) % 5
    frame["small"] = np.float32(frame["count"]) / 3
    frame["flag"] = frame["count"] > 2
    frame["nullable"] = frame["count"].astype("Int64").mask(frame["count"] == 1)
    rows = as_frame(frame, CUTS)
    expected = local(max_epochs=20).fit(frame)
    assert_same(on_dask(max_epochs=20).fit(rows), expected, rows, frame)


def test_integers_change_no_bit():
    X = np.random.default_rng(0).integers(0, 50, (MANY, 3))
    rows = as_array(X, CUTS)
    expected = local(max_epochs=20).fit(X)
    assert_same(on_dask(max_epochs=20).fit(rows), expected, rows, X)


def test_a_frame_whose_blocks_are_known_by_divisions_changes_no_bit():
    frame = as_pandas(blobs())
    rows = dd.from_pandas(frame, npartitions=5)
    expected = local(max_epochs=20).fit(frame, sample_weight=some_weights())
    weights = dd.from_pandas(pd.Series(some_weights(), index=frame.index), npartitions=5)
    model = on_dask(max_epochs=20).fit(rows, sample_weight=weights)
    assert_same(model, expected, rows, frame, some_weights(), weights)


@pytest.mark.parametrize("kind", ["array", "other chunks", "in memory", "list"])
def test_weights_in_any_form_change_no_bit(kind):
    X, weights = blobs(), some_weights()
    forms = {
        "array": da.from_array(weights, chunks=(CUTS,)),
        "other chunks": da.from_array(weights, chunks=77),
        "in memory": weights,
        "list": weights.tolist(),
    }
    rows, given = as_array(X, CUTS), forms[kind]
    expected = local(max_epochs=20).fit(X, sample_weight=weights)
    model = on_dask(max_epochs=20).fit(rows, sample_weight=given)
    assert_same(model, expected, rows, X, weights, given)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_silhouette_of_a_sample_changes_no_bit(weighted):
    n = 12_500
    X, weights = blobs(n, missing=0.1), some_weights(n) if weighted else None
    rows = as_array(X, random_cuts(np.random.default_rng(2), n, 9))
    expected = local(max_epochs=20).fit(X, sample_weight=weights)
    model = on_dask(max_epochs=20).fit(rows, sample_weight=weights)
    assert_same(model, expected, rows, X, weights, weights)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_offsets_and_huge_values_change_no_bit(scale):
    X = blobs() * scale + np.array([1e6, -1e3, 0.0]) * scale
    assert_same_in_blocks(X, {"max_epochs": 20})


def test_sorted_rows_and_copies_change_no_bit():
    X = np.repeat(blobs(60), 10, axis=0)
    assert_same_in_blocks(X[np.argsort(X[:, 0])], {"max_epochs": 20})


# --- on a cluster ---------------------------------------------------------------------------------

CLUSTER_CASES = [
    ("array", {}, {}),
    ("column chunks", {"missing": 0.1}, {"scale": "robust"}),
    ("frame", {"missing": 0.1}, {"objective": "completion"}),
    ("arrays", {"dtype": np.float32}, {"metric": "cosine"}),
    ("frames", {}, {"n_clusters": "auto"}),
    ("unknown chunks", {}, {"n_memories": "auto"}),
]


@pytest.mark.parametrize(("kind", "table", "settings"), CLUSTER_CASES)
def test_processes_change_no_bit(client, kind, table, settings):
    X, settings = blobs(**table), {"max_epochs": 20} | settings
    model = assert_same_in_blocks(X, settings, kind, weights=some_weights(), client=client)
    assert model.client is client


def test_persisted_sparse_blocks_change_no_bit(client):
    X = sparse_rows()
    rows, table = as_csr(X, CUTS), sparse.csr_array(X)
    expected = local(max_epochs=20).fit(table)
    assert_same(on_dask(max_epochs=20).fit(rows), expected, rows, table)


@pytest.mark.torch
def test_the_torch_backend_changes_no_bit(client):
    pytest.importorskip("torch")
    settings = {"max_epochs": 3, "backend": "torch", "n_jobs": 1, "n_init": 1}
    assert_same_in_blocks(blobs(), settings)


@pytest.mark.parametrize("n_workers", [1, 3])  # of the processes above there are two
def test_the_number_of_workers_changes_no_bit(n_workers):
    X = blobs(missing=0.1)
    rows = as_array(X, CUTS)
    expected = local(max_epochs=20, n_init=3).fit(X)
    with (
        LocalCluster(n_workers=n_workers, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        assert len(client.nthreads()) == n_workers
        model = on_dask(max_epochs=20, n_init=3).fit(rows.persist())
        assert_same(model, expected, rows, X)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_memories", [20, "auto"])
def test_memories_of_assemblies_are_learned_on_some_of_the_drawn_rows(
    client, monkeypatch, n_memories, weighted
):
    monkeypatch.setattr(_assemblies, "MAX_ALL_ROWS", 100)
    monkeypatch.setattr(_assemblies, "MEMORY_ROWS", 2)
    monkeypatch.setattr(_assemblies, "GRAPH_ROWS", 2)
    X = blobs()
    weights = some_weights() if weighted else None
    settings = {"n_memories": n_memories, "scale": None}
    expected = local(**settings).fit(X, sample_weight=weights)
    model = on_dask(client=client, **settings)
    model.fit(as_array(X, (200, 0, 150, 250)), sample_weight=weights)
    assert_same_fit(model, expected)
    assert_array_equal(model.labels_.compute(), expected.labels_)


@pytest.mark.filterwarnings("ignore:.*have no value at all")
def test_partial_fit_passes_over_blocks_without_any_value():
    X = blobs()
    X[300:350] = np.nan
    model = on_dask(max_epochs=20).partial_fit(as_array(X, (300, 50, 250)))
    expected = local(max_epochs=20).partial_fit(X[:300]).partial_fit(X[350:])
    assert_array_equal(model.memories_, expected.memories_)
    assert model.labels_.compute().shape == (600,)
