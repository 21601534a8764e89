"""Writing tables, at once or in chunks; whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import sys
import tempfile
from types import TracebackType
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from amclust.cli.tables._cells import to_arrow
from amclust.cli.tables._csv_writing import csv_lines
from amclust.cli.tables._dialect import DELIMITER
from amclust.cli.tables._errors import TableError, listed
from amclust.cli.tables._excel_writing import ExcelSink
from amclust.cli.tables._formats import format_to_write
from amclust.cli.tables._header import check_names, numbered_names
from amclust.cli.tables._typing import typed_table
from amclust.io.files import atomic_write


def write_table(
    frame: pd.DataFrame,
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
    frame : pandas.DataFrame
        The table. Its index is not written.

    target : str or path-like
        A file, or ``"-"`` for standard output.

    format : {"csv", "tsv", "parquet", "arrow", "arrows", "npy", "npz", "xlsx"}, default=None
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
        writer.write(frame)


class TableWriter:
    r"""Write a table in chunks: a context manager with `write`.

    The file appears at the end of the ``with`` block, if no exception ended it. Chunks must have
    the same columns. Text tables, Parquet, Arrow and Excel are written in constant memory; NumPy
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
            elif self._format in ("csv", "tsv", "arrows"):
                file = cast(BinaryIO, sys.stdout.buffer)
            else:
                file = stack.enter_context(_copied_to_stdout())
            if self._gzipped:
                # Without the time the same table gives the same bytes.
                zipped = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0)
                file = cast(BinaryIO, stack.enter_context(zipped))
            self._sink = _open_sink(self._format, file)
            self._stack = stack.pop_all()
        return self

    def write(self, frame: pd.DataFrame) -> None:
        """Write a chunk of the table."""
        names = [str(name) for name in frame.columns]
        if self._names is None:
            check_names(names, "the table to write")
            self._names = names
            if isinstance(self._sink, _CsvSink) and self._format == "csv":
                self._sink.delimiter = frame.attrs.get(DELIMITER, ",")
        elif names != self._names:
            msg = f"all chunks need the columns {listed(self._names)}, got {listed(names)}"
            raise TableError(msg)
        columns = [to_arrow(frame.iloc[:, index]) for index in range(len(names))]
        table = pa.table(columns, names=names)
        if self._format not in ("csv", "tsv"):
            table = typed_table(table, infer=not self._in_chunks)
        self._sink.write(table)

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


def _open_sink(format: str, file: BinaryIO) -> _Sink:  # noqa: A002
    if format in ("csv", "tsv"):
        return _CsvSink(file, "," if format == "csv" else "\t")
    if format == "xlsx":
        return ExcelSink(file)
    if format in ("npy", "npz"):
        return _NumpySink(file, zipped=format == "npz")
    return _ArrowSink(file, format)


@contextlib.contextmanager
def _copied_to_stdout() -> Any:
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
        for lines in csv_lines(table, self.delimiter, header=not self._begun):
            self._file.write(lines)
        self._begun = True

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
            opened = {
                "parquet": pa.parquet.ParquetWriter,
                "arrow": pa.ipc.new_file,
                "arrows": pa.ipc.new_stream,
            }[self._format]
            self._writer = opened(sink, table.schema)
            self._schema = table.schema
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
    def __init__(self, file: BinaryIO, *, zipped: bool) -> None:
        self._file, self._zipped = file, zipped
        self._tables: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        self._tables.append(table)

    def finish(self) -> None:
        array = _to_numpy(pa.concat_tables(self._tables, promote_options="permissive"))
        if not self._zipped:
            np.lib.format.write_array(self._file, array, allow_pickle=False)
            return
        # A zip archive that fails to be written complains once more when it is collected.
        with tempfile.TemporaryFile() as file:
            np.savez_compressed(file, table=array)
            file.seek(0)
            shutil.copyfileobj(file, self._file)

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
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
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
