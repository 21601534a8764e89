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
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from amclust.cli.tables.cells import blank_missing
from amclust.cli.tables.dialect import check_names, numbered_names
from amclust.cli.tables.errors import TableError, listed
from amclust.cli.tables.formats import format_to_write
from amclust.cli.tables.schema import Table, is_text
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
    """Write a table to a file or to standard output.

    A file appears only when all of it is written; see `amclust.io.files.atomic_write`. Cells of
    a text table (`read_table`) become numbers, truth values or text by column where the format has
    types, if that loses nothing; as CSV it has the delimiter that it came with.

    Parameters
    ----------
    table : Table or pandas.DataFrame
        The table. The index of a frame is not written.

    target : str or path-like
        A file, or ``"-"`` for standard output.

    format : {"csv", "tsv", "parquet", "arrow", "npy"}, default=None
        The format; None tells it from the suffix, and is CSV on standard output. A NumPy array is
        a plain matrix if the columns are called x0, x1, ... and have one type, else structured.

    overwrite : bool, default=False
        Whether an existing file may be replaced.

    Raises
    ------
    TableError
        If the name does not tell a format, or the format cannot hold the table.

    OSError
        If the file cannot be written; the message names it.

    Examples
    --------
    >>> import pandas as pd
    >>> from amclust.cli.tables import write_table
    >>> write_table(pd.DataFrame({"x": [1, 2], "name": ["a", "b, c"]}), "-")  # doctest: +SKIP
    x,name
    1,a
    2,"b, c"
    """
    with TableWriter(target, format=format, overwrite=overwrite, in_chunks=False) as writer:
        writer.write(table)


class TableWriter:
    r"""Write a table in chunks: a context manager with `write`.

    The file appears at the end of the ``with`` block, if no exception ended it. Chunks must have
    the same columns. Text tables, Parquet and Arrow are written in constant memory; NumPy
    arrays are kept until the end, since their first bytes tell the number of rows. Cells of a text
    table stay text in every format, since the chunks to come are not known.

    Parameters
    ----------
    target, format, overwrite
        As in `write_table`.

    in_chunks : bool, default=True
        Whether more than one chunk may come.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from amclust.cli.tables import TableWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "table.csv")
    ...     with TableWriter(path) as writer:
    ...         writer.write(pd.DataFrame({"x": [1, 2]}))
    ...         writer.write(pd.DataFrame({"x": [3]}))
    ...     with open(path) as file:
    ...         file.read()
    'x\n1\n2\n3\n'
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
            if self._format in ("csv", "tsv"):
                self._sink: _Sink = _CsvSink(file, "," if self._format == "csv" else "\t")
            elif self._format == "npy":
                self._sink = _NumpySink(file)
            else:
                self._sink = _ArrowSink(file, self._format)
            self._stack = stack.pop_all()
        return self

    def write(self, table: Table | pd.DataFrame) -> None:
        """Write a chunk of the table."""
        chunk = Table.of(table)
        if self._names is None:
            check_names(chunk.names, "the table to write")
            self._names = chunk.names
            if isinstance(self._sink, _CsvSink) and self._format == "csv":
                self._sink.delimiter = chunk.schema.delimiter or ","
        elif chunk.names != self._names:
            msg = f"all chunks need the columns {listed(self._names)}, got {listed(chunk.names)}"
            raise TableError(msg)
        in_types = self._format not in ("csv", "tsv")
        self._sink.write(_typed(chunk, infer=not self._in_chunks) if in_types else chunk.arrow)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            try:
                if self._names is None:
                    msg = f"no chunk of a table was written to {self._target!r}"
                    raise TableError(msg)
                self._sink.finish()
            except BaseException:
                self._close(*sys.exc_info())
                raise
            self._stack.close()
        else:
            self._close(kind, error, trace)

    def _close(self, *failure: Any) -> None:
        """Leave everything as it was."""
        try:
            self._sink.abandon()
        finally:
            self._stack.__exit__(*failure)


class _Sink(Protocol):
    def write(self, table: pa.Table) -> None: ...

    def finish(self) -> None: ...

    def abandon(self) -> None: ...


@contextlib.contextmanager
def _copied_to_stdout() -> Iterator[Any]:
    with tempfile.TemporaryFile() as file:
        yield file
        file.seek(0)
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


class _CsvSink:
    def __init__(self, file: BinaryIO, delimiter: str) -> None:
        self._file, self.delimiter = file, delimiter
        self._begun = False

    def write(self, table: pa.Table) -> None:
        if not self._begun:
            header = io.StringIO()
            csv.writer(header, delimiter=self.delimiter, lineterminator="\n").writerow(
                table.column_names
            )
            self._file.write(header.getvalue().encode())
            self._begun = True
        for start in range(0, table.num_rows, _ROWS):
            self._file.write(_csv_lines(table.slice(start, _ROWS), self.delimiter))

    def finish(self) -> None:
        self._file.flush()

    def abandon(self) -> None:
        pass


class _ArrowSink:
    """Parquet and Arrow; the first chunk tells the types."""

    def __init__(self, file: BinaryIO, format: str) -> None:  # noqa: A002
        self._file, self._format = file, format
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        if self._writer is None:
            sink = pa.PythonFile(_KeptOpen(self._file), mode="w")
            opened = pa.parquet.ParquetWriter if self._format == "parquet" else pa.ipc.new_file
            self._writer, self._schema = opened(sink, table.schema), table.schema
        try:
            table = table.cast(self._schema)
        except (pa.ArrowException, ValueError) as error:
            msg = f"a later chunk of the table has other types: {error}"
            raise TableError(msg) from error
        (self._writer.write_table if self._format == "parquet" else self._writer.write)(table)

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def abandon(self) -> None:
        if self._writer is not None:
            # Left open, it would write the end of the file when it is collected.
            with contextlib.suppress(pa.ArrowException, OSError):
                self._writer.close()


class _KeptOpen:
    """A file that Arrow may not close."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.write, self.flush = file.write, file.flush

    def close(self) -> None:
        self.flush()


class _NumpySink:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._tables: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        self._tables.append(table)

    def finish(self) -> None:
        array = _to_numpy(pa.concat_tables(self._tables, promote_options="permissive"))
        np.lib.format.write_array(self._file, array, allow_pickle=False)

    def abandon(self) -> None:
        self._tables.clear()


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
    arrow = table.arrow
    for name in table.schema.cells:
        cells = blank_missing(arrow.column(name))
        typed = _inferred(cells) if infer else cells
        arrow = arrow.set_column(arrow.column_names.index(name), name, typed)
    return arrow


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
