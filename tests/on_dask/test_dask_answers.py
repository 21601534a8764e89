"""Answers are not computed before they are asked for, and look like the rows that they are of."""

import copy
import dataclasses

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import Delayed
from dask_rows import (
    FEW,
    K,
    as_array,
    as_blocks,
    as_csr,
    as_frame,
    as_pandas,
    assert_same_fit,
    blobs,
    computed,
    local,
    on_dask,
    sparse_rows,
)
from numpy.testing import assert_array_equal
from scipy import sparse

ANSWERS = ["predict", "predict_proba", "transform", "energy", "entropy", "recall", "complete"]
OF_ROWS = {"predict", "energy", "entropy"}  # one number for each row
LENGTHS = (50, 0, 1, 40, 29)


def fitted(X, **settings):
    """Return the same model on Dask and in memory."""
    settings = {"max_epochs": 200} | settings
    expected = local(**settings).fit(X)
    return on_dask(**settings).fit(X), expected


def width(method):
    return 3 if method in ("recall", "complete") else K


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ANSWERS)
def test_answers_for_arrays(method, dtype):
    X = blobs(FEW, missing=0.1, dtype=dtype)
    model, expected = fitted(X)
    found = getattr(model, method)(as_array(X, LENGTHS, columns=2))
    answer = getattr(expected, method)(X)
    assert isinstance(found, da.Array)
    assert found.dtype == answer.dtype == found._meta.dtype
    assert found.chunks == ((LENGTHS,) if method in OF_ROWS else (LENGTHS, (width(method),)))
    assert found.shape == answer.shape
    assert_array_equal(found.compute(scheduler="sync"), answer, strict=True)
    for at, length in enumerate(LENGTHS):  # empty ones too
        block = found.blocks[at].compute(scheduler="sync")
        assert block.shape == (length, *answer.shape[1:])
        assert block.dtype == answer.dtype


