"""Writing tables, at once or in chunks; whole or not at all."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from amclust.cli.tables.cells import blank_missing
from amclust.cli.tables.dialect import check_names, numbered_names
from amclust.cli.tables.errors import TableError, listed
from amclust.cli.tables.schema import Table, is_text
from amclust.cli.tables.sources import format_to_write
from amclust.io.files import atomic_write

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 65_536
# A join of more columns at once makes Arrow slow.
_COLUMNS = 256
_TEXT = pa.large_string()
# Digits that are a name rather than a number: leading zeros, a plus, too many for an integer;
# and words for infinity.
_UNLIKE_NUMBERS = r"^-?0[0-9]|^\+|^-?[0-9]{19,}$|[nN]"


def write_table(
    table: Table | pd.DataFrame,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    overwrite: bool = False,
) -> None:
    """Write a table to a file, or to standard output ("-"), which appears whole or not at all.

    Cells of a text table become numbers, truth values or text by column where the format has types,
    if that loses nothing; as CSV it has the delimiter that it came with.
    """
    with TableWriter(target, format=format, overwrite=overwrite, in_chunks=False) as writer:
        writer.write(table)


class TableWriter:
    """Write a table in chunks: a context manager with `write`.

    The target is a file, or "-" for standard output. It appears at the end of the ``with`` block,
    if no exception ended it. Chunks must have the same columns. Text tables, Parquet and Arrow are
    written in constant memory; a NumPy array is kept until the end, since its first bytes tell the
    number of rows. It is a plain matrix if the columns are called x0, x1, ... and have one type,
    else structured.

    The suffix tells the `format` where it is None; standard output gets CSV. Cells of a text table
    stay text in every format if they may come `in_chunks`.
    """

    def __init__(
        self,
        target: str | os.PathLike[str],
        *,
        format: str | None = None,  # noqa: A002
        overwrite: bool = False,
        in_chunks: bool = True,
    ) -> None:
        self._target = os.fspath(target)
        self._overwrite, self._in_chunks = overwrite, in_chunks
        self._format, self._gzipped = format_to_write(self._target, format)
        self._names: list[str] | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> TableWriter:
        with contextlib.ExitStack() as stack:
            if self._target != "-":
                file = stack.enter_context(atomic_write(self._target, overwrite=self._overwrite))
            elif self._format in ("csv", "tsv"):
                file = cast(BinaryIO, sys.stdout.buffer)
            else:
                file = stack.enter_context(_copied_to_stdout())
            if self._gzipped:
                # Without the time the same table gives the same bytes.
                zipped = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
                file = cast(BinaryIO, stack.enter_context(zipped))
            self._file = file
            self._stack = stack.pop_all()
        return self

    def write(self, table: Table | pd.DataFrame) -> None:
        """Write a chunk of the table."""
        chunk = Table.of(table)
        in_types = self._format not in ("csv", "tsv")
        arrow = _typed(chunk, infer=not self._in_chunks) if in_types else chunk.arrow
        if self._names is None:
            check_names(chunk.names, "the table to write")
            self._names = chunk.names
            if self._format == "npy":
                sink = _numpy_sink(self._file)
            elif in_types:
                sink = _arrow_sink(self._file, arrow.schema, to_parquet=self._format == "parquet")
            else:
                came_with = chunk.schema.delimiter or ","
                delimiter = came_with if self._format == "csv" else "\t"
                sink = _csv_sink(self._file, delimiter, chunk.names)
            self._write = self._stack.enter_context(sink)
        elif chunk.names != self._names:
            msg = f"all chunks need the columns {listed(self._names)}, got {listed(chunk.names)}"
            raise TableError(msg)
        self._write(arrow)

    def __exit__(self, *failure: Any) -> None:
        if self._names is None and failure[0] is None:
            error = TableError(f"no chunk of a table was written to {self._target!r}")
            self._stack.__exit__(type(error), error, None)
            raise error
        self._stack.__exit__(*failure)


@contextlib.contextmanager
def _copied_to_stdout() -> Iterator[Any]:
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@contextlib.contextmanager
def _csv_sink(
    file: BinaryIO, delimiter: str, names: list[str]
) -> Iterator[Callable[[pa.Table], None]]:
    def write(table: pa.Table) -> None:
        for start in range(0, table.num_rows, _ROWS):
            file.write(_csv_lines(table.slice(start, _ROWS), delimiter))

    header = io.StringIO()
    csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
    file.write(header.getvalue().encode())
    yield write
    file.flush()


@contextlib.contextmanager
def _arrow_sink(
    file: BinaryIO, schema: pa.Schema, *, to_parquet: bool
) -> Iterator[Callable[[pa.Table], None]]:
    """Parquet and Arrow; the first chunk tells the types."""

    def write(table: pa.Table) -> None:
        try:
            table = table.cast(schema)
        except (pa.ArrowException, ValueError) as error:
            msg = f"a later chunk of the table has other types: {error}"
            raise TableError(msg) from error
        (writer.write_table if to_parquet else writer.write)(table)

    opened = pa.parquet.ParquetWriter if to_parquet else pa.ipc.new_file
    writer = opened(pa.PythonFile(_KeptOpen(file), mode="w"), schema)
    try:
        yield write
    except BaseException:
        # Left open, it would write the end of the file when it is collected.
        with contextlib.suppress(pa.ArrowException, OSError):
            writer.close()
        raise
    writer.close()


class _KeptOpen:
    """A file that Arrow may not close."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.write = file.write
        self.flush = self.close = file.flush


