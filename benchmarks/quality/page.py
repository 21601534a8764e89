"""The page of the results, written from the file without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.printing import line_cells
from benchmarks.protocol import RESTARTS
from benchmarks.quality.cost import cost_lines
from benchmarks.quality.grids import Grid
from benchmarks.quality.methods import METHODS
from benchmarks.quality.results import Results
from benchmarks.quality.sets import FRESH, SETS
from benchmarks.quality.summary import Summary
from benchmarks.quality.targets import SILHOUETTE_TOLERANCE, target_lines
from benchmarks.records import Line
from benchmarks.store import write_text

_INTRODUCTION = f"""\
# How good the partitions are

Written by `python -m benchmarks.quality --page docs/quality.md` from
`benchmarks/results/quality.json`, which `make bench-quality` fills. A cell is repeated with
`python -m benchmarks.quality --check --sets zoo --methods clam --seeds 3:4`.

Every feature is standardised, k is the number of classes. Every method has {RESTARTS} restarts; the
best exact silhouette among the partitions with k living clusters is chosen (among those with most
living clusters where none has k). ClAM does this by itself; Ward is deterministic and has one fit.
"ClAM, paper" is the paper's completion loss with its best hyperparameters (for sets that it does
not have, its most common values and β from the data). Seconds are of all restarts and the choice,
in one thread.

The [default recipe](recipe.md) was chosen by looking at these sets. Only usps_train was in
none of the comparisons of recipes (an early trial of seedings had it), and it is of the same kind
as usps_test, so it says little. What the recipe is worth on data that had no say in it is told by
the second table, of other sets.
"""

_FRESH_TEXT = """\
Nobody had run these when the recipe was chosen, in commit a53be58. They are from Debian's
r-cran-mlbench and dataset-fashion-mnist, without incomplete rows; of satellite, letter and
fashion_mnist (its test images) a fixed sample of 3,000 rows. Run by
`python -m benchmarks.quality --sets fresh --methods clam kmeans`.
"""


def write_page(path: Path, results: Results) -> None:
    """Write tables, targets and where the numbers come from.

    Parameters
    ----------
    path : Path
        Markdown file.
    results : Results
        What has been measured.
    """
    summary = Summary(results.records.values(), SETS, tuple(METHODS))
    lines = list(target_lines(summary.pairs))
    for name in SETS:
        if name in results.costs:
            lines += cost_lines(name, results.costs[name])
    fresh = Summary(results.records.values(), FRESH, tuple(METHODS))
    parts = [_INTRODUCTION]
    if summary.pairs:
        parts.append(_section(summary.comparison()))
    if fresh.pairs:
        title = "sets never looked at while choosing the recipe"
        parts.append(_section(fresh.comparison()._replace(title=title), _FRESH_TEXT))
        parts.append(_section(_target_grid("the targets on these sets", target_lines(fresh.pairs))))
    if summary.pairs:
        parts.append(_targets(lines))
    parts += [_section(grid) for grid in summary.grids()]
    parts.append(_origins(results))
    write_text(path, "\n".join(parts))


def _section(grid: Grid, text: str = "") -> str:
    title = grid.title[0].upper() + grid.title[1:]
    return "\n".join([f"## {title}\n", *([text] if text else []), f"{grid.as_markdown()}\n"])


def _target_grid(title: str, lines: Iterable[Line]) -> Grid:
    rows = [[*line_cells(line), line.note] for line in lines]
    columns = ("what", "ours", "peer", "ratio", "target", "reached", "note")
    return Grid(title, columns, rows, numbers=False)


def _targets(lines: Iterable[Line]) -> str:
    note = (
        f"\nOn sets that are not the paper's a silhouette up to {SILHOUETTE_TOLERANCE} below "
        "k-means' counts as equal.\n"
    )
    return _section(_target_grid("targets", lines)) + note


def _origins(results: Results) -> str:
    """Name commits, versions and machines, with how many cells come from each."""
    parts = ["## Where the numbers come from\n"]
    for key, environment in results.environments.items():
        versions = ", ".join(f"{name} {v}" for name, v in environment["versions"].items())
        parts.append(
            f"- commit {environment['commit']}: {_contents(results, key)}; {versions}, "
            f"Python {environment['python']}, {environment['processor']}"
        )
    return "\n".join(parts) + "\n"


def _contents(results: Results, environment: str) -> str:
    """Say what was run in an environment."""
    counts = Counter(
        record.method for record in results.records.values() if record.environment == environment
    )
    timed = sum(cost["environment"] == environment for cost in results.costs.values())
    parts = [f"{METHODS[name].title} {count} cells" for name, count in counts.items()]
    return ", ".join([*parts, *([f"cost of {timed} sets"] if timed else [])])
