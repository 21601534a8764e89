"""Where a table becomes a matrix: which columns are clustered, what they hold, their numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amclust.cli.tables.cells import PLAIN, Numbers, Spelling, to_categories, to_numbers
from amclust.cli.tables.columns import Column, Columns
from amclust.cli.tables.errors import (
    ColumnsError,
    Refusal,
    TableError,
    find_repeated,
    listed,
    typed_names,
    unknown_names,
)
from amclust.cli.tables.reading import Chunks, OpenTable
from amclust.cli.tables.schema import Schema, Table
from amclust.cli.tables.sources import name_of
from amclust.cli.tables.text import NotNumbersError

if TYPE_CHECKING:
    import pandas as pd

TEXT = ("text", "text among numbers")
MAX_CATEGORIES = 1_000
"""More than this in a column are names rather than categories."""

# Growing costs nothing where memory can be remapped, but new rows are filled with zeros.
_GROWTH = 1.125


@dataclass(frozen=True)
class Choice:
    """Which columns to cluster, by name.

    Parameters
    ----------
    use : sequence of str, default=None
        Names of the columns to use, in this order; None uses all but `drop` and `id`.

    drop : sequence of str, default=None
        Names of the columns to leave out.

    id : str, default=None
        Name of the column that names the rows. Its cells may repeat but not be missing.

    one_hot : sequence of str or "all", default=None
        Columns to turn into one column of 0 and 1 for each category; "all" means all columns of
        text among those used.

    spelling : Spelling
        How numbers are spelled in text cells.
    """

    use: Sequence[str] | None = None
    drop: Sequence[str] | None = None
    id: str | None = None
    one_hot: Sequence[str] | str | None = None
    spelling: Spelling = PLAIN

    def names_in(self, known: Sequence[str]) -> tuple[list[str], set[str]]:
        """Return the columns used of a table, and which of them are certainly encoded."""
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
        if self.one_hot is None or isinstance(self.one_hot, str):
            if self.one_hot not in (None, "all"):
                msg = f"one_hot must be a list of names or 'all', got {self.one_hot!r}"
                raise TableError(msg)
            return names, set()
        absent = [name for name in self.one_hot if name not in set(names)]
        if absent:
            unknown = unknown_names(absent, names)
            msg = f"cannot one-hot encode: among those used there is {unknown}"
            raise TableError(msg, column=absent[0])
        return names, set(self.one_hot)


@dataclass(frozen=True)
class Matrix:
    """The numbers of a table, and what they were made of."""

    columns: Columns
    values: NDArray[np.float64]
    """One row for each row of the table, NaN where a value is missing."""
    ids: pa.ChunkedArray | None
    """The names of the rows, where a column has them."""
    missing: int
    """How many values are missing; a missing category is one."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def row_names(self) -> Table:
        """The names of the rows as a table of one column, or of none."""
        arrow = pa.table({} if self.ids is None else {self.columns.id: self.ids})
        return Table(arrow, Schema.of(arrow.schema, arrow.column_names))

    @property
    def frame(self) -> pd.DataFrame:
        """The same values, not copied, with the names of their columns."""
        return named(self.columns, self.values)


def named(columns: Columns, values: NDArray[np.float64]) -> pd.DataFrame:
    """Return a matrix, not copied, with the names of its columns."""
    import pandas as pd

    return pd.DataFrame(values, columns=columns.features, copy=False)


def read_matrix(table: OpenTable, choice: Choice) -> Matrix:
    """Read a table into a matrix, batch by batch, and find out what its columns hold.

    Columns that begin with numbers are parsed as numbers at once. If that fails in any row, the
    table is read again cell by cell, to tell what is there instead.

    Raises
    ------
    TableError
        If a name is not known, or a column is neither of numbers nor to be encoded: the message
        lists all such columns. If a column or a row has no value, or a row no name.
    """
    names, encoded = choice.names_in(table.names)
    if choice.one_hot == "all":
        surveys = _survey(table.batches(columns=names), names, choice.spelling)
        encoded = {name for name, survey in surveys.items() if survey.is_text}
    encodings = _find_categories(table.batches(columns=sorted(encoded)), encoded)
    numbers = [name for name in table.numeric(choice.spelling) if name in set(names) - encoded]
    if numbers:
        with contextlib.suppress(NotNumbersError, ColumnsError):
            return _fill(table, choice, names, encodings, numbers)
    return _fill(table, choice, names, encodings, ())


