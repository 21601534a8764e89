"""Types for the cells of text tables, where a format has types."""

from __future__ import annotations

import pyarrow as pa  # noqa: TID253
import pyarrow.compute as pc  # noqa: TID253

from amclust._tables._cells import blank_missing
from amclust._tables._text import CELL

# Written back, these are what they were: no leading zeros, no plus, no spaces.
_INTEGER = r"^(?:0|-?[1-9][0-9]{0,17})$"
_DECIMAL = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$"


def typed_table(table: pa.Table, *, infer: bool) -> pa.Table:
    """Return a table without columns of type `CELL`: numbers or truth values if all cells are.

    Anything else becomes text, null where missing; so do all cells where `infer` is False.
    """
    for index, field in enumerate(table.schema):
        if field.type == CELL:
            cells = blank_missing(table.column(index))
            typed = _infer(cells) if infer else cells.cast(pa.string())
            table = table.set_column(index, field.name, typed)
    return table


def _infer(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pc.any(pc.is_valid(cells)).as_py():
        return cells.cast(pa.string())
    if _all_match(cells, _INTEGER):
        return cells.cast(pa.int64())
    if _all_match(cells, _DECIMAL) and not _all_match(cells, r"^-?[0-9]{19,}$"):
        return cells.cast(pa.float64())
    if _all_match(cells, r"^(?i:true|false)$"):
        return pc.equal(pc.utf8_lower(cells), "true")
    return cells.cast(pa.string())


def _all_match(cells: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(cells, pattern)).as_py())
