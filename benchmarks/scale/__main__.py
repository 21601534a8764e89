"""``python -m benchmarks.scale``: run the chosen sections, print, write the page.

A section that is asked for is always run, since what it measures is time; of the others the
records are kept.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.framework.cases import Case
from benchmarks.framework.command import Benchmark
from benchmarks.framework.environment import describe_environment
from benchmarks.framework.lines import Entry, Line
from benchmarks.framework.pages import amount, render
from benchmarks.framework.running import Unfinished
from benchmarks.framework.sections import (
    Key,
    collect,
    entries_of,
    origins,
    report,
    section_cases,
)
from benchmarks.framework.store import Store
from benchmarks.scale import phases
from benchmarks.scale.faults import faults
from benchmarks.scale.fits import many_rows
from benchmarks.scale.passes import overhead, two_workers

# What is measured, in the order of the tables of the page, which has their titles. What is not a
# line of a table goes to the dictionary.
SECTIONS: dict[str, Callable[[Namespace, dict[str, Any]], Iterator[Entry]]] = {
    "rows": many_rows,
    "workers": two_workers,
    "overhead": overhead,
    "paper": phases.on_paper,
    "faults": faults,
}
_PACKAGES = ("amclust", "numpy", "scikit-learn", "dask", "distributed", "dask-ml")


def environment(options: Namespace) -> dict[str, Any]:
    """Describe code and machine, with the versions that count here."""
    versions = {}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):  # a peer that is not installed
            versions[package] = metadata.version(package)
    return describe_environment() | {"versions": versions}


def cases(options: Namespace) -> list[Case[Key]]:
    return section_cases(options, SECTIONS, environment(options))


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    name, measured = case.key.section, {}
    results = collect(name, SECTIONS[name](options, measured))
    return results | {"measured": measured}


# --- the page -------------------------------------------------------------------------------------


def write_page(path: Path, store: Store[Key]) -> None:
    records = [one for name in SECTIONS if (one := store.find(Key(name))) is not None]
    lines = [[one for one in entries_of(record) if isinstance(one, Line)] for record in records]
    paper = store.find(Key("paper"))
    measured = paper.results["measured"] if paper is not None else {}
    render(
        path,
        Path(__file__).with_name("page.md.jinja"),
        sections=list(zip(records, lines, strict=True)),
        skipped=[
            one for record in records for one in entries_of(record) if not isinstance(one, Line)
        ],
        everything=[line for some in lines for line in some],
        amount=_amount,
        compared=lambda line: f"{line.target.quantity} {_amount(line.value)}",
        measured=measured,
        paper=phases.table(measured).as_markdown() if measured else "",
        stops=[(name, _amount(phases.stops_at(measured, name))) for name in phases.PASSES]
        if measured
        else [],
        blocks_per_worker=phases.BLOCKS_PER_WORKER,
        origins=origins(records),
    )


def _amount(value: float, unit: str = "") -> str:
    return amount(value, unit).replace(" ", "\N{NO-BREAK SPACE}")


main = Benchmark(
    "scale",
    "scale.md",
    "Measure amclust.dask side by side with dask-ml and with the local fit.",
    Key,
    cases,
    perform,
    report,
    write_page,
    choices={"only": tuple(SECTIONS)},
    jobs=False,
    quick=True,
    alone=lambda case: True,
    environment=environment,
).main

if __name__ == "__main__":
    raise SystemExit(main())
