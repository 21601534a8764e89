"""Which columns of a table are clustered, and how their cells become numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from amclust.cli.tables import _filling
from amclust.cli.tables._cells import (
    PLAIN,
    Refusal,
    Spelling,
    all_to_numbers,
    is_missing_id,
    to_arrow,
    to_categories,
)
from amclust.cli.tables._choosing import choose_columns
from amclust.cli.tables._column import Column, ColumnJson
from amclust.cli.tables._errors import TableError, find_repeated, listed, shortened, unknown_names
from amclust.cli.tables._reading import Chunks
from amclust.cli.tables._refusals import describe_refusals


class ColumnsJson(TypedDict):
    """A choice of columns as JSON holds it."""

    columns: list[ColumnJson]
    id: str | None
    decimal: str
    thousands: str | None


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are clustered; how a table becomes a matrix, and back.

    Made by `Columns.choose` and kept with a model, so that later tables are read alike.

    Parameters
    ----------
    columns : tuple of Column
        The columns used, in the order of the features.

    id : str, default=None
        The column that names the rows.

    spelling : Spelling
        How numbers are spelled in text cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from amclust.cli.tables import Columns
    >>> frame = pd.DataFrame({"name": ["a", "b"], "size": [1.5, None], "hue": ["red", "blue"]})
    >>> columns = Columns.choose(frame, id="name", one_hot=["hue"])
    >>> columns.features
    ['size', 'hue=blue', 'hue=red']
    >>> columns.matrix(frame).to_numpy().tolist()
    [[1.5, 0.0, 1.0], [nan, 1.0, 0.0]]
    """

    columns: tuple[Column, ...]
    id: str | None = None
    spelling: Spelling = PLAIN

    @classmethod
    def choose(
        cls,
        table: pd.DataFrame | Chunks,
        *,
        use: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        id: str | None = None,  # noqa: A002
        one_hot: Sequence[str] | Literal["all"] | None = None,
        decimal: str = ".",
        thousands: str | None = None,
    ) -> Columns:
        """Choose the columns to cluster, and find out what they hold.

        Of a table in chunks, the first chunk tells which columns are numbers; categories are
        collected from all chunks, which therefore must be rereadable.

        Parameters
        ----------
        table : pandas.DataFrame or Chunks
            The table.

        use : sequence of str, default=None
            Names of the columns to use, in this order; None uses all but `drop` and `id`.

        drop : sequence of str, default=None
            Names of the columns to leave out.

        id : str, default=None
            Name of the column that names the rows. Its cells may repeat but not be missing.

        one_hot : sequence of str or "all", default=None
            Columns to turn into one column of 0 and 1 for each category; "all" means all
            columns of text among those used.

        decimal : {".", ","}, default="."
            Decimal mark in text cells.

        thousands : str, default=None
            Mark between groups of three digits in text cells, which is left out.

        Returns
        -------
        columns : Columns
            At least one column.

        Raises
        ------
        TableError
            If a name is not known, or a column is neither of numbers nor to be encoded. The
            message lists all such columns.
        """
        spelling = _check_spelling(decimal, thousands)
        chosen = choose_columns(table, use, drop, id, one_hot, spelling)
        columns = cls(tuple(chosen), id, spelling)
        repeated = find_repeated(columns.features)
        if repeated:
            msg = f"one-hot encoding makes columns that are there already: {listed(repeated)}"
            raise TableError(msg)
        if isinstance(table, pd.DataFrame):
            columns.ids(table)
        return columns

    @property
    def features(self) -> list[str]:
        """Names of the matrix's columns; "colour=red" for a category."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def encodings(self) -> dict[str, list[str]]:
        """Categories of each column that is one-hot encoded."""
        return {
            column.name: list(column.categories)
            for column in self.columns
            if column.kind == "category"
        }

    def matrix(self, frame: pd.DataFrame, *, first_row: int = 0) -> pd.DataFrame:
        """Return the features of a table's rows.

        Parameters
        ----------
        frame : pandas.DataFrame
            A table with at least the columns used; their order does not matter.

        first_row : int, default=0
            How many rows came before, for the numbers of rows in messages.

        Returns
        -------
        matrix : pandas.DataFrame of shape (n_rows, n_features)
            float64, NaN where a cell is missing; a missing category is NaN in all its columns.

        Raises
        ------
        TableError
            If a column is not there or a cell cannot be used; rows are counted from 1.
        """
        self._check_names(frame)
        cells = {column.name: to_arrow(frame[column.name]) for column in self.columns}
        numeric = [column.name for column in self.columns if column.kind != "category"]
        found = all_to_numbers([cells[name] for name in numeric], self.spelling)
        numbers = dict(zip(numeric, found, strict=True))
        values = np.empty((len(frame), len(self.features)))
        refused: dict[str, Refusal] = {}
        start = 0
        for column in self.columns:
            stop = start + len(column.features)
            if column.kind == "category":
                values[:, start:stop] = _one_hot(cells[column.name], column, first_row)
            elif isinstance(one := numbers[column.name], Refusal):
                refused[column.name] = one
            else:
                values[:, start] = one.values
            start = stop
        if refused:
            raise TableError(describe_refusals(refused, first_row, fitted=True))
        return pd.DataFrame(values, columns=self.features)

    def ids(self, frame: pd.DataFrame, *, first_row: int = 0) -> pd.Series | None:
        """Return the names of a table's rows, None where no column names them.

        Raises
        ------
        TableError
            If one is missing (empty, NaN or null).
        """
        if self.id is None:
            return None
        if self.id not in frame.columns:
            raise TableError(unknown_names([self.id], list(frame.columns)))
        missing = is_missing_id(to_arrow(frame[self.id]))
        if missing.any():
            row = first_row + int(missing.argmax()) + 1
            more = f" and {missing.sum() - 1:,} more" if missing.sum() > 1 else ""
            msg = (
                f"the id column {self.id!r} is empty in row {row:,}{more}: fill it, or choose "
                "another column with --id"
            )
            raise TableError(msg)
        return frame[self.id].reset_index(drop=True)

    def fill(self, frame: pd.DataFrame, completed: Any) -> pd.DataFrame:
        """Return a table with its missing cells filled, all others as they were.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table.

        completed : array-like of shape (n_rows, n_features)
            Its matrix, completed.

        Returns
        -------
        filled : pandas.DataFrame
            A copy. A category is the one with the largest value, a truth value is true from 0.5
            on; a column of whole numbers becomes one of floats where it has to.
        """
        self._check_names(frame)
        values = np.asarray(completed, dtype=np.float64)
        shape = len(frame), len(self.features)
        if values.shape != shape:
            msg = f"completed must have the shape {shape}, got {values.shape}"
            raise ValueError(msg)
        return _filling.fill(frame, self.columns, values, self.spelling)

    def to_json(self) -> ColumnsJson:
        """Return the choice as what JSON can hold."""
        return {
            "columns": [column.to_json() for column in self.columns],
            "id": self.id,
            "decimal": self.spelling.decimal,
            "thousands": self.spelling.thousands,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Columns:
        """Return the choice that `to_json` wrote down.

        Raises
        ------
        ValueError
            If `data` is anything else.
        """
        try:
            name, columns = data["id"], data["columns"]
            spelling = _check_spelling(data["decimal"], data["thousands"])
        except (KeyError, TypeError) as error:
            msg = f"not a choice of columns: {shortened(data, 80)}"
            raise ValueError(msg) from error
        if not isinstance(columns, list) or not columns or not isinstance(name, str | None):
            msg = f"not a choice of columns: {shortened(data, 80)}"
            raise ValueError(msg)
        chosen = cls(tuple(Column.from_json(column) for column in columns), name, spelling)
        repeated = find_repeated(chosen.features)
        if repeated:
            msg = f"not a choice of columns: {listed(repeated)} are repeated"
            raise ValueError(msg)
        return chosen

    def _check_names(self, frame: pd.DataFrame) -> None:
        there = set(frame.columns)
        absent = [column.name for column in self.columns if column.name not in there]
        if absent:
            raise TableError(unknown_names(absent, list(frame.columns)))


def _check_spelling(decimal: Any, thousands: Any) -> Spelling:
    if decimal not in (".", ","):
        msg = f"decimal must be '.' or ',', got {decimal!r}"
        raise TableError(msg)
    if thousands is not None and (
        not isinstance(thousands, str)
        or len(thousands) != 1
        or thousands.isalnum()
        or thousands in "+-"
    ):
        msg = f"thousands must be one character such as ',', got {thousands!r}"
        raise TableError(msg)
    if decimal == thousands:
        msg = f"decimal and thousands must differ, both are {decimal!r}"
        raise TableError(msg)
    return Spelling(decimal, thousands)


def _one_hot(cells: pa.ChunkedArray, column: Column, first_row: int) -> np.ndarray:
    categories = to_categories(column.name, cells)
    codes = pc.index_in(categories, pa.array(column.categories, categories.type))
    unknown = pc.and_(pc.is_null(codes), pc.is_valid(categories))
    if pc.any(unknown).as_py():
        row = pc.index(unknown, True).as_py()
        msg = (
            f"column {column.name!r}, row {first_row + row + 1:,}: {shortened(categories[row])} is "
            f"not one of its categories ({listed(column.categories)}); leave the cell empty to "
            "count it as missing"
        )
        raise TableError(msg)
    missing = pc.is_null(categories).to_numpy(zero_copy_only=False)
    places = pc.fill_null(codes, 0).to_numpy(zero_copy_only=False)
    encoded = np.zeros((len(cells), len(column.categories)))
    encoded[np.arange(len(cells)), places] = 1.0
    encoded[missing] = np.nan
    return encoded
