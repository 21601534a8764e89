"""Cells as numbers, or as categories; column by column, without a Python loop."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from amclust.cli.tables._errors import TableError
from amclust.cli.tables._header import NUMBER

MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "-"),
)
"""Spellings of a missing cell: those of pandas, "?" and "-". Spaces around them do not matter."""

MISSING_ID = ("", "NaN", "nan", "<NA>", "NULL", "null")
"""Spellings of a missing name of a row, fewer: "NA" is Namibia, "None" a surname."""

# Calls of Arrow cost more than what they do for a few hundred cells.
_CELLS_AT_ONCE = 1_000_000
_TRUE, _FALSE = "true", "false"
_DATE = (
    r"(?:[0-9]{4}[-/.][0-9]{1,2}(?:[-/.][0-9]{1,2})?|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}|"
    r"[0-9]{1,2}[- ][A-Za-z]{3,9}[- ,]+[0-9]{2,4}|[A-Za-z]{3,9} [0-9]{1,2},? [0-9]{4})"
    r"(?:[T ]+.*)?|[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:[.,][0-9]+)?(?: ?[AaPp][Mm])?"
)
# The common one, and those that do not break a line.
_SPACES = " \u00a0\u202f"
_DECIMAL_COMMA = r"[+-]?[0-9]+(?:\.[0-9]{3})*,[0-9]+(?:[eE][+-]?[0-9]+)?"
_THOUSANDS = rf"[+-]?[0-9]{{1,3}}(?:[,'’_{_SPACES}][0-9]{{3}})+(?:\.[0-9]*)?"


@dataclass(frozen=True)
class Spelling:
    """How numbers are spelled in text."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def plain(self) -> bool:
        """Whether numbers are spelled as Python spells them."""
        return self.decimal == "." and self.thousands is None


PLAIN = Spelling()
"""As Python spells numbers."""


@dataclass(frozen=True)
class Numbers:
    """A column of numbers."""

    values: np.ndarray
    """float64, NaN where missing."""
    boolean: bool
    """Whether they were truth values."""


@dataclass(frozen=True)
class Refusal:
    """Why a column is not one of numbers."""

    reason: str
    """What it holds instead, a key of the advice in `_refusals`."""
    row: int
    """The first row it is true of."""
    examples: tuple[str, ...]
    """A few different cells, the one in `row` first."""


def to_arrow(series: pd.Series) -> pa.ChunkedArray:
    """Return a column as Arrow sees it; cells of different types become text."""
    arrow = isinstance(series.dtype, pd.ArrowDtype)
    try:
        array = series.array.__arrow_array__() if arrow else pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        missing = series.isna()
        cells = [None if gone else str(cell) for cell, gone in zip(series, missing, strict=True)]
        array = pa.array(cells, pa.string())
    column = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_large_string(column.type) and not arrow:
        # How pandas keeps its own text; here it marks the cells of text tables.
        column = column.cast(pa.string())
    return column


def is_text(column: pa.ChunkedArray) -> bool:
    """Whether a column holds text."""
    kind = column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def to_numbers(column: pa.ChunkedArray, spelling: Spelling) -> Numbers | Refusal:
    """Return a column as numbers, or why it is none."""
    kind = column.type
    if is_text(column):
        found = _numbers_of_text(column, spelling)
    elif pa.types.is_boolean(kind):
        found = Numbers(_to_numpy(column), boolean=True)
    elif pa.types.is_null(kind):
        found = Numbers(np.full(len(column), np.nan), boolean=False)
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        found = Numbers(_to_numpy(column), boolean=False)
    elif pa.types.is_temporal(kind):
        return _refuse("date", column, pc.is_valid(column))
    else:
        return _refuse("nested", column, pc.is_valid(column))
    if isinstance(found, Numbers) and np.isinf(found.values).any():
        return _refuse("infinite", column, pa.array(np.isinf(found.values)))
    return found


