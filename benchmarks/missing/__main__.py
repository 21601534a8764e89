"""``python -m benchmarks.missing``: hide cells, fill and cluster, print, write the page."""

from argparse import Namespace
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.framework.cases import Record
from benchmarks.framework.command import Benchmark
from benchmarks.framework.environment import describe_environment
from benchmarks.framework.lines import COLUMNS, Entry, Skipped, print_entries
from benchmarks.framework.pages import Grid, render, say, versions
from benchmarks.framework.store import Store
from benchmarks.missing import mechanisms
from benchmarks.missing.cases import (
    ALL_RATES,
    COST,
    HALVES,
    PARTS,
    SEEDS,
    SETS,
    Key,
    cases,
    perform,
)
from benchmarks.missing.methods import METHODS, RESTARTS, STEPMIX
from benchmarks.missing.summary import (
    ari_grids,
    aris_of,
    centers_grid,
    coverage_grid,
    errors_of,
    left_out,
    numbers_grid,
    results_in,
    results_of,
    rmse_grids,
    seconds_grid,
    seeds_of,
    target_entries,
)

_PACKAGES = ("amclust", "numpy", "scipy", "scikit-learn", "miceforest", "lightgbm", "stepmix")


def environment(options: Namespace) -> dict[str, Any]:
    """Describe code and machine, with the versions that count here."""
    found = {}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):  # a peer that is not installed
            found[package] = metadata.version(package)
    return describe_environment() | {"versions": found}


def grids(records: Sequence[Record[Key]]) -> dict[str, Grid]:
    """Give the tables of the page by name."""
    ari, ari_by_set = ari_grids(aris_of(records))
    rmse, rmse_by_set = rmse_grids(results_of(records, "rmse"))
    return {
        "ari": ari,
        "rmse": rmse,
        "ari_by_set": ari_by_set,
        "rmse_by_set": rmse_by_set,
        "coverage": coverage_grid(results_of(records, "coverage")),
        "numbers": numbers_grid(records),
        "seconds": seconds_grid(results_of(records, "seconds")),
        "centers": centers_grid(errors_of(records)),
    }


def target_grid(entries: Iterable[Entry]) -> Grid:
    rows = [
        [entry.what, *["-"] * (len(COLUMNS) - 1), f"skipped: {entry.skipped}"]
        if isinstance(entry, Skipped)
        else [*entry.cells, entry.note]
        for entry in entries
    ]
    return Grid("targets", (*COLUMNS, "note"), rows, numbers=False)


def write_page(path: Path, store: Store[Key]) -> None:
    records = store.all()
    tables = grids(records)
    render(
        path,
        Path(__file__).with_name("page.md.jinja"),
        tables={name: grid.as_markdown() for name, grid in tables.items() if grid.rows},
        targets=target_grid(target_entries(records)).as_markdown() if records else "",
        limits=[(one.title, f"{one.max_work:,.0f}") for one in METHODS.values() if one.is_limited],
        left_out=left_out(records),
        seeds=seeds_of(records),
        restarts=RESTARTS,
        halves=HALVES,
        reg_covar=METHODS[STEPMIX].parameters["reg_covar"],
        mechanisms=mechanisms,
        environments=store.environments().values(),
        versions=versions,
    )


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    records = [record for record in store.all() if record.key in keys]
    for name, grid in grids(records).items():
        if grid.rows:
            say(f"\n{grid._replace(title=name).as_text()}")
    print_entries("targets", target_entries(records))
    source = describe_environment()["source"]
    other = sum(record.environment["source"] != source for record in records)
    if other:
        say(f"{other} cases were run with other code in src/: --fresh repeats them")


_PARTS = {"nargs": "+", "choices": PARTS, "default": PARTS, "metavar": "PART"}
_PARTS |= {"help": f"only these of: {', '.join(PARTS)}"}
_RATES = {"nargs": "+", "type": int, "choices": ALL_RATES, "metavar": "RATE"}
_RATES |= {"help": "per cent of the cells (default: 20 50)"}
main = Benchmark(
    "missing",
    "missing.md",
    "Compare ClAM on rows with missing values with imputers and the methods that take such rows. "
    "Only cases without a record are run.",
    Key,
    cases,
    perform,
    report,
    write_page,
    options={"--parts": _PARTS, "--rates": _RATES},
    choices={
        "sets": SETS,
        "mechanisms": tuple(mechanisms.MECHANISMS),
        "methods": tuple(METHODS),
    },
    seeds=SEEDS,
    quick=True,
    alone=lambda case: case.key.part == COST,
    tell=("ari", "ari_kmeans", "ari_clam", "rmse", "coverage", "found", "error"),
    same=lambda ours, before: results_in(ours) == results_in(before),
    environment=environment,
).main

if __name__ == "__main__":
    raise SystemExit(main())
