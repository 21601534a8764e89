"""``python -m benchmarks.speed``: run the chosen sections, print, write the page.

A section that is asked for is always run, since what it measures is time; of the others the
records are kept.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
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
from benchmarks.framework.pages import Grid, amount, say, write_text
from benchmarks.framework.running import Unfinished
from benchmarks.framework.store import Store
from benchmarks.speed import resources, timings
from benchmarks.speed.missing import missing

# When the defaults became those of docs/recipe.md (commit a53be58).
_NEW_RECIPE = datetime(2026, 11, 16, 0, 28, tzinfo=timezone.utc)
_OLD_RECIPE = "*{date}, with the first recipe: the defaults have changed since.*"
_INTRODUCTION = """\
# Speed, memory and missing values

Written by `python -m benchmarks.speed --page-only` from `benchmarks/results/speed.jsonl`, which
`make bench` fills; `python -m benchmarks.speed --only stacked` measures one table anew.

Both sides are timed in one run, in turns; a ratio is the median of such pairs. The last table holds
all of it against what was asked for. What the defaults cost beside those of the first recipe is in
[the table of recipes](recipe.md).
"""
_COLUMNS = ("what", "ClAM", "beside it", "compared")
_TARGET_COLUMNS = ("what", "beside", "compared", "target", "reached")
_OVERALL = "all four"


class Section(NamedTuple):
    """A table of the page; what was done is said where the table alone does not."""

    title: str
    text: str
    run: Callable[[Namespace], Iterator[Entry]]


_PAPER = "Ten restarts of 200 epochs, beside k-means with 1,000."
_LOOP = "The same protocol, as one would write it at first."
_STACKED = "All restarts as one stack of tensors, on a CPU."
_BLAS = "Beside matrix products of BLAS on the same machine."
_MISSING = "Entries removed at random; RMSE is of the completed entries."
SECTIONS = {
    "paper": Section("The paper's protocol", _PAPER, timings.paper),
    "torch": Section("A plain PyTorch loop", _LOOP, timings.native_beside_torch),
    "stacked": Section("The torch backend", _STACKED, timings.stacked_beside_torch),
    "large": Section("Many rows", "A fit with its labels, `n_init=1` for all.", timings.large),
    "flops": Section("Arithmetic", _BLAS, resources.flops),
    "scaling": Section(
        "Scaling", "The exponent of the time of a fit; 1 is linear.", timings.scaling
    ),
    "memory": Section(
        "Memory", "At the peak of a call, beside the table itself.", resources.memory
    ),
    "missing": Section("Missing values", _MISSING, missing),
    "import": Section("Import", "", resources.imports),
}


class Key(NamedTuple):
    """A section of the page."""

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
    """Run one section, printing every comparison as it comes."""
    name, load = case.key.section, load_average()
    entries = print_entries(name, _entries(name, options))
    return {"load": load, "entries": [entry.as_json() for entry in entries]}


def _entries(name: str, options: Namespace) -> Iterator[Entry]:
    try:
        yield from SECTIONS[name].run(options)
    except UnavailableError as error:
        yield Skipped(name, str(error))


def entries_of(record: Record[Key]) -> list[Entry]:
    """Read what a section said."""
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
    parts, everything = [_INTRODUCTION], []
    for record in records:
        title, text, _ = SECTIONS[record.key.section]
        lines = [entry for entry in entries_of(record) if isinstance(entry, Line)]
        everything += lines
        parts.append("\n\n".join(filter(None, [f"## {title}", text, _tables(record, lines)])))
    parts += [_targets(everything), _origins(records)]
    write_text(path, "\n\n".join(part.strip() for part in parts) + "\n")


def _tables(record: Record[Key], lines: Sequence[Line]) -> str:
    """Give the table of a section between marks, for pages that include it."""
    name = record.key.section
    old = datetime.fromisoformat(record.date) < _NEW_RECIPE
    caveat = _OLD_RECIPE.format(date=record.date[:10]) if old else ""
    overall = [line for line in lines if line.what.startswith(_OVERALL)]
    parts = [_marked(name, [line for line in lines if line not in overall], caveat)]
    if overall:
        parts.insert(0, _marked(f"{name}: means", overall, caveat))
    notes = Counter(line.note for line in lines if line.note)
    # A note of a single line is a detail, which the file has.
    shared = [f"- {note}" for note, count in notes.items() if count > 1]
    return "\n\n".join([*parts, *(["\n".join(shared)] if shared else [])])


def _marked(name: str, lines: Sequence[Line], caveat: str) -> str:
    rows = []
    for line in lines:
        peer = f"{_amount(line.peer, line.unit)} {line.peer_name}".strip()
        rows.append([line.what, _amount(line.ours, line.unit), peer, _compared(line)])
    table = Grid(name, _COLUMNS, rows, numbers=False).as_markdown()
    body = "\n\n".join(filter(None, [table, caveat]))
    return f"<!-- {name} -->\n\n{body}\n\n<!-- end -->"


def _compared(line: Line) -> str:
    return f"{line.target.quantity} {_amount(line.value)}"


def _amount(value: float, unit: str = "") -> str:
    return amount(value, unit).replace(" ", "\N{NO-BREAK SPACE}")


def _targets(lines: Sequence[Line]) -> str:
    rows = [
        [line.what, line.peer_name, _compared(line), str(line.target), line.cells[-1]]
        for line in lines
    ]
    reached = sum(line.reached for line in lines)
    table = Grid("targets", _TARGET_COLUMNS, rows, numbers=False).as_markdown()
    return f"## Targets\n\n{reached} of {len(rows)} are reached.\n\n{table}"


def _origins(records: Sequence[Record[Key]]) -> str:
    """Name the machines and versions, with the sections that come from each."""
    sections: dict[str, list[str]] = {}
    for record in records:
        one = record.environment
        origin = (
            f"{record.date[:10]}, {one['processor']}, {one['cores']} cores, "
            f"{one['instruction_set']}, Python {one['python']}, "
            f"{', '.join(f'{name} {v}' for name, v in one['versions'].items())}"
        )
        sections.setdefault(origin, []).append(record.key.section)
    lines = (f"- {', '.join(names)}: {origin}" for origin, names in sections.items())
    return "\n".join(["## Where the numbers come from", "", *lines])


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
