"""``--dask``: a command whose rows are read, and whose labels are written, by workers."""

from __future__ import annotations

import argparse
import contextlib
import copy
import gc
import glob
import logging
import multiprocessing
import re
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from amclust._warnings import EmptyRowsWarning
from amclust.cli.commands import console, files, options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amclust._estimator import ClAM
    from amclust.cli.tables import Columns
    from amclust.cli.tables.parts import Parts, PartsFolder
    from amclust.dask._engine import Engine

LOCAL = "local"
"""The value of --dask without an address."""

# Seconds that workers have to end by themselves, and a scheduler to answer.
ENDING, CONNECTING = 3, 10
# What is asked of a network about every row.
QUESTIONS = ("proba", "distances", "energy", "entropy", "append", "prefix")


def address(text: str) -> str:
    """Return the address of a scheduler."""
    if text != LOCAL and not re.fullmatch(r"(?:[a-z]+://)?[\w.\-\[\]:]+:[0-9]+/?", text):
        msg = f"must be the address of a scheduler as tcp://host:8786, got {text!r}"
        if not text.startswith(("tcp:", "tls:")):
            msg += "; without one, --dask stands after the table"
        raise argparse.ArgumentTypeError(msg)
    return text


def add_option(parser: options.Parser, folder: str) -> None:
    """Add --dask; `folder` is the option that names one."""
    words = (
        "let workers of Dask read the table, a path or URL of Parquet or CSV files as "
        f"'folder/*.parquet', and write {folder}, a folder of Parquet files; on this machine, or "
        "on a cluster by the ADDRESS of its scheduler (tcp://host:8786)"
    )
    given: dict[str, Any] = {"nargs": "?", "const": LOCAL, "type": address, "help": words}
    parser.add_argument("--dask", metavar="ADDRESS", **given)


def check(parser: options.Parser, arguments: argparse.Namespace, folder: str) -> None:
    """Refuse options that do not go with --dask; `folder` is the one that names a folder."""
    if arguments.stream:
        parser.error("--stream and --dask are two ways to read in parts: choose one")
    if arguments.table == "-":
        parser.error("--dask: workers cannot read standard input, name files")
    for name in ("size_min", "size_max"):
        if getattr(arguments, name, None) is not None:
            parser.error(
                f"argument --{name.replace('_', '-')}: needs all rows, of which --dask reads parts"
            )
    if arguments.drop_empty:
        parser.error(
            "argument --drop-empty: needs all rows, of which --dask reads parts; name the columns "
            "with --drop"
        )
    if arguments.sheet is not None or arguments.format in ("arrow", "npy", "xlsx"):
        parser.error("--dask: workers read Parquet, CSV and TSV files")
    path = getattr(arguments, folder)
    option = f"--{folder}"
    if path == "-":
        parser.error(f"argument {option}: workers write a folder, not standard output")
    suffix = None if path is None else re.search(r"\.(csv|tsv|txt|arrow|npy)(\.gz)?$", path)
    if suffix:
        parser.error(
            f"argument {option}: workers write a folder of Parquet files, not {suffix[0]}; name "
            "it without a suffix, or with .parquet"
        )
    import amclust.cli.tables
    import amclust.dask  # noqa: F401 - their messages tell what to install


# --- cluster --------------------------------------------------------------------------------------


@contextlib.contextmanager
def cluster(arguments: argparse.Namespace) -> Iterator[Engine]:
    """Connect to the cluster, or start one with processes on this machine and close it."""
    import distributed

    from amclust.dask._engine import Engine

    with contextlib.ExitStack() as stack:
        stack.enter_context(_silent_logs())
        where, start_workers = arguments.dask, None
        if where == LOCAL:
            where, start_workers = stack.enter_context(_local_cluster(arguments.threads))
        connecting = distributed.Client(where, timeout=CONNECTING, set_as_default=False)
        client = stack.enter_context(connecting)
        if start_workers is not None:
            start_workers()
        elif not client.scheduler_info()["workers"]:
            console.note(f"warning: {arguments.dask} has no workers yet; waiting for one")
        yield Engine(client, verbose=0 if arguments.quiet else 1)


@contextlib.contextmanager
def _local_cluster(threads: int | None) -> Iterator[tuple[str, Callable[[], None]]]:
    """Start a scheduler; yield its address, and what starts workers.

    Neither waits for workers, which take seconds: that could not be interrupted cleanly.
    """
    import distributed
    from distributed.deploy.utils import nprocesses_nthreads
    from distributed.utils import LoopRunner

    given = () if threads is None else (threads,)
    n_workers, n_threads = nprocesses_nthreads(*given)
    runner = LoopRunner()
    with tempfile.TemporaryDirectory(prefix="amclust-", ignore_cleanup_errors=True) as scratch:
        with _deaf_to_interrupts():
            runner.start()
        started = distributed.LocalCluster(
            n_workers=0,
            threads_per_worker=n_threads,
            processes=True,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,
            local_directory=scratch,
            loop=runner.loop,
        )
        done = False
        try:
            yield started.scheduler_address, partial(started.scale, n_workers)
            done = True
        finally:
            _close(started, at_once=not done)
            runner.stop()
            gc.collect()  # what tasks were made of goes before the core does


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from threads begun inside, and from their processes: it is for the client."""
    from multiprocessing import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # later it would make a thread hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _close(started: Any, *, at_once: bool) -> None:
    """Close a cluster; `at_once` where nobody needs any more what its workers do."""
    if at_once:
        for nanny in started.workers.values():
            nanny.auto_restart = False
        _kill_workers()
    try:
        started.close(timeout=ENDING)
    except Exception:  # noqa: BLE001 - workers that have hardly begun give any
        started.shutdown_on_close = False  # not once more at the end of Python
    _kill_workers()


def _kill_workers() -> None:
    for process in multiprocessing.active_children():
        if process.name.startswith("Dask Worker"):
            process.kill()


@contextlib.contextmanager
def _silent_logs() -> Iterator[None]:
    """Let nobody but the command line say what went wrong."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