def choose_columns(table: Table | pd.DataFrame | Chunks, choice: Choice) -> Columns:
    """Choose the columns to cluster, and find out what they hold.

    Of a table in chunks, the first chunk tells which columns are numbers; categories are collected
    from all chunks, which therefore must be rereadable.
    """
    whole = not isinstance(table, Chunks)
    first = table.first() if isinstance(table, Chunks) else Table.of(table)
    chunks: Iterable[Table] = table if isinstance(table, Chunks) else [first]
    names, encoded = choice.names_in(first.names)
    if choice.one_hot is not None and isinstance(table, Chunks) and not table.rereadable:
        msg = (
            "one-hot encoding needs all categories before the first row is clustered, so "
            f"{name_of(table.source)} cannot be streamed with it: save the table to a file first"
        )
        raise TableError(msg)
    # Only "all" makes it necessary to know of every chunk whether there is text in it.
    surveyed = chunks if choice.one_hot == "all" else [first]
    surveys = _survey(surveyed, [name for name in names if name not in encoded], choice.spelling)
    if choice.one_hot == "all":
        encoded = {name for name, survey in surveys.items() if survey.is_text}
    encodings = _find_categories(chunks, encoded)
    columns = _settle(choice, names, encodings, surveys, whole=whole)
    if choice.use is None:
        numeric = [name for name in names if name not in encoded and _may_number_rows(name)]
        for name in numeric:
            found = to_numbers(first[name], choice.spelling)
            assert isinstance(found, Numbers)
            _refuse_row_numbers(name, found.values)
    if whole:
        columns.ids(first)
    return columns


def check_rows(matrix: NDArray[np.float64], first_row: int = 0) -> None:
    """Refuse rows without any value."""
    empty = np.isnan(matrix).all(axis=1)
    _refuse_empty_rows(first_row + int(empty.argmax()), int(empty.sum()))


# --- one pass over all rows -----------------------------------------------------------------------


def _fill(
    table: OpenTable,
    choice: Choice,
    names: list[str],
    encodings: dict[str, Column],
    numbers: Collection[str],
) -> Matrix:
    surveys = {name: _Survey() for name in names if name not in encodings}
    widths = [len(encodings[name].categories) if name in encodings else 1 for name in names]
    starts = np.cumsum([0, *widths])
    places = dict(zip(names, starts.tolist(), strict=False))
    matrix = _GrowingMatrix(int(starts[-1]))
    id_names = [] if choice.id is None else [choice.id]
    ids: list[pa.Array] = []
    missing = np.zeros(matrix.width, np.int64)
    rows = empty_rows = first_empty = 0
    batches = table.batches(columns=[*names, *id_names], numbers=numbers, spelling=choice.spelling)
    for batch in batches:
        block = matrix.extend(len(batch))
        for name, start in places.items():
            if name in encodings:
                stop = start + len(encodings[name].categories)
                block[:, start:stop] = encodings[name].one_hot(batch[name], rows)
            elif name in numbers:
                block[:, start] = batch[name].to_numpy()
            else:
                found = to_numbers(batch[name], choice.spelling)
                surveys[name].add(found, rows)
                block[:, start] = found.values if isinstance(found, Numbers) else np.nan
        if numbers and np.isinf(block).any():
            raise NotNumbersError
        unknown = np.isnan(block)
        missing += unknown.sum(axis=0)
        empty = unknown.all(axis=1)
        if empty.any() and not empty_rows:
            first_empty = rows + int(empty.argmax())
        empty_rows += int(empty.sum())
        rows += len(batch)
        ids += [chunk for name in id_names for chunk in batch[name].chunks]
    for name in numbers:
        surveys[name].empty = bool(missing[places[name]] == rows)
    columns = _settle(choice, names, encodings, surveys, whole=True)
    values = matrix.finish()
    if choice.use is None:
        for name in surveys:
            if _may_number_rows(name):
                _refuse_row_numbers(name, values[:, places[name]])
    named_rows = None
    if choice.id is not None:
        arrow = pa.table({choice.id: pa.chunked_array(ids)})
        named_rows = columns.ids(Table(arrow, Schema.of(arrow.schema)))
    _refuse_empty_rows(first_empty, empty_rows)
    return Matrix(columns, values, named_rows, int(missing[list(places.values())].sum()))


class _GrowingMatrix:
    """Rows of numbers, as many as come."""

    def __init__(self, width: int) -> None:
        self.width, self._rows = width, 0
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
        self._values.resize((rows, self.width), refcheck=False)


