"""Numbers as people read them."""

import numpy as np
import pytest

from amclust.report._numbers import (
    ColumnFormat,
    column_formats,
    counted,
    fixed,
    number,
    share,
    signed,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.300"),
        (-1.5, "−1.50"),
        (1234.5, "1234"),
        (1234567.8, "1,234,568"),
        (0, "0"),
        (1e-7, "1.00×10⁻⁷"),
        (-2.5e20, "−2.50×10²⁰"),
        (np.nan, "–"),
        (np.inf, "–"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [
        (0, 10, "0"),
        (1, 1, "100"),
        (1, 3, "33"),
        (1, 16, "6.2"),
        (1, 100_000, "under 0.1"),
        (99_999, 100_000, "over 99.9"),
        (0, 0, "0"),
    ],
)
def test_share(part, whole, text):
    assert share(part, whole) == f"{text}\N{NO-BREAK SPACE}%"


def test_zero_has_no_sign():
    assert fixed(-0.001, 2) == "0.00"
    assert signed(-0.001) == signed(0.001) == "0.0"
    assert signed(1.26) == "+1.3"
    assert signed(-1.26) == "−1.3"


def test_counts_agree_with_their_noun():
    assert counted(1, "row") == "1 row"
    assert counted(12345, "row") == "12,345 rows"
    assert counted(2, "memory", "memories") == "2 memories"


def test_columns_are_written_as_finely_as_they_differ():
    rows = np.array([[1013.25, 1e-9, 2019, 1.0], [1013.29, 3e-9, 2023, np.nan]])
    formats = column_formats(rows, np.nanstd(rows, axis=0))
    assert [write(value) for write, value in zip(formats, rows[0], strict=True)] == [
        "1013.250",
        "1.00×10⁻⁹",
        "2019",
        "1",
    ]
    assert formats[2](2020.512) == "2020.5"
    assert formats[0](np.nan) == "–"


def test_whole_numbers_beyond_reading_are_shortened():
    assert ColumnFormat(0, True)(3e20) == "3.00×10²⁰"
    assert ColumnFormat(0, True)(12345.0) == "12,345"
