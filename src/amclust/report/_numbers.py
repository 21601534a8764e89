"""Numbers and names as people read them; the templates use these functions as filters."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

NOTHING = "–"
LONGEST_NAME = 60
UNBROKEN_NAME = 12
# Beyond these, zeros in front or behind would be all there is to see.
MIN_PLAIN, MAX_PLAIN = 1e-4, 1e15
# Whole numbers of five and more digits are grouped; years are not.
MIN_GROUPED = 10_000
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def shorten(text: str, longest: int = LONGEST_NAME) -> str:
    """Cut a long name, and show that it was cut."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def name_parts(text: str) -> list[str]:
    """Return a name, shortened, in the parts between which a line may break."""
    text = shorten(text)
    if len(text) <= UNBROKEN_NAME:
        return [text.replace(" ", "\N{NO-BREAK SPACE}")]
    return re.split(r"(?<=[_/.:-])(?=\w)", text)


def grouped(value: int) -> str:
    """Write a count: 12,345."""
    return f"{value:,}"


def counted(value: int, noun: str, plural: str | None = None) -> str:
    """Write a count and what is counted: "1 row", "12,345 rows"."""
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"


def share(part: float, whole: float) -> str:
    """Write a part of something in per cent; never 0 % or 100 % where that is only nearly so."""
    percent = 100 * part / whole if whole else 0.0
    if 0 < percent < 0.1:
        return "under 0.1\N{NO-BREAK SPACE}%"
    if 99.9 < percent < 100:
        return "over 99.9\N{NO-BREAK SPACE}%"
    whole = percent == round(percent) or 9.95 <= percent <= 99
    return f"{percent:.{0 if whole else 1}f}\N{NO-BREAK SPACE}%"


def number(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits."""
    if not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size and not MIN_PLAIN <= size < MAX_PLAIN:
        return _scientific(value, digits)
    decimals = max(0, digits - 1 - math.floor(math.log10(size))) if size else 0
    return fixed(value, decimals)


def fixed(value: float, decimals: int) -> str:
    """Write a number with so many decimals."""
    if not math.isfinite(value):
        return NOTHING
    comma = "," if abs(value) >= MIN_GROUPED else ""
    text = f"{abs(value):{comma}.{decimals}f}"
    return f"−{text}" if value < 0 and float(text.replace(",", "")) else text


def signed(value: float, decimals: int = 1) -> str:
    """Write a difference, with its sign."""
    text = fixed(value, decimals)
    return text if text.startswith("−") or not float(text.replace(",", "")) else f"+{text}"


def _scientific(value: float, digits: int) -> str:
    mantissa, _, exponent = f"{abs(value):.{digits - 1}e}".partition("e")
    sign = "−" if value < 0 else ""
    return f"{sign}{mantissa}×10{str(int(exponent)).translate(SUPERSCRIPTS)}"


class ColumnFormat(NamedTuple):
    """How the values of one column are written: as finely as they differ."""

    decimals: int
    whole: bool  # all values seen are whole numbers

    def __call__(self, value: float) -> str:
        """Write a value of the column."""
        if self.whole and math.isfinite(value) and value == round(value):
            return fixed(value, 0) if abs(value) < MAX_PLAIN else number(value)
        size = abs(value)
        if size and (size >= MAX_PLAIN or (self.decimals > 4 and size < MIN_PLAIN)):
            return number(value)
        return fixed(value, self.decimals)


class ShareFormat(ColumnFormat):
    """How shares of levels are written."""

    def __call__(self, value: float) -> str:
        """Write a share."""
        return share(value, 1.0) if math.isfinite(value) else NOTHING


def column_formats(rows: NDArray[Any], spread: NDArray[np.float64]) -> Sequence[ColumnFormat]:
    """Choose the format of every column, so that a twelfth of its spread can be seen."""
    whole = np.all(np.isnan(rows) | (rows == np.round(rows)), axis=0)
    known = np.isfinite(spread) & (spread > 0)
    needed = np.ceil(-np.log10(np.where(known, spread, 1.0) / 12))
    decimals = np.where(known, np.clip(needed, 0, 12), 3).astype(int)
    return [ColumnFormat(int(a), bool(b)) for a, b in zip(decimals, whole, strict=True)]
