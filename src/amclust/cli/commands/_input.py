"""From arguments to tables, columns and models; and what may be written where."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypedDict

from amclust._progress import ProgressLine
from amclust.cli.commands._console import count

if TYPE_CHECKING:
    from amclust.cli.tables import Chunks, Columns
    from amclust.io.model import ModelFile

# Seconds of reading after which people want to know what is going on.
PATIENCE = 1.0


def read(arguments: argparse.Namespace) -> Any:
    """Read the whole table."""
    from amclust.cli.tables import read_table

    with _waiting(arguments):
        return read_table(arguments.table, sheet=arguments.sheet, **_reading(arguments))


@contextlib.contextmanager
def _waiting(arguments: argparse.Namespace) -> Iterator[None]:
    """Say on a terminal what takes so long."""
    if arguments.quiet or not sys.stderr.isatty():
        yield
        return
    line = ProgressLine()
    timer = threading.Timer(PATIENCE, line.show, [f"amclust: reading {name_of(arguments)}"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        line.clear()


def read_in_chunks(arguments: argparse.Namespace) -> Chunks:
    """Read the table in chunks."""
    from amclust.cli.tables import TableError, read_chunks

    if arguments.sheet is not None:
        msg = "an Excel workbook cannot be streamed: leave out --stream, or save it as CSV"
        raise TableError(msg)
    return read_chunks(arguments.table, chunk_rows=arguments.chunk_rows, **_reading(arguments))


class Reading(TypedDict):
    """How a table is read; None: found out from the file."""

    format: str | None
    delimiter: str | None
    encoding: str | None
    header: bool | None


def _reading(arguments: argparse.Namespace) -> Reading:
    return {
        "format": arguments.format,
        "delimiter": arguments.delimiter,
        "encoding": arguments.encoding,
        "header": False if arguments.no_header else None,
    }


def choose_columns(
    arguments: argparse.Namespace, table: Any, *, without: tuple[str, ...] = ()
) -> Columns:
    """Return the choice of columns of a frame or of chunks, without some of them."""
    from amclust.cli.tables import Columns

    known = list((table.first() if hasattr(table, "first") else table).columns)
    one_hot = _names(arguments.one_hot, known)
    drop = [*(_names(arguments.drop, known) or []), *without]
    return Columns.choose(
        table,
        use=_names(arguments.use, known),
        drop=drop or None,
        id=arguments.id,
        one_hot="all" if one_hot == ["all"] and "all" not in known else one_hot,
        **_spelling(arguments),
    )


class Marks(TypedDict):
    """The marks in numbers."""

    decimal: str
    thousands: str | None


def _spelling(arguments: argparse.Namespace) -> Marks:
    return {"decimal": arguments.decimal or ".", "thousands": arguments.thousands}


def _names(values: list[str] | None, known: list[str]) -> list[str] | None:
    """Split names at commas, except where a name is in quotes or the table's has one itself."""
    if values is None:
        return None
    parts = [
        [value] if value in known else next(csv.reader([value], skipinitialspace=True), [])
        for value in values
    ]
    return [name if name in known else name.strip() for part in parts for name in part]


def columns_of(saved: ModelFile, arguments: argparse.Namespace, table: Any) -> Columns:
    """Return the columns that a model was fitted on; without names, as chosen by the arguments."""
    from amclust.cli.tables import Column, Columns, TableError

    kept, names = saved.extra.get("columns"), saved.model.network_.geometry.feature_names
    if kept is None and names is not None:  # saved by Python, from a data frame
        columns = [Column(name, "number").to_json() for name in names]
        kept = {"columns": columns, "id": None, "decimal": ".", "thousands": None}
    if kept is not None:
        _tell_unused(arguments)
        given = {name: getattr(arguments, name) for name in ("id", "decimal", "thousands")}
        changed = {name: value for name, value in given.items() if value is not None}
        chosen = Columns.from_json({**Columns.from_json(kept).to_json(), **changed})
        if arguments.id is not None:
            chosen.ids(table.first() if hasattr(table, "first") else table)
        return chosen
    chosen = choose_columns(arguments, table)
    wanted = saved.model.n_features_in_
    if len(chosen.features) != wanted:
        msg = (
            f"the model was fitted on {wanted} columns without names, the table has "
            f"{len(chosen.features)}: choose them with --use or --drop"
        )
        raise TableError(msg)
    return chosen


def _tell_unused(arguments: argparse.Namespace) -> None:
    if arguments.use or arguments.one_hot:
        msg = "the model knows its columns by name: --use and --one-hot do not count"
        warnings.warn(msg, UserWarning, stacklevel=3)


def learn(fit: Callable[[Any], Any], X: Any, what: str = "the table") -> Any:
    """Fit; where there are too many clusters, say so in words of the command line."""
    try:
        return fit(X)
    except ValueError as error:
        found = re.match(r"n_clusters=(\d+) must be .* rows of X, which is (\d+) ", str(error))
        if found is None:
            raise
        rest = str(error).partition("). ")[2]
        rows = count(int(found[2]), "distinct row")
        msg = f"-k {found[1]}: {what} has only {rows}. {rest}".strip(" .")
        raise ValueError(msg) from error


