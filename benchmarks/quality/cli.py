"""The command line of the benchmark: run the cells that are missing, print, store."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from benchmarks.availability import UnavailableError
from benchmarks.folders import DATA, RESULTS
from benchmarks.printing import print_entries, print_header, say
from benchmarks.quality.cells import Cell, Record, run_cell
from benchmarks.quality.cost import cost_lines, measure_cost
from benchmarks.quality.methods import METHODS
from benchmarks.quality.page import write_page
from benchmarks.quality.results import Results
from benchmarks.quality.sets import FRESH, GROUPS, SETS, expand_groups, load_set
from benchmarks.quality.summary import Summary
from benchmarks.quality.targets import target_lines

SECTIONS = ("cells", "cost")
_SECONDS_BETWEEN_WRITES = 10.0
_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Complete the chosen cells, print the tables and the targets.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; the process's own where not given.

    Returns
    -------
    int
        0: the run came to its end, whether or not targets are reached. 1: ``--check`` found a
        cell that differs. 130: interrupted; what was finished is kept.
    """
    options = _parser().parse_args(arguments)
    options.sets = expand_groups(options.sets)
    options.methods = [name for name in METHODS if name in options.methods]
    results = Results.load(options.output)
    if options.page is not None:
        write_page(options.page, results)
        say(f"page in {options.page}")
        return 0
    options.sets = _without_unavailable(options.sets, options.data_dir)
    try:
        cells = _chosen_cells(options)
        if options.check:
            return _check(cells, results, options)
        if "cells" in options.sections:
            _complete_cells(cells, results, options)
        if "cost" in options.sections:
            _complete_costs(results, options)
    except UnavailableError as error:
        say(f"UNAVAILABLE: {error}")
        return 1
    except KeyboardInterrupt:
        say(f"interrupted; {len(results.records)} cells are in {options.output}")
        return _INTERRUPTED
    _report(results, options)
    say(f"results in {options.output}")
    return 0


def _without_unavailable(names: Sequence[str], data_dir: Path) -> list[str]:
    """Leave out the fresh sets that are not on this machine."""
    return [name for name in names if name not in FRESH or _is_available(name, data_dir)]


def _is_available(name: str, data_dir: Path) -> bool:
    try:
        load_set(name, data_dir)
    except UnavailableError as error:
        say(f"{name:<22} SKIPPED: {error}")
        return False
    return True


def _chosen_cells(options: argparse.Namespace) -> list[Cell]:
    """List the cells; a method without a random state has one, with seed 0."""
    return [
        Cell(name, method, seed)
        for name in options.sets
        for method in options.methods
        for seed in (options.seeds if METHODS[method].seeded else [0])
    ]


def _complete_cells(cells: Sequence[Cell], results: Results, options: argparse.Namespace) -> None:
    """Run the cells that are not in the results, or are there with other parameters."""
    todo = [
        cell for cell in cells if options.fresh or not _is_current(cell, results, options.data_dir)
    ]
    say(f"{len(cells)} cells, {len(cells) - len(todo)} of them in {options.output}")
    environment = results.add_environment()
    written = time.monotonic()
    try:
        for record in _run(todo, options, environment):
            results.records[record.cell] = record
            _say_record(record)
            if time.monotonic() - written > _SECONDS_BETWEEN_WRITES:
                results.save(options.output)
                written = time.monotonic()
    finally:
        results.save(options.output)


def _is_current(cell: Cell, results: Results, data_dir: Path) -> bool:
    record = results.records.get(cell)
    definition = METHODS[cell.method].definition(load_set(cell.set, data_dir))
    return record is not None and record.definition == definition


def _run(cells: Iterable[Cell], options: argparse.Namespace, environment: str) -> Iterator[Record]:
    """Run the cells, as many at a time as there are jobs, each in one thread."""
    if options.jobs == 1:
        return (run_cell(cell, options.data_dir, environment) for cell in cells)
    tasks = (delayed(run_cell)(cell, options.data_dir, environment) for cell in cells)
    records: Iterator[Record] = Parallel(options.jobs, return_as="generator_unordered")(tasks)
    return records


