"""The command line of the benchmark: run the cells that are missing, print, store."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.availability import UnavailableError
from benchmarks.deep.cells import Cell, Record, run_cell
from benchmarks.deep.methods import METHODS, definition
from benchmarks.deep.page import write_page
from benchmarks.deep.pretrained import Shelf
from benchmarks.deep.results import Results
from benchmarks.deep.sets import DEFAULT_SETS, SETS
from benchmarks.deep.settings import AUTOENCODERS, FULL, QUICK, Settings
from benchmarks.deep.summary import Summary
from benchmarks.deep.targets import target_lines
from benchmarks.folders import DATA, RESULTS
from benchmarks.printing import print_entries, print_header, say

_INTERRUPTED = 130
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amclust-benchmarks"


def main(arguments: Sequence[str] | None = None) -> int:
    """Complete the chosen cells, print the tables and the targets.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; the process's own where not given.

    Returns
    -------
    int
        0: the run came to its end, whether or not targets are reached. 1: data are missing.
        130: interrupted; what was finished is kept.
    """
    options = _parser().parse_args(arguments)
    settings = QUICK if options.quick else FULL
    # A quick run has other settings, so it must not take the place of a full one.
    output = options.output or (
        options.cache / "quick.json" if options.quick else RESULTS / "deep.json"
    )
    if options.page is not None:
        write_page(options.page, Results.load(output))
        say(f"tables in {options.page}")
        return 0
    threads = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    results = Results.load(output)
    try:
        _complete(results, settings, output, options)
        _report(results, settings, options)
        results.save(output)
    except UnavailableError as error:
        say(f"UNAVAILABLE: {error}")
        return 1
    except KeyboardInterrupt:
        say(f"interrupted; {len(results.records)} cells are in {output}")
        return _INTERRUPTED
    finally:
        torch.set_num_threads(threads)
    say(f"results in {output}")
    return 0


def _cells(options: argparse.Namespace) -> list[Cell]:
    """List the cells, a set and a seed after the other, so that all methods of one come early."""
    return [
        Cell(name, METHODS[method].kind(options.autoencoder), method, seed)
        for seed in range(options.seeds)
        for name in SETS
        for method in METHODS
        if name in options.sets and method in options.methods
    ]


def _complete(
    results: Results, settings: Settings, output: Path, options: argparse.Namespace
) -> None:
    """Run the cells that are not in the results, or are there with other settings."""
    cells = _cells(options)
    todo = [cell for cell in cells if options.fresh or not _is_current(cell, results, settings)]
    say(f"{len(cells)} cells, {len(cells) - len(todo)} of them in {output}")
    shelf = Shelf(options.cache, say)
    environment = results.add_environment(options.threads)
    for place, cell in enumerate(todo, start=1):
        record = run_cell(cell, settings, options.data_dir, shelf, environment)
        results.records[cell] = record
        results.save(output)
        _say_record(record, f"{place}/{len(todo)}")


def _is_current(cell: Cell, results: Results, settings: Settings) -> bool:
    record = results.records.get(cell)
    expected = definition(cell.method, cell.autoencoder, settings)
    return record is not None and record.definition == expected


def _say_record(record: Record, place: str) -> None:
    say(
        f"[{place}] {record.set:<13} {record.method:<10} seed {record.seed}  "
        f"NMI {record.nmi:.4f}  accuracy {record.accuracy:.4f}  ARI {record.ari:.4f}  "
        f"silhouette {record.silhouette:.3f}  "
        f"loss {record.reconstruction_before:.5f} -> {record.reconstruction:.5f}  "
        f"living {record.living}/{record.n_clusters}  {record.updates} batches  "
        f"{record.seconds:.1f} s"
    )


def _report(results: Results, settings: Settings, options: argparse.Namespace) -> None:
    """Print the tables and the targets of what was chosen, and put them into the results."""
    records = [results.records[cell] for cell in _cells(options)]
    methods = [method for method in METHODS if method in options.methods]
    summary = Summary(records, options.sets, methods, options.autoencoder)
    grids = summary.grids()
    for grid in grids:
        say()
        say(grid.as_text())
    lines = list(target_lines(summary))
    if lines:
        print_header("targets")
        print_entries(lines)
    results.summary[options.autoencoder] = {
        "settings": settings.as_json(),
        "tables": [grid._asdict() for grid in grids],
        "targets": [line.as_json() for line in lines],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.deep",
        description="Compare DeepClAM with its peers, all from the same pre-trained autoencoders. "
        "Only cells that are missing in the results file are run.",
    )
    parser.add_argument(
        "--sets", nargs="+", choices=SETS, default=DEFAULT_SETS, metavar="SET", help=", ".join(SETS)
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=tuple(METHODS),
        default=tuple(METHODS),
        metavar="METHOD",
        help=", ".join(METHODS),
    )
    parser.add_argument("--seeds", type=int, default=3, help="how many (default: 3)")
    parser.add_argument(
        "--autoencoder",
        choices=AUTOENCODERS,
        default="mlp",
        help="for all methods but DCEC, which has a convolutional one (default: mlp)",
    )
    parser.add_argument("--quick", action="store_true", help="few rows, short: shows that it runs")
    parser.add_argument(
        "--fresh", action="store_true", help="run what is chosen also where there are results"
    )
    parser.add_argument("--threads", type=int, default=2, help="of torch (default: 2)")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the tables into a page; run nothing"
    )
    parser.add_argument(
        "--output",
        type=Path,
        help=f"results file (default: {RESULTS / 'deep.json'}; quick.json in the cache if quick)",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=_CACHE,
        help="folder of the pre-trained autoencoders (default: %(default)s)",
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DATA,
        help="folder of the paper's tables (default: $AMCLUST_DATA, else %(default)s)",
    )
    return parser
