"""Reading text tables: every cell as it stands, checked while it flows."""

from __future__ import annotations

import codecs
import csv
import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from amclust.cli.tables._dialect import DELIMITER, Dialect, find_dialect, find_encoding
from amclust.cli.tables._errors import TableError, shortened

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CELL = pa.large_string()
"""Type of a cell of a text table, as it stands; text of other tables is `pa.string()`."""

# Arrow reads dozens of blocks ahead.
_BLOCK = 1 << 20
_WHOLE_BLOCK = 1 << 23
_HEAD = 1 << 20
# A header of 100,000 columns fits.
_LARGEST_HEAD = 1 << 26
# Seconds without a read that tell the end of reading ahead, most seconds to wait for it, and those
# that Arrow's threads get in any case.
_QUIET, _PATIENCE, _LETTING_GO = 0.2, 2.0, 0.1


@dataclass(frozen=True)
class TextOptions:
    """What a caller may say about a text table."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None


def text_batches(
    stream: BinaryIO, source: str, options: TextOptions, *, prefer: str | None, whole: bool
) -> Iterator[pa.Table]:
    """Yield the rows of a text table, all columns of type `CELL`, in constant memory.

    `prefer` is the delimiter that the file's name suggests. `whole` reads all bytes first, which
    tells the encoding for certain and allows to name the line of an error.
    """
    head = stream.read() if whole else _read_head(stream)
    complete = whole or len(head) < _HEAD
    encoding = find_encoding(head, options.encoding, source, complete=complete)
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    beginning = decoder.decode(head[:_LARGEST_HEAD], final=complete)[:_LARGEST_HEAD]
    if "\0" in beginning[:_HEAD]:
        line = beginning.count("\n", 0, beginning.index("\0")) + 1
        _refuse_zero_byte(source, line)
    dialect = find_dialect(
        beginning[:_HEAD] if _has_lines(beginning[:_HEAD]) else beginning,
        source,
        delimiter=options.delimiter,
        prefer=prefer,
        header=options.header,
        complete=complete and len(beginning) <= _HEAD,
    )
    blocks = _Blocks(stream, head, encoding, source)
    blocks.skip(dialect.header_characters)
    try:
        longest = max(map(len, beginning[:_HEAD].splitlines()), default=0)
        block_size = max(_WHOLE_BLOCK if whole else _BLOCK, 8 * longest)
        for table in _parse(blocks, source, dialect, block_size):
            yield table.replace_schema_metadata({DELIMITER: dialect.delimiter})
    except _RaggedRow as ragged:
        text = io.BytesIO(head) if whole else None
        _raise_ragged(ragged, text, encoding, source, dialect)


def _read_head(stream: BinaryIO) -> bytes:
    head = stream.read(_HEAD)
    while not _has_lines(head) and len(head) < _LARGEST_HEAD and (more := stream.read(_HEAD)):
        head += more
    return head


def _has_lines(head: bytes | str) -> bool:
    ends = ("\n", "\r") if isinstance(head, str) else (b"\n", b"\r")
    return any(head.count(end) > 2 for end in ends)  # type: ignore[arg-type]


class _Blocks(io.RawIOBase):
    """The text as a stream of UTF-8, which counts lines and refuses bytes that are not text."""

    def __init__(self, stream: BinaryIO, head: bytes, encoding: str, source: str) -> None:
        self._stream, self._head, self._source = stream, memoryview(head), source
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._encoding = encoding
        self._left = memoryview(b"")
        self._ended = False
        self.lines = 0
        self.quotes = 0
        self.error: Exception | None = None
        self._stopped = False
        self._reads = self._reads_done = self._empty_reads = 0

    def stop(self) -> None:
        """Let there be no more to read, and wait until nobody reads.

        Arrow reads ahead in a thread, which may not be in the middle of Python when Python ends.
        It stops after the second empty read (the first ends the block before), or has stopped
        where it is far ahead.
        """
        self._stopped = True
        # Its threads may also be about to let go of what is Python's.
        time.sleep(_LETTING_GO)
        end = time.monotonic() + _PATIENCE
        seen, quiet_until = -1, 0.0
        while self._empty_reads < 2 and (now := time.monotonic()) < end:
            if seen != self._reads or self._reads != self._reads_done:
                seen, quiet_until = self._reads, now + _QUIET
            elif now > quiet_until:
                return
            time.sleep(0.001)

    def skip(self, characters: int) -> None:
        """Leave out the header."""
        text = ""
        while len(text) < characters and not self._ended:
            text += self._decode()
        self.lines = text.count("\n", 0, characters)
        self._left = memoryview(self._check(text[characters:]))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        self._reads += 1
        try:
            count = 0 if self._stopped else self._read_into(memoryview(buffer).cast("B"))
        finally:
            self._reads_done += 1
        self._empty_reads += not count
        return count

    def _read_into(self, target: memoryview) -> int:
        try:
            while not len(self._left) and not self._ended:
                self._left = memoryview(self._check(self._decode()))
        except Exception as error:
            # Arrow reads in a thread of its own; what it makes of the exception is its affair.
            self.error = error
            raise
        count = min(len(target), len(self._left))
        target[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def _decode(self) -> str:
        if len(self._head):
            block, self._head = bytes(self._head[:_BLOCK]), self._head[_BLOCK:]
        else:
            block = self._stream.read(_BLOCK)
            self._ended = not block
        try:
            return self._decoder.decode(block, final=self._ended)
        except UnicodeDecodeError as error:
            line = self.lines + block.count(b"\n", 0, error.start) + 1
            found = error.object[error.start : error.start + 1]
            msg = (
                f"{self._source}, line {line:,}: the byte {found!r} is not {self._encoding}; "
                "give its encoding, for instance --encoding latin-1"
            )
            raise TableError(msg) from None

    def _check(self, text: str) -> bytes:
        if "\0" in text:
            _refuse_zero_byte(self._source, self.lines + text.count("\n", 0, text.index("\0")) + 1)
        self.lines += text.count("\n") or text.count("\r")
        self.quotes += text.count('"')
        return text.encode()


def _refuse_zero_byte(source: str, line: int) -> NoReturn:
    msg = f"{source}, line {line:,}: there is a zero byte; is this a text table, and whole?"
    raise TableError(msg)


class _RaggedRow(Exception):  # noqa: N818
    """A row with too few or too many cells."""

    def __init__(self, row: pa.csv.InvalidRow) -> None:
        self.row = row


def _parse(blocks: _Blocks, source: str, dialect: Dialect, block_size: int) -> Iterator[pa.Table]:
    try:
        yield from _parse_all(blocks, source, dialect, block_size)
    except BaseException:  # also where the caller wants no more
        blocks.stop()
        raise


def _parse_all(
    blocks: _Blocks, source: str, dialect: Dialect, block_size: int
) -> Iterator[pa.Table]:
    ragged: list[pa.csv.InvalidRow] = []

    def refuse(row: pa.csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    rows = 0
    # Held back until the end is known to be well.
    waiting: pa.Table | None = None
    try:
        reader = pa.csv.open_csv(
            io.BufferedReader(blocks, 1 << 16),
            read_options=pa.csv.ReadOptions(
                column_names=dialect.names, block_size=block_size, use_threads=False
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=dialect.delimiter,
                newlines_in_values=True,
                invalid_row_handler=refuse,
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(dialect.names, CELL),
                null_values=[],
                strings_can_be_null=False,
                check_utf8=False,
            ),
        )
        for batch in reader:
            if batch.num_rows:
                table = pa.Table.from_batches([batch])
                table = _without_trailing(table, source, rows) if dialect.trailing else table
                rows += table.num_rows
                if waiting is not None:
                    yield waiting
                waiting = table
    except (pa.ArrowException, OSError) as error:
        if blocks.error is not None:
            raise blocks.error from None
        if ragged:
            raise _RaggedRow(ragged[0]) from None
        if "Empty CSV" not in str(error):
            _raise_unreadable(error, source, rows)
    if waiting is not None:
        if blocks.quotes % 2:
            _refuse_open_quote(waiting, source, rows)
        yield waiting


def _refuse_open_quote(table: pa.Table, source: str, rows: int) -> None:
    """Refuse a last cell that goes over line ends, given that the quotes do not pair up."""
    if set(table.columns[-1][-1].as_py()) & set("\r\n"):
        name = table.column_names[-1]
        msg = f"{source}: the quote opened in row {rows:,}, column {name!r}, never closes"
        raise TableError(msg)


def _without_trailing(table: pa.Table, source: str, first_row: int) -> pa.Table:
    """Take away the empty column that a delimiter at the end of every row makes."""
    last = table.column(table.num_columns - 1)
    filled = pc.not_equal(last, "")
    if pc.any(filled).as_py():
        row = pc.index(filled, True).as_py()
        msg = (
            f"{source}, row {first_row + row + 1:,}: the last cell ({shortened(last[row])}) has no "
            "column name above it"
        )
        raise TableError(msg)
    return table.select(range(table.num_columns - 1))


def _raise_unreadable(error: Exception, source: str, rows: int) -> NoReturn:
    if "straddling" in str(error):
        msg = (
            f"{source}: after row {rows:,} a quote is opened that is never closed, or a row is "
            "longer than can be streamed"
        )
    else:
        msg = f"{source} cannot be read: {error}"
    raise TableError(msg) from error


def _raise_ragged(
    ragged: _RaggedRow, data: BinaryIO | None, encoding: str, source: str, dialect: Dialect
) -> NoReturn:
    row = ragged.row
    place = f"row {row.number or 0:,}"
    if data is not None:
        place = f"line {_find_line(data, encoding, dialect):,}"
    if row.text.count('"') % 2:
        msg = f"{source}, {place}: a quote is opened that is never closed"
        raise TableError(msg)
    words = "1 cell" if row.actual_columns == 1 else f"{row.actual_columns:,} cells"
    advice = (
        f"; a cell with {dialect.delimiter!r} in it must be in quotes"
        if row.actual_columns > row.expected_columns
        else ""
    )
    if row.text.startswith("#") or dialect.names[0].startswith("#"):
        advice = "; lines of comments, with # at their beginning, are not left out: remove them"
    msg = (
        f"{source}, {place}: {words}, but the table has {row.expected_columns:,} columns: "
        f"{shortened(row.text, 60)}{advice}"
    )
    raise TableError(msg)


def _find_line(data: BinaryIO, encoding: str, dialect: Dialect) -> int:
    """Return the line that the first ragged row begins in."""
    text = io.TextIOWrapper(data, encoding=encoding, newline="")
    beginning = text.read(dialect.header_characters)
    ahead = beginning.count("\n") or beginning.count("\r")
    records = csv.reader(text, delimiter=dialect.delimiter)
    start = 0
    try:
        for record in records:
            if record and len(record) != len(dialect.names):
                break
            start = records.line_num
    except csv.Error:
        pass  # A cell beyond the csv module's limit, in a quote that is never closed.
    return ahead + start + 1
