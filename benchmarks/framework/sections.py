"""A benchmark whose cases are the sections of its page: each a few comparisons, timed anew."""

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from benchmarks.framework.cases import Case, Record
from benchmarks.framework.environment import QUIET_LOAD, UnavailableError, load_average
from benchmarks.framework.lines import Entry, Line, Skipped, print_entries
from benchmarks.framework.pages import say, versions
from benchmarks.framework.store import Store


class Key(NamedTuple):
    """A section by its name."""

    section: str


def section_cases(
    options: Namespace, names: Iterable[str], environment: dict[str, Any]
) -> list[Case[Key]]:
    """List the sections that are asked for, and say where they will run."""
    load = load_average()
    for name, value in (environment | {"load": load}).items():
        say(f"{name:<16} {value}")
    if load is not None and load > QUIET_LOAD:
        say("BUSY             the numbers below are not for the record")
    if options.quick:
        say("QUICK RUN        few repeats, small sizes: shows that it runs, not how fast it is")
    # A section that is asked for is always run, since what it measures is time.
    options.fresh = True
    return [Case(Key(name), {"quick": options.quick}) for name in options.only or names]


def collect(name: str, entries: Iterator[Entry]) -> dict[str, Any]:
    """Make and print the entries of a section; give them as results, with the load before."""
    load = load_average()
    found = print_entries(name, _available(name, entries))
    return {"load": load, "entries": [entry.as_json() for entry in found]}


def _available(name: str, entries: Iterator[Entry]) -> Iterator[Entry]:
    try:
        yield from entries
    except UnavailableError as error:
        yield Skipped(name, str(error))


def entries_of(record: Record[Key]) -> list[Entry]:
    """Read the entries of a section."""
    return [
        Skipped(**one) if "skipped" in one else Line.from_json(one)
        for one in record.results["entries"]
    ]


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    """Print all entries of the sections that were run."""
    records = [record for record in store.all() if record.key in keys]
    entries = [entry for record in records for entry in entries_of(record)]
    print_entries("summary", entries, notes=False)


def origins(records: Sequence[Record[Key]]) -> dict[str, list[str]]:
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
