"""``python -m benchmarks.outliers``: run what is missing, print, write the page."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.framework.command import Benchmark
from benchmarks.framework.lines import COLUMNS, Line, Target, print_entries
from benchmarks.framework.pages import Grid, number, replace_between, say
from benchmarks.framework.store import Store
from benchmarks.outliers.cases import (
    BLOBS,
    CHOSEN_ON,
    KEPT_OUT,
    METHODS,
    SCALES,
    WILD,
    Blobs,
    Key,
    cases,
    perform,
)

NOISE_MARKS = ("<!-- noise: python -m benchmarks.outliers -->", "<!-- its end -->")
CELL_MARKS = ("<!-- wild cells: python -m benchmarks.outliers -->", "<!-- their end -->")
TARGET_MARKS = ("<!-- targets: python -m benchmarks.outliers -->", "<!-- end of targets -->")

# What the tables show of all cases: those that a condition holds for.
PARTS: dict[str, Callable[[Blobs], bool]] = {
    "all": lambda _: True,
    "5 % noise": lambda one: one.noise == 0.05,
    "10 % noise": lambda one: one.noise == 0.1,
    "20 % noise": lambda one: one.noise == 0.2,
    "anywhere": lambda one: one.separation == 0,
    "2 spreads apart": lambda one: one.separation == 2,
    "3 spreads apart": lambda one: one.separation == 3,
    "2 columns": lambda one: one.d == 2,
    "8 blobs": lambda one: one.k == 8,
}
TOLERANCE = 0.02


def values(store: Store[Key], way: str, quantity: str, part: str) -> list[float]:
    """Give what a method reached on some of the blobs."""
    return [
        record.number(quantity)
        for record in store.all()
        if record.key.group == "noise"
        and record.key.way == way
        and PARTS[part](BLOBS[record.key.set])
    ]


def _mean(found: Sequence[float]) -> float:
    return float(np.mean(found)) if found else float("nan")


def noise_tables(store: Store[Key]) -> dict[str, Grid]:
    tables = {}
    for quantity, title in (("ari", "ARI on the rows of the blobs"), ("f1", "F1 of the noise")):
        rows = [
            [way, *(number(_mean(values(store, way, quantity, part))) for part in PARTS)]
            for way in METHODS
        ]
        if quantity == "f1":
            best = [number(_mean(values(store, "amclust", "best_f1", part))) for part in PARTS]
            rows.append(["who knows the blobs", *best])
        tables[title] = Grid(title, ["", *PARTS], rows)
    return tables


def cell_means(store: Store[Key]) -> dict[tuple[str, str, str], float]:
    """Give the mean ARI by table, kind of wild cells and scale."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for record in store.all():
        if record.key.group == "cells":
            table, wild = record.key.set.split(": ")
            found.setdefault((table, wild, record.key.way), []).append(record.number("ari"))
    return {key: _mean(scores) for key, scores in found.items()}


def cell_table(store: Store[Key]) -> Grid:
    means, tables = cell_means(store), (*CHOSEN_ON, *KEPT_OUT)
    columns = [(table, scale) for table in (*tables, "mean") for scale in SCALES]
    for wild, scale in product(WILD, SCALES):
        all_tables = [means.get((table, wild, scale), np.nan) for table in tables]
        means["mean", wild, scale] = float(np.mean(all_tables))
    rows = [
        [wild, *(number(means.get((table, wild, scale), np.nan)) for table, scale in columns)]
        for wild in WILD
    ]
    titles = [f"{table.replace('_', ' ')}, {scale}" for table, scale in columns]
    return Grid("ARI", ["", *titles], rows)


def lines(store: Store[Key]) -> list[Line]:
    """Compare with what was aimed at."""
    clam = values(store, "amclust", "ari", "all")
    found = []
    for peer in ("trimmed k-means", "HDBSCAN"):
        theirs = values(store, peer, "ari", "all")
        target = Target("difference", ">", 0.0)
        what = "ARI on the rows of blobs"
        ours, peer_mean = _mean(clam), _mean(theirs)
        found.append(Line(what, ours, peer_mean, peer, ours - peer_mean, target))
    f1 = _mean(values(store, "amclust", "f1", "all"))
    best = _mean(values(store, "amclust", "best_f1", "all"))
    knows = "who knows the blobs"
    found.append(Line("F1 of the noise", f1, best, knows, f1, Target("F1", ">=", 0.8)))
    means, tables = cell_means(store), (*CHOSEN_ON, *KEPT_OUT)
    by_table = {
        table: [means.get((table, wild, "robust"), np.nan) for wild in WILD] for table in tables
    }
    by_table["five tables"] = [
        float(np.mean(some)) for some in zip(*by_table.values(), strict=True)
    ]
    for table, (clean, *scores) in by_table.items():
        target = Target("lost", "<=", TOLERANCE)
        for what, score in (("mean", float(np.mean(scores))), ("worst", min(scores))):
            what = f"{table}, ARI with wild cells, {what}"
            found.append(Line(what, score, clean, "clean", clean - score, target))
    return found


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    for grid in (*noise_tables(store).values(), cell_table(store)):
        say(grid.as_text())
    print_entries("targets", lines(store), notes=False)


def target_table(store: Store[Key]) -> Grid:
    return Grid("targets", COLUMNS, [list(line.cells) for line in lines(store)])


def write_page(path: Path, store: Store[Key]) -> None:
    tables = noise_tables(store)
    body = "\n\n".join(f"**{title}**\n\n{grid.as_markdown()}" for title, grid in tables.items())
    replace_between(path, NOISE_MARKS, body)
    replace_between(path, CELL_MARKS, cell_table(store).as_markdown())
    replace_between(path, TARGET_MARKS, target_table(store).as_markdown())


main = Benchmark(
    "outliers",
    "outliers.md",
    "Compare ClAM with other methods on rows that belong nowhere, and its scales on wild cells.",
    Key,
    cases,
    perform,
    report,
    write_page,
    seeds=4,
).main

if __name__ == "__main__":
    raise SystemExit(main())