def all_to_numbers(
    columns: Sequence[pa.ChunkedArray], spelling: Spelling
) -> list[Numbers | Refusal]:
    """Return what `to_numbers` does of every column, many narrow ones of text at a time."""
    found: list[Numbers | Refusal] = []
    for kind, group in itertools.groupby(columns, key=lambda column: column.type):
        alike = list(group)
        size = max(1, _CELLS_AT_ONCE // max(1, len(alike[0])))
        for start in range(0, len(alike), size):
            part = alike[start : start + size]
            values = _values_of_plain(part, kind) if len(part) > 1 and spelling.plain else None
            if values is None:
                found.extend(to_numbers(column, spelling) for column in part)
            else:
                found.extend(Numbers(one, boolean=False) for one in values)
    return found


def _values_of_plain(columns: list[pa.ChunkedArray], kind: pa.DataType) -> np.ndarray | None:
    """Return columns of text as the rows of a matrix, None if not all are plain finite numbers."""
    joined = pa.chunked_array([chunk for column in columns for chunk in column.chunks], kind)
    if not is_text(joined):
        return None
    try:
        values = _to_numpy(blank_missing(joined))
    except pa.ArrowInvalid:
        return None
    return None if np.isinf(values).any() else values.reshape(len(columns), -1)


def to_categories(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text without spaces around it, null where missing."""
    if not is_text(column):
        if pa.types.is_boolean(column.type):
            column = pc.if_else(column, "True", "False")
        elif pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), None, column)
        try:
            column = column.cast(pa.string())
        except pa.ArrowException:
            msg = f"column {name!r} ({column.type}) has no categories: leave out with --drop"
            raise TableError(msg) from None
    return blank_missing(column)


def is_missing(column: pa.ChunkedArray) -> np.ndarray:
    """Return which cells of a column are missing."""
    if is_text(column):
        column = blank_missing(column)
    return pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)


def is_missing_id(column: pa.ChunkedArray) -> np.ndarray:
    """Return which cells of a column of names of rows are missing."""
    missing = pc.is_null(column, nan_is_null=True)
    if is_text(column):
        trimmed = pc.utf8_trim_whitespace(column)
        missing = pc.or_(missing, pc.is_in(trimmed, _spellings(MISSING_ID, column.type)))
    return missing.to_numpy(zero_copy_only=False)


def spell_numbers(values: np.ndarray, spelling: Spelling) -> list[str]:
    """Return numbers as short as they can be told apart, 3 for 3.0."""
    words = pc.cast(pa.array(values), pa.string())
    if spelling.decimal != ".":
        words = pc.replace_substring(words, ".", spelling.decimal)
    return words.to_pylist()


@functools.lru_cache
def _spellings(words: tuple[str, ...], kind: pa.DataType) -> pa.Array:
    return pa.array(words, kind)


def blank_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without spaces around it, null where it spells a missing cell."""
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, _spellings(MISSING, trimmed.type))
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def _to_numpy(column: pa.ChunkedArray) -> np.ndarray:
    numbers = pc.cast(column, pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False)


def _numbers_of_text(column: pa.ChunkedArray, spelling: Spelling) -> Numbers | Refusal:
    if spelling.plain:
        try:
            return Numbers(_to_numpy(column), boolean=False)
        except pa.ArrowInvalid:
            pass  # Missing cells, most often.
    cells = blank_missing(column)
    spelled = cells if spelling.plain else _respell(cells, spelling)
    try:
        return Numbers(_to_numpy(spelled), boolean=False)
    except pa.ArrowInvalid:
        pass
    lowered = pc.utf8_lower(cells)
    words = _spellings((_TRUE, _FALSE, "1", "0"), lowered.type)
    if pc.all(pc.is_in(pc.drop_null(lowered), words)).as_py():
        truth = pc.is_in(lowered, _spellings((_TRUE, "1"), lowered.type))
        values = np.where(pc.is_null(cells), np.nan, _to_numpy(truth))
        return Numbers(values, boolean=True)
    return _refuse_text(column, cells, spelled)


def _respell(cells: pa.ChunkedArray, spelling: Spelling) -> pa.ChunkedArray:
    """Spell numbers as Python does; what the spelling does not allow becomes no number at all."""
    if spelling.thousands is not None:
        # Only where it stands between groups of three: "1,5" does not become 15.
        marks = f"[{_SPACES}]" if spelling.thousands == " " else re.escape(spelling.thousands)
        grouped = pc.match_substring_regex(
            cells, rf"^[+-]?[0-9]{{1,3}}(?:{marks}[0-9]{{3}})+(?:[^0-9].*)?$"
        )
        cells = pc.if_else(grouped, pc.replace_substring_regex(cells, marks, ""), cells)
    if spelling.decimal != ".":
        cells = pc.replace_substring(pc.replace_substring(cells, ".", "·"), spelling.decimal, ".")
    return cells


def _refuse_text(
    column: pa.ChunkedArray, cells: pa.ChunkedArray, spelled: pa.ChunkedArray
) -> Refusal:
    numeric = pc.match_substring_regex(spelled, rf"(?i)^(?:{NUMBER}|[+-]?(?:nan|inf|infinity))$")
    offending = pc.fill_null(pc.invert(numeric), False)
    offenders = pc.filter(cells, offending)

    def all_match(pattern: str) -> bool:
        return bool(pc.all(pc.match_substring_regex(offenders, f"^(?:{pattern})$")).as_py())

    if all_match(_DECIMAL_COMMA):
        reason = "comma" if all_match(_THOUSANDS) else "decimal comma"
    elif all_match(_THOUSANDS):
        reason = "thousands"
    elif all_match(_DATE):
        reason = "date"
    elif all_match(rf"{NUMBER} ?%"):
        reason = "percent"
    else:
        reason = "text among numbers" if pc.any(numeric).as_py() else "text"
    return _refuse(reason, column, offending)


def _refuse(reason: str, column: pa.ChunkedArray, offending: pa.ChunkedArray) -> Refusal:
    rows = np.flatnonzero(offending.to_numpy(zero_copy_only=False))
    examples = dict.fromkeys(str(column[int(row)].as_py()) for row in rows[:50])
    return Refusal(reason, int(rows[0]) if len(rows) else 0, tuple(examples)[:3])
