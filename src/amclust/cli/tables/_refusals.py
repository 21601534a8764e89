"""Words for columns that cannot be clustered, and what to do about them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

from amclust.cli.tables._cells import Refusal
from amclust.cli.tables._errors import listed, shortened

_SHOWN = 8


def describe_refusals(
    refused: Mapping[str, Refusal], first_row: int = 0, *, fitted: bool = False
) -> str:
    """Say which columns are not numbers, why, and what to do; those of a reason in one sentence.

    `fitted` tells that the columns are numbers in the table a model was fitted to, so that
    leaving them out is no way.
    """
    reasons: dict[str, dict[str, Refusal]] = {}
    for name, refusal in refused.items():
        reasons.setdefault(refusal.reason, {})[name] = refusal
    return "; ".join(
        _describe(reason, columns, first_row, fitted=fitted) for reason, columns in reasons.items()
    )


def _describe(reason: str, columns: Mapping[str, Refusal], first_row: int, *, fitted: bool) -> str:
    one = len(columns) == 1
    noun, verb = ("column", "holds") if one else ("columns", "hold")
    places = []
    for name, refusal in list(columns.items())[:_SHOWN]:
        row = first_row + refusal.row + 1
        cells = listed(refusal.examples) or "nothing else"
        places.append(f"{shortened(name)} ({cells}; first in row {row:,})")
    if len(columns) > _SHOWN:
        places.append(f"{len(columns) - _SHOWN:,} more")
    what, advice = _WORDS[reason]
    if fitted and "{names}" in advice:
        advice = "only numbers and empty cells can be there"
    # As on the command line, where commas separate names.
    names = shlex.quote(",".join(map(_quoted, columns))) if len(columns) <= _SHOWN else "NAMES"
    advice = advice.format(names=names, mark=_mark(next(iter(columns.values())).examples[0]))
    return f"{noun} {', '.join(places)} {verb} {what}: {advice}"


def _quoted(name: str) -> str:
    """Return a name as one types it in a list with commas."""
    return '"' + name.replace('"', '""') + '"' if "," in name or name.startswith('"') else name


def _mark(cell: str) -> str:
    """Return the mark between groups of digits, as one types it on the command line."""
    mark = next(iter(re.findall(r"(?<=[0-9])[^0-9]", cell)), ",")
    names = {",": "comma", ".": "point", "'": "apostrophe", "_": "_"}
    return names.get(mark, "space" if mark.isspace() else shlex.quote(mark))


_WORDS = {
    "text": (
        "text",
        (
            "leave out with --drop {names} (or --id, if it names the rows), or turn into a column "
            "of 0 and 1 for each category with --one-hot {names}"
        ),
    ),
    "text among numbers": (
        "text among numbers",
        "correct or empty these cells, or see --drop {names} and --one-hot {names}",
    ),
    "date": (
        "dates or times",
        (
            "leave out with --drop {names}, or turn into numbers (days since a date, hour of the "
            "day) before"
        ),
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
    "thousands": (
        "digits in groups of three",
        "say --thousands {mark}",
    ),
}
