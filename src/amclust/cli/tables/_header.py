"""The names of a table's columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amclust.cli.tables._errors import TableError, find_repeated, listed

NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""How a number is spelled; what Arrow reads as one, apart from inf and nan."""


def numbered_names(count: int) -> list[str]:
    """Return names for columns without a header: x0, x1, ..."""
    return [f"x{index}" for index in range(count)]


def names_of_header(cells: Sequence[str], source: str, *, surely_header: bool) -> list[str]:
    """Return the names in a header; refuse repeated ones and a line that looks like data.

    A column without a name is called as pandas calls it: "Unnamed: 0".
    """
    names = [cell.strip() for cell in cells]
    spelled = [name for name in names if name]
    if not spelled:
        msg = f"{source} has no column names in its first line"
        raise TableError(msg)
    # A lone "2019" may well be a name; so may be a header of years, which has to be said.
    if not surely_header and all(re.fullmatch(NUMBER, name) for name in spelled):
        msg = (
            f"the first line of {source} holds only numbers ({listed(spelled, limit=4)}): say "
            "--no-header if it is the first row, or put a letter into the names if they are names"
        )
        raise TableError(msg)
    names = [name or f"Unnamed: {index}" for index, name in enumerate(names)]
    check_names(names, source)
    return names


def check_names(names: Sequence[str], source: str) -> None:
    """Refuse repeated names."""
    repeated = find_repeated(names)
    if repeated:
        places = (
            f"{name!r} (columns {', '.join(str(i + 1) for i, n in enumerate(names) if n == name)})"
            for name in repeated[:5]
        )
        more = f" and {len(repeated) - 5:,} more" if len(repeated) > 5 else ""
        msg = f"{source} has repeated column names: {', '.join(places)}{more}; rename them"
        raise TableError(msg)
