"""What is wrong with a table: errors that carry where and what, and words for saying so."""

from __future__ import annotations

import difflib
import importlib
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

MAX_COLUMNS_SHOWN = 8


class TableError(ValueError):
    """A table that cannot be read, written or clustered; the message says what to do about it.

    It carries the file as messages name it, the line of a text file and the row (both counted from
    1), the name of the column and the value, as far as they are known.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
        value: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file, self.line, self.row = file, line, row
        self.column, self.value = column, value


class TableOptionError(TableError):
    """An option that does not go with the table's format."""

    exit_code = 2
    """Of the command line: the arguments are wrong, not the table."""


@dataclass(frozen=True)
class Refusal:
    """Why a column is not one of numbers."""

    reason: str
    """What it holds instead, a key of `_ADVICE`."""
    row: int
    """The first row it is true of, counted from 0."""
    examples: tuple[str, ...]
    """A few different cells, the one in `row` first."""

    def below(self, rows: int) -> Refusal:
        """Return the same of a table that has so many more rows above."""
        return replace(self, row=rows + self.row)


class ColumnsError(TableError):
    """Columns that hold something else than numbers: what, by name, below `first_row` rows.

    `fitted`: they are numbers in the table a model was fitted to, so leaving them out is no way.
    """

    def __init__(
        self, refused: Mapping[str, Refusal], first_row: int = 0, *, fitted: bool = False
    ) -> None:
        self.refused = dict(refused)
        reasons: dict[str, dict[str, Refusal]] = {}
        for name, refusal in refused.items():
            reasons.setdefault(refusal.reason, {})[name] = refusal
        column, first = next(iter(refused.items()))
        super().__init__(
            "; ".join(
                _describe(reason, columns, first_row, fitted=fitted)
                for reason, columns in reasons.items()
            ),
            row=first_row + first.row + 1,
            column=column,
            value=next(iter(first.examples), None),
        )


def no_rows(name: str) -> TableError:
    """Return the error for a table that has none."""
    return TableError(f"{name} has column names but no rows", file=name)


class TableWarning(UserWarning):
    """Something about a table that was guessed, and how to say it instead."""


def require(package: str) -> None:
    """Refuse to go on without a package, and name the extra that brings it."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        msg = f'reading and writing tables needs {package}: pip install "amclust[table]"'
        raise ModuleNotFoundError(msg, name=package) from error


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Return values quoted, with commas between: "'a', 'b' and 1 more" of three with limit 2."""
    values = list(values)
    text = ", ".join(shortened(value) for value in values[:limit])
    return text if len(values) <= limit else f"{text} and {len(values) - limit:,} more"


def shortened(value: object, width: int = 40) -> str:
    """Return a value as one would type it, cut where it is long."""
    text = str(value)
    return repr(text if len(text) <= width else f"{text[: width - 3]}...")


def unknown_names(names: Sequence[str], known: Sequence[str]) -> TableError:
    """Return the error for names that a table does not have, with the closest it has."""
    by_folded = {name.casefold(): name for name in reversed(known)}
    words = []
    for name in names:
        folded_name = name.casefold()
        exact = [folded_name] if folded_name in by_folded else []
        close = exact or difflib.get_close_matches(folded_name, by_folded, n=3)
        hint = f" (did you mean {listed(by_folded[folded] for folded in close)}?)" if close else ""
        words.append(f"{shortened(name)}{hint}")
    noun = "column" if len(names) == 1 else "columns"
    msg = f"no {noun} {', '.join(words)}; the table has {listed(known, limit=12)}"
    return TableError(msg, column=names[0])


def find_repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, each once."""
    return [name for name, times in Counter(names).items() if times > 1]


def typed_names(names: Iterable[str]) -> str:
    """Return names as one types them on the command line, where commas separate them."""
    names = list(names)
    if len(names) > MAX_COLUMNS_SHOWN:
        return "NAMES"
    quoted = (
        '"' + name.replace('"', '""') + '"' if "," in name or name.startswith('"') else name
        for name in names
    )
    return shlex.quote(",".join(quoted))


def _describe(reason: str, columns: Mapping[str, Refusal], first_row: int, *, fitted: bool) -> str:
    noun, verb = ("column", "holds") if len(columns) == 1 else ("columns", "hold")
    places = []
    for name, refusal in list(columns.items())[:MAX_COLUMNS_SHOWN]:
        row = first_row + refusal.row + 1
        cells = listed(refusal.examples) or "nothing else"
        places.append(f"{shortened(name)} ({cells}; first in row {row:,})")
    if len(columns) > MAX_COLUMNS_SHOWN:
        places.append(f"{len(columns) - MAX_COLUMNS_SHOWN:,} more")
    what, advice = _ADVICE[reason]
    if fitted and "{names}" in advice:
        advice = "only numbers and empty cells can be there"
    mark = _mark(next(iter(columns.values())).examples[0])
    advice = advice.format(names=typed_names(columns), mark=mark)
    return f"{noun} {', '.join(places)} {verb} {what}: {advice}"


def _mark(cell: str) -> str:
    """Return the mark between groups of digits, as one types it on the command line."""
    mark = next(iter(re.findall(r"(?<=[0-9])[^0-9]", cell)), ",")
    names = {",": "comma", ".": "point", "'": "apostrophe", "_": "underscore"}
    return names.get(mark, "space" if mark.isspace() else shlex.quote(mark))


_ADVICE = {
    "text": (
        "text",
        (
            "leave out with --drop {names}, take as categories with --categorical {names}, or take "
            "what is no number as missing with --numeric {names}"
        ),
    ),
    "text among numbers": (
        "text among numbers",
        (
            "correct or empty these cells, take what is no number as missing with --numeric "
            "{names}, or all as categories with --categorical {names}"
        ),
    ),
    "date": (
        "dates or times",
        "leave out with --drop {names}, or turn into numbers before (days since a date, an hour)",
    ),
    "nested": ("values that are no numbers", "leave out with --drop {names}"),
    "infinite": (
        "infinite values, or larger than a float can be",
        "replace them with numbers, or with empty cells if they are unknown",
    ),
    "percent": ("numbers with a percent sign", "strip the % from the cells"),
    "decimal comma": ("decimal commas", "say --decimal comma"),
    "comma": (
        "commas, either decimal ones or between groups of three digits",
        "say --decimal comma or --thousands comma",
    ),
    "thousands": ("digits in groups of three", "say --thousands {mark}"),
}
