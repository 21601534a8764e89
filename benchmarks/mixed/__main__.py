"""``python -m benchmarks.mixed``: run what is missing, print, write the page."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.framework.cases import Record
from benchmarks.framework.command import Benchmark
from benchmarks.framework.lines import COLUMNS, Line, Target, print_entries
from benchmarks.framework.pages import Grid, amount, number, replace_between, say
from benchmarks.framework.store import Store
from benchmarks.mixed.cases import COST, MIXED, NUMBERS, ROWS, TABLES, Key, cases, perform
from benchmarks.mixed.methods import METHODS, OURS, PEERS, STEPMIX

TARGET_MARKS = ("<!-- targets: python -m benchmarks.mixed -->", "<!-- their end -->")
METHOD_MARKS = ("<!-- methods: python -m benchmarks.mixed -->", "<!-- their end, too -->")
TABLE_MARKS = ("<!-- tables: python -m benchmarks.mixed -->", "<!-- the end of these -->")

BEST = "who knows the tables"
SEEDS = 30
CLOSE, TENTH, TWICE = 0.01, 0.1, 2.0


def _shape(record: Record[Key]) -> tuple[int, int, int]:
    rows, numbers, categories = record.results["shape"]
    return rows, numbers, categories


# What the means are taken over: tables that a condition holds for.
PARTS: dict[str, Callable[[Record[Key]], bool]] = {
    "all": lambda _: True,
    "2 to 4 clusters": lambda record: record.results["clusters"] <= 4,
    "5 to 8 clusters": lambda record: record.results["clusters"] > 4,
    "more numbers": lambda record: _shape(record)[1] > _shape(record)[2],
    "more categories": lambda record: _shape(record)[1] < _shape(record)[2],
    "much missing": lambda record: sum(record.results["missing"]) > 0.3,
}


def of_method(store: Store[Key], method: str) -> list[Record[Key]]:
    found = [r for r in store.all() if r.key.part == TABLES and r.key.method == method]
    return sorted(found, key=lambda record: record.key.table)


def scores(store: Store[Key], method: str, part: str = "all") -> list[float]:
    records = of_method(store, OURS if method == BEST else method)
    name = "best" if method == BEST else "ari"
    return [record.number(name) for record in records if PARTS[part](record)]


def _mean(found: Sequence[float]) -> float:
    return float(np.mean(found)) if found else float("nan")


def method_table(store: Store[Key]) -> Grid:
    rows = []
    for method in (*METHODS, BEST):
        cells = [number(_mean(scores(store, method, part))) for part in PARTS]
        records = of_method(store, method)
        seconds = amount(_mean([record.seconds for record in records])) if records else "-"
        rows.append([method, *cells, seconds])
    return Grid("mean ARI, and seconds a table", ["", *PARTS, "seconds"], rows)


def strongest(store: Store[Key], peer: str) -> str:
    """Return by which way of filling a peer is the best, on these tables."""
    return max(PEERS[peer], key=lambda way: np.nan_to_num(_mean(scores(store, way)), nan=-1.0))


def table_table(store: Store[Key]) -> Grid:
    methods = [OURS, *(strongest(store, peer) for peer in PEERS)]
    found = {
        method: {record.key.table: record.number("ari") for record in of_method(store, method)}
        for method in methods
    }
    rows = []
    for record in of_method(store, OURS):
        n_rows, numbers, categories = _shape(record)
        missing = " and ".join(f"{part:.0%}" for part in record.results["missing"])
        cells = [number(found[method].get(record.key.table, float("nan"))) for method in methods]
        rows.append(
            [
                str(record.key.table),
                str(record.results["clusters"]),
                f"{n_rows} x {numbers} + {categories}",
                missing,
                *cells,
                number(record.number("best")),
            ]
        )
    columns = ["table", "clusters", "rows x numbers + categories", "missing", *methods, BEST]
    return Grid("ARI by table", columns, rows)


def lines(store: Store[Key]) -> list[Line]:
    """Compare with what was aimed at."""
    ours, found = scores(store, OURS), []
    seconds = [record.seconds for record in of_method(store, OURS)]
    for peer in PEERS:
        way = strongest(store, peer)
        theirs = scores(store, way)
        if not ours or len(ours) != len(theirs):
            continue
        # Of StepMix, as near is enough where that takes a tenth of its time.
        times = [record.seconds for record in of_method(store, way)]
        close = peer == STEPMIX and sum(seconds) <= TENTH * sum(times)
        target = Target("difference", ">", -CLOSE if close else 0.0)
        found.append(Line.of_means("mean ARI", ours, theirs, peer_name=way, target=target))
    for record in store.all():
        if record.key.part == COST and record.key.table == ROWS:
            mixed, numbers = (record.results["seconds"][name] for name in (MIXED, NUMBERS))
            what = f"{ROWS:,} x 20, half of it categories"
            target = Target("ratio", "<=", TWICE)
            found.append(
                Line.of_pairs(what, "s", mixed, numbers, peer_name="all numbers", target=target)
            )
    if ours:
        times = [record.seconds for record in of_method(store, STEPMIX)]
        target = Target("ratio")
        if len(times) == len(seconds):
            found.append(
                Line(
                    "median seconds a table",
                    median(seconds),
                    median(times),
                    STEPMIX,
                    median(seconds) / median(times),
                    target,
                    "s",
                )
            )
    return found


def target_table(store: Store[Key]) -> Grid:
    return Grid("targets", COLUMNS, [line.cells for line in lines(store)], numbers=False)


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    for grid in (table_table(store), method_table(store)):
        say(grid.as_text())
    print_entries("targets", lines(store), notes=False)


def write_page(path: Path, store: Store[Key]) -> None:
    replace_between(path, TARGET_MARKS, target_table(store).as_markdown())
    replace_between(path, METHOD_MARKS, method_table(store).as_markdown())
    replace_between(path, TABLE_MARKS, table_table(store).as_markdown())


main = Benchmark(
    "mixed",
    "mixed.md",
    "Compare ClAM with other methods on tables of numbers and categories.",
    Key,
    cases,
    perform,
    report,
    write_page,
    choices={"methods": tuple(METHODS)},
    seeds=SEEDS,
    alone=lambda case: case.key.part == COST,
    tell=("ari",),
).main

if __name__ == "__main__":
    raise SystemExit(main())
