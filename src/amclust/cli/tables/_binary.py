"""Reading tables that are not text: Parquet, Arrow, NumPy and Excel."""

from __future__ import annotations

import shutil
import tempfile
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from amclust.cli.tables._errors import TableError, listed
from amclust.cli.tables._extras import require
from amclust.cli.tables._header import check_names, names_of_header, numbered_names


def parquet_batches(stream: BinaryIO, source: str, rows: int) -> Iterator[pa.Table]:
    """Yield a Parquet file in batches of about so many rows."""
    file = pa.parquet.ParquetFile(stream, pre_buffer=False)
    check_names(file.schema_arrow.names, source)
    for batch in file.iter_batches(batch_size=rows):
        yield _validated(batch)


def arrow_batches(stream: BinaryIO, source: str) -> Iterator[pa.Table]:
    """Yield the batches of an Arrow file, also called Feather, or of an Arrow stream."""
    if stream.seekable():
        magic = stream.read(6)
        stream.seek(0)
        if magic == b"ARROW1":
            file = pa.ipc.open_file(stream)
            check_names(file.schema.names, source)
            for index in range(file.num_record_batches):
                yield _validated(file.get_batch(index))
            return
    reader = pa.ipc.open_stream(stream)
    check_names(reader.schema.names, source)
    for batch in reader:
        yield _validated(batch)


def _validated(batch: pa.RecordBatch) -> pa.Table:
    # Arrow trusts what it reads: a damaged file could make it read beyond its memory.
    batch.validate(full=True)
    return pa.Table.from_batches([batch])


def npz_batches(stream: BinaryIO, source: str, rows: int) -> Iterator[pa.Table]:
    """Yield the only array of an archive in batches."""
    with zipfile.ZipFile(stream) as archive, tempfile.TemporaryFile() as file:
        names = archive.namelist()
        if len(names) != 1:
            arrays = listed(name.removesuffix(".npy") for name in names)
            msg = f"{source} holds {len(names)} arrays ({arrays}); save the table alone"
            raise TableError(msg)
        with archive.open(names[0]) as member:
            shutil.copyfileobj(member, file, 1 << 20)
        file.seek(0)
        yield from npy_batches(cast(BinaryIO, file), source, rows)


def npy_batches(stream: BinaryIO, source: str, rows: int) -> Iterator[pa.Table]:
    """Yield an array in batches, from a memory map."""
    array = _map_array(stream, source)
    for start in range(0, len(array), rows):
        block = array[start : start + rows]
        if block.dtype.names is not None:
            names: Sequence[str] = block.dtype.names
            columns = [block[name] for name in names]
        else:
            names = numbered_names(block.shape[1])
            columns = list(block.T)
        yield pa.table([_from_numpy(column) for column in columns], names=list(names))


def _map_array(stream: BinaryIO, source: str) -> np.ndarray:
    version = np.lib.format.read_magic(stream)
    read_header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        msg = f"{source} holds Python objects, which are not loaded; save numbers or text"
        raise TableError(msg)
    _check_shape(shape, dtype, source)
    order: Literal["C", "F"] = "F" if fortran_order else "C"
    array: np.ndarray = np.memmap(stream, dtype, "r", stream.tell(), shape, order)
    return array[:, np.newaxis] if dtype.names is None and len(shape) == 1 else array


def _check_shape(shape: tuple[int, ...], dtype: np.dtype, source: str) -> None:
    if dtype.names is not None:
        check_names(dtype.names, source)
        nested = [name for name in dtype.names if dtype[name].names or dtype[name].shape]
        if nested:
            msg = f"{source} has fields of several values: {listed(nested)}; one a field is needed"
            raise TableError(msg)
        kinds = {dtype[name].kind for name in dtype.names}
    else:
        kinds = {dtype.kind}
    if len(shape) not in ((1,) if dtype.names is not None else (1, 2)):
        msg = f"{source} has the shape {shape}; a table has rows and columns, reshape it"
        raise TableError(msg)
    if kinds & set("cV"):
        msg = f"{source} has values of type {dtype}; a table has real numbers or text"
        raise TableError(msg)
    if 0 in shape:
        msg = f"{source} has the shape {shape}: there are no rows"
        raise TableError(msg)


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


def excel_batches(
    stream: BinaryIO, source: str, *, sheet: str | None, header: bool | None
) -> Iterator[pa.Table]:
    """Yield one sheet of a workbook, at once; the first unless named."""
    require("openpyxl")
    import openpyxl

    # It warns of styles and extensions, which are no part of the table.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        chosen = _choose_sheet(book.worksheets, sheet, source)
        # Some programs write a wrong size, which would cut the table.
        chosen.reset_dimensions()
        rows = [list(row) for row in chosen.iter_rows(values_only=True)]
        book.close()
    yield _table_of_rows(rows, f"sheet {chosen.title!r} of {source}", header)


def _choose_sheet(sheets: Sequence[Any], name: str | None, source: str) -> Any:
    """Return the sheet of a name or, failing that, of a number counted from 1."""
    by_name = {sheet.title: sheet for sheet in sheets}
    numbered = {str(number): sheet for number, sheet in enumerate(sheets, start=1)}
    if name is None and sheets:
        return sheets[0]
    chosen = {**numbered, **by_name}.get(name or "")
    if chosen is None:
        msg = f"{source} has no sheet {name!r}; it has {listed(by_name) or 'none'}"
        raise TableError(msg)
    return chosen


def _table_of_rows(rows: list[list[Any]], source: str, header: bool | None) -> pa.Table:
    width = max((_width(row) for row in rows), default=0)
    rows = [(row + [None] * width)[:width] for row in rows]
    while rows and not any(cell is not None for cell in rows[-1]):
        rows.pop()
    if not rows:
        msg = f"{source} is empty"
        raise TableError(msg)
    if header is False:
        names = numbered_names(width)
    else:
        cells = ["" if cell is None else str(cell) for cell in rows.pop(0)]
        names = names_of_header(cells, source, surely_header=header is True)
    columns = [_from_cells([row[index] for row in rows]) for index in range(width)]
    return pa.table(columns, names=names)


def _width(row: list[Any]) -> int:
    return max((index + 1 for index, cell in enumerate(row) if cell is not None), default=0)


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
