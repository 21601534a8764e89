"""The report people read: a row a comparison, and the summary at the end."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

from benchmarks.machine import QUIET_LOAD, Machine
from benchmarks.records import Entry, Line, SectionResult, Skipped

_COLUMNS = (("what", 50), ("ours", 13), ("peer", 38), ("ratio", 9), ("target", 42), ("reached", 7))

_THOUSAND = 1000.0


def say(text: str = "") -> None:
    """Write one line at once, so that a long run can be watched."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def print_machine(machine: Machine, *, quick: bool) -> None:
    """Print where the numbers come from."""
    say(f"processor    {machine.processor}, {machine.usable_cores} of {machine.cores} cores usable")
    say(f"system       {machine.system}, Python {machine.python}")
    if machine.load_average is not None:
        busy = " (BUSY: the numbers below are not for the record)"
        suffix = busy if machine.load_average > QUIET_LOAD else ""
        say(f"load         {machine.load_average:.2f} at the start{suffix}")
    say("versions     " + ", ".join(f"{name} {v}" for name, v in machine.versions.items()))
    for pool in machine.thread_pools:
        say(f"thread pool  {pool}")
    say(f"amclust      {machine.amclust_config or 'no show_config()'}")
    if quick:
        say("QUICK RUN    few repeats, small sizes: shows that it runs, not how fast it is")


def print_header(title: str) -> None:
    """Start a table."""
    say()
    say(f"== {title} ==")
    say(_row(name for name, _ in _COLUMNS))


def print_entry(entry: Entry, *, with_note: bool = True) -> None:
    """Print one comparison, its note below."""
    if isinstance(entry, Skipped):
        say(f"{entry.what:<50}  SKIPPED: {entry.reason}")
        return
    say(_row(line_cells(entry)))
    if with_note and entry.note:
        say(f"    {entry.note}")


def print_summary(results: Iterable[SectionResult]) -> None:
    """Print all comparisons once more, without notes, and count the targets."""
    print_header("summary")
    print_entries([entry for result in results for entry in result.entries], with_note=False)


def print_entries(entries: Sequence[Entry], *, with_note: bool = True) -> None:
    """Print comparisons, and count the targets."""
    for entry in entries:
        print_entry(entry, with_note=with_note)
    lines = [entry for entry in entries if isinstance(entry, Line)]
    reached = sum(line.reached for line in lines)
    say()
    say(f"{reached} of {len(lines)} targets reached, {len(entries) - len(lines)} skipped")


def line_cells(line: Line) -> tuple[str, ...]:
    """Write a comparison as the columns of its row."""
    return (
        line.what,
        amount(line.ours, line.unit),
        f"{amount(line.peer, line.unit)} {line.peer_name}".strip(),
        amount(line.shown_ratio),
        _target(line),
        "yes" if line.reached else "NO",
    )


def _target(line: Line) -> str:
    """Show the bound, and the measured value where it is not the ratio itself."""
    if line.target.quantity == "ratio":
        return str(line.target)
    return f"{line.target} ({amount(line.value)}{line.target.unit})"


def amount(value: float, unit: str = "") -> str:
    """Write a measurement with three digits and its unit; a dash where there is none."""
    if math.isnan(value):
        return "-"
    digits = f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:#.3g}".rstrip(".")
    return digits + (f" {unit}" if unit else "")


def _row(cells: Iterable[str]) -> str:
    widths = (width for _, width in _COLUMNS)
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
