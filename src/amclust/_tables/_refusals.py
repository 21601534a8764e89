"""Words for columns that cannot be clustered, and what to do about them."""

from __future__ import annotations

from collections.abc import Mapping

from amclust._tables._cells import Refusal
from amclust._tables._errors import listed, shortened

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
    if fitted:
        advice = _FITTED.get(reason, "the model was fitted to numbers there")
    return f"{noun} {', '.join(places)} {verb} {what}: {advice}"


_WORDS = {
    "text": (
        "text",
        (
            "leave it out with --drop NAME, or turn it into a column of 0 and 1 for each category "
            "with --one-hot NAME"
        ),
    ),
    "date": (
        "dates or times",
        (
            "leave it out with --drop NAME, or turn it into numbers (days since a date, hour of "
            "the day) before"
        ),
    ),
    "nested": ("values that are no numbers", "leave it out with --drop NAME"),
    "infinite": (
        "infinite values, or larger than a float can be",
        "replace them with numbers, or with empty cells if they are unknown",
    ),
    "decimal comma": ("decimal commas", "say --decimal comma"),
    "thousands": (
        "digits in groups of three",
        "name the mark between them, for instance --thousands comma",
    ),
}
_FITTED = {reason: _WORDS[reason][1] for reason in ("infinite", "decimal comma", "thousands")}
