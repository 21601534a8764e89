"""From arguments to tables, matrices and models; and what may be written where."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amclust.cli.commands import console
from amclust.cli.commands.console import count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from amclust.cli.tables import Choice, Chunks, Columns, Matrix, OpenTable, ReadOptions, Table
    from amclust.cli.tables.parts import Parts
    from amclust.io.model import ModelFile

# Seconds of reading after which people want to know what is going on.
PATIENCE = 1.0


# --- tables ---------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[OpenTable]:
    """Open the table; on a terminal, say what takes so long while it is read."""
    from amclust.cli.tables import open_table

    with _patience(arguments), open_table(arguments.table, reading(arguments)) as table:
        yield table


@contextlib.contextmanager
def _patience(arguments: argparse.Namespace) -> Iterator[None]:
    """On a terminal, say that the table is read if that takes long."""
    from amclust._progress import ProgressLine

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


def read(arguments: argparse.Namespace) -> Table:
    """Read the whole table."""
    from amclust.cli.tables import read_table

    with _patience(arguments):
        return read_table(arguments.table, reading(arguments))


def matrix_of(arguments: argparse.Namespace) -> Matrix:
    """Read the columns that the arguments choose as a matrix."""
    from amclust.cli.tables import read_matrix

    with opened(arguments) as table:
        matrix = read_matrix(table, choice_of(arguments, table.names))
    tell_empty(matrix.n_empty, len(matrix), trained=True)
    return matrix


def in_chunks(arguments: argparse.Namespace) -> Chunks:
    """Return the table in chunks with --stream, else in one."""
    from amclust.cli.tables import Chunks, TableError

    if arguments.stream and arguments.sheet is not None:
        msg = "an Excel workbook cannot be streamed: leave out --stream, or save it as CSV"
        raise TableError(msg)
    rows = arguments.chunk_rows if arguments.stream else None
    return Chunks(arguments.table, rows, reading(arguments))


def reading(arguments: argparse.Namespace) -> ReadOptions:
    """Return how the table is to be read."""
    from amclust.cli.tables import ReadOptions

    return ReadOptions(
        format=arguments.format,
        delimiter=arguments.delimiter,
        encoding=arguments.encoding,
        sheet=arguments.sheet,
        header=False if arguments.no_header else None,
    )


def choice_of(arguments: argparse.Namespace, known: list[str]) -> Choice:
    """Return the choice among the columns of a table."""
    from amclust.cli.tables import Choice, Spelling

    return Choice(
        use=_names(arguments.use, known),
        drop=_names(arguments.drop, known),
        id=arguments.id,
        drop_empty=arguments.drop_empty,
        numeric=_names(arguments.numeric, known) or (),
        categorical=_names(arguments.categorical, known) or (),
        spelling=Spelling(arguments.decimal or ".", arguments.thousands),
    )


def _names(values: list[str] | None, known: list[str]) -> list[str] | None:
    """Split names at commas, except where a name is in quotes or the table's has one itself."""
    if values is None:
        return None
    parts = [
        [value] if value in known else next(csv.reader([value], skipinitialspace=True), [])
        for value in values
    ]
    return [name if name in known else name.strip() for part in parts for name in part]


def columns_of(saved: ModelFile, arguments: argparse.Namespace, chunks: Chunks | Parts) -> Columns:
    """Return the columns that a model was fitted on; without names, as chosen by the arguments."""
    from amclust.cli.tables import Chunks, Column, Columns, Spelling, TableError, choose_columns

    kept, names = saved.extra.get("columns"), getattr(saved.model, "feature_names_in_", None)
    if kept is None and names is not None:  # saved by Python, from a data frame
        layout = saved.model.network_.geometry.categories
        levels = [None] * len(names) if layout is None else layout.levels
        kept = Columns(tuple(map(Column.of, names, levels))).to_json()
    if kept is not None:
        options = {
            "--use": arguments.use,
            "--numeric": arguments.numeric,
            "--categorical": arguments.categorical,
            "--drop-empty": arguments.drop_empty,
        }
        given = [option for option, value in options.items() if value]
        if given:
            verb = "does" if len(given) == 1 else "do"
            msg = f"the model knows its columns by name: {', '.join(given)} {verb} not count"
            warnings.warn(msg, UserWarning, stacklevel=2)
        chosen = Columns.from_json(kept)
        decimal, thousands = chosen.spelling.decimal, chosen.spelling.thousands
        spelling = Spelling(arguments.decimal or decimal, arguments.thousands or thousands)
        chosen = replace(chosen, spelling=spelling)
        if arguments.id is not None:
            chosen = replace(chosen, id=arguments.id)
            chosen.ids(chunks.first())
        return chosen
    first = chunks.first()
    choice = choice_of(arguments, first.names)
    if isinstance(chunks, Chunks):
        chosen = choose_columns(chunks if arguments.stream else first, choice)
    else:
        chosen = chunks.choose(choice)
    wanted = saved.model.n_features_in_
    if len(chosen.columns) != wanted:
        msg = (
            f"the model was fitted on {wanted} columns without names, the table has "
            f"{len(chosen.columns)}: choose them with --use or --drop"
        )
        raise TableError(msg)
    return chosen


def rows_for(
    model: Any, columns: Columns, table: Table, first_row: int = 0
) -> tuple[NDArray[Any], Any]:
    """Return a table as a matrix; and as a frame, with names unless the model knows none."""
    values = columns.matrix(table, first_row=first_row)
    named = model is None or hasattr(model, "feature_names_in_")
    plain = not named and not columns.categorical
    return values, values if plain else columns.frame(values, names=named)


