"""How a text table is written: its encoding, its delimiter, its header and its names."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amclust.cli.tables.cells import NUMBER
from amclust.cli.tables.errors import (
    TableError,
    TableOptionError,
    TableWarning,
    find_repeated,
    listed,
    shortened,
)

DELIMITERS = (",", ";", "\t", "|")
"""What is looked for where no delimiter is given."""

_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " ", "pipe": "|"}
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NUMBER = re.compile(rf"{NUMBER}|[+-]?[0-9]+,[0-9]+")
# Enough to tell delimiters apart.
_RECORDS = 50


@dataclass(frozen=True)
class Dialect:
    """What the beginning of a text table tells about the rest of it."""

    delimiter: str
    names: list[str]
    """Names of the columns as they stand in every row."""
    header_characters: int
    """Length of the header with everything before it; the rows come after that."""
    trailing: bool
    """Whether every row ends in a delimiter: the last column is none and must stay empty."""
    records: list[list[str]]
    """The first rows."""


def numbered_names(count: int) -> list[str]:
    """Return names for columns without a header: x0, x1, ..."""
    return [f"x{index}" for index in range(count)]


def names_of_header(cells: Sequence[str], source: str, *, surely_header: bool) -> list[str]:
    """Return the names in a header; refuse repeated ones and a line that looks like data.

    A column without a name is called as pandas calls it: "Unnamed: 0".
    """
    names = [cell.strip() for cell in cells]
    spelled = [name for name in names if name]
    if not spelled:
        msg = f"{source} has no column names in its first line"
        raise TableError(msg, file=source, line=1)
    # A lone "2019" may well be a name; so may be a header of years, which has to be said.
    if not surely_header and all(re.fullmatch(NUMBER, name) for name in spelled):
        msg = (
            f"the first line of {source} holds only numbers ({listed(spelled, limit=4)}): say "
            "--no-header if it is the first row, or put a letter into the names if they are names"
        )
        raise TableError(msg, file=source, line=1)
    names = [name or f"Unnamed: {index}" for index, name in enumerate(names)]
    check_names(names, source)
    return names


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse repeated names."""
    repeated = find_repeated(names)
    if repeated:
        places = (
            f"{name!r} (columns {', '.join(str(i + 1) for i, n in enumerate(names) if n == name)})"
            for name in repeated[:5]
        )
        more = f" and {len(repeated) - 5:,} more" if len(repeated) > 5 else ""
        msg = f"{source} has repeated column names: {', '.join(places)}{more}; rename them"
        raise TableError(msg, file=source, column=repeated[0])


def find_encoding(head: bytes, given: str | None, source: str, *, complete: bool) -> str:
    """Return the encoding of text by its first bytes: a byte order mark, UTF-8, or Windows-1252.

    `complete` tells whether `head` is all there is, so that it may not end within a character.
    """
    if given is not None:
        try:
            name = codecs.lookup(given).name
            # Some are known, but are none of text, or cannot go on after a byte that is none.
            codecs.getincrementaldecoder(name)("replace").decode(" ".encode(name), final=True)
        except (LookupError, ValueError):
            msg = f"encoding must be one that Python knows, such as latin-1, got {given!r}"
            raise TableOptionError(msg) from None
        return "utf-8-sig" if name == "utf-8" else name
    for mark, name in _BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head[:200]:
        # ASCII in UTF-16 has every other byte zero.
        sample = head[: len(head[:200]) // 2 * 2]
        if not any(sample[1::2]):
            return "utf-16-le"
        if not any(sample[0::2]):
            return "utf-16-be"
    if _decodes(head, "utf-8", complete=complete):
        return "utf-8"
    if b"\0" in head:
        return "latin-1"  # No text at all, which the caller tells by the zero byte.
    return fall_back("cp1252" if _decodes(head, "cp1252", complete=complete) else "latin-1", source)


def fall_back(encoding: str, source: str) -> str:
    """Return the encoding to try where text is not UTF-8, with a warning."""
    msg = f"{source} is not UTF-8; reading it as {encoding}; say --encoding NAME if it is another"
    warnings.warn(msg, TableWarning, stacklevel=2)
    return encoding


def _decodes(data: bytes, encoding: str, *, complete: bool) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data, final=complete)
    except UnicodeDecodeError:
        return False
    return True