def matrix_of(columns: Columns, frame: Any, first_row: int = 0) -> Any:
    """Return the numbers of a frame; refuse a row without any."""
    from amclust.cli.tables import TableError

    X = columns.matrix(frame, first_row=first_row)
    empty = X.isna().to_numpy().all(axis=1)
    if empty.any():
        more = f" (and {empty.sum() - 1:,} more)" if empty.sum() > 1 else ""
        msg = (
            f"row {first_row + int(empty.argmax()) + 1:,}{more} has no value in the columns used: "
            "remove it, or use more columns"
        )
        raise TableError(msg)
    return X


def count_missing(columns: Columns, X: Any) -> int:
    """Return the number of missing cells of a table; a category is one cell in several columns."""
    return int(X[[column.features[0] for column in columns.columns]].isna().to_numpy().sum())


def as_fitted(model: Any, X: Any) -> Any:
    """Return rows with the names of their columns only where the model knows names."""
    return X if hasattr(model, "feature_names_in_") else X.to_numpy()


def chunks_of(
    arguments: argparse.Namespace, saved: ModelFile
) -> Iterator[tuple[Columns, Any, Any]]:
    """Go through a table for a fitted model: its columns, the frame and its numbers, in chunks."""
    table = read_in_chunks(arguments) if arguments.stream else read(arguments)
    columns = columns_of(saved, arguments, table)
    done = 0
    frames: Iterable[Any] = table if arguments.stream else [table]
    # Rows that go to a terminal are progress enough.
    quiet = arguments.quiet or (arguments.output in (None, "-") and sys.stdout.isatty())
    line = ProgressLine()
    for frame in frames:
        yield columns, frame, matrix_of(columns, frame, done)
        done += len(frame)
        if not quiet and line.is_due():
            line.show(f"amclust: {done:,} rows")
    if not quiet:
        line.clear()


def check_order(parser: argparse.ArgumentParser, model: str, table: str) -> None:
    """Exit with 2 where the table stands before the model."""
    from amclust.io.container import BEGINNING, begins_a_model

    def is_model(path: str) -> bool:
        if not os.path.isfile(path):
            return False
        with contextlib.suppress(OSError), open(path, "rb") as file:
            return begins_a_model(file.read(BEGINNING))
        return False

    if is_model(table) and not is_model(model):
        parser.error(f"{table} is a model file: the model comes first, then the table")


def load(path: str) -> ModelFile:
    """Read a model file; the message about one that is not there names it."""
    from amclust.io.model import load_model

    try:
        return load_model(path)
    except FileNotFoundError:
        msg = f"there is no file {path!r}"
        raise FileNotFoundError(msg) from None
    except IsADirectoryError:
        msg = f"{path!r} is a folder, give the name of a model file"
        raise IsADirectoryError(msg) from None


def name_of(arguments: argparse.Namespace) -> str:
    """Return what the table is called, wherever it lies."""
    return "standard input" if arguments.table == "-" else os.path.basename(arguments.table)


def is_pipe(path: str) -> bool:
    """Whether a table can be read only once: standard input, a pipe or <(command)."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path))


def save(model: Any, arguments: argparse.Namespace, columns: Columns, rows: int) -> None:
    """Write a model with the columns it was fitted on."""
    from amclust.io.model import save_model

    extra = {
        "columns": columns.to_json(),
        "source": {"table": name_of(arguments), "rows": rows},
    }
    model.set_params(verbose=0)  # the progress was that of this fit
    save_model(model, arguments.output, extra=extra, overwrite=arguments.force)


def check_outputs(
    arguments: argparse.Namespace,
    *names: str,
    tables: tuple[str, ...] = (),
    in_place: bool = False,
    continued: str | None = None,
) -> None:
    """Refuse files that exist or cannot be written, before anything is computed.

    `in_place` allows the table read to be replaced, by itself with more in it. `continued` is the
    output that goes on from what is there.
    """
    seen: dict[str, str] = {}
    read_from = {"model": getattr(arguments, "model", None)}
    if not in_place:
        read_from["table"] = getattr(arguments, "table", None)
    for name in names:
        path = getattr(arguments, name)
        if path is None or path == "-":
            continue
        option = f"--{name.replace('_', '-')}"
        if path in ("/dev/stdout", "/dev/fd/1"):
            msg = f"{option} {path}: give {option} - for standard output"
            raise ValueError(msg)
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            msg = f"{option} {path}: there is no folder {folder}"
            raise FileNotFoundError(msg)
        if os.path.isdir(path):
            msg = f"{option} {path}: it is a folder, give the name of a file"
            raise IsADirectoryError(msg)
        for what, source in read_from.items():
            if source and not is_pipe(source) and _are_same(source, path):
                msg = f"{option} {path}: this is the {what} that is read, name another file"
                raise ValueError(msg)
        if os.path.isfile(path) and not arguments.force and name != continued:
            msg = f"{option} {path}: the file exists; add --force to replace it"
            raise FileExistsError(msg)
        replaces_name = os.path.isfile(path) or not os.path.exists(path)  # not a device or pipe
        if replaces_name and not os.access(folder, os.W_OK):
            msg = f"{option} {path}: the folder {folder} cannot be written to"
            raise PermissionError(msg)
        if name in tables:
            from amclust.cli.tables import TableWriter

            TableWriter(path)  # the name has to tell a format
        other = seen.setdefault(os.path.realpath(path), option)
        if other != option:
            msg = f"{other} and {option} are the same file: {path}"
            raise ValueError(msg)


def _are_same(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
