"""CSV and TSV: from the bytes of a file to Arrow, every cell as it stands or as a number."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import re
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from amclust.cli.tables.cells import NUMBER, PLAIN, Spelling
from amclust.cli.tables.dialect import fall_back, find_dialect, find_encoding
from amclust.cli.tables.errors import TableError, no_rows, shortened
from amclust.cli.tables.schema import MISSING, Schema, Table
from amclust.cli.tables.sources import ReadOptions, Source, space_for_a_copy, temporary_path

# Arrow reads dozens of blocks ahead.
_BLOCK, _WHOLE_BLOCK = 1 << 18, 1 << 20
_HEAD = 1 << 20
# A header of 100,000 columns fits.
_MAX_HEAD = 1 << 26
_UTF8 = ("utf-8", "utf-8-sig")


class NotNumbersError(Exception):
    """A column that was to be parsed as numbers has other cells, or a row is not whole."""


class EncodingError(TableError):
    """A byte that the encoding does not have."""


class TextTable:
    """A text table, parsed by Arrow straight from the bytes of its file.

    Only a file that is not UTF-8 is copied, decoded, to a temporary one. If it is read as a
    `whole`, all bytes are looked at to tell the encoding; in chunks those of the first megabyte.
    """

    def __init__(
        self, source: Source, options: ReadOptions, stack: contextlib.ExitStack, *, whole: bool
    ) -> None:
        with source.open() as file:
            head = _read_head(file)
        complete = len(head) < _HEAD
        encoding = find_encoding(head, options.encoding, source.name, complete=complete)
        self._quotes = True  # whether there may be any
        if whole and encoding in _UTF8:
            encoding = self._check_all(source, encoding, given=options.encoding is not None)
        decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
        try:
            text = decoder.decode(head, final=complete)
        except UnicodeError as error:
            msg = f"{source.name} is not {encoding}: {error}"
            raise EncodingError(msg, file=source.name) from None
        if "\0" in text[:_HEAD]:
            raise _zero_byte(source.name, text.count("\n", 0, text.index("\0")) + 1)
        self._dialect = find_dialect(
            text[:_HEAD] if _has_lines(text[:_HEAD]) else text,
            source.name,
            delimiter=options.delimiter,
            prefer="\t" if source.format == "tsv" else None,
            header=options.header,
            complete=complete and len(text) <= _HEAD,
        )
        self._header = text[: self._dialect.header_characters]
        self._block = max(
            _WHOLE_BLOCK if whole else _BLOCK,
            16 * max(map(len, text[:_HEAD].splitlines()), default=0),
        )
        self._mark = codecs.BOM_UTF8 if head.startswith(codecs.BOM_UTF8) else b""
        if encoding not in _UTF8:
            path, self._mark = temporary_path(stack), b""
            with space_for_a_copy(), open(path, "wb") as copy:
                for part in _decoded(source, encoding):
                    copy.write(part.encode())
            source = Source(path, gzipped=False, format=source.format, name=source.name)
        self.source = source
        # Whether bytes that are no text would have been found by now.
        self._checked = whole or encoding not in _UTF8

    def _check_all(self, source: Source, encoding: str, *, given: bool) -> str:
        """Look at all bytes; return another encoding where UTF-8 was not `given` and is wrong."""
        try:
            self._quotes = sum('"' in part for part in _decoded(source, encoding)) > 0
        except EncodingError:
            if given:
                raise
        else:
            return encoding
        try:
            for _ in _decoded(source, "cp1252"):
                pass
        except EncodingError:
            return fall_back("latin-1", source.name)
        return fall_back("cp1252", source.name)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self._dialect.names[: -1 if self._dialect.trailing else None]

    def numeric(self, spelling: Spelling) -> list[str]:
        """Return the names of the columns that begin with numbers, spelled as Arrow reads them."""
        if spelling.thousands is not None:
            return []
        number = re.compile(NUMBER.replace(r"\.", re.escape(spelling.decimal)))
        columns = zip(*self._dialect.records, strict=False)
        return [
            name
            for name, cells in zip(self.names, columns, strict=False)
            if all(number.fullmatch(cell.strip()) or cell in MISSING for cell in cells)
        ]

    def batches(
        self,
        *,
        columns: Sequence[str] | None = None,
        numbers: Collection[str] = (),
        spelling: Spelling = PLAIN,
    ) -> Iterator[Table]:
        """Yield the rows of some columns: `numbers` as float64, all others cell by cell.

        If something is wrong with a row, raise NotNumbersError where there are `numbers`, and an
        error that tells the line where there are none.
        """
        wanted = self.names if columns is None else list(columns)
        empty = True
        try:
            for batch in self._parse(wanted, numbers, spelling.decimal):
                empty = False
                yield batch
        except pa.ArrowInvalid as error:
            if numbers:
                raise NotNumbersError from error
            self._refuse_fault(error)
        if empty:
            raise no_rows(self.source.name)

    def _parse(self, columns: list[str], numbers: Collection[str], decimal: str) -> Iterator[Table]:
        dialect, rows = self._dialect, 0
        last = dialect.names[-1]
        types = {name: pa.float64() if name in numbers else pa.string() for name in dialect.names}
        schema = Schema(frozenset(columns) - frozenset(numbers), dialect.delimiter)
        with self.source.open() as file:
            _skip(file, len(self._mark) + len(self._header.encode()))
            reader = pa.csv.open_csv(
                file,
                pa.csv.ReadOptions(
                    column_names=dialect.names, block_size=self._block, use_threads=False
                ),
                pa.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=self._quotes),
                pa.csv.ConvertOptions(
                    column_types=types,
                    null_values=list(MISSING),
                    strings_can_be_null=False,
                    include_columns=list(dict.fromkeys([*columns, last])),
                    decimal_point=decimal,
                ),
            )
            end = ""
            for batch in reader:
                if not batch.num_rows:
                    continue
                if not self._checked:
                    _refuse_zero_bytes(batch)
                if types[last] == pa.string():
                    end = batch.column(last)[-1].as_py()
                if dialect.trailing:
                    self._refuse_trailing(batch.column(last), rows)
                rows += batch.num_rows
                yield Table(pa.Table.from_batches([batch]).select(columns), schema)
        if set(end) & set("\r\n") and not self._ends_in_a_quote():
            name = self.source.name
            msg = f"{name}: the quote opened in row {rows:,}, column {last!r}, never closes"
            raise TableError(msg, file=name, row=rows, column=last)

    def _ends_in_a_quote(self) -> bool:
        """Whether the file ends in a quote that closes a cell, not in one of a pair."""
        tail = b""
        for block in self.source.blocks():
            tail = (tail + block)[-1000:]
        tail = tail.rstrip(b"\r\n")
        return (len(tail) - len(tail.rstrip(b'"'))) % 2 == 1

    def _refuse_trailing(self, column: pa.Array, first_row: int) -> None:
        """Refuse a cell in the empty column that a delimiter at the end of every row makes."""
        filled = pc.not_equal(column, "")
        if pc.any(filled).as_py():
            index = pc.index(filled, True).as_py()
            row, value = first_row + index + 1, str(column[index])
            name = self.source.name
            msg = (
                f"{name}, row {row:,}: the last cell ({shortened(value)}) has no column name above "
                "it"
            )
            raise TableError(msg, file=name, row=row, value=value)

    def _refuse_fault(self, error: Exception) -> None:
        """Say what is wrong with a text that Arrow does not parse; nothing if it has no rows."""
        source, dialect = self.source, self._dialect
        if not self._checked:
            for _ in _decoded(source, "utf-8-sig"):
                pass
        limit = csv.field_size_limit(1 << 30)
        try:
            found = 0
            for line, record, text in self._records():
                found += 1
                if len(record) != len(dialect.names):
                    raise self._ragged(line, record, text)
                if len(text) > self._block:
                    raise self._open_quote(line, text)
        finally:
            csv.field_size_limit(limit)
        if found:
            msg = f"{source.name} cannot be read: {error}"
            raise TableError(msg, file=source.name) from error

    def _records(self) -> Iterator[tuple[int, list[str], str]]:
        """Yield the rows with the line each begins in and its text, one by one and slowly."""
        path, opened = self.source.path, gzip.open if self.source.gzipped else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
            file.read(len(self._header))
            lines: list[str] = []

            def kept() -> Iterator[str]:
                for line in file:
                    lines.append(line)
                    yield line

            line = 1 + (self._header.count("\n") or self._header.count("\r"))
            for record in csv.reader(kept(), delimiter=self._dialect.delimiter):
                if record:
                    yield line, record, "".join(lines).rstrip("\r\n")
                line += len(lines)
                lines.clear()

    def _ragged(self, line: int, record: list[str], text: str) -> TableError:
        if text.count('"') % 2:
            return self._open_quote(line, text)
        dialect, name = self._dialect, self.source.name
        words = "1 cell" if len(record) == 1 else f"{len(record):,} cells"
        advice = ""
        if text.startswith("#") or dialect.names[0].startswith("#"):
            advice = "; lines of comments, with # at their beginning, are not left out: remove them"
        elif len(record) > len(dialect.names):
            advice = f"; a cell with {dialect.delimiter!r} in it must be in quotes"
        msg = (
            f"{name}, line {line:,}: {words}, but the table has {len(dialect.names):,} columns: "
            f"{shortened(text, 60)}{advice}"
        )
        return TableError(msg, file=name, line=line, value=text)

    def _open_quote(self, line: int, text: str) -> TableError:
        name = self.source.name
        msg = f"{name}, line {line:,}: a quote is opened that is never closed"
        if text.count('"') % 2 == 0:
            msg = f"{name}, line {line:,}: the row is longer than can be read in chunks"
        return TableError(msg, file=name, line=line)


def _read_head(file: pa.NativeFile) -> bytes:
    head: bytes = file.read(_HEAD)
    while not _has_lines(head) and len(head) < _MAX_HEAD and (more := file.read(_HEAD)):
        head += more
    return head


def _has_lines(head: bytes | str) -> bool:
    ends = ("\n", "\r") if isinstance(head, str) else (b"\n", b"\r")
    return any(head.count(end) > 2 for end in ends)  # type: ignore[arg-type]


def _skip(file: pa.NativeFile, count: int) -> None:
    while count and (block := file.read(min(count, _BLOCK))):
        count -= len(block)


def _decoded(source: Source, encoding: str) -> Iterator[str]:
    """Yield the text of a file; refuse bytes that are none, by their line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, ended = 0, False
    with source.open() as file:
        while not ended:
            block = file.read(_BLOCK)
            ended = not block
            try:
                text = decoder.decode(block, final=ended)
            except UnicodeError as error:
                if not isinstance(error, UnicodeDecodeError):  # no mark tells the order of bytes
                    msg = f"{source.name} is not {encoding}: {error}"
                    raise EncodingError(msg, file=source.name) from None
                line = lines + block.count(b"\n", 0, error.start) + 1
                value = repr(error.object[error.start : error.start + 1])
                msg = (
                    f"{source.name}, line {line:,}: the byte {value} is not {encoding}; "
                    "give its encoding, for instance --encoding latin-1"
                )
                raise EncodingError(msg, file=source.name, line=line, value=value) from None
            if "\0" in text:
                line = lines + text.count("\n", 0, text.index("\0")) + 1
                raise _zero_byte(source.name, line)
            lines += text.count("\n") or text.count("\r")
            yield text


def _zero_byte(name: str, line: int) -> TableError:
    msg = f"{name}, line {line:,}: there is a zero byte; is this a text table, and whole?"
    return TableError(msg, file=name, line=line)


def _refuse_zero_bytes(batch: pa.RecordBatch) -> None:
    texts = (column for column in batch.columns if pa.types.is_string(column.type))
    if any(pc.any(pc.match_substring(text, "\0")).as_py() for text in texts):
        msg = "there is a zero byte"
        raise pa.ArrowInvalid(msg)