def find_dialect(
    head: str,
    source: str,
    *,
    delimiter: str | None,
    prefer: str | None,
    header: bool | None,
    complete: bool,
) -> Dialect:
    """Return how a text table is written, from its beginning.

    `prefer` is the delimiter that the file's name suggests; `header` None lets a first line of
    nothing but numbers be refused.
    """
    # Excel writes the delimiter into a line of its own: sep=;
    hint = re.match(r'[\r\n]*"?sep=(.)"?\r?\n', head)
    if hint and delimiter is None:
        delimiter = hint[1]
    ahead = hint.end() if hint else 0
    ahead = len(head) - len(head[ahead:].lstrip("\r\n"))
    head = head[ahead:]
    if not head.strip():
        msg = f"{source} is empty"
        raise TableError(msg)
    if delimiter is not None:
        delimiter = _check_delimiter(delimiter)
        _refuse_wrong_delimiter(head, delimiter, source, complete=complete)
    else:
        delimiter = _sniff_delimiter(head, prefer, source, complete=complete)

    first, length = _first_record(head, delimiter, source)
    if length == len(head) and "\n" in first[-1].rstrip("\r\n"):
        msg = f"{source}: the quote opened in the first line never closes"
        raise TableError(msg)
    if header is False:
        rows = _records(head, delimiter, complete=complete)
        names, length = numbered_names(len(first)), 0
        trailing = len(names) > 1 and all(len(row) == len(names) and not row[-1] for row in rows)
    else:
        rows = _records(head[length:], delimiter, complete=complete)
        names, trailing = _read_header(first, rows, source, surely_header=header is True)
    return Dialect(delimiter, names, ahead + length, trailing, rows)


def _read_header(
    first: list[str], rows: list[list[str]], source: str, *, surely_header: bool
) -> tuple[list[str], bool]:
    """Return the names of the columns, given the rows below; and whether the last is no column."""
    names = names_of_header(first, source, surely_header=surely_header)
    widths = {len(row) for row in rows}
    empty_ends = not any(row[-1] for row in rows)
    if widths == {len(names) + 1}:
        if empty_ends:
            return [*names, f"Unnamed: {len(names)}"], True
        if _are_row_names([row[0] for row in rows]):
            # R writes no name above the names of rows.
            msg = (
                f"the header of {source} has one name less than its rows have cells ({len(names)} "
                f"and {len(names) + 1}): the first cells are taken for the names of the rows, as R "
                "writes them (column 'Unnamed: 0'); if another name is missing, add it"
            )
            warnings.warn(msg, TableWarning, stacklevel=2)
            return names_of_header(["", *first], source, surely_header=surely_header), False
    return names, widths == {len(names)} and len(names) > 1 and empty_ends and not first[-1].strip()


def _are_row_names(cells: list[str]) -> bool:
    """Tell names of rows, or their numbers, from numbers cut by a decimal comma."""
    if not any(_NUMBER.fullmatch(cell.strip()) for cell in cells):
        return True
    return cells == [str(number) for number in range(1, len(cells) + 1)]