class _Survey:
    """What is found out about a column, chunk by chunk."""

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self.empty = True
        self._numbers = False  # whether there were any
        self._truth_only = True  # whether all of them were 0 or 1
        self._truth = False  # whether there were truth values
        self._words: Refusal | None = None

    @property
    def is_text(self) -> bool:
        return self.refusal is not None and self.refusal.reason in TEXT

    @property
    def boolean(self) -> bool:
        return self._truth and self._truth_only

    def add(self, found: Numbers | Refusal, first_row: int) -> None:
        if isinstance(found, Refusal):
            self.empty = False
            self._refuse(found, first_row)
            return
        known = found.values[~np.isnan(found.values)]
        if not len(known):
            return
        self.empty = False
        self._numbers = True
        self._truth = self._truth or found.boolean
        if self._words is None and found.words is not None:
            words = found.words
            self._words = Refusal(words.reason, first_row + words.row, words.examples)
        if self._truth_only and not found.boolean:
            self._truth_only = bool(np.isin(known, (0.0, 1.0)).all())
        if self._words is not None and not self._truth_only:
            self._refuse(self._words, 0)

    def _refuse(self, found: Refusal, first_row: int) -> None:
        # Text settles the matter, whatever else was found before.
        if self.refusal is None or (found.reason in TEXT and not self.is_text):
            reason = (
                "text among numbers" if found.reason in TEXT and self._numbers else found.reason
            )
            self.refusal = Refusal(reason, first_row + found.row, found.examples)


def _survey(
    chunks: Iterable[Table], names: Sequence[str], spelling: Spelling
) -> dict[str, _Survey]:
    surveys = {name: _Survey() for name in names}
    first_row = 0
    for chunk in chunks:
        for name, survey in surveys.items():
            survey.add(to_numbers(chunk[name], spelling), first_row)
        first_row += len(chunk)
    return surveys


def _settle(
    choice: Choice,
    names: list[str],
    encodings: dict[str, Column],
    surveys: dict[str, _Survey],
    *,
    whole: bool,
) -> Columns:
    """Return the columns, or refuse them by what was found in the rows, `whole`: in all of them."""
    surveys = {name: survey for name, survey in surveys.items() if name not in encodings}
    refused = {
        name: survey.refusal for name, survey in surveys.items() if survey.refusal is not None
    }
    if refused:
        raise ColumnsError(refused)
    if whole:
        _refuse_empty_columns(name for name, survey in surveys.items() if survey.empty)
    columns = Columns(
        tuple(
            encodings.get(name) or Column(name, "boolean" if surveys[name].boolean else "number")
            for name in names
        ),
        choice.id,
        choice.spelling,
    )
    repeated = find_repeated(columns.features)
    if repeated:
        msg = f"one-hot encoding makes columns that are there already: {listed(repeated)}"
        raise TableError(msg, column=repeated[0])
    return columns


def _find_categories(chunks: Iterable[Table], names: Collection[str]) -> dict[str, Column]:
    found: dict[str, set[str]] = {name: set() for name in names}
    for chunk in chunks if found else ():
        for name, categories in found.items():
            unique = pc.unique(to_categories(name, chunk[name]))
            categories.update(value for value in unique.to_pylist() if value is not None)
            if len(categories) > MAX_CATEGORIES:
                msg = (
                    f"column {name!r} has more than {MAX_CATEGORIES:,} categories, which would be "
                    "as many columns: leave out with --drop NAME, or group them before"
                )
                raise TableError(msg, column=name)
    _refuse_empty_columns(name for name, categories in found.items() if not categories)
    return {
        name: Column(name, "category", tuple(sorted(categories, key=_by_number)))
        for name, categories in found.items()
    }


def _by_number(category: str) -> tuple[float, str]:
    try:
        return float(category), category
    except ValueError:
        return float("inf"), category


def _refuse_empty_columns(names: Iterable[str]) -> None:
    empty = list(names)
    if empty:
        noun, verb = ("column", "has") if len(empty) == 1 else ("columns", "have")
        advice = f"leave out with --drop {typed_names(empty)}"
        msg = f"{noun} {listed(empty)} {verb} no value at all: {advice}"
        raise TableError(msg, column=empty[0])


def _refuse_empty_rows(first: int, count: int) -> None:
    if count:
        more = f" (and {count - 1:,} more)" if count > 1 else ""
        msg = (
            f"row {first + 1:,}{more} has no value in the columns used: "
            "remove it, or use more columns"
        )
        raise TableError(msg, row=first + 1)


def _may_number_rows(name: str) -> bool:
    return name.startswith(("Unnamed: ", "__index_level_"))


def _refuse_row_numbers(name: str, values: NDArray[np.float64]) -> None:
    """Refuse to cluster the index that pandas and R write in front of a table."""
    if len(values) > 1 and (np.diff(values) == 1).all():
        msg = (
            f"column {name!r} looks like the numbers of rows that pandas and R write: "
            f"say --id '{name}' or --drop '{name}' (or name it in --use to cluster by it)"
        )
        raise TableError(msg, column=name)
