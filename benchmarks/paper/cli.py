"""The command line: run what is missing, write the page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.availability import UnavailableError
from benchmarks.folders import DATA, REPOSITORY
from benchmarks.paper import plan
from benchmarks.paper.execute import Failure, execute, missing
from benchmarks.paper.experiments import EXPERIMENTS
from benchmarks.paper.page import write_page
from benchmarks.paper.runs import Run
from benchmarks.paper.sets import TABLE_SETS
from benchmarks.paper.settings import FULL, QUICK, Settings
from benchmarks.printing import say

_INTERRUPTED = 130
PAGE = REPOSITORY / "docs" / "paper.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Complete the chosen runs and write the page.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; the process's own where not given.

    Returns
    -------
    int
        0: all is done. 1: data are missing, or a run failed. 130: interrupted; all that was done
        is kept.
    """
    options = _parser().parse_args(arguments)
    settings = _settings(options)
    # The page of the documentation is that of the records that are committed.
    page = options.page or (
        PAGE if settings.folder == FULL.folder else settings.folder / "paper.md"
    )
    if options.page_only:
        write_page(page, settings)
        say(f"page in {page}")
        return 0
    try:
        seconds = plan.expected_seconds(_chosen(options, settings), settings)
        runs = plan.in_order(seconds)
        todo = runs if options.fresh else missing(runs, settings)
        say(plan.describe(seconds, todo, options.jobs))
        if options.plan:
            say(plan.longest(seconds, todo))
            return 0
        failed = _run(todo, settings, options.jobs)
    except UnavailableError as error:
        say(f"UNAVAILABLE: {error}")
        return 1
    except KeyboardInterrupt:
        say(f"interrupted; records are in {settings.folder}")
        return _INTERRUPTED
    write_page(page, settings)
    say(f"records in {settings.folder}, page in {page}")
    return int(failed > 0)


def _run(todo: Sequence[Run], settings: Settings, jobs: int) -> int:
    """Make the runs, tell of each, and count those that failed."""
    failed = 0
    for done, outcome in enumerate(execute(todo, settings, jobs), start=1):
        if isinstance(outcome, Failure):
            failed += 1
            end = f"FAILED: {outcome.reason}"
        else:
            end = f"{outcome.seconds:.1f} s"
        say(f"{done:>5}/{len(todo)}  {outcome.run}  {end}")
    return failed


def _settings(options: argparse.Namespace) -> Settings:
    settings = QUICK if options.quick else FULL
    return replace(
        settings,
        data_dir=options.data_dir,
        folder=options.folder or settings.folder,
        sets=tuple(options.sets) if options.sets else None,
    )


def _chosen(options: argparse.Namespace, settings: Settings) -> list[Run]:
    return [
        run
        for name in options.experiments or EXPERIMENTS
        for run in EXPERIMENTS[name].runs(settings)
        if not options.methods or run.method in options.methods
        if not options.protocols or run.protocol in options.protocols
    ]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="Reproduce the paper's tables and figures. Only runs without a record are "
        "made; an interrupted one goes on where it stopped.",
    )
    parser.add_argument("--quick", action="store_true", help="small budgets: does it all work?")
    parser.add_argument("--plan", action="store_true", help="say what would be run, and how long")
    parser.add_argument("--experiments", nargs="+", choices=tuple(EXPERIMENTS), metavar="NAME")
    parser.add_argument("--sets", nargs="+", choices=TABLE_SETS, metavar="SET")
    parser.add_argument("--methods", nargs="+", metavar="METHOD")
    parser.add_argument("--protocols", nargs="+", metavar="PROTOCOL")
    parser.add_argument(
        "--jobs", type=int, default=1, help="runs at a time, each in one thread (default: 1)"
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
        help="of the records; an empty one runs all anew (default: those that are committed)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DATA,
        help="folder of the sets (default: $AMCLUST_DATA, else %(default)s)",
    )
    return parser
