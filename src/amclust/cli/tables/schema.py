"""What a table is: its columns and what they hold, beside Arrow's arrays of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["cell", "text", "number", "boolean", "date", "other"]
"""What a column holds. The cells of a text file stand there as they are written ("007", "NA")."""

MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "-"),
)
"""Spellings of a missing value: those of pandas, "?" and "-". Spaces around them do not matter."""

MISSING_ID = ("", "NaN", "nan", "<NA>", "NULL", "null")
"""Spellings of a missing name of a row, fewer: "NA" is Namibia, "None" a surname."""


@dataclass(frozen=True)
class Field:
    """A column of a table."""

    name: str
    kind: Kind


@dataclass(frozen=True)
class Schema:
    """The columns of a table, and the delimiter of the text file that it comes from."""

    fields: tuple[Field, ...]
    delimiter: str | None = None

    @classmethod
    def of(
        cls, arrow: pa.Schema, cells: Sequence[str] = (), delimiter: str | None = None
    ) -> Schema:
        """Return the schema of Arrow's columns, of which `cells` are cells of a text file."""
        among = set(cells)
        kinds = (Field(f.name, "cell" if f.name in among else _kind(f.type)) for f in arrow)
        return cls(tuple(kinds), delimiter)

    def __deepcopy__(self, memo: object) -> Schema:
        return self  # pandas copies what a frame carries with every column

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [field.name for field in self.fields]

    @property
    def cells(self) -> list[str]:
        """Names of the columns that hold cells of a text file."""
        return [field.name for field in self.fields if field.kind == "cell"]


@dataclass(frozen=True)
class Table:
    """Rows, or a chunk of them.

    Examples
    --------
    >>> import pandas as pd
    >>> from amclust.cli.tables import Table
    >>> table = Table.of(pd.DataFrame({"x": [1.5, None], "name": ["a", "b"]}))
    >>> [(field.name, field.kind) for field in table.schema.fields], len(table)
    ([('x', 'number'), ('name', 'text')], 2)
    """

    arrow: pa.Table
    schema: Schema

    @classmethod
    def of(cls, rows: Table | pd.DataFrame) -> Table:
        """Return a data frame as a table, without its index; a table as it is."""
        if isinstance(rows, Table):
            return rows
        columns = [_from_pandas(rows.iloc[:, index]) for index in range(rows.shape[1])]
        arrow = pa.table(columns, names=[str(name) for name in rows.columns])
        known = rows.attrs.get("schema", Schema(()))
        return cls(arrow, Schema.of(arrow.schema, known.cells, known.delimiter))

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
        return self.schema.names

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.arrow.column(name)

    def select(self, names: Sequence[str]) -> Table:
        """Return some of the columns."""
        return self._with(self.arrow.select(list(names)))

    def slice(self, start: int, rows: int | None = None) -> Table:
        """Return some of the rows."""
        return Table(self.arrow.slice(start, rows), self.schema)

    def replace(self, name: str, column: pa.ChunkedArray) -> Table:
        """Return the table with another column in the place of one."""
        return self._with(self.arrow.set_column(self.names.index(name), name, column))

    def append(self, columns: Mapping[str, Any]) -> Table:
        """Return the table with more columns."""
        new = [pa.array(values) for values in columns.values()]
        return self._with(pa.table([*self.arrow.columns, *new], names=[*self.names, *columns]))

    @property
    def undelimited(self) -> Table:
        """The table without the delimiter of the file that it comes from."""
        return Table(self.arrow, replace(self.schema, delimiter=None))

    def _with(self, arrow: pa.Table) -> Table:
        return Table(arrow, Schema.of(arrow.schema, self.schema.cells, self.schema.delimiter))


def concat(tables: Sequence[Table]) -> Table:
    """Return chunks of a table one below the other."""
    return Table(pa.concat_tables([table.arrow for table in tables]), tables[0].schema)


def is_text(kind: pa.DataType) -> bool:
    """Whether a type of Arrow is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _kind(kind: pa.DataType) -> Kind:
    if is_text(kind):
        return "text"
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "date" if pa.types.is_temporal(kind) else "other"


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
