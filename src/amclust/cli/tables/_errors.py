"""What is wrong with a table, and words for saying so."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class TableError(ValueError):
    """A table that cannot be read, written or clustered; the message says what to do about it."""


class TableOptionError(TableError):
    """An option that does not go with the table's format."""

    exit_code = 2
    """Of the command line: the arguments are wrong, not the table."""


class TableWarning(UserWarning):
    """Something about a table that was guessed, and how to say it instead."""


def listed(values: Iterable[object], limit: int = 8) -> str:
    """Return values quoted and with commas between, the first `limit` of them.

    Examples
    --------
    >>> from amclust.cli.tables._errors import listed
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    values = list(values)
    text = ", ".join(shortened(value) for value in values[:limit])
    return text if len(values) <= limit else f"{text} and {len(values) - limit:,} more"


def shortened(value: object, width: int = 40) -> str:
    """Return a value as one would type it, cut where it is long."""
    text = str(value)
    return repr(text if len(text) <= width else f"{text[: width - 3]}...")


def unknown_names(names: Sequence[str], known: Sequence[str]) -> str:
    """Say which names a table does not have, with the closest it has."""
    by_folded = {name.casefold(): name for name in reversed(known)}
    words = []
    for name in names:
        folded_name = name.casefold()
        exact = [folded_name] if folded_name in by_folded else []
        close = exact or difflib.get_close_matches(folded_name, by_folded, n=3)
        hint = f" (did you mean {listed(by_folded[folded] for folded in close)}?)" if close else ""
        words.append(f"{shortened(name)}{hint}")
    noun = "column" if len(names) == 1 else "columns"
    return f"no {noun} {', '.join(words)}; the table has {listed(known, limit=12)}"


def find_repeated(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once, each once."""
    seen: set[str] = set()
    repeated: dict[str, None] = {}
    for name in names:
        if name in seen:
            repeated[name] = None
        seen.add(name)
    return list(repeated)