@contextlib.contextmanager
def _numpy_sink(file: BinaryIO) -> Iterator[Callable[[pa.Table], None]]:
    tables: list[pa.Table] = []
    yield tables.append
    array = _to_numpy(pa.concat_tables(tables, promote_options="permissive"))
    np.lib.format.write_array(file, array, allow_pickle=False)


def _to_numpy(table: pa.Table) -> np.ndarray:
    columns = [_column_to_numpy(name, table.column(name)) for name in table.column_names]
    kinds = {column.dtype for column in columns}
    if len(kinds) == 1 and table.column_names == numbered_names(len(columns)):
        return np.column_stack(columns)
    pairs = zip(table.column_names, columns, strict=True)
    array = np.empty(table.num_rows, [(name, column.dtype) for name, column in pairs])
    for name, column in zip(table.column_names, columns, strict=True):
        array[name] = column
    return array


def _column_to_numpy(name: str, column: pa.ChunkedArray) -> np.ndarray:
    kind = column.type
    if is_text(kind):
        return np.array(
            ["" if cell is None else cell for cell in column.to_pylist()], dtype=np.str_
        )
    if pa.types.is_null(kind) or pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    values = column.to_numpy()
    if values.dtype.kind == "O" and pa.types.is_boolean(kind):
        # NumPy has no missing truth values.
        values = column.cast(pa.float64()).to_numpy()
    if values.dtype.kind not in "biufM":
        msg = f"a NumPy array cannot hold column {name!r} ({kind}); write CSV or Parquet"
        raise TableError(msg)
    return cast(np.ndarray, values)


# --- cells as text, and text as numbers -----------------------------------------------------------


def _csv_lines(table: pa.Table, delimiter: str) -> bytes:
    """Return rows as lines of CSV in UTF-8; only cells that need quotes get them.

    Arrow formats and joins whole columns: its own writer puts quotes around all text, and one cell
    at a time is too slow.
    """
    cells = [
        _formatted(name, column.combine_chunks(), delimiter)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    if len(cells) == 1:
        # An empty line would be skipped when read.
        cells = [pc.if_else(pc.equal(cells[0], ""), '""', cells[0])]
    separator = pa.scalar(delimiter, _TEXT)
    while len(cells) > 1:
        cells = [
            pc.binary_join_element_wise(*cells[start : start + _COLUMNS], separator)
            for start in range(0, len(cells), _COLUMNS)
        ]
    lines = pa.ListArray.from_arrays(pa.array([0, len(cells[0])], pa.int32()), cells[0])
    joined = pc.binary_join(lines, pa.scalar("\n", _TEXT))
    return bytes(joined[0].as_buffer()) + b"\n"


def _formatted(name: str, array: pa.Array, delimiter: str) -> pa.Array:
    kind = array.type
    if pa.types.is_boolean(kind):
        array = pc.if_else(array, "True", "False")
    elif pa.types.is_floating(kind):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array)
    try:
        text = pc.fill_null(array.cast(_TEXT), "")
    except pa.ArrowException:
        msg = f"CSV cannot hold column {name!r} ({kind}); write Parquet or Arrow"
        raise TableError(msg, column=name) from None
    if is_text(kind):
        special = pc.match_substring_regex(text, f'[{delimiter}"\r\n]')
        if pc.any(special).as_py():
            mark, nothing = pa.scalar('"', _TEXT), pa.scalar("", _TEXT)
            doubled = pc.replace_substring(text, '"', '""')
            quoted = pc.binary_join_element_wise(mark, doubled, mark, nothing)
            text = pc.if_else(special, quoted, text)
    return text


def _typed(table: Table, *, infer: bool) -> pa.Table:
    """Return a table whose cells of a text file are numbers or truth values where all of them are.

    Anything else becomes text, null where missing; so do all cells where `infer` is False.
    """
    for name in table.names:
        if name in table.schema.cells:
            cells = blank_missing(table[name])
            table = table.replace(name, _inferred(cells) if infer else cells)
    return table.arrow


def _inferred(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pc.any(pc.is_valid(cells)).as_py():
        return cells
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = cells.cast(kind)
        except pa.ArrowInvalid:
            continue
        unlike = pc.match_substring_regex(cells, _UNLIKE_NUMBERS)
        return cells if pc.any(unlike).as_py() else numbers
    lowered = pc.utf8_lower(cells)
    if pc.all(pc.is_in(pc.drop_null(lowered), pa.array(["true", "false"], cells.type))).as_py():
        return pc.equal(lowered, "true")
    return cells
