"""Which columns of a table are clustered, and how their cells become numbers and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amclust._frames import converted
from amclust.cli.tables.cells import (
    PLAIN,
    Numbers,
    Spelling,
    is_missing,
    is_missing_id,
    to_categories,
    to_numbers,
)
from amclust.cli.tables.errors import (
    ColumnsError,
    Refusal,
    TableError,
    find_repeated,
    listed,
    shortened,
    unknown_names,
)
from amclust.cli.tables.schema import Table, is_text

if TYPE_CHECKING:
    import pandas as pd

ColumnKind = Literal["number", "boolean", "category"]
# Significant digits of a number that is filled in.
DIGITS = 9


@dataclass(frozen=True)
class Column:
    """A column that is clustered, and what it holds."""

    name: str
    kind: ColumnKind
    categories: tuple[str, ...] = ()
    whole: bool = False
    """Whether all of its numbers were whole ones."""

    @property
    def features(self) -> list[str]:
        """Names of the columns of the matrix that this one becomes."""
        if self.kind == "category":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name]

    @classmethod
    def from_json(cls, data: Any) -> Column:
        """Return the column that `Columns.to_json` wrote down; refuse anything else."""
        match data:
            case {"name": str(name), "kind": "category", "categories": [str(), *_] as categories}:
                if all(isinstance(category, str) for category in categories):
                    return cls(name, "category", tuple(categories))
            case {"name": str(name), "kind": "number" | "boolean" as kind}:
                whole = data.get("whole", False)
                if not data.get("categories") and isinstance(whole, bool):
                    return cls(name, kind, whole=whole)
        msg = f"not a column: {shortened(data, 80)}"
        raise ValueError(msg)

    def one_hot(self, cells: pa.ChunkedArray, first_row: int) -> NDArray[np.float64]:
        """Return a column of 0 and 1 for each category, NaN in all of them where missing."""
        categories = to_categories(self.name, cells)
        codes = pc.index_in(categories, pa.array(self.categories, categories.type))
        unknown = pc.and_(pc.is_null(codes), pc.is_valid(categories))
        if pc.any(unknown).as_py():
            row = pc.index(unknown, True).as_py()
            value = str(categories[row])
            msg = (
                f"column {self.name!r}, row {first_row + row + 1:,}: {shortened(value)} is not one "
                f"of its categories ({listed(self.categories)}); leave the cell empty to count it "
                "as missing"
            )
            raise TableError(msg, row=first_row + row + 1, column=self.name, value=value)
        places = pc.fill_null(codes, 0).to_numpy(zero_copy_only=False)
        encoded = np.zeros((len(cells), len(self.categories)))
        encoded[np.arange(len(cells)), places] = 1.0
        encoded[pc.is_null(categories).to_numpy(zero_copy_only=False)] = np.nan
        return encoded


@dataclass(frozen=True)
class Columns:
    """The columns of a table that are clustered; how a table becomes a matrix, and back.

    Found by `read_matrix` or `choose_columns` and kept with a model, so that later tables are read
    alike. `id` is the column that names the rows.
    """

    columns: tuple[Column, ...]
    id: str | None = None
    spelling: Spelling = PLAIN

    @property
    def names(self) -> list[str]:
        """Names of the columns used."""
        return [column.name for column in self.columns]

    @property
    def features(self) -> list[str]:
        """Names of the matrix's columns; "colour=red" for a category."""
        return [feature for column in self.columns for feature in column.features]

    @property
    def places(self) -> list[tuple[Column, slice]]:
        """Each column, and where its features are in the matrix."""
        ends = np.cumsum([len(column.features) for column in self.columns]).tolist()
        return [
            (column, slice(start, end))
            for column, start, end in zip(self.columns, [0, *ends], ends, strict=False)
        ]

    def matrix(self, table: Table | pd.DataFrame, *, first_row: int = 0) -> NDArray[np.float64]:
        """Return the features of a table's rows, NaN where a value is missing.

        The table needs the columns used, in any order. A missing category is NaN in all its
        features. `first_row` is how many rows came before, for the rows named in errors.
        """
        table = Table.of(table)
        self.check_names(table.names)
        values = np.empty((len(table), len(self.features)))
        refused: dict[str, Refusal] = {}
        for column, place in self.places:
            cells = table[column.name]
            if column.kind == "category":
                values[:, place] = column.one_hot(cells, first_row)
            elif isinstance(found := to_numbers(cells, self.spelling), Numbers):
                values[:, place.start] = found.values
            else:
                refused[column.name] = found
        if refused:
            raise ColumnsError(refused, first_row, fitted=True)
        return values

    def count_missing(self, matrix: NDArray[np.float64]) -> int:
        """Return the number of missing values; a category is one value in several columns."""
        return sum(int(np.isnan(matrix[:, place.start]).sum()) for _, place in self.places)

    def count_unknown(self, table: Table) -> dict[str, int]:
        """Return how many values are missing in each of the other columns that lack some."""
        used = {*self.names, self.id}
        counts = {name: is_missing(table[name]).sum() for name in table.names if name not in used}
        return {name: int(missing) for name, missing in counts.items() if missing}

    def ids(self, table: Table | pd.DataFrame, *, first_row: int = 0) -> pa.ChunkedArray | None:
        """Return the names of a table's rows, None without an id; none of them may be missing."""
        if self.id is None:
            return None
        table = Table.of(table)
        if self.id not in table.names:
            raise unknown_names([self.id], table.names)
        missing = is_missing_id(table[self.id])
        if missing.any():
            row = first_row + int(missing.argmax()) + 1
            more = f" and {missing.sum() - 1:,} more" if missing.sum() > 1 else ""
            msg = (
                f"the id column {self.id!r} is empty in row {row:,}{more}: fill it, or choose "
                "another column with --id"
            )
            raise TableError(msg, row=row, column=self.id)
        return table[self.id]

    def fill(self, table: Table | pd.DataFrame, completed: Any) -> Table:
        """Return a table with its missing values filled from its completed matrix.

        A category is the one with the largest value, a truth value is true from 0.5 on. A column
        keeps its type: of integers, and where text has spelled whole numbers alone, numbers are
        rounded.
        """
        table = Table.of(table)
        self.check_names(table.names)
        values = np.asarray(completed, dtype=np.float64)
        shape = len(table), len(self.features)
        if values.shape != shape:
            msg = f"completed must have the shape {shape}, got {values.shape}"
            raise ValueError(msg)
        for column, place in self.places:
            cells = table[column.name]
            missing = is_missing(cells)
            if missing.any():
                new = _new_values(column, values[missing, place], cells.type)
                if is_text(cells.type):
                    new = _to_text(new, cells, self.spelling)
                else:
                    cells, new = _of_one_type(cells, new)
                cells = pc.fill_null(cells, new[0])
                filled = pc.replace_with_mask(cells, pa.array(missing), new)
                table = table.replace(column.name, filled)
        return table

    def to_json(self) -> dict[str, Any]:
        """Return the choice as what JSON can hold."""
        columns = [
            {
                "name": column.name,
                "kind": column.kind,
                "categories": list(column.categories),
                "whole": column.whole,
            }
            for column in self.columns
        ]
        return {"columns": columns, "id": self.id, **asdict(self.spelling)}

    @classmethod
    def from_json(cls, data: Any) -> Columns:
        """Return the choice that `to_json` wrote down; refuse anything else."""
        match data:
            case {
                "columns": [_, *_] as columns,
                "id": str() | None as name,
                "decimal": decimal,
                "thousands": str() | None as thousands,
            }:
                spelling = Spelling(decimal, thousands)
                chosen = cls(tuple(map(Column.from_json, columns)), name, spelling)
            case _:
                msg = f"not a choice of columns: {shortened(data, 80)}"
                raise ValueError(msg)
        repeated = find_repeated(chosen.features)
        if repeated:
            msg = f"not a choice of columns: {listed(repeated)} are repeated"
            raise ValueError(msg)
        return chosen

    def check_names(self, known: Sequence[str]) -> None:
        """Refuse a table that has not all of the columns."""
        absent = [name for name in self.names if name not in set(known)]
        if absent:
            raise unknown_names(absent, known)


