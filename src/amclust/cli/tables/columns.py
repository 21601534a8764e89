"""Which columns of a table are clustered, and how their cells become numbers and back."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amclust._categories import Levels
from amclust._frames import converted
from amclust._warnings import UnseenLevelsWarning
from amclust.cli.tables.cells import (
    PLAIN,
    Numbers,
    Spelling,
    forced_numbers,
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
    """A boolean is a category of two levels, unless it is taken `as_number`."""
    categories: Levels = ()
    whole: bool = False
    """Whether all of its numbers were whole ones."""
    as_number: bool = False
    """Whether the user wants numbers: what is none counts as missing."""

    @classmethod
    def of(cls, name: str, levels: Levels | None) -> Column:
        """Return a column by the levels that a model has for it; None: numbers."""
        if levels is None:
            return cls(name, "number")
        truths = all(type(level) is bool for level in levels)
        return cls(name, "boolean") if truths else cls(name, "category", levels)

    @property
    def levels(self) -> Levels | None:
        """The levels of a category; None: these are numbers."""
        if self.kind == "boolean" and not self.as_number:
            return (False, True)
        return self.categories if self.kind == "category" else None

    @classmethod
    def from_json(cls, data: Any) -> Column:
        """Return the column that `Columns.to_json` wrote down; refuse anything else."""
        match data:
            case {"name": str(name), "kind": "category", "categories": [_, *_] as levels}:
                if all(type(level) in (str, bool, int, float) for level in levels):
                    return cls(name, "category", tuple(levels))
            case {"name": str(name), "kind": "number" | "boolean" as kind}:
                whole, as_number = data.get("whole", False), data.get("as_number", False)
                if not data.get("categories") and {type(whole), type(as_number)} == {bool}:
                    return cls(name, kind, whole=whole, as_number=as_number)
        msg = f"not a column: {shortened(data, 80)}"
        raise ValueError(msg)

    def codes(self, cells: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the places of levels, NaN where missing; of levels that are not known, warn."""
        texts = [str(level) for level in self.levels or ()]
        if self.kind == "boolean":
            found = to_numbers(cells, PLAIN)
            if isinstance(found, Numbers):
                known = found.values[~np.isnan(found.values)]
                if np.isin(known, (0.0, 1.0)).all():
                    return found.values
        categories = to_categories(self.name, cells)
        codes = pc.index_in(categories, pa.array(texts, categories.type))
        unknown = pc.and_(pc.is_null(codes), pc.is_valid(categories))
        if pc.any(unknown).as_py():
            others = pc.unique(pc.filter(categories, unknown)).to_pylist()
            msg = (
                f"levels that were not seen in fit count as missing: {listed(others, 5)} in column "
                f"{self.name!r}"
            )
            warnings.warn(msg, UnseenLevelsWarning, stacklevel=2)
        return pc.cast(codes, pa.float64()).to_numpy(zero_copy_only=False)


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
    def categorical(self) -> list[int]:
        """The places of categories."""
        return [at for at, column in enumerate(self.columns) if column.levels is not None]

    def matrix(self, table: Table | pd.DataFrame, *, first_row: int = 0) -> NDArray[np.float64]:
        """Return numbers, and codes of levels, of a table's rows, NaN where a value is missing.

        The table needs the columns used, in any order. `first_row` is how many rows came before,
        for the rows named in errors.
        """
        table = Table.of(table)
        self.check_names(table.names)
        values = np.empty((len(table), len(self.columns)))
        refused: dict[str, Refusal] = {}
        for at, column in enumerate(self.columns):
            cells = table[column.name]
            if column.levels is not None:
                values[:, at] = column.codes(cells)
            elif isinstance(found := self.numbers(column, cells), Numbers):
                values[:, at] = found.values
            else:
                refused[column.name] = found
        if refused:
            raise ColumnsError(refused, first_row, fitted=True)
        return values

    def numbers(self, column: Column, cells: pa.ChunkedArray) -> Numbers | Refusal:
        """Return the cells of a column as numbers; where the user wants these, whatever it is."""
        found = to_numbers(cells, self.spelling)
        if isinstance(found, Refusal) and column.as_number and is_text(cells.type):
            return forced_numbers(cells, self.spelling)
        return found

    def frame(self, values: NDArray[np.float64], *, names: bool = True) -> pd.DataFrame:
        """Return what `matrix` gave as a data frame; without categories it is not copied.

        Without `names` its columns are numbered, as those of an array.
        """
        import pandas as pd

        known = self.names if names else list(range(len(self.columns)))
        if not self.categorical:
            return pd.DataFrame(values, columns=known, copy=False)
        parts: dict[Any, Any] = {}
        for name, column, cells in zip(known, self.columns, values.T, strict=True):
            parts[name] = cells
            if column.levels is not None:
                codes = np.where(np.isnan(cells), -1.0, cells).astype(np.int64)
                parts[name] = pd.Categorical.from_codes(codes, list(column.levels))
        return pd.DataFrame(parts, copy=False)

    def coded(self, frame: Any) -> NDArray[np.float64]:
        """Return a frame of the kind that `frame` gives as `matrix` does; a matrix as it is."""
        if not hasattr(frame, "iloc"):
            return np.asarray(frame, dtype=np.float64)
        values = np.empty((len(frame), len(self.columns)))
        for at, column in enumerate(self.columns):
            if column.levels is None:
                values[:, at] = frame.iloc[:, at].to_numpy(np.float64)
                continue
            codes = frame.iloc[:, at].cat.codes.to_numpy()
            values[:, at] = np.where(codes < 0, np.nan, codes)
        return values

    def count_missing(self, matrix: NDArray[np.float64]) -> int:
        """Return the number of missing values."""
        return int(np.isnan(matrix).sum())

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
        """Return a table with its missing values filled from its completed rows.

        These are a matrix, or a frame as `frame` gives it. Levels are written as they were read. A
        column keeps its type: of integers, and where text has spelled whole numbers alone, numbers
        are rounded.
        """
        table = Table.of(table)
        self.check_names(table.names)
        values = self.coded(completed)
        shape = len(table), len(self.columns)
        if values.shape != shape:
            msg = f"completed must have the shape {shape}, got {values.shape}"
            raise ValueError(msg)
        for at, column in enumerate(self.columns):
            cells = table[column.name]
            missing = is_missing(cells)
            if missing.any():
                new = _new_values(column, values[missing, at], cells.type)
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
                "as_number": column.as_number,
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
        repeated = find_repeated(chosen.names)
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
        texts = [str(level) for level in column.categories]
        return pa.array([texts[int(place)] for place in values], pa.string())
    if column.kind == "boolean" or pa.types.is_boolean(kind):
        return pa.array(values >= 0.5)
    if pa.types.is_integer(kind):
        return pa.array(converted(values, np.dtype(str(kind))))
    if column.whole and is_text(kind):
        return pa.array(converted(values, np.dtype(np.int64)))
    if pa.types.is_decimal(kind):
        return pc.round(pa.array(values), kind.scale)
    # Further digits tell of rounding: the values were computed in single precision.
    return pa.array([float(f"{value:.{DIGITS}g}") for value in values], pa.float64())


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
