"""Where a table becomes a matrix: which columns are clustered, what they hold, their numbers."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amclust._categories import MAX_LEVELS
from amclust._columns import IDENTIFIER_SHARE, MIN_IDENTIFIER_LEVELS
from amclust._rows import empty_rows
from amclust.cli.tables.cells import (
    PLAIN,
    Numbers,
    Spelling,
    is_missing,
    to_categories,
    to_numbers,
)
from amclust.cli.tables.columns import Column, Columns
from amclust.cli.tables.errors import (
    ColumnsError,
    Refusal,
    TableError,
    TableWarning,
    find_repeated,
    listed,
    typed_names,
    unknown_names,
)
from amclust.cli.tables.reading import Chunks, OpenTable
from amclust.cli.tables.schema import Schema, Table
from amclust.cli.tables.text import NotNumbersError

if TYPE_CHECKING:
    import pandas as pd

TEXT = ("text", "text among numbers")

# Up to here floats tell whole numbers apart.
MAX_WHOLE = 2.0**53

# Growing costs nothing where memory can be remapped, but new rows are filled with zeros.
_GROWTH = 1.125
_ROWS = 65_536


@dataclass(frozen=True)
class Choice:
    """Which columns to cluster, by name."""

    use: Sequence[str] | None = None
    """In this order; None uses all but `drop` and `id`."""
    drop: Sequence[str] | None = None
    id: str | None = None
    """The column that names the rows: its cells may repeat but not be missing."""
    numeric: Sequence[str] = ()
    """What is taken as numbers, whatever it is; cells that spell none count as missing."""
    categorical: Sequence[str] = ()
    """What is taken as categories, whatever it is; else that is text, and truth values."""
    spelling: Spelling = PLAIN
    drop_empty: bool = False
    """Whether columns without any value are left out, where all rows are read; else refused."""

    def names_in(self, known: Sequence[str]) -> list[str]:
        """Return the columns used of a table."""
        repeated = find_repeated(known)
        if repeated:
            msg = f"the table has repeated column names: {listed(repeated)}; rename them"
            raise TableError(msg, column=repeated[0])
        asked = [*(self.use or ()), *(self.drop or ()), *([] if self.id is None else [self.id])]
        absent = [name for name in dict.fromkeys(asked) if name not in set(known)]
        if absent:
            raise unknown_names(absent, known)
        twice = find_repeated(asked)
        if twice:
            msg = (
                f"a column is either used or dropped or the id, and named once; see {listed(twice)}"
            )
            raise TableError(msg, column=twice[0])
        left_out = {*(self.drop or ()), self.id}
        names = [name for name in known if name not in left_out]
        names = names if self.use is None else list(self.use)
        if not names:
            msg = f"no column is left to cluster; the table has {listed(known)}"
            raise TableError(msg)
        for option, chosen in (("numeric", self.numeric), ("categorical", self.categorical)):
            absent = [name for name in chosen if name not in set(names)]
            if absent:
                msg = f"--{option}: among the columns used there is {unknown_names(absent, names)}"
                raise TableError(msg, column=absent[0])
        both = sorted(set(self.numeric) & set(self.categorical))
        if both:
            msg = f"a column is either --numeric or --categorical; see {listed(both)}"
            raise TableError(msg, column=both[0])
        return names


@dataclass(frozen=True)
class Matrix:
    """The numbers of a table, and what they were made of."""

    columns: Columns
    values: NDArray[np.float64]
    """Numbers and codes of levels, a row for each row of the table, NaN where one is missing."""
    row_names: Table
    """The column that names the rows, if there is one."""
    missing: int
    """How many values are missing."""

    @property
    def n_empty(self) -> int:
        """How many rows have no value at all."""
        return len(empty_rows(self.values))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def frame(self) -> pd.DataFrame:
        """The same as a data frame: numbers, not copied where all are, beside categories."""
        return self.columns.frame(self.values)


def read_matrix(table: OpenTable, choice: Choice) -> Matrix:
    """Read a table into a matrix, batch by batch, and find out what its columns hold.

    Columns that begin with numbers are parsed as numbers at once. If that fails in any row, the
    table is read again cell by cell, to tell what is there instead: the error lists all columns
    that are neither of numbers nor categories.
    """
    columns = _find(
        lambda names: table.batches(columns=names),
        table.names,
        choice,
        surely=table.numeric(choice.spelling),
    )
    wanted = [*columns.names, *([] if choice.id is None else [choice.id])]
    plain = {column.name for column in columns.columns if column.kind == "number"}
    plain &= set(table.numeric(choice.spelling))
    matrix = None
    if plain:
        batches = table.batches(columns=wanted, numbers=plain, spelling=choice.spelling)
        with contextlib.suppress(NotNumbersError):
            matrix = _fill(batches, choice, columns, plain)
    if matrix is None:
        matrix = _fill(table.batches(columns=wanted), choice, columns)
    return matrix


def choose_columns(table: Table | pd.DataFrame | Chunks, choice: Choice) -> Columns:
    """Choose the columns to cluster, and find out what they hold.

    Of a table in chunks, the first chunk tells which columns are numbers; levels are collected from
    all chunks where these can be read again, else from the first.
    """
    if not isinstance(table, Chunks):
        rows = Table.of(table)
        return _fill([rows], choice, _find(lambda _: [rows], rows.names, choice)).columns
    first = table.first()
    # Of what can be read only once, the first chunk tells the levels, too.
    rest: Iterable[Table] = table if table.rereadable else [first]
    return choose_by_first(first, lambda _: rest, choice)


def choose_by_first(
    first: Table, read: Callable[[list[str]], Iterable[Table]], choice: Choice
) -> Columns:
    """Choose the columns to cluster: the `first` rows tell which are numbers.

    `read` gives the cells of some columns in all rows, for categories.
    """
    columns = _find(read, first.names, choice, first=first)
    return _fill([first], choice, columns, whole=False).columns


# --- passes over the rows -------------------------------------------------------------------------


def _find(
    read: Callable[[list[str]], Iterable[Table]],
    known: Sequence[str],
    choice: Choice,
    *,
    surely: Collection[str] = (),
    first: Table | None = None,
) -> Columns:
    """Return the columns used, with the levels of those that are categories.

    What is text is told from the `first` rows, or from all of those that do not `surely` begin with
    numbers.
    """
    names = choice.names_in(known)
    unsure = [n for n in names if n not in {*surely, *choice.numeric, *choice.categorical}]
    surveys = {name: _Survey() for name in unsure}
    rows = 0
    for batch in ([first] if first is not None else read(unsure)) if unsure else ():
        for name, survey in surveys.items():
            survey.add(to_numbers(batch[name], choice.spelling), rows)
        rows += len(batch)
    categories = {*choice.categorical, *(n for n, survey in surveys.items() if survey.is_category)}
    found: dict[str, dict[str, int]] = {name: {} for name in names if name in categories}
    for batch in read(list(found)) if found else ():
        for name, levels in found.items():
            counts = pc.value_counts(pc.drop_null(to_categories(name, batch[name])))
            for one in counts.to_pylist():
                levels[one["values"]] = levels.get(one["values"], 0) + one["counts"]
            _check_levels(name, levels, whole=False)
    for name, levels in found.items():
        _check_levels(name, levels, whole=True)
    names = _drop_empty(names, [n for n, levels in found.items() if not levels], choice)
    columns = [
        Column(name, "category", (*sorted(found[name], key=_by_number),))
        if name in found
        else Column(name, "number", as_number=name in choice.numeric)
        for name in names
    ]
    return Columns(tuple(columns), choice.id, choice.spelling)


def _check_levels(name: str, levels: Mapping[str, int], *, whole: bool) -> None:
    """Refuse what names rows: too many levels, or in the `whole` table one for nearly every row."""
    n_seen, n_levels = sum(levels.values()), len(levels)
    names_rows = n_levels > MIN_IDENTIFIER_LEVELS and n_levels >= IDENTIFIER_SHARE * n_seen
    if n_levels > MAX_LEVELS or (whole and names_rows):
        more = "more than " if n_levels > MAX_LEVELS else ""
        count = MAX_LEVELS if more else n_levels
        typed = typed_names([name])
        msg = (
            f"column {name!r} has {more}{count:,} levels, which looks like an identifier: leave "
            f"out with --drop {typed}, say --id {typed} if it names the rows, or --numeric {typed} "
            "if it holds numbers"
        )
        raise TableError(msg, column=name)


def _by_number(category: str) -> tuple[float, str]:
    """Sort numbers as such, before words."""
    try:
        return float(category), category
    except ValueError:
        return float("inf"), category


def _fill(
    batches: Iterable[Table],
    choice: Choice,
    columns: Columns,
    numbers: Collection[str] = (),
    *,
    whole: bool = True,
) -> Matrix:
    """Write batches into a matrix and find truth values; `numbers` hold nothing but numbers.

    What is said of all rows is checked where these are the `whole` table.
    """
    surveys = {column.name: _Survey() for column in columns.columns if column.kind != "category"}
    matrix = _GrowingMatrix(len(columns.columns))
    missing = np.zeros(len(columns.columns), np.int64)
    no_numbers = dict.fromkeys(choice.numeric, 0)
    ids: list[pa.Array] = []
    schema, rows = Schema(), 0
    for batch in batches:
        schema = batch.schema
        block = matrix.extend(len(batch))
        for at, column in enumerate(columns.columns):
            cells = batch[column.name]
            if column.kind == "category":
                block[:, at] = column.codes(cells)
            elif column.name in numbers:
                block[:, at] = cells.to_numpy()
                surveys[column.name].add_numbers(block[:, at])
            else:
                found = columns.numbers(column, cells)
                surveys[column.name].add(found, rows)
                block[:, at] = found.values if isinstance(found, Numbers) else np.nan
                if column.as_number:
                    no_numbers[column.name] += int(np.isnan(block[:, at]).sum())
                    no_numbers[column.name] -= int(is_missing(cells).sum())
        if numbers and np.isinf(block).any():
            raise NotNumbersError
        missing += np.isnan(block).sum(axis=0)
        rows += len(batch)
        if choice.id is not None:
            ids += batch[choice.id].chunks
    refused = {name: survey.refusal for name, survey in surveys.items() if survey.refusal}
    if refused:
        raise ColumnsError(refused)
    for name, count in no_numbers.items():
        if count:
            cells_are = "cell is" if count == 1 else "cells are"
            msg = f"column {name!r}: {count:,} {cells_are} no number and counted as missing"
            warnings.warn(msg, TableWarning, stacklevel=2)
    values = matrix.finish()
    place = {column.name: at for at, column in enumerate(columns.columns)}
    if whole:
        empty = [name for name in surveys if missing[place[name]] == rows]
        kept = set(_drop_empty(columns.names, empty, choice))
        surveys = {name: survey for name, survey in surveys.items() if name in kept}
    for name in surveys if choice.use is None else ():
        _refuse_row_numbers(name, values[:, place[name]])
    truths = {name for name, survey in surveys.items() if survey.boolean}
    whole_numbers = {name for name, survey in surveys.items() if survey.whole}
    settled = tuple(
        replace(c, kind="boolean" if c.name in truths else c.kind, whole=c.name in whole_numbers)
        for c in columns.columns
    )
    columns = replace(columns, columns=settled)
    if whole and len(kept) < len(settled):
        used = [at for at, c in enumerate(settled) if c.name in kept]
        values, missing = np.ascontiguousarray(values[:, used]), missing[used]
        columns = replace(columns, columns=tuple(c for c in settled if c.name in kept))
    row_names = pa.table({} if choice.id is None else {choice.id: pa.chunked_array(ids)})
    table = Table(row_names, schema)
    if whole:
        columns.ids(table)
    return Matrix(columns, values, table, int(missing.sum()))


def _drop_empty(names: Sequence[str], empty: Sequence[str], choice: Choice) -> list[str]:
    """Return the names without those of columns that have no value, or refuse these."""
    left = [name for name in names if name not in set(empty)]
    if not empty:
        return left
    noun, verb = ("column", "has") if len(empty) == 1 else ("columns", "have")
    found = f"{noun} {listed(empty)} {verb} no value at all"
    if not choice.drop_empty:
        msg = f"{found}: leave out with --drop {typed_names(empty)}, or with --drop-empty"
        raise TableError(msg, column=empty[0])
    if not left:
        msg = f"{found}: no column is left to cluster"
        raise TableError(msg, column=empty[0])
    warnings.warn(f"{found}: dropped", TableWarning, stacklevel=2)
    return left


def _refuse_row_numbers(name: str, values: NDArray[np.float64]) -> None:
    """Refuse to cluster the index that pandas and R write in front of a table."""
    unnamed = name.startswith(("Unnamed: ", "__index_level_"))
    if unnamed and len(values) > 1 and (np.diff(values) == 1).all():
        msg = (
            f"column {name!r} looks like the numbers of rows that pandas and R write: "
            f"say --id '{name}' or --drop '{name}' (or name it in --use to cluster by it)"
        )
        raise TableError(msg, column=name)


class _GrowingMatrix:
    """Rows of numbers, as many as come."""

    def __init__(self, width: int) -> None:
        self._width, self._rows = width, 0
        self._values = np.empty((0, width))

    def extend(self, rows: int) -> NDArray[np.float64]:
        """Return room for so many more rows, valid until the next call."""
        stop = self._rows + rows
        if stop > len(self._values):
            self._resize(max(stop, int(_GROWTH * len(self._values))))
        room: NDArray[np.float64] = self._values[self._rows : stop]
        self._rows = stop
        return room

    def finish(self) -> NDArray[np.float64]:
        """Return all rows."""
        self._resize(self._rows)
        return self._values

    def _resize(self, rows: int) -> None:
        # In place: a larger copy would need the memory twice.
        self._values.resize((rows, self._width), refcheck=False)


class _Survey:
    """What is found out about a column, batch by batch."""

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self.is_text = False
        self._numbers = False  # whether there were any
        self._truth = False  # whether there were truth values
        self._truth_only = True  # whether all numbers were 0 or 1
        self._whole = True  # whether all numbers were whole
        self._words: Refusal | None = None  # of truth values

    @property
    def boolean(self) -> bool:
        return self._truth and self._truth_only

    @property
    def is_category(self) -> bool:
        """Whether there was text, and no number among it."""
        return self.refusal is not None and self.refusal.reason == "text" and not self._numbers

    @property
    def whole(self) -> bool:
        """Whether there were numbers, and all of them whole ones."""
        return self._numbers and self._whole

    def add_numbers(self, values: NDArray[np.float64]) -> None:
        """Add numbers that were parsed as such, NaN where missing."""
        if self._whole:
            known = values[~np.isnan(values)]
            self._numbers = self._numbers or len(known) > 0
            self._whole = bool((known == np.rint(known)).all() and (abs(known) < MAX_WHOLE).all())

    def add(self, found: Numbers | Refusal, first_row: int) -> None:
        if isinstance(found, Refusal):
            self._refuse(found.below(first_row))
            return
        self.add_numbers(found.values)
        known = found.values[~np.isnan(found.values)]
        self._numbers = self._numbers or len(known) > 0
        self._truth = self._truth or (found.boolean and len(known) > 0)
        self._truth_only = self._truth_only and bool(np.isin(known, (0.0, 1.0)).all())
        if self._words is None and found.words is not None:
            self._words = found.words.below(first_row)
        if self._words is not None and not self._truth_only:
            self._refuse(self._words)

    def _refuse(self, found: Refusal) -> None:
        # Text settles the matter, whatever else was found before.
        text = found.reason in TEXT
        if self.refusal is None or (text and not self.is_text):
            self.is_text = text
            among = text and self._numbers
            self.refusal = replace(found, reason="text among numbers") if among else found
