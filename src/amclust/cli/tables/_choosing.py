"""Choosing columns by name, and finding out what they hold."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from amclust.cli.tables._cells import (
    Numbers,
    Refusal,
    Spelling,
    all_to_numbers,
    to_arrow,
    to_categories,
    to_numbers,
)
from amclust.cli.tables._column import Column
from amclust.cli.tables._errors import TableError, find_repeated, listed, unknown_names
from amclust.cli.tables._reading import Chunks
from amclust.cli.tables._refusals import describe_refusals
from amclust.cli.tables._sources import name_of

TEXT = ("text", "text among numbers")
MAX_CATEGORIES = 1_000
"""More than this in a column are names rather than categories."""


def choose_columns(
    table: pd.DataFrame | Chunks,
    use: Sequence[str] | None,
    drop: Sequence[str] | None,
    id: str | None,  # noqa: A002
    one_hot: Sequence[str] | str | None,
    spelling: Spelling,
) -> list[Column]:
    """Return the columns to cluster; see `Columns.choose`."""
    first = table if isinstance(table, pd.DataFrame) else table.first()
    names = _choose_names(list(first.columns), use, drop, id)
    encoded = _names_to_encode(names, one_hot)
    if one_hot is not None and isinstance(table, Chunks) and not table.rereadable:
        msg = (
            "one-hot encoding needs all categories before the first row is clustered, so "
            f"{name_of(table.source)} cannot be streamed with it: save the table to a file first"
        )
        raise TableError(msg)

    # Only "all" makes it necessary to know of every chunk whether there is text in it.
    frames: Iterable[pd.DataFrame] = [first] if one_hot != "all" or table is first else table
    surveys = _survey(frames, [name for name in names if name not in encoded], spelling)
    if one_hot == "all":
        encoded = {name for name, survey in surveys.items() if survey.is_text}
    refused = {
        name: survey.refusal
        for name, survey in surveys.items()
        if survey.refusal is not None and name not in encoded
    }
    if refused:
        raise TableError(describe_refusals(refused))
    if table is first:
        _refuse_empty(name for name, survey in surveys.items() if survey.empty)
    if use is None:
        _refuse_row_numbers(first, [name for name in names if name not in encoded], spelling)

    frames = [first] if table is first else table
    categories = _collect_categories(frames, encoded) if encoded else {}
    return [
        Column(name, "category", tuple(categories[name]))
        if name in encoded
        else Column(name, "boolean" if surveys[name].boolean else "number")
        for name in names
    ]


def _choose_names(
    known: list[str],
    use: Sequence[str] | None,
    drop: Sequence[str] | None,
    id: str | None,  # noqa: A002
) -> list[str]:
    repeated = find_repeated(known)
    if repeated:
        msg = f"the table has repeated column names: {listed(repeated)}; rename them"
        raise TableError(msg)
    asked = [*(use or ()), *(drop or ()), *([] if id is None else [id])]
    absent = [name for name in dict.fromkeys(asked) if name not in set(known)]
    if absent:
        raise TableError(unknown_names(absent, known))
    twice = find_repeated(asked)
    if twice:
        msg = f"a column is either used or dropped or the id, and named once; see {listed(twice)}"
        raise TableError(msg)
    left_out = {*(drop or ()), id}
    names = list(use) if use is not None else [name for name in known if name not in left_out]
    if not names:
        msg = f"no column is left to cluster; the table has {listed(known)}"
        raise TableError(msg)
    return names


def _names_to_encode(names: list[str], one_hot: Sequence[str] | str | None) -> set[str]:
    if one_hot is None or isinstance(one_hot, str):
        if one_hot not in (None, "all"):
            msg = f"one_hot must be a list of names or 'all', got {one_hot!r}"
            raise TableError(msg)
        return set()
    absent = [name for name in one_hot if name not in set(names)]
    if absent:
        msg = f"cannot one-hot encode: among those used there is {unknown_names(absent, names)}"
        raise TableError(msg)
    return set(one_hot)


class _Survey:
    """What is found out about a column, chunk by chunk."""

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self.boolean = True
        self.empty = True

    @property
    def is_text(self) -> bool:
        return self.refusal is not None and self.refusal.reason in TEXT

    def add(self, found: Numbers | Refusal, first_row: int) -> None:
        if isinstance(found, Refusal):
            self.empty = False
            # Text settles the matter, whatever else was found before.
            if self.refusal is None or (found.reason in TEXT and not self.is_text):
                self.refusal = Refusal(found.reason, first_row + found.row, found.examples)
        elif not np.isnan(found.values).all():
            self.empty = False
            self.boolean = self.boolean and found.boolean


def _survey(
    frames: Iterable[pd.DataFrame], names: list[str], spelling: Spelling
) -> dict[str, _Survey]:
    surveys = {name: _Survey() for name in names}
    first_row = 0
    for frame in frames:
        found = all_to_numbers([to_arrow(frame[name]) for name in names], spelling)
        for survey, column in zip(surveys.values(), found, strict=True):
            survey.add(column, first_row)
        first_row += len(frame)
    for survey in surveys.values():
        survey.boolean = survey.boolean and not survey.empty
    return surveys


def _refuse_empty(names: Iterable[str]) -> None:
    empty = list(names)
    if empty:
        noun, verb = ("column", "has") if len(empty) == 1 else ("columns", "have")
        names = shlex.quote(",".join(empty)) if len(empty) <= 8 else "NAMES"
        msg = f"{noun} {listed(empty)} {verb} no value at all: leave out with --drop {names}"
        raise TableError(msg)


def _refuse_row_numbers(frame: pd.DataFrame, names: list[str], spelling: Spelling) -> None:
    """Refuse to cluster the index that pandas and R write in front of a table."""
    for name in names:
        if not name.startswith(("Unnamed: ", "__index_level_")):
            continue
        numbers = to_numbers(to_arrow(frame[name]), spelling)
        if (
            not isinstance(numbers, Refusal)
            and len(frame) > 1
            and (np.diff(numbers.values) == 1).all()
        ):
            msg = (
                f"column {name!r} looks like the numbers of rows that pandas and R write: "
                f"say --id '{name}' or --drop '{name}' (or name it in --use to cluster by it)"
            )
            raise TableError(msg)


def _collect_categories(
    frames: Iterable[pd.DataFrame], names: Iterable[str]
) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {name: set() for name in names}
    for frame in frames:
        for name, categories in found.items():
            unique = pc.unique(to_categories(name, to_arrow(frame[name])))
            categories.update(value for value in unique.to_pylist() if value is not None)
            if len(categories) > MAX_CATEGORIES:
                msg = (
                    f"column {name!r} has more than {MAX_CATEGORIES:,} categories, which would be "
                    "as many columns: leave out with --drop NAME, or group them before"
                )
                raise TableError(msg)
    _refuse_empty(name for name, categories in found.items() if not categories)
    return {name: sorted(categories, key=_by_number) for name, categories in found.items()}


def _by_number(category: str) -> tuple[float, str]:
    try:
        return float(category), category
    except ValueError:
        return float("inf"), category
