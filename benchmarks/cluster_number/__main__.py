"""``python -m benchmarks.cluster_number``: ask what is missing, print, write the page."""

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.cluster_number.cases import GROUPS, TABLES, WAYS, Key, cases, perform
from benchmarks.framework.cases import Record
from benchmarks.framework.command import Benchmark, count
from benchmarks.framework.pages import Grid, replace_between, say
from benchmarks.framework.store import Store

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


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    rows = []
    for group, title in GROUPS.items():
        for way in WAYS:
            records = [found[way] for found in records_of(store, group).values() if way in found]
            errors = [abs(r.results["found"] - r.results["n_clusters"]) for r in records]
            if records:
                shares = [f"{np.mean(np.array(errors) <= most):.1%}" for most in (0, 1)]
                seconds = f"{np.mean([record.seconds for record in records]):.2f}"
                rows.append([f"{title}, {way}", *shares, seconds])
    say(Grid("share of answers", ["", "exact", "within one", "seconds"], rows).as_text())
    say(table(store).as_text())
    say(steadiness_lines(store))
    for name, found in records_of(store, "cost").items():
        say(f"{name}: {found['amclust'].seconds:.2f} s")


def steadiness_lines(store: Store[Key]) -> str:
    """List the estimates with other seeds, then with nine tenths of the rows."""
    return "\n".join(
        f"- {name}: {', '.join(map(str, found['amclust'].results['found']))}"
        for name, found in records_of(store, "steadiness").items()
    )


def write_page(path: Path, store: Store[Key]) -> None:
    replace_between(path, TABLE_MARKS, table(store).as_markdown())
    replace_between(path, STEADINESS_MARKS, steadiness_lines(store))


main = Benchmark(
    "cluster_number",
    "number_of_clusters.md",
    "Compare ClAM's estimate of the number of clusters with other ways to tell.",
    Key,
    cases,
    perform,
    report,
    write_page,
    {"--repeats": {"type": count, "default": 6, "help": "of the targets (default: 6)"}},
    choices={"ways": tuple(WAYS)},
    alone=lambda case: case.key.group == "cost",
).main

if __name__ == "__main__":
    raise SystemExit(main())
