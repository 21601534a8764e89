"""What a command says: results on standard output, everything else on standard error."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from amclust._warnings import EmptyRowsWarning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amclust._estimator import ClAM
    from amclust._features import TopFeatures

# What goes wrong with tables, models, files, numbers and packages; anything else is a mistake.
EXPECTED = (ArithmeticError, ImportError, OSError, RuntimeError, ValueError)
MAX_CLUSTERS_SHOWN = 30
MAX_NAME, MAX_LINE = 40, 96


def replace_closed_streams() -> None:
    """Read nothing from, and write into nothing, what was closed before Python started."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - open till the end
            setattr(sys, name, nothing)


def say(text: str = "") -> None:
    """Print a line of the result."""
    sys.stdout.write(f"{_printable(text, sys.stdout.encoding)}\n")


def say_json(arguments: argparse.Namespace, *names: str, **values: object) -> None:
    """Print one JSON object: the command, arguments by their names, and what was found.

    What is not a number is null.
    """
    values |= {name: getattr(arguments, name) for name in ("command", *names)}
    sys.stdout.write(f"{json.dumps(_plain(values), allow_nan=False)}\n")


def note(text: str) -> None:
    """Print a line that is not part of the result."""
    over_progress = "\r\x1b[K" if sys.stderr.isatty() else ""
    line = _printable(" ".join(text.split()), sys.stderr.encoding)
    sys.stderr.write(f"{over_progress}amclust: {line}\n")
    sys.stderr.flush()


def say_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        cells[0] = row[0].ljust(widths[0])
        say("  ".join(cells).rstrip())


def count(number: int, noun: str) -> str:
    """Return a number with its noun."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show each warning for users as one line; deprecations are for developers."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if text not in seen:
            seen.add(text)
            note(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        # Of all chunks of a table the commands tell themselves, in one line.
        warnings.simplefilter("ignore", EmptyRowsWarning)
        warnings.showwarning = show
        yield


def reason(error: BaseException) -> str:
    """Return what went wrong, in a line."""
    if isinstance(error, OSError) and error.strerror:
        # Errors of files name them; what has no name is standard input or output.
        where = error.filename or "standard input or output"
        return f"{where}: {error.strerror.lower()}"
    if isinstance(error, MemoryError):
        return "out of memory; --stream reads a table in chunks, --dask in parts"
    if isinstance(error, EXPECTED):
        return str(error).strip() or type(error).__name__
    kind = f"{type(error).__name__}: {error}"
    return f"a mistake in amclust, please report it ({kind}); AMCLUST_TRACEBACK=1 shows where"


def abandon_output() -> None:
    """Let what is still to be written to standard output vanish, at the end of Python too."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _printable(text: str, encoding: str | None) -> str:
    """Return text that any terminal can show, and that tells none to do anything.

    Names of columns may come from strangers.
    """
    escaped = "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )
    encoding = encoding or "utf-8"
    return escaped.encode(encoding, "backslashreplace").decode(encoding)


def _plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if hasattr(value, "tolist"):  # of NumPy
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


# --- a fitted model in a few lines ----------------------------------------------------------------


def cluster_sizes(labels: Any, n_clusters: int) -> NDArray[np.int64]:
    """Return the number of rows of every cluster; noise (-1) is in none."""
    import numpy as np

    labels = np.asarray(labels, dtype=np.int64)
    return np.bincount(labels[labels >= 0], minlength=n_clusters)


def describe(model: ClAM, sizes: NDArray[np.int64] | None) -> dict[str, Any]:
    """Return the numbers of a fitted model for `say_json`; sizes that were not counted are None."""
    return {
        "n_clusters": model.n_clusters_,
        "n_memories": len(model.memories_),
        "n_features": model.n_features_in_,
        "sizes": sizes,
        "silhouette": model.silhouette_,
        "loss": model.loss_,
        "beta": model.beta_,
        "epochs": model.n_iter_,
        "restarts": len(model.runs_),
    }


def say_quality(model: ClAM) -> None:
    """Print what was found, in one line."""
    import numpy as np

    how = f"best of {len(model.runs_)} restarts" if len(model.runs_) > 1 else "one run"
    if not np.isnan(model.silhouette_):
        how = f"silhouette {model.silhouette_:.4f} ({how})"
    n_memories = len(model.memories_)
    of = f" of {n_memories:,} memories" if n_memories > model.n_clusters_ else ""
    say(f"{count(model.n_clusters_, 'cluster')}{of}, {how}")


def say_sizes(sizes: NDArray[np.int64], n_rows: int) -> None:
    """Print the sizes of clusters, and how many of so many rows belong to none."""
    total = max(1, n_rows)
    shown = sizes[:MAX_CLUSTERS_SHOWN]
    rows = [[str(m), f"{size:,}", f"{size / total:.0%}"] for m, size in enumerate(shown)]
    if outside := n_rows - int(sizes.sum()):
        rows.append(["-1 (nowhere)", f"{outside:,}", f"{outside / total:.0%}"])
    say_table(["cluster", "rows", "share"], rows)
    if len(sizes) > len(shown):
        say(f"... and {len(sizes) - len(shown):,} more")


def top_features(model: ClAM, n: int, sizes: NDArray[np.int64] | None = None) -> TopFeatures:
    """Return what tells each cluster most; of columns with units of their own, low values too.

    `sizes` are of clusters whose labels are not in memory.
    """
    two_sided = model.network_.geometry.mixed_units
    if sizes is None or not sizes.all() or len(model.labels_):
        return model.top_features(n, two_sided=two_sided)
    return model.network_.top_features(n, sizes=sizes, two_sided=two_sided)


def describe_features(
    model: ClAM, n: int, sizes: NDArray[np.int64] | None = None
) -> list[list[dict[str, Any]]]:
    """Return what tells each cluster most for `say_json`."""
    found = top_features(model, n, sizes)
    return [[feature._asdict() for feature in features] for features in found]


def say_features(model: ClAM, n: int, sizes: NDArray[np.int64] | None = None) -> None:
    """Print what tells each cluster most, below an empty line; nothing of a single cluster."""
    found = top_features(model, n, sizes)
    if not any(found):
        return
    say()
    say("cluster  what tells it: its typical value (the mean over all clusters)")
    for m, features in enumerate(found[:MAX_CLUSTERS_SHOWN]):
        # A line does not break inside a feature.
        parts = [f"{_short(f.name)} {f.weight:.4g} ({f.mean:.4g})" for f in features]
        parts = [part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts]
        told = ", ".join(parts) or "nothing: it is like all"
        lines = textwrap.wrap(told, MAX_LINE - 9, break_long_words=False)
        for number, line in enumerate(lines):
            beginning = "" if number else str(m)
            say(f"{beginning:<9}{line}".replace("\N{NO-BREAK SPACE}", " "))
    if len(found) > MAX_CLUSTERS_SHOWN:
        say(f"... and {len(found) - MAX_CLUSTERS_SHOWN:,} more")


def _short(name: str) -> str:
    name = " ".join(name.split()) or "(no name)"
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3]}..."
