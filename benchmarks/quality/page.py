"""The page of the results, written from the store without running anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from benchmarks.framework import Grid, Line, Store, line_cells, write_text
from benchmarks.framework.lines import COLUMNS
from benchmarks.framework.store import environment_id
from benchmarks.protocol import RESTARTS
from benchmarks.quality.cases import COST, Key, cost_lines
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import FRESH, SETS
from benchmarks.quality.summary import SILHOUETTE_TOLERANCE, Summary, target_lines

_INTRODUCTION = f"""\
# How good the partitions are

Written by `python -m benchmarks.quality --page-only` from `benchmarks/results/quality.jsonl`, which
`make bench-quality` fills. A case is repeated with
`python -m benchmarks.quality --check --sets zoo --methods clam --seeds 3:4`.

Every feature is standardised, k is the number of classes. Every method has {RESTARTS} restarts; the
best exact silhouette among the partitions without an empty cluster is chosen (among those with
fewest empty clusters where all have some). ClAM does this by itself; Ward is deterministic and has
one fit. "ClAM, paper" is the paper's completion loss with its best hyperparameters (for sets that
it does not have, its most common values and β from the data). Seconds are of all restarts and the
choice, in one thread.

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


def write_page(path: Path, store: Store[Key]) -> None:
    """Write tables, targets and where the numbers come from."""
    summary = Summary(store.all(), SETS, tuple(METHODS))
    fresh = Summary(store.all(), FRESH, tuple(METHODS))
    parts = [_INTRODUCTION]
    if summary.pairs:
        parts.append(_section(summary.comparison()))
    if fresh.pairs:
        title = "sets never looked at while choosing the recipe"
        parts.append(_section(fresh.comparison()._replace(title=title), _FRESH_TEXT))
        parts.append(_section(_target_grid("the targets on these sets", target_lines(fresh.pairs))))
    if summary.pairs:
        lines = [*target_lines(summary.pairs), *all_cost_lines(store, SETS)]
        parts.append(_section(_target_grid("targets", lines)))
        parts[-1] += (
            f"\nOn sets that are not the paper's a silhouette up to {SILHOUETTE_TOLERANCE} below "
            "k-means' counts as equal.\n"
        )
    parts += [_section(grid) for grid in summary.grids()]
    parts.append(_origins(store))
    write_text(path, "\n".join(parts))


def all_cost_lines(store: Store[Key], sets: Iterable[str]) -> list[Line]:
    """Compare the costs on those of the sets that have been timed."""
    records = (store.find(Key(name, COST)) for name in sets)
    return [line for record in records if record for line in cost_lines(record)]


def _section(grid: Grid, text: str = "") -> str:
    title = grid.title[0].upper() + grid.title[1:]
    return "\n".join([f"## {title}\n", *([text] if text else []), f"{grid.as_markdown()}\n"])


def _target_grid(title: str, lines: Iterable[Line]) -> Grid:
    rows = [[*line_cells(line), line.note] for line in lines]
    return Grid(title, (*COLUMNS, "note"), rows, numbers=False)


def _origins(store: Store[Key]) -> str:
    """Name commits, versions and machines, with how many cases come from each."""
    counts: dict[str, Counter[str]] = {}
    for record in store.all():
        counts.setdefault(environment_id(record.environment), Counter())[record.key.method] += 1
    parts = ["## Where the numbers come from\n"]
    for key, environment in store.environments().items():
        timed = counts[key].pop(COST, 0)
        contents = [f"{METHODS[name].title} {count} cells" for name, count in counts[key].items()]
        contents += [f"cost of {timed} sets"] if timed else []
        versions = ", ".join(f"{name} {v}" for name, v in environment["versions"].items())
        parts.append(
            f"- commit {environment['commit']}: {', '.join(contents)}; {versions}, "
            f"Python {environment['python']}, {environment['processor']}"
        )
    return "\n".join(parts) + "\n"
