"""``python -m benchmarks.speed``: run the chosen sections, print, write the page.

A section that is asked for is always run, since what it measures is time; of the others the
records are kept.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_info

from benchmarks.folders import FASHION_MNIST
from benchmarks.framework.cases import Case, Record
from benchmarks.framework.command import Benchmark
from benchmarks.framework.environment import (
    QUIET_LOAD,
    UnavailableError,
    describe_environment,
    load_average,
)
from benchmarks.framework.lines import Entry, Line, Skipped, print_entries
from benchmarks.framework.pages import amount, render, say, versions
from benchmarks.framework.running import Unfinished
from benchmarks.framework.store import Store
from benchmarks.speed import many_clusters, resources, timings
from benchmarks.speed.assemblies import assemblies
from benchmarks.speed.missing import missing
from benchmarks.speed.text import text

# What is measured, in the order of the tables of the page, which has their titles.
SECTIONS: dict[str, Callable[[Namespace], Iterator[Entry]]] = {
    "paper": timings.paper,
    "torch": partial(timings.beside_loop, backend="native", speed_up=500),
    "stacked": partial(timings.beside_loop, backend="torch", speed_up=20),
    "restarts": timings.restarts,
    "large": timings.large,
    "colours": many_clusters.colours,
    "codebooks": many_clusters.codebooks,
    "predict": many_clusters.predict,
    "round": many_clusters.round_clusters,
    "text": text,
    "assemblies": assemblies,
    "flops": resources.flops,
    "scaling": timings.scaling,
    "memory": resources.memory,
    "missing": missing,
    "import": resources.imports,
}


class Key(NamedTuple):
    section: str


def cases(options: Namespace) -> list[Case[Key]]:
    load = load_average()
    for name, value in (environment(options) | {"load": load}).items():
        say(f"{name:<16} {value}")
    if load is not None and load > QUIET_LOAD:
        say("BUSY             the numbers below are not for the record")
    if options.quick:
        say("QUICK RUN        few repeats, small sizes: shows that it runs, not how fast it is")
    # A section that is asked for is always run, since what it measures is time.
    options.fresh = True
    return [Case(Key(name), {"quick": options.quick}) for name in options.only or SECTIONS]


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    name, load = case.key.section, load_average()
    entries = print_entries(name, _entries(name, options))
    return {"load": load, "entries": [entry.as_json() for entry in entries]}


def _entries(name: str, options: Namespace) -> Iterator[Entry]:
    try:
        yield from SECTIONS[name](options)
    except UnavailableError as error:
        yield Skipped(name, str(error))


def entries_of(record: Record[Key]) -> list[Entry]:
    return [
        Skipped(**one) if "skipped" in one else Line.from_json(one)
        for one in record.results["entries"]
    ]


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    records = [record for record in store.all() if record.key in keys]
    entries = [entry for record in records for entry in entries_of(record)]
    print_entries("summary", entries, notes=False)


def environment(options: Namespace) -> dict[str, Any]:
    """Describe code and machine, with the threads of its libraries."""
    facts = ("internal_api", "version", "architecture", "num_threads")
    pools = threadpool_info()
    return describe_environment(
        thread_pools=[" ".join(str(pool[fact]) for fact in facts if fact in pool) for pool in pools]
    )


# --- the page -------------------------------------------------------------------------------------


def write_page(path: Path, store: Store[Key]) -> None:
    records = [one for name in SECTIONS if (one := store.find(Key(name))) is not None]
    lines = [[one for one in entries_of(record) if isinstance(one, Line)] for record in records]
    render(
        path,
        Path(__file__).with_name("page.md.jinja"),
        sections=list(zip(records, lines, strict=True)),
        everything=[line for some in lines for line in some],
        amount=_amount,
        compared=_compared,
        shared_notes=_shared_notes,
        origins=_origins(records),
    )


def _shared_notes(lines: Sequence[Line]) -> list[str]:
    notes = Counter(line.note for line in lines if line.note)
    return [note for note, count in notes.items() if count > 1]


def _compared(line: Line) -> str:
    return f"{line.target.quantity} {_amount(line.value)}"


def _amount(value: float, unit: str = "") -> str:
    return amount(value, unit).replace(" ", "\N{NO-BREAK SPACE}")


def _origins(records: Sequence[Record[Key]]) -> dict[str, list[str]]:
    """Describe the machines and versions, with the sections that come from each."""
    sections: dict[str, list[str]] = {}
    for record in records:
        one = record.environment
        origin = (
            f"{record.date[:10]}, {one['processor']}, {one['cores']} cores, "
            f"{one['instruction_set']}, Python {one['python']}, {versions(one)}"
        )
        sections.setdefault(origin, []).append(record.key.section)
    return sections


_IMAGES = {"type": Path, "default": FASHION_MNIST}
_IMAGES |= {"help": "folder of the idx files (default: %(default)s)"}
main = Benchmark(
    "speed",
    "speed.md",
    "Measure amclust side by side with its peers, in one run.",
    Key,
    cases,
    perform,
    report,
    write_page,
    options={"--fashion-mnist-dir": _IMAGES},
    choices={"only": tuple(SECTIONS)},
    jobs=False,
    quick=True,
    alone=lambda case: True,
    environment=environment,
).main

if __name__ == "__main__":
    raise SystemExit(main())
