"""Tables as CSV: whole columns are formatted and joined by Arrow, cell by cell is too slow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from amclust.cli.tables._errors import TableError

_ROWS = 65_536
_CELLS_AT_ONCE = 1_000_000
# A join of more columns at once makes Arrow slow.
_COLUMNS = 256


def csv_lines(table: pa.Table, delimiter: str, *, header: bool) -> Iterator[bytes]:
    """Yield a table as lines of CSV in UTF-8; only cells that need quotes get them."""
    if header:
        names = pa.table(
            [pa.array([name]) for name in table.column_names], names=table.column_names
        )
        yield _join(names, delimiter)
    for start in range(0, table.num_rows, _ROWS):
        yield _join(table.slice(start, _ROWS), delimiter)


def _join(table: pa.Table, delimiter: str) -> bytes:
    cells = _format_all(table, delimiter)
    if len(cells) == 1:
        # An empty line would be skipped when read.
        cells = [pc.if_else(pc.equal(cells[0], ""), '""', cells[0])]
    separator = pa.scalar(delimiter, pa.large_string())
    while len(cells) > 1:
        cells = [
            pc.binary_join_element_wise(*cells[start : start + _COLUMNS], separator)
            for start in range(0, len(cells), _COLUMNS)
        ]
    end = pa.scalar("\n", pa.large_string())
    lines = pc.binary_join_element_wise(cells[0], end, pa.scalar("", pa.large_string()))
    return _bytes_of(lines)


def _bytes_of(lines: pa.Array) -> bytes:
    # The lines lie one behind the other in memory: the file, as it shall be.
    offsets = lines.buffers()[1]
    first = int.from_bytes(offsets[lines.offset * 8 : lines.offset * 8 + 8].to_pybytes(), "little")
    end = lines.offset + len(lines)
    last = int.from_bytes(offsets[end * 8 : end * 8 + 8].to_pybytes(), "little")
    return lines.buffers()[2][first:last].to_pybytes()


def _format_all(table: pa.Table, delimiter: str) -> list[pa.Array]:
    """Return every column as text; many narrow ones of a type are formatted at a time."""
    cells: list[pa.Array] = []
    pairs = zip(table.column_names, table.columns, strict=True)
    size = max(1, _CELLS_AT_ONCE // max(1, table.num_rows))
    for kind, group in itertools.groupby(pairs, key=lambda pair: pair[1].type):
        alike = list(group)
        for start in range(0, len(alike), size):
            part = alike[start : start + size]
            chunks = [chunk for _, column in part for chunk in column.chunks]
            text = _format(part[0][0], pa.concat_arrays(chunks), kind, delimiter)
            cells.extend(
                text.slice(index * table.num_rows, table.num_rows) for index in range(len(part))
            )
    return cells


def _format(name: str, array: pa.Array, kind: pa.DataType, delimiter: str) -> pa.Array:
    if pa.types.is_boolean(kind):
        array = pc.if_else(array, "True", "False")
    elif pa.types.is_floating(kind):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, kind), array)
    try:
        text = array.cast(pa.large_string())
    except pa.ArrowException:
        msg = f"CSV cannot hold column {name!r} ({kind}); write Parquet or Arrow"
        raise TableError(msg) from None
    text = pc.fill_null(text, "")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        quoted = pc.match_substring_regex(text, f'[{delimiter}"\r\n]')
        if pc.any(quoted).as_py():
            doubled = pc.replace_substring(text, '"', '""')
            mark = pa.scalar('"', pa.large_string())
            wrapped = pc.binary_join_element_wise(
                mark, doubled, mark, pa.scalar("", pa.large_string())
            )
            text = pc.if_else(quoted, wrapped, text)
    return text
