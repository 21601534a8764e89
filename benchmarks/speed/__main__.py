"""``python -m benchmarks.speed``: run the chosen sections, print, write the page.

A section that is asked for is always run, since what it measures is time; of the others the
records are kept.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from benchmarks.folders import FASHION_MNIST
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
from benchmarks.speed import many_clusters, resources, timings
from benchmarks.speed.assemblies import assemblies
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
    "import": resources.imports,
}


def cases(options: Namespace) -> list[Case[Key]]:
    return section_cases(options, SECTIONS, environment(options))


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    name = case.key.section
    return collect(name, SECTIONS[name](options))


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
        origins=origins(records),
    )


def _shared_notes(lines: Sequence[Line]) -> list[str]:
    notes = Counter(line.note for line in lines if line.note)
    return [note for note, count in notes.items() if count > 1]


def _compared(line: Line) -> str:
    return f"{line.target.quantity} {_amount(line.value)}"


def _amount(value: float, unit: str = "") -> str:
    return amount(value, unit).replace(" ", "\N{NO-BREAK SPACE}")


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
