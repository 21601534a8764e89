"""The command line of the benchmark: choose sections, run them, print, store."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.folders import DATA, FASHION_MNIST, RESULTS
from benchmarks.framework import UnavailableError
from benchmarks.machine import Machine, describe_machine
from benchmarks.printing import print_entry, print_header, print_machine, print_summary, say
from benchmarks.records import Entry, SectionResult, Skipped
from benchmarks.speed.page import write_page
from benchmarks.speed.sections import SECTIONS
from benchmarks.speed.settings import Settings
from benchmarks.store import write_json


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen sections and write the results after each.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; the process's own where not given.

    Returns
    -------
    int
        0: the run came to its end, whether or not targets are reached.
    """
    options = _parser().parse_args(arguments)
    if options.page is not None:
        write_page(options.page, [RESULTS / "speed.json", RESULTS / "stacked.json"])
        say(f"page in {options.page}")
        return 0
    settings = Settings(options.data_dir, options.fashion_mnist_dir, options.quick)
    machine = describe_machine()
    print_machine(machine, quick=settings.quick)
    results: list[SectionResult] = []
    for name in options.only or SECTIONS:
        results.append(_run(name, SECTIONS[name], settings))
        write_json(options.output, _content(machine, settings, results))
    print_summary(results)
    say(f"results in {options.output}")
    return 0


def _run(
    name: str, section: Callable[[Settings], Iterator[Entry]], settings: Settings
) -> SectionResult:
    """Run one section, printing every comparison as it comes."""
    result = SectionResult(name)
    print_header(name)
    start = time.perf_counter()
    try:
        for entry in section(settings):
            result.entries.append(entry)
            print_entry(entry)
    except UnavailableError as error:
        result.entries.append(Skipped(name, str(error)))
        print_entry(result.entries[-1])
    result.seconds = time.perf_counter() - start
    return result


def _content(
    machine: Machine, settings: Settings, results: Sequence[SectionResult]
) -> dict[str, Any]:
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "quick": settings.quick,
        "machine": machine.as_json(),
        "sections": {result.name: result.as_json() for result in results},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description="Measure amclust side by side with its peers, in one run.",
    )
    parser.add_argument(
        "--only", nargs="+", choices=tuple(SECTIONS), metavar="NAME", help=", ".join(SECTIONS)
    )
    parser.add_argument("--quick", action="store_true", help="few repeats, small sizes")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the results as markdown; run nothing"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=RESULTS / "speed.json",
        help="results file (default: %(default)s)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DATA,
        help="folder of the paper's tables (default: $AMCLUST_DATA, else %(default)s)",
    )
    parser.add_argument(
        "--fashion-mnist-dir",
        type=Path,
        default=FASHION_MNIST,
        help="folder of the idx files (default: %(default)s)",
    )
    return parser
