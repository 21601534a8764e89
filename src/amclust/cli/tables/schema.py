"""What a table is: Arrow's columns, and what Arrow does not tell about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "-"),
)
"""Spellings of a missing value: those of pandas, "?" and "-". Spaces around them do not matter."""

MISSING_ID = ("", "NaN", "nan", "<NA>", "NULL", "null")
"""Spellings of a missing name of a row, fewer: "NA" is Namibia, "None" a surname."""


@dataclass(frozen=True)
class Schema:
    """What the types of Arrow's columns do not tell."""

    cells: frozenset[str] = frozenset()
    """Names of the columns that hold the cells of a text file as they stand ("007", "NA")."""
    delimiter: str | None = None
    """Of the text file that the table comes from."""

    def __deepcopy__(self, memo: object) -> Schema:
        return self  # pandas copies what a frame carries with every column


@dataclass(frozen=True)
class Table:
    """Rows, or a chunk of them."""

    arrow: pa.Table
    schema: Schema = Schema()

    @classmethod
    def of(cls, rows: Table | pd.DataFrame) -> Table:
        """Return a data frame as a table, without its index; a table as it is."""
        if isinstance(rows, Table):
            return rows
        columns = [_from_pandas(rows.iloc[:, index]) for index in range(rows.shape[1])]
        arrow = pa.table(columns, names=[str(name) for name in rows.columns])
        return cls(arrow, rows.attrs.get("schema", Schema()))

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame of Arrow's types; `Table.of` makes the same table of it."""
        import pandas as pd

        frame = self.arrow.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
        frame.attrs["schema"] = self.schema
        return frame

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.arrow.column_names)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.arrow.column(name)

    def select(self, names: Sequence[str]) -> Table:
        """Return some of the columns."""
        return Table(self.arrow.select(list(names)), self.schema)

    def slice(self, start: int, rows: int | None = None) -> Table:
        """Return some of the rows."""
        return Table(self.arrow.slice(start, rows), self.schema)

    def replace(self, name: str, column: pa.ChunkedArray) -> Table:
        """Return the table with another column in the place of one."""
        arrow = self.arrow.set_column(self.names.index(name), name, column)
        return Table(arrow, self.schema)

    def append(self, columns: Mapping[str, Any]) -> Table:
        """Return the table with more columns."""
        new = [pa.array(values) for values in columns.values()]
        arrow = pa.table([*self.arrow.columns, *new], names=[*self.names, *columns])
        return Table(arrow, self.schema)

    @property
    def undelimited(self) -> Table:
        """The table without the delimiter of the file that it comes from."""
        return Table(self.arrow, replace(self.schema, delimiter=None))


def concat(tables: Sequence[Table]) -> Table:
    """Return chunks of a table one below the other."""
    return Table(pa.concat_tables([table.arrow for table in tables]), tables[0].schema)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type of Arrow is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _from_pandas(series: pd.Series[Any]) -> pa.ChunkedArray:
    """Return a column as Arrow sees it; cells of different types become text."""
    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowException, OverflowError):
        missing = series.isna()
        cells = [None if gone else str(cell) for cell, gone in zip(series, missing, strict=True)]
        array = pa.array(cells, pa.string())
    column = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column
