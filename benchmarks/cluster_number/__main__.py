"""``python -m benchmarks.cluster_number``: ask what is missing, print, write the page."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np

from benchmarks.cluster_number.cases import GROUPS, Key, make_cases, perform
from benchmarks.cluster_number.sets import TABLES
from benchmarks.cluster_number.ways import WAYS
from benchmarks.folders import REPOSITORY, RESULTS
from benchmarks.framework import (
    Grid,
    Record,
    Store,
    add_page_options,
    add_run_options,
    complete,
    count,
    guarded,
    make_parser,
    page_of,
    replace_between,
    say,
)

TABLE_MARKS = ("<!-- the table of python -m benchmarks.cluster_number -->", "<!-- its end -->")
STEADINESS_MARKS = ("<!-- other seeds and rows -->", "<!-- their end -->")


def records_of(store: Store[Key], group: str) -> dict[str, dict[str, Record[Key]]]:
    """Give the records of a group, by set and way, in the order of `real_sets` or by name."""
    found: dict[str, dict[str, Record[Key]]] = {}
    for record in store.all():
        if record.key.group == group:
            found.setdefault(record.key.set, {})[record.key.way] = record
    return {name: found[name] for name in sorted(found, key=_place)}


def _place(name: str) -> int:
    """Place tables that come with scikit-learn before those of the paper."""
    order = ("iris", "wine", "breast cancer", "digits", "standardised digits", *TABLES)
    return next((i for i, start in enumerate(order) if name.startswith(start)), 0)


def table(store: Store[Key]) -> Grid:
    """Count right answers on the made sets, and give all on the tables."""
    rows = []
    for group in ("made", "single"):
        found = records_of(store, group).values()
        rows.append([f"{GROUPS[group]}, right", *(_right(found, way) for way in WAYS)])
    for name, answers in records_of(store, "real").items():
        classes = next(iter(answers.values())).results["n_clusters"]
        shown = (str(answers[way].results["found"]) if way in answers else "-" for way in WAYS)
        rows.append([f"{name} ({classes})", *shown])
    return Grid("answers", ["", *WAYS], rows)


def _right(sets: Iterable[dict[str, Record[Key]]], way: str) -> str:
    results = [answers[way].results for answers in sets if way in answers]
    right = sum(one["found"] == one["n_clusters"] for one in results)
    return f"{right} of {len(results)}"


def print_answers(store: Store[Key]) -> None:
    """Print the tables, how close the answers are, and what they take."""
    rows = []
    for group, title in GROUPS.items():
        for way in WAYS:
            records = [found[way] for found in records_of(store, group).values() if way in found]
            errors = np.array([abs(r.results["found"] - r.results["n_clusters"]) for r in records])
            seconds = np.mean([record.seconds for record in records]) if records else np.nan
            shares = (f"{np.mean(errors <= most):.1%}" if records else "-" for most in (0, 1))
            rows.append([f"{title}, {way}", *shares, f"{seconds:.2f}"])
    for grid in (
        Grid("share of answers", ["", "exact", "within one", "seconds"], rows),
        table(store),
    ):
        say(grid.as_text())
        say()
    say(steadiness_lines(store))
    for name, found in records_of(store, "cost").items():
        say(f"{name}: {found['amclust'].seconds:.2f} s")


def steadiness_lines(store: Store[Key]) -> str:
    """List the estimates with other seeds, then with nine tenths of the rows."""
    return "\n".join(
        f"- {name}: {', '.join(map(str, found['amclust'].results['found']))}"
        for name, found in records_of(store, "steadiness").items()
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the ways, and write what is recorded into the page; see `guarded` for the code."""
    parser = make_parser(
        "benchmarks.cluster_number",
        "Compare ClAM's estimate of the number of clusters with other ways to tell.",
    )
    add_run_options(parser, choices={"ways": tuple(WAYS)})
    parser.add_argument("--repeats", type=count, default=6, help="of the targets (default: 6)")
    page = REPOSITORY / "docs" / "number_of_clusters.md"
    add_page_options(parser, output=RESULTS / "cluster_number.jsonl", page=page)
    return guarded(partial(_work, parser.parse_args(arguments)))


def _work(options: argparse.Namespace) -> int:
    store, page = Store(options.output, Key), page_of(options)
    failed = False
    if not options.page_only:
        failed = bool(
            complete(
                make_cases(options.ways or tuple(WAYS), options.repeats, options.data_dir),
                partial(perform, data_dir=options.data_dir),
                store,
                jobs=options.jobs,
                alone=lambda case: case.key.group == "cost",
                fresh=options.fresh,
            )
        )
        print_answers(store)
    if page is not None:
        replace_between(page, TABLE_MARKS, table(store).as_markdown())
        replace_between(page, STEADINESS_MARKS, steadiness_lines(store))
        say(f"page in {page}")
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
