"""Putting completed values into the missing cells of a table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from amclust.cli.tables._cells import Spelling, is_missing, is_text, spell_numbers, to_arrow
from amclust.cli.tables._column import Column

# Significant ones of a number that is filled in.
DIGITS = 9


def fill(
    frame: pd.DataFrame, columns: Sequence[Column], values: np.ndarray, spelling: Spelling
) -> pd.DataFrame:
    """Return a copy of a table with its missing cells filled from the completed matrix."""
    filled = frame.copy()
    start = 0
    for column in columns:
        stop = start + len(column.features)
        cells = to_arrow(frame[column.name])
        missing = is_missing(cells)
        if missing.any():
            new = _fill_column(cells, missing, column, values[missing, start:stop], spelling)
            filled[column.name] = pd.Series(
                pd.arrays.ArrowExtensionArray(new), index=frame.index, name=column.name
            )
        start = stop
    return filled


def _fill_column(
    cells: pa.ChunkedArray,
    missing: np.ndarray,
    column: Column,
    values: np.ndarray,
    spelling: Spelling,
) -> pa.ChunkedArray:
    if column.kind == "category":
        words = [column.categories[place] for place in values.argmax(axis=1)]
        new = pa.array(words, pa.string())
    elif column.kind == "boolean":
        new = pa.array(values[:, 0] >= 0.5)
    else:
        new = pa.array(_rounded(values[:, 0]))
    if is_text(cells):
        new = _to_text(new, cells, column, spelling)
    else:
        cells, new = _of_one_type(cells, new)
    return pc.replace_with_mask(pc.fill_null(cells, new[0]), pa.array(missing), new)


def _rounded(values: np.ndarray) -> np.ndarray:
    """Leave out digits that tell of rounding: values were computed in single precision."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in values])


def _to_text(new: pa.Array, cells: pa.ChunkedArray, column: Column, spelling: Spelling) -> pa.Array:
    if column.kind == "boolean":
        new = pc.if_else(new, *_words_of_truth(cells))
    elif column.kind == "number":
        new = pa.array(spell_numbers(new.to_numpy(), spelling))
    return new.cast(cells.type)


def _words_of_truth(cells: pa.ChunkedArray) -> tuple[str, str]:
    """Return the spelling of true and false that a column uses."""
    for word in pc.unique(cells).to_pylist():
        trimmed = "" if word is None else word.strip()
        if trimmed.lower() in ("true", "false"):
            if trimmed.isupper():
                return "TRUE", "FALSE"
            return ("true", "false") if trimmed.islower() else ("True", "False")
    return "True", "False"


def _of_one_type(cells: pa.ChunkedArray, new: pa.Array) -> tuple[pa.ChunkedArray, pa.Array]:
    """Cast new values to the type of the column, or the column to theirs where they do not fit."""
    try:
        return cells, new.cast(cells.type)
    except pa.ArrowInvalid:
        return cells.cast(new.type, safe=False), new
