"""The command line: run what is missing, write the page."""

from __future__ import annotations

import argparse
import signal
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from benchmarks.availability import UnavailableError
from benchmarks.folders import DATA, REPOSITORY
from benchmarks.printing import say
from paper import plan, sets
from paper.execute import Failure, execute, missing
from paper.experiments import EXPERIMENTS
from paper.page import write_page
from paper.runs import Records, Run, describe
from paper.settings import FULL, QUICK, Settings

_FAILED, _REFUSED, _INTERRUPTED, _TERMINATED = 1, 2, 130, 143
PAGE = REPOSITORY / "docs" / "paper.md"
SETS = (*sets.TABLE_SETS, *sets.STAND_INS.values())
METHODS, PROTOCOLS = (
    tuple(dict.fromkeys(name for one in EXPERIMENTS.values() for name in getattr(one, part)))
    for part in ("methods", "protocols")
)


class RefusedError(ValueError):
    """What is asked for cannot be, or would spoil what is there."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Complete the chosen runs and write the page.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; the process's own where not given.

    Returns
    -------
    int
        0: all is done. 1: data are missing, a run failed, or a file could not be written. 2:
        refused, nothing was done. 130, 143: interrupted, terminated; all that was done is kept.
    """
    options = _parser().parse_args(arguments)
    settings = _settings(options, QUICK if options.quick else FULL)
    try:
        with _terminable():
            if options.page_only:
                return _page_only(options, settings)
            return _complete(options, settings)
    except RefusedError as error:
        say(f"ERROR: {error}")
        return _REFUSED
    except UnavailableError as error:
        say(f"UNAVAILABLE: {error}")
        return _FAILED
    except OSError as error:
        say(f"ERROR: {describe(error)}")
        return _FAILED
    except KeyboardInterrupt as error:
        again = "starts anew" if options.fresh else "goes on"
        say(f"interrupted; records are in {settings.folder}; the same command {again}")
        return _TERMINATED if isinstance(error, TerminatedError) else _INTERRUPTED


def _complete(options: argparse.Namespace, settings: Settings) -> int:
    """Run what is missing, and write the page."""
    page = _page(options, settings)
    _check_budget(settings, Records(settings.folder).budgets())
    seconds = plan.expected_seconds(_chosen(options, settings), settings)
    if not seconds:
        raise RefusedError("no run has this experiment, set, method and protocol: see --plan")
    runs = plan.in_order(seconds)
    todo = runs if options.fresh else missing(runs, settings)
    say(plan.describe(seconds, todo, options.jobs))
    if options.plan:
        say(plan.longest(seconds, todo))
    names = (run.set for run in todo)
    download = options.download and not options.plan
    problems = sets.problems(names, settings.data_dir, download=download)
    for problem in problems:
        say(f"UNAVAILABLE: {problem}")
    if options.plan:
        return 0
    if problems:
        return _FAILED
    if todo:
        _check_writable(settings.folder)
    failed = _run(todo, settings, options.jobs)
    write_page(page, settings)
    say(f"records in {settings.folder}, page in {page}")
    return _FAILED if failed else 0


def _page_only(options: argparse.Namespace, settings: Settings) -> int:
    """Write the page of a folder, whatever the budget of its records."""
    page = _page(options, settings)
    budgets = Records(settings.folder).budgets()
    if not budgets:
        raise RefusedError(f"--folder {settings.folder} has no records to write a page from")
    if budgets == {QUICK.budget}:
        settings = replace(_settings(options, QUICK), folder=settings.folder)
    _check_budget(settings, budgets)
    write_page(page, settings)
    say(f"page in {page}")
    return 0


