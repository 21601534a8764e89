"""Tables that have categories beside numbers: what their columns are, and their rows.

A category has a column of the core for each of its levels, 1 where a row has the level and 0
elsewhere. No such column is held: of a row there are its numbers and the codes of its levels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

# What a level may be; anything else is known by its text.
Level = str | bool | int | float
Levels = tuple[Level, ...]

# The code of a level that is missing, and how many levels there may be besides.
MISSING = 255
MAX_LEVELS = 255


@dataclass(frozen=True)
class Categories:
    """The columns of a table of which some are categories.

    Columns are those of the user, features those of the core: one for a number, one a level for a
    category, in the order of the columns.

    Parameters
    ----------
    levels : tuple of (tuple of str, bool, int or float) or None
        The levels of each column; None: it is a number.

    names : tuple of str or None
        Names of the columns, where they have names.
    """

    levels: tuple[Levels | None, ...]
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.names is not None and len(self.names) != len(self.levels):
            msg = "Columns must have a name each."
            raise ValueError(msg)
        if all(levels is None for levels in self.levels):
            msg = "At least one column must be a category."
            raise ValueError(msg)
        for levels in self.levels:
            if levels is not None and not (
                0 < len(set(levels)) == len(levels) <= MAX_LEVELS
                and all(type(level) in (str, bool, int, float) for level in levels)
            ):
                msg = (
                    f"A category must have 1 to {MAX_LEVELS} different levels, each a text, a "
                    "truth value or a number."
                )
                raise ValueError(msg)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.levels)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.widths.sum())

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """How many features each column has."""
        return np.array([1 if levels is None else len(levels) for levels in self.levels])

    @cached_property
    def n_levels(self) -> NDArray[np.int32]:
        """How many levels each column has; 0: it is a number."""
        return np.array([0 if levels is None else len(levels) for levels in self.levels], np.int32)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first feature of each column."""
        return np.cumsum(self.widths) - self.widths

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The columns that are numbers."""
        return np.flatnonzero(self.n_levels == 0)

    @cached_property
    def categorical(self) -> NDArray[np.int64]:
        """The columns that are categories."""
        return np.flatnonzero(self.n_levels)

    @cached_property
    def are_levels(self) -> NDArray[np.bool_]:
        """Which features are levels."""
        return self.spread(self.n_levels > 0)

    @cached_property
    def parts(self) -> NDArray[np.float64]:
        """What part of its column each feature is."""
        return self.spread(1.0 / self.widths)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: those of numbers, and ``colour=red``."""
        found: list[str] = []
        for column, levels in enumerate(self.levels):
            name = self.name(column)
            found += [name] if levels is None else [f"{name}={level}" for level in levels]
        return tuple(found)

    def name(self, column: int) -> str:
        """Return the name of a column; x0, x1, ... where they have none."""
        return f"x{column}" if self.names is None else self.names[column]

    def told(self, columns: Sequence[int] | NDArray[np.int64] | None = None) -> str:
        """List columns by their names, as errors do; None: the categories."""
        columns = self.categorical if columns is None else columns
        names = [repr(self.name(int(column))) for column in columns]
        return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")

    def block(self, column: int) -> slice:
        """Return the features of a column."""
        return slice(int(self.starts[column]), int(self.starts[column] + self.widths[column]))

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return what columns have for each of their features."""
        return np.repeat(values, self.widths)

    def totals(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over the features of each column."""
        found: NDArray[Any] = np.add.reduceat(values, self.starts)
        return found


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Rows of numbers beside categories, for the core to read; stands where a matrix does.

    Parameters
    ----------
    numbers : ndarray of shape (n_rows, n_numbers)
        Columns that are numbers, float32 or float64; NaN where a value is missing.

    codes : uint8 ndarray of shape (n_rows, n_categories)
        The level of each category, 255 where it is missing.

    categories : Categories
        What the columns are.
    """

    numbers: NDArray[Any]
    codes: NDArray[np.uint8]
    categories: Categories

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of features."""
        return len(self.numbers), self.categories.n_features

    @property
    def ndim(self) -> int:
        """Two, as of a matrix."""
        return 2

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self.numbers.dtype

    @property
    def n_stored(self) -> int:
        """How many values are held of each row."""
        return self.categories.n_columns

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> MixedTable:
        numbers, codes = self.numbers[rows], self.codes[rows]
        return MixedTable(
            np.ascontiguousarray(numbers), np.ascontiguousarray(codes), self.categories
        )

    def column(self, feature: int) -> NDArray[Any]:
        """Return the values of one feature; NaN where a level is missing."""
        layout = self.categories
        column = int(np.searchsorted(layout.starts, feature, side="right")) - 1
        if layout.levels[column] is None:
            return self.numbers[:, int(np.searchsorted(layout.numbers, column))]
        codes = self.codes[:, int(np.searchsorted(layout.categorical, column))]
        found = (codes == feature - layout.starts[column]).astype(self.dtype)
        found[codes == MISSING] = np.nan
        return found

    def toarray(self) -> NDArray[Any]:
        """Return all features as a matrix."""
        layout, every = self.categories, np.arange(len(self))
        dense = np.zeros(self.shape, self.dtype)
        dense[:, layout.starts[layout.numbers]] = self.numbers
        for at, column in enumerate(layout.categorical):
            codes, block = self.codes[:, at], layout.block(column)
            seen = codes != MISSING
            dense[every[seen], block.start + codes[seen].astype(np.int64)] = 1.0
            dense[~seen, block] = np.nan
        return dense

    def with_numbers(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> MixedTable:
        """Return the same levels beside other numbers."""
        return MixedTable(change(self.numbers), self.codes, self.categories)


def categories_of(X: Any) -> Categories | None:
    """Return what the columns of validated rows are; None: all of them are numbers."""
    return X.categories if isinstance(X, MixedTable) else None


def as_dense(X: Any) -> Any:
    """Return validated rows, of any kind, as a matrix that is dense."""
    return X.toarray() if hasattr(X, "toarray") else X
