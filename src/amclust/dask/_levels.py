"""Which levels the categories of a table of Dask have, whatever blocks they lie in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from amclust._categories import MISSING, Categories, Level, Levels, MixedTable
from amclust._columns import (
    as_levels,
    check_kinds,
    check_levels,
    encode,
    find_columns,
    frame_names,
    in_order,
    is_frame,
    mixes_kinds,
    told_column,
)
from amclust._frames import is_category
from amclust.dask._blocks import BlockError, Blocks, check_names, named
from amclust.dask._engine import Engine


@dataclass(frozen=True)
class Seen:
    """What some blocks that follow each other have in a column that is a category.

    Attributes
    ----------
    levels : frozenset
        The levels that rows have.

    n_rows : int
        How many rows have one.

    order : tuple or None
        All levels of the type of the column, in its order; None: they have none.
    """

    levels: frozenset[Level]
    n_rows: int
    order: Levels | None


@dataclass(frozen=True)
class Found:
    """The categories of some blocks that follow each other.

    Attributes
    ----------
    first : int
        The number of the first of them.

    seen : dict of int to Seen
        What each column has that is a category; of blocks without rows nothing.

    numbers : dict of int to int
        The columns that may be categories but hold numbers in some block, and the first such one.

    names : tuple of str or None
        Names of the columns.

    n_columns : int
        How many columns there are.
    """

    first: int
    seen: dict[int, Seen]
    numbers: dict[int, int]
    names: tuple[str, ...] | None
    n_columns: int


def find_levels(
    block: Any, number: int, names: tuple[Any, ...] | None, given: Any, columns: list[int]
) -> Found:
    """Return what a block has in the columns that may be categories.

    `given` says which are: of objects, it takes values to know.
    """
    with named(number):
        check_names(block, names)
        seen, numbers = {}, {}
        own = frame_names(block)
        if block.shape[0]:
            categories = find_columns(block, given)
            numbers = {column: number for column in columns if column not in categories}
            for column in categories:
                series = block.iloc[:, column] if is_frame(block) else block[:, column]
                found = encode(series)
                check_kinds(series, found.levels, told_column(column, own))
                order = None
                if is_category(series.dtype):
                    known = series.cat.categories
                    order = tuple(as_levels(known, known.dtype))
                n_rows = int((found.codes >= 0).sum())
                seen[column] = Seen(frozenset(found.levels), n_rows, order)
    return Found(number, seen, numbers, own, int(block.shape[1]))


def merge_levels(*parts: Found) -> Found:
    """Return what blocks have that follow each other; refuse those of other columns."""
    first = parts[0]
    seen, numbers = dict(first.seen), dict(first.numbers)
    for part in parts[1:]:
        if part.n_columns != first.n_columns:
            msg = (
                f"must have {first.n_columns} columns, as those before have, got {part.n_columns}."
            )
            raise BlockError(part.first, msg)
        numbers = part.numbers | numbers
        for column, more in part.seen.items():
            known = seen.get(column)
            if known is None:
                seen[column] = more
                continue
            if mixes_kinds([*known.levels, *more.levels]):
                msg = (
                    f"{told_column(column, first.names)} has numbers here and truth values in "
                    "blocks before, or the other way round. Make all of them of one kind."
                )
                raise BlockError(part.first, msg)
            order = known.order if known.order == more.order else None
            seen[column] = Seen(known.levels | more.levels, known.n_rows + more.n_rows, order)
    return Found(first.first, seen, numbers, first.names, first.n_columns)


def learn_categories(blocks: Blocks, given: Any, engine: Engine) -> Categories | None:
    """Return what the columns are, from one pass over the blocks; None: all are numbers.

    There is a pass only where the columns say that there are categories.
    """
    if given is None:
        return None
    like = blocks.meta
    if like is None:  # a list: its first block says what the others are like
        task = engine.task("clam-statistics", "like", without_rows, blocks.blocks[0])
        (like,) = engine.run([task], "columns")
    if isinstance(given, str) and not is_frame(like):
        return None
    columns = find_columns(like, given)
    if not columns:
        return None
    names = blocks.names
    tasks = [
        engine.task(
            "clam-statistics", f"levels-{at}", find_levels, block, at, names, given, columns
        )
        for at, block in enumerate(blocks.blocks)
    ]
    found = engine.merged("clam-statistics-levels", tasks, merge_levels, "levels")[0]
    levels: list[Levels | None] = [None] * found.n_columns
    for column, seen in found.seen.items():
        name = told_column(column, found.names)
        if column in found.numbers:
            if not seen.levels:  # a block of missing values does not tell what the column is
                continue
            msg = (
                f"{name} holds numbers here, but texts or truth values in other blocks. Make all "
                "of them of one kind, or name the column in categorical_features."
            )
            raise BlockError(found.numbers[column], msg)
        ordered = in_order(seen.levels, seen.order)
        check_levels(ordered, seen.n_rows, name)
        levels[column] = ordered
    if all(one is None for one in levels):
        return None
    return Categories(tuple(levels), found.names)


def without_rows(block: Any) -> Any:
    """Return the columns of a block, with some of its rows that tell of their types."""
    return block[:100]


def as_frame(table: MixedTable) -> pd.DataFrame:
    """Return rows as a frame with the columns of their user."""
    layout, columns = table.categories, {}
    for at, column in enumerate(layout.numbers):
        columns[int(column)] = pd.Series(table.numbers[:, at])
    for at, column in enumerate(layout.categorical):
        levels = layout.levels[column]
        assert levels is not None
        codes = np.where(table.codes[:, at] == MISSING, -1, table.codes[:, at].astype(np.int64))
        columns[int(column)] = pd.Series(pd.Categorical.from_codes(codes, list(levels)))
    return pd.DataFrame({layout.name(column): columns[column] for column in sorted(columns)})
