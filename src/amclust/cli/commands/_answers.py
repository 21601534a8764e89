"""What a model says about rows, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from amclust.cli.tables import Columns


def answer_frame(
    columns: Columns, frame: Any, answers: Mapping[str, NDArray[Any]], *, append: bool = False
) -> Any:
    """Return answers beside the names of the rows, or beside the whole table."""
    import pandas as pd

    from amclust.cli.tables import TableError

    named = columns.id is not None and columns.id in frame.columns
    beside = frame if append else frame[[columns.id] if named else []]
    taken = sorted(set(beside.columns) & set(answers))
    if taken:
        msg = (
            f"the table has a column {taken[0]!r} already: choose other names for what is added, "
            "with --prefix amclust_ say"
        )
        raise TableError(msg)
    return pd.concat([beside, pd.DataFrame(dict(answers), index=frame.index)], axis=1)


def write_frames(
    frames: Iterator[Any], target: str, *, overwrite: bool, in_chunks: bool = False
) -> None:
    """Write frames one below the other; the file appears whole or not at all."""
    from amclust.cli.tables import TableWriter

    with TableWriter(target, overwrite=overwrite, in_chunks=in_chunks) as writer:
        for frame in frames:
            writer.write(frame)