def chunks_for(
    arguments: argparse.Namespace, saved: ModelFile, *, all_columns: bool
) -> Iterator[tuple[Columns, Table, NDArray[Any], Any]]:
    """Go through a table for a fitted model: its columns, a chunk and what `rows_for` returns.

    Other columns are read too if `all_columns` are needed.
    """
    from amclust._progress import ProgressLine
    from amclust._rows import empty_rows

    with _patience(arguments):
        chunks = in_chunks(arguments)
        columns = columns_of(saved, arguments, chunks)
        if not all_columns:
            chunks.narrow(columns)
        chunks.first()
    done = n_empty = 0
    # Rows that go to a terminal are progress enough.
    quiet = arguments.quiet or (arguments.output in (None, "-") and sys.stdout.isatty())
    line = ProgressLine()
    for chunk in chunks:
        values, X = rows_for(saved.model, columns, chunk, done)
        yield columns, chunk, values, X
        done += len(chunk)
        n_empty += len(empty_rows(values))
        if not quiet and line.is_due():
            line.show(f"amclust: {done:,} rows")
    if not quiet:
        line.clear()
    tell_empty(n_empty, done)


def tell_empty(n_empty: int, n_rows: int, *, trained: bool = False) -> None:
    """Warn once of all rows of a table that have no value."""
    if not n_empty:
        return
    one = n_empty == 1
    answer = f"{'it gets' if one else 'they get'} the answer for an unknown row"
    if trained:
        answer = f"{'it does' if one else 'they do'} not count in training; in answers, {answer}"
    console.note(
        f"warning: {n_empty:,} of {count(n_rows, 'row')} {'has' if one else 'have'} no value in "
        f"the columns used: {answer}"
    )


def answers_beside(
    columns: Columns, table: Table, answers: Mapping[str, NDArray[Any]], *, append: bool = False
) -> Table:
    """Return answers beside the names of the rows, or beside the whole table."""
    from amclust.cli.tables import TableError

    named = columns.id is not None and columns.id in table.names
    beside = table if append else table.select([str(columns.id)] if named else []).undelimited
    taken = sorted(set(beside.names) & set(answers))
    if taken:
        msg = (
            f"the table has a column {taken[0]!r} already: choose other names for what is added, "
            "with --prefix amclust_ say"
        )
        raise TableError(msg, column=taken[0])
    return beside.append(answers)


def write_chunks(chunks: Iterable[Table], target: str, arguments: argparse.Namespace) -> None:
    """Write chunks one below the other; the file appears whole or not at all."""
    from amclust.cli.tables import TableWriter

    stream = arguments.stream
    with TableWriter(target, overwrite=arguments.force, in_chunks=stream) as writer:
        for chunk in chunks:
            writer.write(chunk)


# --- models ---------------------------------------------------------------------------------------


def learn(fit: Callable[[Any], Any], X: Any, what: str = "the table") -> Any:
    """Fit; where there are too many clusters, say so in words of the command line."""
    from amclust._validation import DistinctRowsError

    try:
        return fit(X)
    except DistinctRowsError as error:
        rows = count(error.distinct, "distinct row")
        msg = f"-k {error.n_clusters}: {what} has only {rows}. {error.advice}".strip(" .")
        raise ValueError(msg) from error


def load(path: str, threads: int | None = None) -> ModelFile:
    """Read a model file; the message about one that is not there names it.

    The model computes with so many threads, None: with as many as it was fitted with.
    """
    from amclust.io.model import load_model

    try:
        saved = load_model(path)
    except FileNotFoundError:
        msg = f"there is no file {path!r}"
        raise FileNotFoundError(msg) from None
    except IsADirectoryError:
        msg = f"{path!r} is a folder, give the name of a model file"
        raise IsADirectoryError(msg) from None
    if threads is not None:
        saved.model.set_params(n_jobs=threads)
    return saved


def save(model: Any, arguments: argparse.Namespace, columns: Columns, rows: int) -> None:
    """Write a model with the columns it was fitted on."""
    from amclust.io.model import save_model

    source: dict[str, Any] = {"table": name_of(arguments), "rows": rows}
    if getattr(arguments, "stream", False):
        source["streamed"] = True  # the labels are those of the last rows that were learned
    extra = {"columns": columns.to_json(), "source": source}
    model.set_params(verbose=0)  # the progress was that of this fit
    save_model(model, arguments.output, extra=extra, overwrite=arguments.force)


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


# --- files ----------------------------------------------------------------------------------------


def name_of(arguments: argparse.Namespace) -> str:
    """Return what the table is called, wherever it lies; its parts by what they have in common."""
    if getattr(arguments, "dask", None):
        return str(arguments.table)
    return "standard input" if arguments.table == "-" else os.path.basename(arguments.table)


def is_pipe(path: str) -> bool:
    """Whether a table can be read only once: standard input, a pipe or <(command)."""
    return path == "-" or (os.path.exists(path) and not os.path.isfile(path))


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
    read_from: dict[str, Any] = {"model": getattr(arguments, "model", None)}
    if not in_place:
        read_from["table"] = getattr(arguments, "table", None)
    for name in names:
        path = getattr(arguments, name)
        if path is None or path == "-":
            continue
        option = f"--{name.replace('_', '-')}"
        folder = os.path.dirname(path) or "."
        if path in ("/dev/stdout", "/dev/fd/1"):
            msg = f"{option} {path}: give {option} - for standard output"
            raise ValueError(msg)
        if not os.path.isdir(folder):
            msg = f"{option} {path}: there is no folder {folder}"
            raise FileNotFoundError(msg)
        if os.path.isdir(path):
            msg = f"{option} {path}: it is a folder, give the name of a file"
            raise IsADirectoryError(msg)
        for what, source in read_from.items():
            is_file = source is not None and os.path.isfile(source)
            if is_file and os.path.exists(path) and os.path.samefile(source, path):
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