# --- tables ---------------------------------------------------------------------------------------


def open_parts(arguments: argparse.Namespace, engine: Engine) -> Parts:
    """Find the parts of the table."""
    from amclust.cli.tables.parts import open_parts

    return open_parts(arguments.table, files.reading(arguments), engine)


def folder_of(arguments: argparse.Namespace, name: str) -> contextlib.AbstractContextManager[Any]:
    """Return the folder that an option names, to be entered before the cluster; or nothing."""
    path = getattr(arguments, name)
    if path is None:
        return contextlib.nullcontext()
    from amclust.cli.tables.parts import PartsFolder

    try:
        folder = PartsFolder(path, overwrite=arguments.force)
    except OSError as error:
        if error.strerror:
            raise
        msg = f"--{name} {error}"
        raise type(error)(msg) from None
    read = [getattr(arguments, "model", None), *glob.glob(arguments.table), arguments.table]
    if any(source is not None and folder.holds(source) for source in read):
        msg = f"--{name} {path}: the folder holds what is read, name another one"
        raise ValueError(msg)
    return folder


class Seen(NamedTuple):
    """What a model has learned from."""

    parts: Parts
    columns: Columns
    rows: int
    missing: int  # values


def learn(arguments: argparse.Namespace, model: ClAM, engine: Engine) -> Seen:
    """Fit the model to all parts: the same bits as a fit in one memory."""
    from amclust.dask import ClAM as DaskClAM

    parts = open_parts(arguments, engine)
    columns = parts.choose(files.choice_of(arguments, parts.names))
    fit = DaskClAM(client=engine.client, **model.get_params(deep=False))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X is not persisted")
        warnings.simplefilter("always", EmptyRowsWarning)  # of the rows of all parts, and once
        files.learn(fit.fit, parts.matrices(columns))
    missing = int(sum(fit.n_missing_))
    model.__dict__.update(vars(fit.to_local()))
    return Seen(parts, columns, fit.n_samples_, missing)


class Labelled(NamedTuple):
    """What is known of rows whose labels were asked for."""

    rows: int
    sizes: NDArray[np.int64]
    n_empty: int  # rows without any value


def label(
    arguments: argparse.Namespace,
    model: ClAM,
    parts: Parts,
    columns: Columns,
    engine: Engine,
    folder: PartsFolder | None,
) -> Labelled:
    """Let workers label all rows, and write the labels with what else is asked for."""
    import numpy as np

    given = {name: getattr(arguments, name, False) for name in QUESTIONS}
    asked = argparse.Namespace(**given | {"prefix": given["prefix"] or ""})
    columns.check_names(parts.names)
    plain = engine.task("clam-label", "model", _quiet_copy, model)  # sent once, not to every part
    where = None if folder is None else folder.hidden
    tasks = [
        engine.task(
            "clam-label", at, label_part, part, columns, plain, asked, where, at, parts.place(at)
        )
        for at, part in enumerate(parts.tables(None if asked.append else parts.needed(columns)))
    ]
    found: list[Labelled] = engine.run(tasks, "labels")
    if folder is not None:
        folder.check_written([at for at, part in enumerate(found) if part.rows])
    sizes = np.sum([part.sizes for part in found], axis=0)
    n_empty = sum(part.n_empty for part in found)
    return Labelled(sum(part.rows for part in found), sizes, n_empty)


# --- in a worker ----------------------------------------------------------------------------------


def _quiet_copy(model: ClAM) -> ClAM:
    return copy.copy(model).set_params(n_jobs=1, verbose=0)


def label_part(
    part: Any,
    columns: Columns,
    model: ClAM,
    asked: argparse.Namespace,
    folder: str | None,
    number: int,
    place: str,
) -> Labelled:
    """Label the rows of a part, and write what is asked about them into a folder."""
    from amclust._rows import empty_rows
    from amclust.cli.commands.predict import ask
    from amclust.cli.tables import Table
    from amclust.cli.tables.parts import placed, write_part

    with placed(place):
        table = Table.of(part)
        if not len(table):
            return Labelled(0, console.cluster_sizes([], model.n_clusters_), 0)
        values, X = files.rows_for(model, columns, table)
        warnings.simplefilter("ignore", EmptyRowsWarning)  # the client tells of all parts
        answers = ask(model, X, asked)
        beside = files.answers_beside(columns, table, answers, append=asked.append)
    if folder is not None:
        write_part(beside, folder, number)
    labels = answers[f"{asked.prefix}label"]
    sizes = console.cluster_sizes(labels, model.n_clusters_)
    return Labelled(len(labels), sizes, len(empty_rows(values)))
