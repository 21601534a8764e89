"""Reading tables, at once or in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from amclust.cli.tables._binary import (
    arrow_batches,
    excel_batches,
    npy_batches,
    npz_batches,
    parquet_batches,
)
from amclust.cli.tables._dialect import DELIMITER
from amclust.cli.tables._errors import TableError, TableOptionError
from amclust.cli.tables._formats import TITLES, damage_named
from amclust.cli.tables._sources import OpenSource, name_of, open_source
from amclust.cli.tables._text import TextOptions, text_batches

# Of about this many rows are read at a time where chunks need not have a certain size.
_ROWS = 65_536


def read_table(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    header: bool | None = None,
) -> pd.DataFrame:
    r"""Read a table from a file or from standard input.

    Columns of a text table (CSV, TSV) keep their cells as they stand ("007", "1.50", "NA"), so
    that they can be written back unchanged; `Columns` makes numbers of them. All other formats
    keep their types. Every column has one of pandas' Arrow types.

    Parameters
    ----------
    source : str or path-like
        A file, or ``"-"`` for standard input. A gzipped one is decompressed.

    format : {"csv", "tsv", "parquet", "arrow", "arrows", "npy", "npz", "xlsx"}, default=None
        The format; None tells it from the first bytes, for text also from the name.

    delimiter : str, default=None
        What separates the cells of a text table: one character, or "tab", "space", ...; None finds
        out among comma, semicolon, tab and pipe.

    encoding : str, default=None
        Encoding of a text table. None is UTF-8 or what a byte order mark says, and Windows-1252
        with a warning if the bytes are not UTF-8.

    sheet : str, default=None
        Sheet of an Excel workbook: its name, or its number from 1 on; None is the first.

    header : bool, default=None
        Whether the first line of a text or Excel table holds the names of the columns. False
        names them x0, x1, ...; None takes the line for the names, but refuses one that holds only
        numbers.

    Returns
    -------
    frame : pandas.DataFrame
        At least one row.

    Raises
    ------
    TableError
        If the table cannot be read; the message names the line or the column.

    Examples
    --------
    >>> import os, tempfile
    >>> from amclust.cli.tables import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "table.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("id;height\n007;1.50\n008;\n")
    ...     frame = read_table(path)
    >>> frame["id"].tolist(), frame["height"].tolist()
    (['007', '008'], ['1.50', ''])
    """
    options = TextOptions(delimiter, encoding, header)
    with open_source(source, format) as opened:
        batches = list(_batches(opened, options, sheet, rows=_ROWS, whole=True))
    if not batches:
        raise _no_rows(source)
    return _to_frame(pa.concat_tables(batches))


class Chunks:
    """A table in chunks; see `read_chunks`. A file can be gone through again and again."""

    def __init__(
        self,
        source: str | os.PathLike[str],
        chunk_rows: int,
        format: str | None,  # noqa: A002
        options: TextOptions,
    ) -> None:
        if chunk_rows < 1:
            msg = f"chunk_rows must be at least 1, got {chunk_rows!r}"
            raise TableError(msg)
        self.source, self.chunk_rows = source, chunk_rows
        self._format, self._options = format, options
        self._begun: tuple[pd.DataFrame, Iterator[pd.DataFrame]] | None = None
        self._used_up = False

    @property
    def rereadable(self) -> bool:
        """Whether the table can be gone through more than once; standard input cannot."""
        return os.path.isfile(self.source)

    def first(self) -> pd.DataFrame:
        """Return the first chunk, and keep it for going through the table."""
        if self._begun is None:
            rest = self._read()
            self._begun = next(rest), rest
        return self._begun[0]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        first = self.first()
        assert self._begun is not None
        _, rest = self._begun
        self._begun = None
        yield first
        yield from rest

    def _read(self) -> Iterator[pd.DataFrame]:
        if self._used_up and not self.rereadable:
            name = name_of(self.source)
            msg = f"{name} can be read only once; save the table to a file first"
            raise TableError(msg)
        self._used_up = True
        empty = True
        with open_source(self.source, self._format) as opened:
            if opened.format == "xlsx":
                msg = (
                    f"{opened.name} is an Excel workbook, which cannot be streamed; "
                    "save it as CSV or Parquet"
                )
                raise TableError(msg)
            batches = _batches(opened, self._options, None, rows=self.chunk_rows, whole=False)
            for table in _rechunked(batches, self.chunk_rows):
                empty = False
                yield _to_frame(table)
        if empty:
            raise _no_rows(self.source)


def read_chunks(
    source: str | os.PathLike[str],
    *,
    chunk_rows: int,
    format: str | None = None,  # noqa: A002
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> Chunks:
    r"""Read a table in chunks, for those larger than memory.

    Put together, the chunks are what `read_table` returns, with the same columns and types. Only
    the encoding of a text table is told from its first megabyte, where `read_table` looks at all
    of it.

    Parameters
    ----------
    source : str or path-like
        A file, or ``"-"`` for standard input. Formats that need to be read back and forth are
        copied to a temporary file if they come from standard input. Excel cannot be streamed.

    chunk_rows : int
        Rows in a chunk; the last one may have fewer.

    format, delimiter, encoding, header
        As in `read_table`.

    Returns
    -------
    chunks : Chunks
        An iterable of `pandas.DataFrame`.

    Examples
    --------
    >>> import os, tempfile
    >>> from amclust.cli.tables import read_chunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "table.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("x,y\n1,2\n3,4\n5,6\n")
    ...     [len(chunk) for chunk in read_chunks(path, chunk_rows=2)]
    [2, 1]
    """
    return Chunks(source, chunk_rows, format, TextOptions(delimiter, encoding, header))


def _batches(
    opened: OpenSource, options: TextOptions, sheet: str | None, *, rows: int, whole: bool
) -> Iterator[pa.Table]:
    stream, name = opened.stream, opened.name
    _refuse_foreign_options(opened, options, sheet)
    if opened.format in ("csv", "tsv"):
        prefer = "\t" if opened.format == "tsv" else None
        yield from text_batches(stream, name, options, prefer=prefer, whole=whole)
        return
    if opened.format == "parquet":
        batches = parquet_batches(stream, name, rows)
    elif opened.format in ("arrow", "arrows"):
        batches = arrow_batches(stream, name)
    elif opened.format == "npy":
        batches = npy_batches(stream, name, rows)
    elif opened.format == "npz":
        batches = npz_batches(stream, name, rows)
    else:
        batches = excel_batches(stream, name, sheet=sheet, header=options.header)
    with damage_named(name, TITLES[opened.format]):
        for table in batches:
            if table.num_rows:
                yield _with_plain_text(table)


def _refuse_foreign_options(opened: OpenSource, options: TextOptions, sheet: str | None) -> None:
    given = {"delimiter": options.delimiter, "encoding": options.encoding, "sheet": sheet}
    for option, value in given.items():
        fitting = ("xlsx",) if option == "sheet" else ("csv", "tsv")
        if value is not None and opened.format not in fitting:
            msg = f"--{option} {value}: {opened.name} is {TITLES[opened.format]}, which has none"
            raise TableOptionError(msg)


def _with_plain_text(table: pa.Table) -> pa.Table:
    """Make all text `pa.string()`: the large kind marks the cells of text tables."""
    return pa.table([_plain(column) for column in table.columns], names=table.column_names)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
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


def _rechunked(tables: Iterator[pa.Table], rows: int) -> Iterator[pa.Table]:
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count >= rows:
            joined = pa.concat_tables(waiting)
            start = 0
            while count - start >= rows:
                yield joined.slice(start, rows)
                start += rows
            waiting, count = [joined.slice(start)], count - start
    if count:
        yield pa.concat_tables(waiting)


def _to_frame(table: pa.Table) -> pd.DataFrame:
    frame = table.to_pandas(types_mapper=pd.ArrowDtype, ignore_metadata=True)
    delimiter = (table.schema.metadata or {}).get(DELIMITER.encode())
    if delimiter is not None:  # a table that is written back has the delimiter that it came with
        frame.attrs[DELIMITER] = delimiter.decode()
    return frame


def _no_rows(source: str | os.PathLike[str]) -> TableError:
    return TableError(f"{name_of(source)} has column names but no rows")