def _run(todo: Sequence[Run], settings: Settings, jobs: int) -> int:
    """Make the runs, tell of each, and count those that failed."""
    failed = 0
    # Closed at an interrupt, wherever it comes: that ends the workers.
    with closing(execute(todo, settings, jobs)) as outcomes:
        for done, outcome in enumerate(outcomes, start=1):
            if isinstance(outcome, Failure):
                failed += 1
                end = f"FAILED: {outcome.reason}"
            else:
                end = f"{outcome.seconds:.1f} s"
            say(f"{done:>5}/{len(todo)}  {outcome.run}  {end}")
    return failed


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end everything as Ctrl-C does, workers too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> NoReturn:
    raise TerminatedError


# --- what is refused before anything is run -------------------------------------------------------


def _page(options: argparse.Namespace, settings: Settings) -> Path:
    """Say where the page goes: that of the documentation is of the records that are committed."""
    committed = settings.folder == FULL.folder
    page: Path = options.page or (PAGE if committed else settings.folder / "paper.md")
    if settings.folder.exists() and not settings.folder.is_dir():
        raise RefusedError(f"--folder must be a folder, {settings.folder} is a file")
    if page.is_dir():
        raise RefusedError(f"--page must be a file, {page} is a folder")
    return page


def _check_budget(settings: Settings, found: set[str]) -> None:
    """Refuse to mix records of the two budgets: the page would average them."""
    if found <= {settings.budget}:
        return
    there = " and ".join(sorted(found))
    if len(found) > 1:
        way = "remove those of one budget"
    else:
        way = "it needs a folder of its own" if settings.quick else "add --quick or name another"
    raise RefusedError(
        f"--folder {settings.folder} has {there} records, this is a {settings.budget} run: {way}"
    )


def _check_writable(folder: Path) -> None:
    try:
        Records(folder).check_writable()
    except OSError as error:
        raise RefusedError(f"--folder {folder} cannot be written: {describe(error)}") from error


# --- options --------------------------------------------------------------------------------------


def _settings(options: argparse.Namespace, budget: Settings) -> Settings:
    # A stand-in is run where the set of the paper would be.
    names = dict.fromkeys(sets.paper_set(name) for name in options.sets or ())
    return replace(
        budget,
        data_dir=options.data_dir,
        folder=options.folder or budget.folder,
        sets=tuple(names) or None,
    )


def _chosen(options: argparse.Namespace, settings: Settings) -> list[Run]:
    return [
        run
        for name in options.experiments or EXPERIMENTS
        for run in EXPERIMENTS[name].runs(settings)
        if not options.methods or run.method in options.methods
        if not options.protocols or run.protocol in options.protocols
    ]


class _Help(argparse.HelpFormatter):
    """Breaks no line within a name: they have hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        formatter_class=_Help,
        description="Reproduce the paper's tables and figures. Only runs without a record are "
        "made; an interrupted one goes on where it stopped.",
    )
    parser.add_argument("--quick", action="store_true", help="small budgets: does it all work?")
    parser.add_argument("--plan", action="store_true", help="say what would be run, and how long")
    for name, allowed in (
        ("experiment", tuple(EXPERIMENTS)),
        ("set", SETS),
        ("method", METHODS),
        ("protocol", PROTOCOLS),
    ):
        parser.add_argument(
            f"--{name}s",
            nargs="+",
            choices=allowed,
            metavar=name.upper(),
            help=f"run only these of: {', '.join(allowed)}",
        )
    parser.add_argument(
        "--jobs", type=_count, default=1, help="runs at a time, each in one thread (default: 1)"
    )
    parser.add_argument("--fresh", action="store_true", help="run also what has a record")
    parser.add_argument("--page-only", action="store_true", help="write the page, run nothing")
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="(default: docs/paper.md; paper.md beside the records with --quick or --folder)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="of the records, all full or all quick; an empty one runs all anew (default: those "
        "that are committed)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DATA,
        help="folder of the sets (default: $AMCLUST_DATA, else %(default)s); what it has not is "
        "looked for in the cache of amclust.datasets",
    )
    parser.add_argument(
        "--download",
        action="store_true",
        help="download sets that are not at hand into that cache; GCM and the large timed sets "
        "keep what stands in for them",
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, {text!r} is not")
    return int(text)
