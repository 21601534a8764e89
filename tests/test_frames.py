"""Completed frames: the same columns, index and types."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from amclust import ClAM
from amclust._frames import converted, fill_frame, is_numeric

pytestmark = pytest.mark.filterwarnings("ignore:.*still improving")

PANDAS = [
    *("float32", "float64", "Float32", "Float64"),
    *("Int8", "Int64", "UInt8", "UInt64", "boolean"),
    *(pd.ArrowDtype(kind) for kind in (pa.int16(), pa.uint32(), pa.float32(), pa.float64())),
    pd.ArrowDtype(pa.bool_()),
    pd.CategoricalDtype([0, 1, 3, 100]),
    pd.CategoricalDtype([3.5, 0.0, 1.0], ordered=True),
    pd.CategoricalDtype([True, False]),
]
POLARS = [pl.Float32, pl.Float64, pl.Int8, pl.Int64, pl.UInt8, pl.UInt64, pl.Boolean, pl.Int128]


def numbers(dtype):
    """Return numbers that a column of a type may hold, not in order."""
    if isinstance(dtype, pd.CategoricalDtype):
        return list(dtype.categories)
    return [True, False] if "bool" in str(dtype).lower() else [0, 3, 1, 7]


def series(dtype, n=40):
    known = numbers(dtype)
    values = [known[at % len(known)] for at in range(n)]
    values[4] = values[9] = None
    return pd.Series(values, dtype=object).astype(dtype)


@pytest.mark.parametrize("dtype", PANDAS, ids=str)
def test_columns_of_pandas_keep_their_type(dtype):
    frame = pd.DataFrame({"a": series(dtype), "b": np.arange(40.0)})
    frame.index = pd.Index(np.arange(40) * 2 + 5, name="row")
    frame.attrs["source"] = "here"
    before = frame.copy()
    model = ClAM(2, n_init=1, max_epochs=10, random_state=0, objective="silhouette").fit(frame)
    filled = model.complete(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert list(filled.dtypes) == list(frame.dtypes)
    pd.testing.assert_index_equal(filled.index, frame.index)
    pd.testing.assert_index_equal(filled.columns, frame.columns)
    assert filled.attrs == frame.attrs
    assert not filled.isna().any(axis=None)
    known = frame["a"].notna()
    pd.testing.assert_series_equal(filled["a"][known], frame["a"][known])
    assert_array_equal(model.labels_, model.predict(frame))
    pd.testing.assert_frame_equal(model.complete(filled), filled)
    # Another way to the same: numbers alone.
    plain = pd.DataFrame({"a": series(dtype).astype(float), "b": np.arange(40.0)})
    assert_array_equal(model.labels_, model.predict(plain))
    found = model.complete(plain)["a"].to_numpy()[[4, 9]]
    if isinstance(dtype, pd.CategoricalDtype):
        known = np.array(numbers(dtype), float)
        assert_array_equal(
            filled["a"].to_numpy(float)[[4, 9]], known[abs(known - found[:, None]).argmin(axis=1)]
        )


@pytest.mark.parametrize("dtype", POLARS, ids=str)
def test_columns_of_polars_keep_their_type(dtype):
    values = series("boolean" if dtype == pl.Boolean else "Int64").tolist()
    cells = [None if cell is pd.NA else cell for cell in values]
    frame = pl.DataFrame({"a": pl.Series(cells).cast(dtype), "b": np.arange(40.0)})
    before = frame.clone()
    model = ClAM(2, n_init=1, max_epochs=10, random_state=0, objective="silhouette").fit(frame)
    filled = model.complete(frame)
    assert frame.equals(before)
    assert filled.schema == frame.schema
    assert filled.null_count().sum_horizontal()[0] == 0
    known = frame["a"].is_not_null()
    assert filled.filter(known).equals(frame.filter(known))


@pytest.mark.parametrize("columns", [[("x", "a"), ("x", "b"), ("y", "a")], [2, 1, 0], list("abc")])
def test_names_of_columns_stay(columns):
    X = make_blobs(30, 3, random_state=0)[0]
    X[3, 1] = np.nan
    frame = pd.DataFrame(X, columns=pd.Index(columns))
    filled = ClAM(2, n_init=1, max_epochs=5, random_state=0).fit(frame).complete(frame)
    pd.testing.assert_index_equal(filled.columns, frame.columns)
    assert isinstance(filled.columns, pd.MultiIndex) == isinstance(columns[0], tuple)
    assert not filled.isna().any(axis=None)


def test_large_integers_beside_a_gap_keep_their_digits():
    frame = pd.DataFrame({"a": pd.array([2**60 + 1, None, 5], "Int64"), "b": [1.0, 2.0, 3.0]})
    values = np.array([[2.0**60, 1.0], [1e30, 2.0], [5.0, 3.0]])
    filled = fill_frame(frame, values, np.isnan(frame.to_numpy(float, na_value=np.nan)))
    assert filled["a"].tolist() == [2**60 + 1, 2**63 - 1, 5]


def test_sparse_columns_stay_sparse():
    X = make_blobs(30, 2, random_state=0)[0].round(1)
    X[::3], X[4, 0] = 0.0, np.nan
    frame = pd.DataFrame(X, columns=["a", "b"]).astype(pd.SparseDtype(float, 0.0))
    filled = ClAM(2, n_init=1, max_epochs=5, random_state=0).fit(frame).complete(frame)
    assert list(filled.dtypes) == list(frame.dtypes)
    assert not filled.isna().any(axis=None)
    assert_array_equal(np.delete(filled.to_numpy(), 4, axis=0), np.delete(X, 4, axis=0))


@pytest.mark.parametrize(
    "cells", [["a", "b", "c", "d"], pd.to_datetime(["2020", "2021", "2022", "2023"])]
)
def test_categories_that_are_no_numbers_are_not_taken_for_numbers(cells):
    frame = pd.DataFrame({"a": pd.Categorical(cells), "b": np.arange(4.0)})
    with pytest.raises(ValueError, match="All columns must be numbers; not so: 'a' \\(category"):
        ClAM(2, categorical_features=None).fit(frame)
    assert not is_numeric(frame["a"].dtype)


@settings(max_examples=80, deadline=None)
@given(
    values=st.lists(st.floats(-1e25, 1e25), min_size=1, max_size=8),
    kind=st.sampled_from([*"bhilqBHILQ", "?", "f", "d"]),
)
def test_converted_numbers_are_the_nearest_of_a_type(values, kind):
    dtype = np.dtype(kind)
    found = converted(np.array(values), dtype)
    assert found.dtype == dtype
    for value, number in zip(values, found.tolist(), strict=True):
        if kind == "?":
            assert number == (value >= 0.5)
        elif dtype.kind in "iu":
            limits = np.iinfo(dtype)
            assert number == min(max(round(value), int(limits.min)), int(limits.max))
        else:
            assert number == dtype.type(value)


def test_decimals_of_polars_stay_decimals():
    kinds = pl.DataFrame({"a": [1.5, None, 2.5, 9.0] * 5, "d": [1, 2, None, 8] * 5}).with_columns(
        pl.col("d").cast(pl.Decimal(10, 2))
    )
    filled = ClAM(2, random_state=0).fit(kinds).complete(kinds)
    assert filled.schema == kinds.schema
    assert filled.null_count().sum_horizontal().item() == 0


@pytest.mark.parametrize("missing", [None, pd.NA, np.nan])
def test_numbers_among_python_objects_are_numbers(missing):
    X = pd.DataFrame(make_blobs(40, 2, centers=2, random_state=0)[0], columns=["a", "b"])
    model = ClAM(2, n_init=1, random_state=0).fit(X)
    row = X[:1].astype(object)
    row.iloc[0, 0] = missing
    expected = X[:1].astype(float)
    expected.iloc[0, 0] = np.nan
    assert model.predict(row) == model.predict(expected)
