"""``python -m benchmarks.speed``: run the chosen sections, print, write the page.

A section that is asked for is always run, since what it measures is time; of the others the
records are kept.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_info

from benchmarks.folders import FASHION_MNIST, REPOSITORY, RESULTS
from benchmarks.framework import (
    QUIET_LOAD,
    Case,
    Entry,
    Grid,
    Line,
    Record,
    Skipped,
    Store,
    UnavailableError,
    Unfinished,
    add_page_options,
    amount,
    complete,
    describe_environment,
    guarded,
    load_average,
    make_parser,
    page_of,
    print_entries,
    say,
    write_text,
)
from benchmarks.framework.lines import print_entry, print_header
from benchmarks.speed.sections import SECTIONS
from benchmarks.speed.settings import Settings

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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen sections; 0 whether or not targets are reached, see `guarded`."""
    return guarded(partial(_work, _parser().parse_args(arguments)))


def _work(options: argparse.Namespace) -> int:
    if options.quick and options.output == options.committed[0]:
        # What a quick run measures must not take the place of what is on the page.
        options.output = RESULTS / "quick" / "speed.jsonl"
    store, page = Store(options.output, Key), page_of(options)
    failed = False
    if not options.page_only:
        settings = Settings(options.data_dir, options.fashion_mnist_dir, options.quick)
        cases = [Case(Key(name), {"quick": options.quick}) for name in options.only or SECTIONS]
        environment = describe_environment(
            thread_pools=[_thread_pool(pool) for pool in threadpool_info()]
        )
        _print_environment(environment, quick=options.quick)
        failed = bool(
            complete(
                cases,
                partial(perform, settings=settings),
                store,
                alone=lambda case: True,
                environment=environment,
                fresh=True,
            )
        )
        records = [one for case in cases if (one := store.get(case)) is not None]
        entries = [entry for record in records for entry in entries_of(record)]
        print_entries("summary", entries, with_note=False)
        say(f"records in {options.output}")
    if page is not None:
        write_page(page, store)
        say(f"page in {page}")
    return int(failed)


def perform(case: Case[Key], unfinished: Unfinished, settings: Settings) -> dict[str, Any]:
    """Run one section, printing every comparison as it comes."""
    name, load = case.key.section, load_average()
    entries: list[Entry] = []
    print_header(name)
    try:
        for entry in SECTIONS[name].run(settings):
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


def _print_environment(environment: dict[str, Any], *, quick: bool) -> None:
    """Print where the numbers come from."""
    for name in ("processor", "cores", "instruction_set", "system", "python"):
        say(f"{name:<16} {environment[name]}")
    load = load_average()
    if load is not None:
        busy = " (BUSY: the numbers below are not for the record)" if load > QUIET_LOAD else ""
        say(f"load             {load:.2f} at the start{busy}")
    say("versions         " + _versions(environment))
    for pool in environment["thread_pools"]:
        say(f"thread pool      {pool}")
    if quick:
        say("QUICK RUN        few repeats, small sizes: shows that it runs, not how fast it is")


def _thread_pool(pool: dict[str, Any]) -> str:
    name = pool.get("internal_api") or pool.get("user_api")
    architecture = pool.get("architecture")
    detail = f" {pool.get('version')}" + (f" {architecture}" if architecture else "")
    return f"{name}{detail}, {pool.get('num_threads')} threads"


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


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "benchmarks.speed", "Measure amclust side by side with its peers, in one run."
    )
    parser.add_argument(
        "--only", nargs="+", choices=tuple(SECTIONS), metavar="NAME", help=", ".join(SECTIONS)
    )
    parser.add_argument("--quick", action="store_true", help="few repeats, small sizes")
    parser.add_argument(
        "--fashion-mnist-dir",
        type=Path,
        default=FASHION_MNIST,
        help="folder of the idx files (default: %(default)s)",
    )
    page = REPOSITORY / "docs" / "speed.md"
    add_page_options(parser, output=RESULTS / "speed.jsonl", page=page)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
