"""``python -m benchmarks.quality``: run the cases that are missing, print, write the page."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.folders import REPOSITORY, RESULTS
from benchmarks.framework import (
    Case,
    Failure,
    Record,
    Store,
    UnavailableError,
    add_page_options,
    add_run_options,
    complete,
    describe_environment,
    execute,
    guarded,
    make_parser,
    page_of,
    print_entries,
    say,
)
from benchmarks.quality.cases import COST, Key, make_case, perform
from benchmarks.quality.methods import METHODS
from benchmarks.quality.page import all_cost_lines, write_page
from benchmarks.quality.sets import FRESH, GROUPS, SETS, expand_groups, load_set
from benchmarks.quality.summary import Summary, target_lines

SECTIONS = ("cells", COST)


def main(arguments: Sequence[str] | None = None) -> int:
    """Complete the chosen cases, print the tables and the targets; see `guarded` for the code."""
    options = _parser().parse_args(arguments)
    options.sets = expand_groups(options.sets or ["all"])
    options.methods = [name for name in METHODS if name in (options.methods or METHODS)]
    return guarded(partial(_work, options))


def _work(options: argparse.Namespace) -> int:
    store, page = Store(options.output, Key), page_of(options)
    failed = False
    if not options.page_only:
        options.sets = [name for name in options.sets if _is_available(name, options.data_dir)]
        cases = _chosen_cases(options)
        if options.check:
            return _check(cases, store, options)
        failed = bool(
            complete(
                cases,
                partial(perform, data_dir=options.data_dir),
                store,
                jobs=options.jobs,
                alone=lambda case: case.key.method == COST,
                fresh=options.fresh,
                tell=_tell,
            )
        )
        _report(store, {case.key for case in cases}, options)
        say(f"records in {options.output}")
    if page is not None:
        write_page(page, store)
        say(f"page in {page}")
    return int(failed)


def _is_available(name: str, data_dir: Path) -> bool:
    """Leave out the fresh sets that are not on this machine; others are missed later, by name."""
    try:
        load_set(name, data_dir)
    except UnavailableError as error:
        if name not in FRESH:
            raise
        say(f"{name:<22} SKIPPED: {error}")
        return False
    return True


def _chosen_cases(options: argparse.Namespace) -> list[Case[Key]]:
    """List the cases; a method without a random state has one, with seed 0."""
    keys = [
        Key(name, method, seed)
        for name in options.sets
        for method in options.methods
        for seed in (options.seeds if METHODS[method].seeded else [0])
        if "cells" in options.sections
    ]
    if COST in options.sections and not options.check:
        keys += [Key(name, COST) for name in options.sets]
    return [make_case(key, options.data_dir) for key in keys]


def _tell(record: Record[Key]) -> str:
    if record.key.method == COST:
        return ""
    found = record.results
    return (
        f"silhouette {record.number('silhouette'):.4f}  ARI {found['ari']:.4f}  "
        f"NMI {found['nmi']:.4f}  clusters {found['living']}/{found['n_clusters']}  "
        f"largest {found['largest']:.2f}"
    )


def _check(cases: Sequence[Case[Key]], store: Store[Key], options: argparse.Namespace) -> int:
    """Run cases once more and compare their labels with the recorded ones; write nothing."""
    recorded = {case.key: one for case in cases if (one := store.find(case.key)) is not None}
    again = [case for case in cases if case.key in recorded]
    work = partial(perform, data_dir=options.data_dir)
    differing = 0
    for outcome in execute(again, work, store.unfinished_path, jobs=options.jobs):
        if isinstance(outcome, Failure):
            say(f"{outcome.case}  FAILED: {outcome.reason}")
            differing += 1
            continue
        say(f"{outcome.case}  {_tell(outcome)}")
        before = recorded[outcome.key]
        if outcome.results["labels"] != before.results["labels"]:
            say(f"    DIFFERS from the record: {_tell(before)}")
            differing += 1
    say(f"{len(again)} of {len(cases)} cases are recorded, {differing} of them differ")
    return int(differing > 0)


def _report(store: Store[Key], keys: set[Key], options: argparse.Namespace) -> None:
    """Print the tables of what was chosen, the targets, and how much comes from other code."""
    records = [record for record in store.all() if record.key in keys]
    summary = Summary(records, options.sets, options.methods)
    for grid in [*summary.grids(), *([summary.comparison()] if summary.pairs else [])]:
        say()
        say(grid.as_text())
    lines = [*target_lines(summary.pairs), *all_cost_lines(store, options.sets)]
    print_entries("targets", lines)
    source = describe_environment()["source"]
    ours = (record for record in records if record.key.method.startswith("clam"))
    other = sum(record.environment["source"] != source for record in ours)
    if other:
        say(f"{other} of ClAM's cases were run with other code in src/: --fresh repeats them")


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "benchmarks.quality",
        "Compare ClAM's partitions with its peers', at the same number of restarts and by the same "
        "rule of choice. Only cases without a record are run.",
    )
    names = (*GROUPS, *SETS, *FRESH)
    add_run_options(parser, choices={"sets": names, "methods": tuple(METHODS)}, seeds=10)
    parser.add_argument(
        "--sections",
        nargs="+",
        choices=SECTIONS,
        default=SECTIONS,
        metavar="SECTION",
        help="cells, cost (default: both)",
    )
    parser.add_argument(
        "--check", action="store_true", help="run recorded cases again and compare; write nothing"
    )
    page = REPOSITORY / "docs" / "quality.md"
    add_page_options(parser, output=RESULTS / "quality.jsonl", page=page)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
