"""Time and memory of ``amclust fit`` on a large CSV, for two or more checkouts in turns.

    python -m benchmarks.tables ../old/.venv/bin/python .venv/bin/python --megabytes 500

Each argument is the Python of a checkout. The table has an id, a note (text, dropped), numbers with
all their digits and a few missing values. Options of fit follow ``--``.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

COLUMNS, CLUSTERS, ROWS_AT_ONCE = 16, 5, 10_000


class Run(NamedTuple):
    seconds: float
    megabytes: float


def write_table(path: Path, megabytes: int, missing: float) -> None:
    """Write a table of about so many megabytes, always the same."""
    rng = np.random.default_rng(0)
    centers = 4 * rng.standard_normal((CLUSTERS, COLUMNS))
    rows = 0
    with path.open("w") as file:
        file.write(f"id,note,{','.join(f'x{index}' for index in range(COLUMNS))}\n")
        while file.tell() < megabytes * 1_000_000:
            groups = rng.integers(CLUSTERS, size=ROWS_AT_ONCE)
            X = centers[groups] + rng.standard_normal((ROWS_AT_ONCE, COLUMNS))
            X[rng.random(X.shape) < missing] = np.nan
            for index, row in enumerate(X.tolist(), start=rows):
                cells = ",".join("" if value != value else repr(value) for value in row)
                file.write(f"row-{index:08},measured in turn {index % 97},{cells}\n")
            rows += ROWS_AT_ONCE


def run(python: str, table: Path, options: Sequence[str]) -> Run:
    fit = ["fit", str(table), "-k", str(CLUSTERS), "--id", "id", "--drop", "note", "-q", *options]
    start = time.perf_counter()
    process = os.posix_spawn(python, [python, "-Wignore", "-m", "amclust", *fit], os.environ)
    _, status, used = os.wait4(process, 0)
    if status:
        msg = f"amclust fit by {python} failed"
        raise RuntimeError(msg)
    kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
    return Run(time.perf_counter() - start, kilobytes / 1000)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the versions in turns and print medians, and ratios to the first."""
    given = list(sys.argv[1:] if argv is None else argv)
    here = given.index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(prog="benchmarks.tables", description=__doc__.split("\n")[0])
    parser.add_argument("pythons", nargs="+", help="interpreters, that of the old one first")
    parser.add_argument("--megabytes", type=int, default=50)
    parser.add_argument("--missing", type=float, default=0.001, help="share of missing values")
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args(given[:here])
    runs: dict[str, list[Run]] = {python: [] for python in arguments.pythons}
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        write_table(table, arguments.megabytes, arguments.missing)
        for _ in range(arguments.repeats):
            for python, found in runs.items():
                found.append(run(python, table, given[here + 1 :]))
    medians = [Run(*map(statistics.median, zip(*found, strict=True))) for found in runs.values()]
    for python, median in zip(runs, medians, strict=True):
        seconds, memory = (one / first for one, first in zip(median, medians[0], strict=True))
        time_used = f"{median.seconds:.1f} s ({seconds:.2f})"
        print(f"{python}: {time_used}, {median.megabytes:,.0f} MB ({memory:.2f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