# --- filling missing values -----------------------------------------------------------------------


def _new_values(column: Column, values: NDArray[np.float64], kind: pa.DataType) -> pa.Array:
    """Return the values of cells to be filled, as the kind of cells wants them."""
    if column.kind == "category":
        return pa.array([column.categories[place] for place in values.argmax(axis=1)], pa.string())
    if column.kind == "boolean" or pa.types.is_boolean(kind):
        return pa.array(values[:, 0] >= 0.5)
    if pa.types.is_integer(kind):
        return pa.array(converted(values[:, 0], np.dtype(str(kind))))
    if column.whole and is_text(kind):
        return pa.array(converted(values[:, 0], np.dtype(np.int64)))
    if pa.types.is_decimal(kind):
        return pc.round(pa.array(values[:, 0]), kind.scale)
    # Further digits tell of rounding: the values were computed in single precision.
    return pa.array([float(f"{value:.{DIGITS}g}") for value in values[:, 0]], pa.float64())


def _to_text(new: pa.Array, cells: pa.ChunkedArray, spelling: Spelling) -> pa.Array:
    if pa.types.is_boolean(new.type):
        return pc.if_else(new, *_words_of_truth(cells)).cast(cells.type)
    words = new.cast(cells.type)
    if pa.types.is_floating(new.type) and spelling.decimal != ".":
        words = pc.replace_substring(words, ".", spelling.decimal)
    return words


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