def _check_delimiter(delimiter: str) -> str:
    delimiter = _WORDS.get(delimiter.lower(), delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        msg = f"delimiter must be one ASCII character such as ',' or 'tab', got {delimiter!r}"
        raise TableError(msg)
    return delimiter


def _lines(text: str) -> Iterator[str]:
    # newline="" keeps line ends as they are and takes \r, \n and \r\n for ends.
    return io.StringIO(text, newline="")


def _records(text: str, delimiter: str, *, complete: bool) -> list[list[str]]:
    """Return the first records of a text, without one that may be cut off at the end."""
    records: list[list[str]] = []
    lines = list(itertools.islice(_lines(text), 4 * _RECORDS))
    try:
        for record in csv.reader(lines, delimiter=delimiter):
            if record:
                records.append(record)
            if len(records) > _RECORDS:
                break
    except csv.Error:
        # A quote that is never closed: told where the whole is read.
        return records
    else:
        cut = not complete or len(lines) == 4 * _RECORDS
        return records[:-1] if cut else records


def _first_record(text: str, delimiter: str, source: str) -> tuple[list[str], int]:
    """Return the cells of the first record and its length with the line end."""
    lengths: list[int] = []

    def measured() -> Iterator[str]:
        for line in _lines(text):
            lengths.append(len(line))
            yield line

    try:
        cells = next(csv.reader(measured(), delimiter=delimiter))
    except csv.Error as error:
        msg = f"cannot read the first line of {source}: {error}; is a quote never closed?"
        raise TableError(msg) from error
    return cells, sum(lengths)


def _share_of_numbers(text: str, delimiter: str, *, complete: bool) -> float:
    """Return how many of the cells below the header are numbers; "1,5" is one."""
    cells = [cell for row in _records(text, delimiter, complete=complete)[1:] for cell in row]
    return sum(bool(_NUMBER.fullmatch(cell.strip())) for cell in cells) / max(1, len(cells))


def _even_width(text: str, delimiter: str, *, complete: bool) -> int:
    """Return how many cells every record has, 0 if that differs from record to record."""
    widths = {len(record) for record in _records(text, delimiter, complete=complete)}
    return widths.pop() if len(widths) == 1 else 0


def _sniff_delimiter(head: str, prefer: str | None, source: str, *, complete: bool) -> str:
    order = sorted(DELIMITERS, key=lambda delimiter: delimiter != prefer)
    even = {one: _even_width(head, one, complete=complete) for one in order}
    split = [one for one in order if even[one] > 1]
    if len(split) > 1:
        # Commas in "1,5;2,5" split the rows as evenly as semicolons.
        shares = {one: _share_of_numbers(head, one, complete=complete) for one in split}
        return max(split, key=lambda one: (shares[one], even[one]))
    if split:
        return split[0]
    # No delimiter gives even rows: take the one that splits the first line, so that the ragged
    # row can be named.
    widths = {one: len(_first_record(head, one, source)[0]) for one in order}
    best = max(order, key=lambda one: widths[one])
    if widths[best] > 1:
        return best
    _refuse_wrong_delimiter(head, best, source, complete=complete)
    below = list(itertools.islice(_lines(head), 1, _RECORDS))
    # One column of numbers with decimal commas must not be cut at them.
    return ";" if any("," in line for line in below) and all(map(_is_number, below)) else best


def _is_number(line: str) -> bool:
    return not line.strip() or _NUMBER.fullmatch(line.strip()) is not None


def _refuse_wrong_delimiter(head: str, delimiter: str, source: str, *, complete: bool) -> None:
    """Refuse a delimiter that leaves everything in one column where another would split it."""
    records = _records(head, delimiter, complete=complete)
    if any(len(record) > 1 for record in records):
        return
    for other in (*DELIMITERS, " "):
        width = _even_width(head, other, complete=complete)
        if other == delimiter or width < 2:
            continue
        rows = _records(head, other, complete=complete)[1:]
        numeric = all(re.fullmatch(NUMBER, cell) for row in rows for cell in row)
        if other == " " and not (rows and numeric):
            continue  # Words with spaces between, not columns.
        first = shortened(records[0][0])
        spoken = next(word for word, mark in _WORDS.items() if mark == other)
        msg = (
            f"{source} looks as if its delimiter were {other!r}: {delimiter!r} leaves one column "
            f"({first}), {other!r} gives {width} in every row; say --delimiter {spoken}"
        )
        raise TableError(msg)