@pytest.mark.parametrize("method", ANSWERS)
def test_answers_for_arrays_of_unknown_lengths(method):
    X = blobs(FEW)
    model, expected = fitted(X)
    rows = dd.from_pandas(as_pandas(X), npartitions=4).to_dask_array()
    assert np.isnan(rows.shape[0])
    found = getattr(model, method)(rows)
    assert np.isnan(found.shape[0])
    assert found.shape[1:] == getattr(expected, method)(X).shape[1:]
    assert_array_equal(found.compute(), getattr(expected, method)(X), strict=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", ANSWERS)
def test_answers_for_frames(method, dtype):
    frame = as_pandas(blobs(FEW, missing=0.1, dtype=dtype))
    model, expected = fitted(frame)
    rows = dd.from_pandas(frame, npartitions=4)
    found = getattr(model, method)(rows)
    answer = np.asarray(getattr(expected, method)(frame))
    assert isinstance(found, dd.Series if method in OF_ROWS else dd.DataFrame)
    assert found.npartitions == rows.npartitions
    assert found.divisions == rows.divisions
    values = found.compute()
    assert_array_equal(np.asarray(values), answer, strict=True)
    pd.testing.assert_index_equal(values.index, frame.index, exact=True)
    pd.testing.assert_index_equal(found._meta.index, frame.index[:0], exact=True)
    if method in OF_ROWS:
        assert found._meta.dtype == found.dtype == values.dtype
        assert found.name == values.name
    else:
        names = frame.columns if width(method) == 3 else model.get_feature_names_out()
        assert list(found.columns) == list(values.columns) == list(names)
        assert (found.dtypes == values.dtypes).all()


@pytest.mark.parametrize("method", ANSWERS)
def test_answers_for_frames_with_empty_partitions_of_no_known_divisions(method):
    frame = as_pandas(blobs(FEW, missing=0.1))
    model, expected = fitted(frame)
    found = getattr(model, method)(as_frame(frame, LENGTHS))
    assert not found.known_divisions
    assert found.map_partitions(len).compute().tolist() == list(LENGTHS)
    assert_array_equal(np.asarray(found.compute()), np.asarray(getattr(expected, method)(frame)))


@pytest.mark.parametrize("frames", [False, True])
@pytest.mark.parametrize("method", ANSWERS)
def test_answers_for_lists(method, frames):
    X = as_pandas(blobs(FEW)) if frames else blobs(FEW)
    model, expected = fitted(X)
    found = getattr(model, method)(as_blocks(X, LENGTHS))
    assert isinstance(found, list)
    assert all(isinstance(block, Delayed) for block in found)
    blocks = dask.compute(*found)
    assert [len(block) for block in blocks] == list(LENGTHS)
    assert_array_equal(np.concatenate(blocks), np.asarray(getattr(expected, method)(X)))
    if frames:
        pd.testing.assert_index_equal(pd.concat(blocks).index, X.index, exact=True)


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("top", [1, 2])
def test_the_largest_memberships_are_sparse(top, as_list):
    X = blobs(FEW)
    model, expected = fitted(X)
    rows = as_blocks(X, LENGTHS) if as_list else as_array(X, LENGTHS)
    found = model.predict_proba(rows, top=top)
    if not as_list:
        assert sparse.issparse(found._meta)
        assert found.dtype == np.float64
        assert found.chunks == (LENGTHS, (K,))
        assert sparse.issparse(found.blocks[0].compute())
    answer = expected.predict_proba(X, top=top)
    found = computed(found)
    assert sparse.issparse(found)
    assert_array_equal(found.toarray(), answer.toarray())


@pytest.mark.parametrize("method", ANSWERS)
def test_answers_for_sparse_blocks(method):
    X = sparse_rows(FEW)
    model, expected = fitted(sparse.csr_array(X))
    found = getattr(model, method)(as_csr(X, LENGTHS)).compute()
    answer = getattr(expected, method)(sparse.csr_array(X))
    assert sparse.issparse(found) == sparse.issparse(answer)
    if sparse.issparse(found):
        found, answer = found.toarray(), answer.toarray()
    assert_array_equal(found, answer)


def test_completed_frames_keep_what_is_not_missing():
    frame = as_pandas(blobs(FEW, missing=0.1))
    frame["count"] = np.arange(FEW) % 5
    frame["flag"] = frame["count"] > 2
    frame["small"] = np.float32(frame["count"])
    frame["nullable"] = frame["count"].astype("Int64").mask(frame["count"] == 1)
    frame["truth"] = frame["flag"].astype("boolean").mask(frame["count"] == 2)
    frame["arrow"] = frame["nullable"].astype("int16[pyarrow]")
    frame["kind"] = frame["count"].astype(pd.CategoricalDtype(range(5))).mask(frame["count"] == 3)
    model, expected = fitted(frame)
    found = model.complete(as_frame(frame, LENGTHS))
    values = found.compute()
    assert (found.dtypes == values.dtypes).all()
    assert (values.dtypes == frame.dtypes).all()
    for name in ("count", "flag"):
        pd.testing.assert_series_equal(values[name], frame[name])
    answer = expected.complete(frame)
    pd.testing.assert_frame_equal(values, answer)
    assert not values.isna().any().any()


def test_labels_of_a_fit_are_lazy_and_of_all_rows():
    X = blobs()
    rows = as_array(X, (300, 0, 300))
    model = on_dask(max_epochs=200).fit(rows)
    assert isinstance(model.labels_, da.Array)
    assert model.labels_.chunks == ((300, 0, 300),)
    assert_array_equal(model.labels_.compute(), model.predict(X), strict=True)
    assert_array_equal(model.fit_predict(rows).compute(), model.predict(X))
    assert_array_equal(model.fit_transform(rows).compute(), model.transform(X))


@pytest.mark.parametrize("method", ANSWERS)
def test_nothing_is_computed_before_it_is_asked_for(method, tmp_path):
    X = blobs(FEW)
    model, _ = fitted(X)
    count = tmp_path / "count"

    def counted(block):
        with count.open("a") as file:
            file.write(".")
        return block

    rows = as_array(X, (60, 60)).map_blocks(counted, meta=X[:0])
    for table in (rows, list(rows.to_delayed().ravel())):
        count.write_text("")
        found = getattr(model, method)(table)
        assert count.read_text() == ""
        computed(found)
        assert count.read_text() == ".."  # each block once


@pytest.mark.parametrize("scheduler", ["client", "threads"])
@pytest.mark.parametrize("known", [True, False])
def test_a_fit_reads_each_block_as_often_as_it_says(known, scheduler, tmp_path, request):
    if scheduler == "client":
        request.getfixturevalue("client")
    X, count = blobs(), tmp_path / "count"

    def counted(block):
        with count.open("a") as file:
            file.write(".")
        return block

    rows = as_array(X, (200, 200, 200)).map_blocks(counted, meta=X[:0])
    if not known:
        rows = rows[da.ones(len(X), chunks=200, dtype=bool)]
    often = "once" if known else "2 times"
    with pytest.warns(UserWarning, match=f"blocks will be computed {often}") as said:
        model = on_dask().fit(rows)
    assert len(said) == 1
    assert said[0].filename == __file__
    reads = len(count.read_text())
    assert reads == (3 if known else 6)
    assert_array_equal(model.labels_.compute(), local().fit(X).labels_)
    assert len(count.read_text()) == reads + 3


def test_rows_are_drawn_once_more_where_some_turn_out_to_have_no_value(client):
    X = blobs()
    X[[7, 300, 599]] = np.nan
    with pytest.warns(UserWarning, match="3 of 600 rows"):
        expected = local().fit(X)
    rows = as_array(X, (200, 0, 400)).map_blocks(np.array).persist()
    with pytest.warns(UserWarning, match="3 of 600 rows"):
        model = on_dask().fit(rows)
    assert_same_fit(model, expected)


def test_what_is_in_memory_already_is_no_reason_to_warn(client):
    X, lengths = blobs(), (200, 200, 200)
    made = as_array(X, lengths).map_blocks(np.negative)
    for rows in (
        as_array(X, lengths),
        as_array(X, lengths, 2),
        as_blocks(X, lengths),
        made.persist(),
        made.persist(scheduler="sync"),
        as_frame(X, lengths).persist(),
        dd.from_pandas(as_pandas(X), npartitions=2),
        list(client.persist(as_blocks(X, lengths))),
    ):
        on_dask(max_epochs=200).fit(rows)  # warnings are errors


@pytest.mark.parametrize("kind", ["array", "half persisted", "frame", "list"])
def test_rows_that_are_not_persisted_are_told(kind, client):
    made = as_array(blobs(), (300, 300)).map_blocks(np.negative)
    rows = {
        "array": made,
        "half persisted": made.persist().map_blocks(np.negative),
        "frame": made.to_dask_dataframe(),
        "list": list(made.to_delayed().ravel()),
    }[kind]
    with pytest.warns(UserWarning, match=r"X is not persisted.*X.persist\(\)") as said:
        on_dask(max_epochs=200).fit(rows)
    assert len(said) == 1


def test_answers_of_a_cluster_are_those_of_the_model(client):
    X = blobs(FEW, missing=0.1)
    model, expected = fitted(X)
    for method in ANSWERS:
        found = getattr(model, method)(as_array(X, LENGTHS).persist())
        assert_array_equal(found.compute(), getattr(expected, method)(X))


def test_what_cannot_be_asked_of_blocks_is_said():
    X = blobs(FEW)
    model, _ = fitted(X)
    with pytest.raises(ValueError, match="top=2 makes sparse blocks, which frames cannot have"):
        on_dask().fit(as_pandas(X)).predict_proba(as_frame(X, LENGTHS), top=2)
    with pytest.raises(ValueError, match="return_trajectory=True needs rows in memory"):
        model.recall(as_array(X, LENGTHS), return_trajectory=True)
    with pytest.raises(ValueError, match="2 features, but OnDask is expecting 3"):
        model.predict(as_array(X[:, :2], LENGTHS))
    with pytest.raises(ValueError, match="two dimensions, got a dask.array of 1"):
        model.predict(as_array(X, LENGTHS)[:, 0])
    with pytest.raises(ValueError, match="feature names"):
        on_dask().fit(as_pandas(X)).predict(as_frame(as_pandas(X).iloc[:, ::-1], LENGTHS))
    for method in ANSWERS:
        with pytest.raises(ValueError, match="is not fitted yet"):
            getattr(on_dask(), method)(as_array(X, LENGTHS))


def test_sizes_of_clusters_come_from_blocks():
    X = blobs()
    model = on_dask(max_epochs=200).fit(as_array(X, (300, 0, 300)))
    expected = local(max_epochs=200).fit(X)
    assert model.top_features(2).names == expected.top_features(2).names
    assert_array_equal(model._cluster_sizes(), expected._cluster_sizes())


@pytest.mark.parametrize("method", ANSWERS)
def test_columns_in_another_order_are_refused(method):
    frame = as_pandas(blobs(FEW))
    model = on_dask().fit(as_frame(frame, LENGTHS))
    swapped = frame.iloc[:, ::-1]
    with pytest.raises(ValueError, match="feature names"):
        getattr(model, method)(as_frame(swapped, LENGTHS))
    with pytest.raises(ValueError, match="Columns must be"):  # workers look at these
        computed(getattr(model, method)(as_blocks(swapped, LENGTHS)))


@pytest.mark.parametrize(
    "change", [{"step_size": 0.25}, {"mask_value": 0.0}, {"n_steps": 3}, {"scale": "robust"}]
)
def test_answers_of_two_models_are_told_apart(change):
    X = blobs(FEW, missing=0.1)
    rows = as_array(X, LENGTHS)
    first = on_dask(objective="completion").fit(rows)
    other = copy.copy(first)
    network = first.network_
    if "mask_value" in change:
        fill = network.geometry.fill + np.float32(0.5)
        geometry = dataclasses.replace(network.geometry, fill=fill)
        other.network_ = dataclasses.replace(network, geometry=geometry)
    elif "scale" in change:
        geometry = dataclasses.replace(network.geometry, scale=network.geometry.scale * 2)
        other.network_ = dataclasses.replace(network, geometry=geometry)
    else:
        other.network_ = dataclasses.replace(network, **change)
    ask = "complete" if "mask_value" in change else "recall"
    together = dask.compute(getattr(first, ask)(rows), getattr(other, ask)(rows))
    assert_array_equal(together[1], getattr(other.network_, ask)(X))
    assert (together[0] != together[1]).any()
    assert first.complete(rows).name != other.complete(rows).name
