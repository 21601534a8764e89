"""Tables that are not text: Parquet, Arrow, NumPy and Excel, as Arrow."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from amclust.cli.tables.cells import PLAIN, Spelling
from amclust.cli.tables.dialect import check_names, names_of_header, numbered_names
from amclust.cli.tables.errors import TableError, listed, no_rows, require
from amclust.cli.tables.schema import Table
from amclust.cli.tables.sources import TITLES, ReadOptions, Source, damage_named

_ROWS = 16_384


class BinaryTable:
    """A table of a format that has types."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self.source, self._options = source, options
        with damage_named(source.name, TITLES[source.format]):
            self.names = self._open()
        check_names(self.names, source.name)

    def numeric(self, spelling: Spelling) -> list[str]:
        """Return the columns that may be parsed as numbers at once: none are parsed at all."""
        return []

    def batches(
        self,
        *,
        columns: Sequence[str] | None = None,
        numbers: Collection[str] = (),
        spelling: Spelling = PLAIN,
    ) -> Iterator[Table]:
        """Yield the rows of some columns; see `TextTable.batches`."""
        wanted = self.names if columns is None else list(columns)
        empty = True
        with damage_named(self.source.name, TITLES[self.source.format]):
            for batch in self._batches(wanted):
                # Arrow trusts what it reads: a damaged file could make it read beyond its memory.
                batch.validate(full=True)
                if batch.num_rows:
                    arrow = pa.table([_plain(column) for column in batch.columns], names=wanted)
                    empty = False
                    yield Table(arrow)
        if empty:
            raise no_rows(self.source.name)

    def _open(self) -> list[str]:
        path, name = self.source.path, self.source.name
        if self.source.format == "parquet":
            self._file = pa.parquet.ParquetFile(pa.OSFile(path), pre_buffer=False)
            return list(self._file.schema_arrow.names)
        if self.source.format == "arrow":
            self._file = pa.ipc.open_file(pa.OSFile(path))
            return list(self._file.schema.names)
        if self.source.format == "npy":
            self._array = _map_array(path, name)
            return list(self._array.dtype.names or numbered_names(self._array.shape[1]))
        self._sheet_table = _read_sheet(path, name, self._options.sheet, self._options.header)
        return list(self._sheet_table.column_names)

    def _batches(self, columns: list[str]) -> Iterator[pa.Table]:
        if self.source.format == "parquet":
            for batch in self._file.iter_batches(batch_size=_ROWS, columns=columns):
                yield pa.Table.from_batches([batch]).select(columns)
        elif self.source.format == "arrow":
            for index in range(self._file.num_record_batches):
                yield pa.Table.from_batches([self._file.get_batch(index)]).select(columns)
        elif self.source.format == "npy":
            for start in range(0, len(self._array), _ROWS):
                block = self._array[start : start + _ROWS]
                by_name = (
                    block if block.dtype.names else dict(zip(self.names, block.T, strict=True))
                )
                arrays = [_from_numpy(by_name[name]) for name in columns]
                yield pa.table(arrays, names=columns)
        else:
            yield self._sheet_table.select(columns)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionary, and all text as `pa.string()`."""
    if pa.types.is_dictionary(column.type):
        chunks = [
            pc.take(_plain_values(chunk.dictionary), chunk.indices) for chunk in column.chunks
        ]
        return pa.chunked_array(chunks)
    return _plain_values(column)


def _plain_values(values: Any) -> Any:
    if str(values.type) not in ("large_string", "string_view"):
        return values
    try:
        return values.cast(pa.string())
    except pa.ArrowNotImplementedError as error:
        msg = f"pyarrow {pa.__version__} cannot read text of this kind, a newer one can: {error}"
        raise TableError(msg) from error


def _map_array(path: str, source: str) -> np.ndarray:
    with open(path, "rb") as stream:
        version = np.lib.format.read_magic(stream)
        read_header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, fortran_order, dtype = read_header(stream)
        if dtype.hasobject:
            msg = f"{source} holds Python objects, which are not loaded; save numbers or text"
            raise TableError(msg, file=source)
        _check_shape(shape, dtype, source)
        order: Literal["C", "F"] = "F" if fortran_order else "C"
        array: np.ndarray = np.memmap(path, dtype, "r", stream.tell(), shape, order)
    return array[:, np.newaxis] if dtype.names is None and len(shape) == 1 else array


def _check_shape(shape: tuple[int, ...], dtype: np.dtype, source: str) -> None:
    if dtype.names is not None:
        check_names(dtype.names, source)
        nested = [name for name in dtype.names if dtype[name].names or dtype[name].shape]
        if nested:
            msg = f"{source} has fields of several values: {listed(nested)}; one a field is needed"
            raise TableError(msg, file=source)
        kinds = {dtype[name].kind for name in dtype.names}
    else:
        kinds = {dtype.kind}
    if len(shape) not in ((1,) if dtype.names is not None else (1, 2)):
        msg = f"{source} has the shape {shape}; a table has rows and columns, reshape it"
        raise TableError(msg, file=source)
    if kinds & set("cV"):
        msg = f"{source} has values of type {dtype}; a table has real numbers or text"
        raise TableError(msg, file=source)
    if 0 in shape:
        msg = f"{source} has the shape {shape}: there are no rows"
        raise TableError(msg, file=source)


def _from_numpy(column: np.ndarray) -> pa.Array:
    kind = column.dtype.kind
    if kind == "f" and column.dtype.itemsize not in (4, 8):
        column = column.astype(np.float32 if column.dtype.itemsize == 2 else np.float64)
    if kind == "S":
        column = np.char.decode(column, "utf-8", "replace")
    if kind in "US":
        return pa.array(column.tolist(), pa.string())
    native = np.ascontiguousarray(column, column.dtype.newbyteorder("="))
    return pa.array(native, from_pandas=True)


def _read_sheet(path: str, source: str, name: str | None, header: bool | None) -> pa.Table:
    """Return one sheet of a workbook, the first unless named."""
    require("openpyxl")
    import openpyxl

    # It warns of styles and extensions, which are no part of the table.
    with warnings.catch_warnings(), open(path, "rb") as file:
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        chosen = _choose_sheet(book.worksheets, name, source)
        # Some programs write a wrong size, which would cut the table.
        chosen.reset_dimensions()
        rows = [list(row) for row in chosen.iter_rows(values_only=True)]
        book.close()
    return _table_of_rows(rows, f"sheet {chosen.title!r} of {source}", header)


def _choose_sheet(sheets: Sequence[Any], name: str | None, source: str) -> Any:
    """Return the sheet of a name or, failing that, of a number counted from 1."""
    by_name = {sheet.title: sheet for sheet in sheets}
    numbered = {str(number): sheet for number, sheet in enumerate(sheets, start=1)}
    if name is None and sheets:
        return sheets[0]
    chosen = {**numbered, **by_name}.get(name or "")
    if chosen is None:
        msg = f"{source} has no sheet {name!r}; it has {listed(by_name) or 'none'}"
        raise TableError(msg, file=source)
    return chosen


def _table_of_rows(rows: list[list[Any]], source: str, header: bool | None) -> pa.Table:
    filled = (i for row in rows for i, cell in enumerate(row) if cell is not None)
    width = 1 + max(filled, default=-1)
    rows = [(row + [None] * width)[:width] for row in rows]
    while rows and not any(cell is not None for cell in rows[-1]):
        rows.pop()
    if not rows:
        msg = f"{source} is empty"
        raise TableError(msg, file=source)
    if header is False:
        names = numbered_names(width)
    else:
        cells = ["" if cell is None else str(cell) for cell in rows.pop(0)]
        names = names_of_header(cells, source, surely_header=header is True)
    columns = [_from_cells([row[index] for row in rows]) for index in range(width)]
    return pa.table(columns, names=names)


def _from_cells(cells: list[Any]) -> pa.Array:
    """Return the cells of a column of Excel; cells of different kinds become text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {int, float}:
        return pa.array(cells, pa.float64())
    if len(kinds) <= 1:
        try:
            return pa.array(cells)
        except (pa.ArrowException, OverflowError):
            pass
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
