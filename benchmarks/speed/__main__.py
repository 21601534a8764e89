"""``python -m benchmarks.speed``: run the chosen sections, print, write the page.

A section that is asked for is always run, since what it measures is time; of the others the
records are kept.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_info

from benchmarks.folders import FASHION_MNIST
from benchmarks.framework import (
    QUIET_LOAD,
    Benchmark,
    Case,
    Entry,
    Grid,
    Line,
    Record,
    Skipped,
    Store,
    UnavailableError,
    Unfinished,
    amount,
    describe_environment,
    load_average,
    print_entries,
    say,
    write_text,
)
from benchmarks.framework.lines import print_entry, print_header
from benchmarks.speed.sections import SECTIONS

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


class Key(NamedTuple):
    """A section of the page."""

    section: str


def cases(options: Namespace) -> list[Case[Key]]:
    """List the sections; printed is where the numbers come from."""
    _print_environment(environment(options), quick=options.quick)
    return [Case(Key(name), {"quick": options.quick}) for name in options.only or SECTIONS]


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Run one section, printing every comparison as it comes."""
    name, load = case.key.section, load_average()
    entries: list[Entry] = []
    print_header(name)
    try:
        for entry in SECTIONS[name].run(options):
            entries.append(entry)
            print_entry(entry)
    except UnavailableError as error:
        entries.append(Skipped(name, str(error)))
        print_entry(entries[-1])
    return {"load": load, "entries": [entry.as_json() for entry in entries]}


def entries_of(record: Record[Key]) -> list[Entry]:
    """Read what a section said."""
    return [
        Skipped(one["what"], one["skipped"]) if "skipped" in one else Line.from_json(one)
        for one in record.results["entries"]
    ]


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    """Print all comparisons once more, without notes, and count the targets."""
    records = [record for record in store.all() if record.key in keys]
    entries = [entry for record in records for entry in entries_of(record)]
    print_entries("summary", entries, with_note=False)


def environment(options: Namespace) -> dict[str, Any]:
    """Describe code and machine, with the threads of its libraries."""
    facts = ("internal_api", "version", "architecture", "num_threads")
    pools = threadpool_info()
    return describe_environment(
        thread_pools=[" ".join(str(pool[fact]) for fact in facts if fact in pool) for pool in pools]
    )


def _print_environment(environment: dict[str, Any], *, quick: bool) -> None:
    """Print where the numbers come from."""
    load = load_average()
    for name, value in (environment | {"load": load}).items():
        say(f"{name:<16} {value}")
    if load is not None and load > QUIET_LOAD:
        say("BUSY             the numbers below are not for the record")
    if quick:
        say("QUICK RUN        few repeats, small sizes: shows that it runs, not how fast it is")


def _versions(environment: dict[str, Any]) -> str:
    return ", ".join(f"{name} {v}" for name, v in environment["versions"].items())


# --- the page -------------------------------------------------------------------------------------


def write_page(path: Path, store: Store[Key]) -> None:
    """Write a section a table, with the machine that it comes from."""
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
    rows = [
        [
            line.what,
            _amount(line.ours, line.unit),
            f"{_amount(line.peer, line.unit)} {line.peer_name}".strip(),
            _compared(line),
        ]
        for line in lines
    ]
    table = Grid(name, _COLUMNS, rows, numbers=False).as_markdown()
    body = "\n\n".join(filter(None, [table, caveat]))
    return f"<!-- {name} -->\n\n{body}\n\n<!-- end -->"


def _compared(line: Line) -> str:
    return f"{line.target.quantity} {_amount(line.value)}"


def _targets(lines: Sequence[Line]) -> str:
    """Hold every comparison against its target."""
    rows = [
        [
            line.what,
            line.peer_name,
            _compared(line),
            str(line.target),
            "yes" if line.reached else "NO",
        ]
        for line in lines
    ]
    reached = sum(line.reached for line in lines)
    table = Grid("targets", _TARGET_COLUMNS, rows, numbers=False).as_markdown()
    return f"## Targets\n\n{reached} of {len(rows)} are reached.\n\n{table}"


def _amount(value: float, unit: str = "") -> str:
    return amount(value, unit).replace(" ", "\N{NO-BREAK SPACE}")


def _origins(records: Sequence[Record[Key]]) -> str:
    """Name the machines and versions, with the sections that come from each."""
    sections: dict[str, list[str]] = {}
    for record in records:
        one = record.environment
        origin = (
            f"{record.date[:10]}, {one['processor']}, {one['cores']} cores, "
            f"{one['instruction_set']}, Python {one['python']}, {_versions(one)}"
        )
        sections.setdefault(origin, []).append(record.key.section)
    lines = (f"- {', '.join(names)}: {origin}" for origin, names in sections.items())
    return "\n".join(["## Where the numbers come from", "", *lines])


def add_options(parser: ArgumentParser) -> None:
    """Add the folder of the images; a section that is asked for is always run."""
    parser.set_defaults(fresh=True)
    where = "folder of the idx files (default: %(default)s)"
    parser.add_argument("--fashion-mnist-dir", type=Path, default=FASHION_MNIST, help=where)


main = Benchmark(
    "speed",
    "speed.md",
    "Measure amclust side by side with its peers, in one run.",
    Key,
    cases,
    perform,
    report,
    write_page,
    add_options,
    choices={"only": tuple(SECTIONS)},
    jobs=False,
    quick=True,
    alone=lambda case: True,
    environment=environment,
).main

if __name__ == "__main__":
    raise SystemExit(main())
