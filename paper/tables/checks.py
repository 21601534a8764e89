"""What was looked into: partitions that explain the paper's numbers, or do not."""

from __future__ import annotations

from benchmarks.quality.grids import Grid, number
from paper import sets
from paper.experiments.checks import CHECKS, Check
from paper.methods import METHODS
from paper.published import ARI, NMI, SILHOUETTES
from paper.view import NOT_RUN, View

_QUANTITIES = {"silhouette": SILHOUETTES, "nmi": NMI, "ari": ARI}


def checks(view: View) -> Grid:
    """A row a check: our three numbers, and the paper's for the cell that it is to explain."""
    columns = ["", "what was done", "silhouette", "NMI", "ARI", "the paper's three"]
    rows = [_row(view, name, check) for name, check in CHECKS.items()]
    return Grid("What was looked into", columns, rows, numbers=False)


def _row(view: View, name: str, check: Check) -> list[str]:
    record = view.one("checks", check.set, name, "check")
    cell = f"{sets.title(check.set)}, {METHODS[check.method].title}"
    paper = " / ".join(_shown(table[check.set][check.method]) for table in _QUANTITIES.values())
    if record is None:
        return [cell, check.what, NOT_RUN, "", "", paper]
    found = [_shown(record.results[quantity]) for quantity in _QUANTITIES]
    found[0] += f" <small>({record.results['living']}/{record.results['n_clusters']})</small>"
    return [cell, check.what, *found, paper]


def _shown(value: float | None) -> str:
    return number(value) if value is not None else ""
