"""Types for the cells of text tables, where a format has types."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from amclust.cli.tables._cells import blank_missing
from amclust.cli.tables._text import CELL

# Digits that are a name rather than a number: leading zeros, a plus, too many for an integer;
# and words for infinity.
_UNLIKE_NUMBERS = r"^-?0[0-9]|^\+|^-?[0-9]{19,}$|[nN]"


def typed_table(table: pa.Table, *, infer: bool) -> pa.Table:
    """Return a table without columns of type `CELL`: numbers or truth values if all cells are.

    Anything else becomes text, null where missing; so do all cells where `infer` is False.
    """
    columns = []
    for column in table.columns:
        if column.type == CELL:
            cells = blank_missing(column)
            column = _infer(cells) if infer else cells.cast(pa.string())
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def _infer(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pc.any(pc.is_valid(cells)).as_py():
        return cells.cast(pa.string())
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = cells.cast(kind)
        except pa.ArrowInvalid:
            continue
        unlike = pc.match_substring_regex(cells, _UNLIKE_NUMBERS)
        return cells.cast(pa.string()) if pc.any(unlike).as_py() else numbers
    lowered = pc.utf8_lower(cells)
    if pc.all(pc.is_in(pc.drop_null(lowered), pa.array(["true", "false"], CELL))).as_py():
        return pc.equal(lowered, "true")
    return cells.cast(pa.string())
