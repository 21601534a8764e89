"""``python -m paper``: run what is missing, write the page."""

import argparse
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from benchmarks.folders import REPOSITORY
from benchmarks.framework.command import RefusedError, add_run_options, guarded, make_parser
from benchmarks.framework.pages import Grid, describe_error, say
from benchmarks.framework.running import complete
from paper import sets
from paper.experiments import EXPERIMENTS, case_of, is_alone, perform
from paper.page import write_page
from paper.records import Case, Records, Run
from paper.settings import FULL, QUICK, Settings

PAGE = REPOSITORY / "docs" / "paper.md"
CHOICES: dict[str, Sequence[str]] = {
    "experiments": tuple(EXPERIMENTS),
    "sets": (*sets.TABLE_SETS, *sets.STAND_INS.values()),
    "methods": tuple(dict.fromkeys(m for one in EXPERIMENTS.values() for m in one.methods)),
    "protocols": tuple(dict.fromkeys(p for one in EXPERIMENTS.values() for p in one.protocols)),
}
_HOUR = 3600.0
_LONGEST = 12
# Of a run that has no committed record to tell.
_USUAL_SECONDS = 60.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Complete the chosen runs and write the page; give the exit code: see `guarded`."""
    options = _parser().parse_args(arguments)
    work = _write_page_only if options.page_only else _complete
    return guarded(partial(work, options, _settings(options, QUICK if options.quick else FULL)))


def _complete(options: argparse.Namespace, settings: Settings) -> int:
    page, records = _page(options, settings), Records(settings.folder)
    _check_budget(settings, records.budgets())
    runs = [
        run
        for name in options.experiments or EXPERIMENTS
        for run in EXPERIMENTS[name].module.runs(settings)
        if not options.methods or run.method in options.methods
        if not options.protocols or run.protocol in options.protocols
    ]
    if not runs:
        raise RefusedError("no run has this experiment, set, method and protocol: see --plan")
    # What a run took for the committed record, on one core and with the full budget.
    took = {record.key: record.seconds for record in Records(FULL.folder).all()}
    seconds = {run: took.get(run, _USUAL_SECONDS) for run in runs}
    # What is cheap comes first, so that a run that is stopped has told the most.
    cases = [case_of(run, settings) for run in sorted(runs, key=seconds.__getitem__)]
    todo = cases if options.fresh else records.missing(cases)
    say(_plan(seconds, cases, todo, options.jobs))
    if options.plan:
        for case in sorted(todo, key=lambda case: -seconds[case.key])[:_LONGEST]:
            say(f"  {case}  {seconds[case.key] / 60:.0f} min")
    names = (case.key.set for case in todo)
    download = options.download and not options.plan
    problems = sets.problems(names, settings.data_dir, download=download)
    for problem in problems:
        say(f"UNAVAILABLE: {problem}")
    if options.plan or problems:
        return 0 if options.plan else 1
    if todo:
        _check_writable(records)
    work = partial(perform, settings=settings)
    failures = complete(
        cases, work, records, jobs=options.jobs, alone=is_alone, fresh=options.fresh
    )
    write_page(page, settings)
    say(f"records in {settings.folder}, page in {page}")
    return 1 if failures else 0


def _write_page_only(options: argparse.Namespace, settings: Settings) -> int:
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


def _plan(
    seconds: Mapping[Run, float], cases: Sequence[Case], todo: Sequence[Case], jobs: int
) -> str:
    """Give the plan as text: a line for each experiment, protocol and method."""

    def hours(some: Iterable[Case]) -> float:
        return sum(seconds[case.key] for case in some) / _HOUR

    groups: dict[str, list[Case]] = {}
    for case in cases:
        group = f"{case.key.experiment} {case.key.protocol} {case.key.method}"
        groups.setdefault(group, []).append(case)
    left = {case.key for case in todo}
    rows = []
    for group, members in groups.items():
        missing = [case for case in members if case.key in left]
        rows.append([group, f"{len(members)}", f"{len(missing)}", f"{hours(missing):.2f}"])
    columns = ["experiment, protocol, method", "runs", "to do", "hours"]
    alone = hours(filter(is_alone, todo))
    shared = hours(todo) - alone
    return (
        f"{Grid('Plan', columns, rows).as_text()}\n"
        f"{len(todo)} of {len(cases)} runs to do; with the full budget they took "
        f"{shared:.1f} core-hours and {alone:.1f} hours of timings: about "
        f"{shared / jobs + alone:.1f} hours in {jobs} jobs"
    )


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
    if len(found) > 1:
        way = "remove those of one budget"
    else:
        way = "it needs a folder of its own" if settings.quick else "add --quick or name another"
    raise RefusedError(
        f"--folder {settings.folder} has {' and '.join(sorted(found))} records, this is a "
        f"{settings.budget} run: {way}"
    )


def _check_writable(records: Records) -> None:
    try:
        records.store("partitions").check_writable()
    except OSError as error:
        message = f"--folder {records.path} cannot be written: {describe_error(error)}"
        raise RefusedError(message) from error


# --- options --------------------------------------------------------------------------------------


def _settings(options: argparse.Namespace, budget: Settings) -> Settings:
    # A stand-in is run where the set of the paper would be.
    names = dict.fromkeys(sets.paper_set(name) for name in options.sets or ())
    folder = options.folder or budget.folder
    return replace(budget, data_dir=options.data_dir, folder=folder, sets=tuple(names) or None)


class _Help(argparse.HelpFormatter):
    """Breaks no line within a name: they have hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "paper",
        "Reproduce the paper's tables and figures. Only runs without a record are made; an "
        "interrupted one goes on where it stopped. Sets that are not in the folder of the data "
        "are looked for in the cache of amclust.datasets.",
    )
    parser.formatter_class = _Help
    add_run_options(parser, choices=CHOICES, quick=True)
    parser.add_argument("--plan", action="store_true", help="say what would be run, and how long")
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
        "--download",
        action="store_true",
        help="download sets that are not at hand into that cache; GCM and the large timed sets "
        "keep what stands in for them",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
