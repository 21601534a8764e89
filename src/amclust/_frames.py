"""Data frames as numbers, and completed ones with the types that their columns have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def is_numeric(dtype: Any) -> bool:
    """Whether a column of this type holds numbers or truth values."""
    if hasattr(dtype, "is_numeric"):  # polars: a method of the type
        return bool(dtype.is_numeric()) or str(dtype) in ("Boolean", "Null")
    if is_category(dtype):
        return is_numeric(dtype.categories.dtype)
    # Columns of Python numbers are fine and convert; a pandas object column usually is text.
    return getattr(dtype, "kind", None) in ("b", "i", "u", "f")  # numpy and pandas


def is_category(dtype: Any) -> bool:
    """Whether a type of pandas is that of categories."""
    return hasattr(dtype, "categories") and hasattr(dtype, "ordered")


# What pandas calls Python objects that are numbers, or missing.
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")


def holds_numbers(series: Any) -> bool:
    """Whether a column of Python objects of pandas has numbers only, besides missing values."""
    if getattr(series.dtype, "kind", None) != "O" or hasattr(series.dtype, "is_numeric"):
        return False
    from pandas.api.types import infer_dtype

    return infer_dtype(series, skipna=True) in NUMBERS


def as_plain(frame: Any) -> Any:
    """Return a frame of pandas with numbers in place of categories and objects.

    Anything else is returned as it is.
    """
    if not hasattr(frame, "isetitem"):
        return frame
    plain, changed = (
        frame,
        [
            at
            for at, dtype in enumerate(frame.dtypes)
            if is_category(dtype) or holds_numbers(frame.iloc[:, at])
        ],
    )
    if changed:
        plain = frame.copy(deep=False)
    for at in changed:
        series = frame.iloc[:, at]
        series = series if is_category(series.dtype) else series.where(series.notna(), np.nan)
        plain.isetitem(at, series.astype(np.float64))
    return plain


def fill_frame(frame: Any, values: Floats, missing: NDArray[np.bool_]) -> Any:
    """Return a copy of a frame with its missing cells filled; columns keep their types.

    Parameters
    ----------
    frame : DataFrame
        A frame of pandas or polars.

    values : ndarray of shape (n_rows, n_columns)
        Its completed numbers.

    missing : bool ndarray of shape (n_rows, n_columns)
        Which cells are to be filled.

    Returns
    -------
    filled : DataFrame
        Whole numbers are rounded (and inside the range of their type), truth values are true from
        0.5 on, and of categories it is the nearest.
    """
    columns = [int(at) for at in np.flatnonzero(missing.any(axis=0))]
    if hasattr(frame, "isetitem"):  # pandas
        filled = frame.copy()
        for at in columns:
            filled.isetitem(at, fill_column(frame.iloc[:, at], values[:, at], missing[:, at]))
        return filled
    series = [frame.get_column(frame.columns[at]) for at in columns]  # polars
    return frame.with_columns(
        [
            fill_column(one, values[:, at], missing[:, at])
            for at, one in zip(columns, series, strict=True)
        ]
    )


def fill_column(series: Any, values: Floats, missing: NDArray[np.bool_]) -> Any:
    """Return one column of numbers filled, as `fill_frame` does it."""
    if hasattr(series.dtype, "is_numeric"):
        return _fill_polars(series, values, missing)
    return _fill_pandas(series, values, missing)


def like_frame(frame: Any, values: Floats) -> Any:
    """Return numbers as a frame of pandas or polars, with the columns and the index of another."""
    if hasattr(frame, "isetitem"):
        return type(frame)(values, index=frame.index, columns=frame.columns)
    return type(frame)(values, schema=list(frame.columns))


def _fill_pandas(series: Any, values: Floats, missing: NDArray[np.bool_]) -> Any:
    dtype = series.dtype
    if hasattr(dtype, "fill_value"):  # sparse: what is stored changes, nothing can be set in place
        return type(series.array)(values, dtype=dtype)
    filled = series.array.copy()
    if is_category(dtype):
        known = dtype.categories
        filled[missing] = known.take(_nearest(values[missing], known.to_numpy(np.float64)))
    else:
        filled[missing] = converted(values[missing], getattr(dtype, "numpy_dtype", dtype))
    return filled


def _fill_polars(series: Any, values: Floats, missing: NDArray[np.bool_]) -> Any:
    dtype = series.dtype
    if str(dtype) == "Null":  # holds no number
        return type(series)(series.name, values)
    known = {"Boolean": "bool"}.get(str(dtype), str(dtype).lower())
    try:
        made = converted(values, np.dtype(known))
    except (TypeError, ValueError):  # of polars alone: 128 bits, decimals
        made = np.rint(values) if dtype.is_integer() else values
    return series.zip_with(type(series)("", ~missing), type(series)("", made).cast(dtype))


def converted(values: Floats, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return numbers in a type of NumPy, rounded where it holds whole ones or truth values."""
    if dtype.kind == "b":
        return values >= 0.5
    if dtype.kind not in "iu":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    low, high = float(limits.min), float(limits.max)  # the latter may be rounded up
    whole = np.maximum(np.rint(values.astype(np.float64)), low)
    fits = whole < high
    return np.where(fits, np.where(fits, whole, 0.0).astype(dtype), limits.max).astype(dtype)


def _nearest(values: Floats, known: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the place of the nearest of some numbers; of two, that of the smaller one."""
    order = np.argsort(known, kind="stable")
    middles = (known[order][:-1] + known[order][1:]) / 2.0
    return order[np.searchsorted(middles, values)]