def _say_record(record: Record) -> None:
    say(
        f"{record.set:<22} {record.method:<11} seed {record.seed:<3} "
        f"silhouette {record.silhouette:.4f}  ARI {record.ari:.4f}  NMI {record.nmi:.4f}  "
        f"living {record.living}/{record.n_clusters}  largest {record.largest:.2f}  "
        f"{record.seconds:.2f} s"
    )


def _check(cells: Sequence[Cell], results: Results, options: argparse.Namespace) -> int:
    """Run cells once more and compare their labels with the recorded ones; write nothing."""
    recorded = [cell for cell in cells if cell in results.records]
    differing = 0
    for record in _run(recorded, options, ""):
        same = record.labels == results.records[record.cell].labels
        differing += not same
        _say_record(record)
        if not same:
            say("    DIFFERS from the record:")
            _say_record(results.records[record.cell])
    say(f"{len(recorded)} of {len(cells)} cells are recorded, {differing} of them differ")
    return int(differing > 0)


def _complete_costs(results: Results, options: argparse.Namespace) -> None:
    """Time the sets that have not been timed."""
    environment = results.add_environment()
    for name in options.sets:
        if options.fresh or name not in results.costs:
            cost = measure_cost(load_set(name, options.data_dir))
            results.costs[name] = {"environment": environment, **cost}
            results.save(options.output)
            say(f"{name:<22} timed")


def _report(results: Results, options: argparse.Namespace) -> None:
    """Print the tables of what was chosen, then the targets."""
    cells = set(_chosen_cells(options))
    records = (record for cell, record in results.records.items() if cell in cells)
    summary = Summary(records, options.sets, options.methods)
    for grid in [*summary.grids(), *([summary.comparison()] if summary.pairs else [])]:
        say()
        say(grid.as_text())
    lines = list(target_lines(summary.pairs))
    for name in options.sets:
        if name in results.costs:
            lines += cost_lines(name, results.costs[name])
    if lines:
        print_header("targets")
        print_entries(lines)
    _warn_of_other_code(results, options)


def _warn_of_other_code(results: Results, options: argparse.Namespace) -> None:
    """Say how many of ClAM's cells come from other code than the present."""
    source = results.environments[results.add_environment()]["source"]
    other = [
        cell
        for cell in _chosen_cells(options)
        if cell.method.startswith("clam")
        and cell in results.records
        and results.environments[results.records[cell].environment]["source"] != source
    ]
    if other:
        say(f"{len(other)} of ClAM's cells were run with other code in src/: --fresh repeats them")


def _seeds(text: str) -> range:
    """Read ``10`` as 0 ... 9, and ``3:5`` as 3, 4."""
    first, colon, last = text.partition(":")
    seeds = range(int(first), int(last)) if colon else range(int(first))
    if not seeds or seeds[0] < 0:
        message = f"expected a count or start:stop of seeds from 0 on, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return seeds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.quality",
        description="Compare ClAM's partitions with its peers', at the same number of restarts and "
        "by the same rule of choice. Only cells that are missing in the results file are run.",
    )
    parser.add_argument(
        "--sets",
        nargs="+",
        choices=(*GROUPS, *SETS, *FRESH),
        default=["all"],
        metavar="SET",
        help=f"all (default): {', '.join(SETS)}; fresh: {', '.join(FRESH)}",
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=tuple(METHODS),
        default=tuple(METHODS),
        metavar="METHOD",
        help=", ".join(METHODS),
    )
    parser.add_argument(
        "--seeds", type=_seeds, default=range(10), help="a count, or start:stop (default: 10)"
    )
    parser.add_argument(
        "--sections",
        nargs="+",
        choices=SECTIONS,
        default=SECTIONS,
        metavar="SECTION",
        help="cells, cost (default: both)",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="cells at a time, each in one thread (default: 1)"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="run what is chosen also where there are results"
    )
    parser.add_argument(
        "--check", action="store_true", help="run recorded cells again and compare; write nothing"
    )
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the results as markdown; run nothing"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=RESULTS / "quality.json",
        help="results file (default: %(default)s)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DATA,
        help="folder of the paper's tables (default: $AMCLUST_DATA, else %(default)s)",
    )
    return parser
