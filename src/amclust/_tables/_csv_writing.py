"""Tables as CSV: whole columns are formatted and joined by Arrow, cell by cell is too slow."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa  # noqa: TID253
import pyarrow.compute as pc  # noqa: TID253

from amclust._tables._errors import TableError

_ROWS = 65_536
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
    cells = [_format(name, table.column(name), delimiter) for name in table.column_names]
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


def _format(name: str, column: pa.ChunkedArray, delimiter: str) -> pa.Array:
    kind = column.type
    array = column.combine_chunks()
    array = array if isinstance(array, pa.Array) else pa.concat_arrays(array.chunks)
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
