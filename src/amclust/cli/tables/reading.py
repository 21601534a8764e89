"""Reading tables: from a file to chunks of Arrow, all of them or one after the other."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

import pyarrow.compute as pc

from amclust.cli.tables.binary import BinaryTable
from amclust.cli.tables.columns import Columns
from amclust.cli.tables.errors import TableError, TableOptionError
from amclust.cli.tables.schema import Table, concat
from amclust.cli.tables.sources import TITLES, ReadOptions, Source, name_of, open_source
from amclust.cli.tables.text import NotNumbersError, TextTable

OpenTable = TextTable | BinaryTable
"""A table to read as often as it takes: its names, and its rows in batches."""


@contextlib.contextmanager
def open_table(
    source: str | os.PathLike[str], options: ReadOptions | None = None, *, whole: bool = True
) -> Iterator[OpenTable]:
    """Open a table; `whole` tells that all of it will be read before anything is done with it."""
    options = options or ReadOptions()
    with open_source(source, options.format) as opened, contextlib.ExitStack() as stack:
        _refuse_foreign_options(opened, options)
        if opened.format in ("csv", "tsv"):
            yield TextTable(opened, options, stack, whole=whole)
        elif opened.format == "xlsx" and not whole:
            msg = (
                f"{opened.name} is an Excel workbook, which cannot be streamed; "
                "save it as CSV or Parquet"
            )
            raise TableError(msg, file=opened.name)
        else:
            yield BinaryTable(opened, options)


def read_table(source: str | os.PathLike[str], options: ReadOptions | None = None) -> Table:
    """Read a table from a file, or from standard input ("-").

    Columns of a text table (CSV, TSV) keep their cells as they stand ("007", "1.50", "NA"), so
    that they can be written back unchanged; `Columns` makes numbers of them. All other formats
    keep their types.
    """
    with open_table(source, options) as table:
        return concat(list(table.batches()))


class Chunks:
    """A table in chunks of so many rows, for those larger than memory; None is one chunk of all.

    Put together, the chunks are what `read_table` returns, with the same columns and types. Only
    the encoding of a text table is told from its first megabyte, where `read_table` looks at all
    of it. A file can be gone through repeatedly. A pipe is copied to a temporary file. Excel cannot
    be streamed.
    """

    def __init__(
        self,
        source: str | os.PathLike[str],
        chunk_rows: int | None,
        options: ReadOptions | None = None,
    ) -> None:
        if chunk_rows is not None and chunk_rows < 1:
            msg = f"chunk_rows must be at least 1, got {chunk_rows!r}"
            raise TableError(msg)
        self.source, self._rows = source, chunk_rows or sys.maxsize
        self._options, self._whole = options, chunk_rows is None
        self._columns: Columns | None = None
        self._begun: tuple[Table, Iterator[Table]] | None = None
        self._used_up = False

    @property
    def rereadable(self) -> bool:
        """Whether the table can be gone through more than once; standard input cannot."""
        return os.path.isfile(self.source)

    def first(self) -> Table:
        """Return the first chunk, and keep it for going through the table."""
        if self._begun is None:
            rest = self._read()
            self._begun = next(rest), rest
        return self._begun[0]

    def narrow(self, columns: Columns) -> None:
        """Read no other columns from now on, and parse numbers at once, where it can be.

        What is begun is begun anew, unless it cannot be or all of it was read.
        """
        if self._begun is None or (self.rereadable and not self._whole):
            self._columns, self._begun = columns, None

    def __iter__(self) -> Iterator[Table]:
        first = self.first()
        assert self._begun is not None
        _, rest = self._begun
        self._begun = None
        yield first
        yield from rest

    def _read(self) -> Iterator[Table]:
        if self._used_up and not self.rereadable:
            name = name_of(self.source)
            msg = f"{name} can be read only once; save the table to a file first"
            raise TableError(msg, file=name)
        self._used_up = True
        with open_table(self.source, self._options, whole=self._whole) as table:
            if self._columns is None:
                yield from _rechunked(table.batches(), self._rows)
            else:
                yield from self._read_narrow(table, self._columns)

    def _read_narrow(self, table: OpenTable, columns: Columns) -> Iterator[Table]:
        columns.check_names(table.names)
        names = [name for name in table.names if name in {*columns.names, columns.id}]
        spelling = columns.spelling
        known = {column.name for column in columns.columns if column.kind == "number"}
        # Names of rows are told as they are written.
        numbers = [n for n in table.numeric(spelling) if n in known and n != columns.id]
        done = 0
        try:
            batches = table.batches(columns=names, numbers=numbers, spelling=spelling)
            for chunk in _rechunked(batches, self._rows):
                if any(pc.any(pc.is_inf(chunk[name])).as_py() for name in numbers):
                    raise NotNumbersError
                yield chunk
                done += len(chunk)
        except NotNumbersError:
            yield from _rechunked(_skipped(table.batches(columns=names), done), self._rows)


def _skipped(batches: Iterator[Table], rows: int) -> Iterator[Table]:
    """Leave out the first rows."""
    for batch in batches:
        if rows < len(batch):
            yield batch.slice(rows)
        rows = max(0, rows - len(batch))


def _rechunked(batches: Iterator[Table], rows: int) -> Iterator[Table]:
    waiting: list[Table] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += len(batch)
        if count >= rows:
            joined = concat(waiting)
            start = 0
            while count - start >= rows:
                yield joined.slice(start, rows)
                start += rows
            waiting, count = [joined.slice(start)], count - start
    if count:
        yield concat(waiting)


def _refuse_foreign_options(source: Source, options: ReadOptions) -> None:
    for name in ("delimiter", "encoding", "sheet"):
        value = getattr(options, name)
        fitting = ("xlsx",) if name == "sheet" else ("csv", "tsv")
        if value is not None and source.format not in fitting:
            msg = f"--{name} {value}: {source.name} is {TITLES[source.format]}, which has none"
            raise TableOptionError(msg, file=source.name)
