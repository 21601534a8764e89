"""Cells as numbers, or as categories; column by column, without a Python loop."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amclust.cli.tables.errors import Refusal, TableError
from amclust.cli.tables.schema import MISSING, MISSING_ID, is_text

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""How a number is spelled; what Arrow reads as one, apart from inf and nan."""

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

    def __post_init__(self) -> None:
        decimal, thousands = self.decimal, self.thousands
        if decimal not in (".", ","):
            msg = f"decimal must be '.' or ',', got {decimal!r}"
            raise TableError(msg)
        if thousands is not None and (
            len(thousands) != 1 or thousands.isalnum() or thousands in "+-"
        ):
            msg = f"thousands must be one character such as ',', got {thousands!r}"
            raise TableError(msg)
        if decimal == thousands:
            msg = f"decimal and thousands must differ, both are {decimal!r}"
            raise TableError(msg)

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
    boolean: bool = False
    """Whether they were truth values."""
    words: Refusal | None = None
    """What is wrong with truth values in words, if other rows hold numbers besides 0 and 1."""


def to_numbers(column: pa.ChunkedArray, spelling: Spelling) -> Numbers | Refusal:
    """Return a column as numbers, or why it is none."""
    kind = column.type
    if is_text(kind):
        found = _numbers_of_text(column, spelling)
        if isinstance(found, Refusal):
            return found
    elif pa.types.is_boolean(kind):
        found = Numbers(_to_numpy(column), boolean=True)
    elif pa.types.is_null(kind):
        found = Numbers(np.full(len(column), np.nan))
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        found = Numbers(_to_numpy(column))
    else:
        reason = "date" if pa.types.is_temporal(kind) else "nested"
        return _refuse(reason, column, pc.is_valid(column))
    infinite = np.isinf(found.values)
    return _refuse("infinite", column, pa.array(infinite)) if infinite.any() else found


def to_categories(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text without spaces around it, null where missing."""
    if not is_text(column.type):
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
    if is_text(column.type):
        column = blank_missing(column)
    return pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False)


def is_missing_id(column: pa.ChunkedArray) -> np.ndarray:
    """Return which cells of a column of names of rows are missing."""
    missing = pc.is_null(column, nan_is_null=True)
    if is_text(column.type):
        trimmed = pc.utf8_trim_whitespace(column)
        missing = pc.or_(missing, pc.is_in(trimmed, pa.array(MISSING_ID, column.type)))
    return missing.to_numpy(zero_copy_only=False)


def blank_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return text without spaces around it, null where it spells a missing value."""
    trimmed = pc.utf8_trim_whitespace(column)
    missing = pc.is_in(trimmed, pa.array(MISSING, trimmed.type))
    return pc.if_else(missing, pa.scalar(None, trimmed.type), trimmed)


def _to_numpy(column: pa.ChunkedArray) -> np.ndarray:
    numbers = pc.cast(column, pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False)


def _numbers_of_text(column: pa.ChunkedArray, spelling: Spelling) -> Numbers | Refusal:
    if spelling.plain:
        try:
            return Numbers(_to_numpy(column))
        except pa.ArrowInvalid:
            pass  # Missing values, most often.
    cells = blank_missing(column)
    spelled = cells if spelling.plain else _respell(cells, spelling)
    try:
        return Numbers(_to_numpy(spelled))
    except pa.ArrowInvalid:
        pass
    refusal = _refuse_text(column, cells, spelled)
    lowered = pc.utf8_lower(cells)
    if not pc.all(pc.is_in(pc.drop_null(lowered), pa.array(["true", "false", "1", "0"]))).as_py():
        return refusal
    truth = pc.is_in(lowered, pa.array(["true", "1"]))
    values = np.where(pc.is_null(cells), np.nan, _to_numpy(truth))
    return Numbers(values, boolean=True, words=refusal)


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


def forced_numbers(column: pa.ChunkedArray, spelling: Spelling) -> Numbers:
    """Return text as numbers, NaN where it spells none."""
    cells = blank_missing(column)
    spelled = cells if spelling.plain else _respell(cells, spelling)
    numeric = pc.match_substring_regex(spelled, f"^(?:{NUMBER})$")
    return Numbers(_to_numpy(pc.if_else(numeric, spelled, pa.scalar(None, spelled.type))))


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
