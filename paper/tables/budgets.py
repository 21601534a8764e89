"""How much was run: what the tables' cells are the best or the mean of."""

from __future__ import annotations

from benchmarks.quality.grids import Grid
from paper import sets
from paper.methods import METHODS
from paper.tables.cells import NOT_DEFINED
from paper.view import NOT_RUN, View

_FITTED = ("kmeans", "spectral", "agglomerative", "dcec", "dec", "clam")
_SAMPLED = ("spectral", "dec", "dcec")


def budgets(view: View) -> Grid:
    """A row a set: configurations under the paper's protocol, and fits times seeds otherwise."""
    columns = [
        "",
        "rows",
        *(f"{METHODS[method].title}: fits" for method in _FITTED),
        "restarts of k-means",
        "honest: fits x seeds",
        "default: seeds",
        "rows of spectral, DEC, DCEC",
    ]
    rows = [_row(view, name) for name in view.table_sets]
    return Grid("How much was run", columns, rows)


def _row(view: View, name: str) -> list[str]:
    k_means = view.one("partitions", name, "kmeans", "paper")
    honest = view.partitions(name, "kmeans", "honest")
    return [
        sets.title(name),
        _text(k_means and k_means.results["rows"]),
        *(_fits(view, name, method) for method in _FITTED),
        _text(k_means and k_means.definition["configs"]["n_init"][0]),
        f"{honest[0].definition['fits']} x {len(honest)}" if honest else NOT_RUN,
        _text(len(view.partitions(name, "clam-default", "default")) or None),
        ", ".join(_rows_of(view, name, method) for method in _SAMPLED),
    ]


def _fits(view: View, name: str, method: str) -> str:
    if not METHODS[method].covers(name):
        return NOT_DEFINED
    record = view.one("partitions", name, method, "paper")
    return _text(record and record.definition["fits"])


def _rows_of(view: View, name: str, method: str) -> str:
    if not METHODS[method].covers(name):
        return NOT_DEFINED
    record = view.one("partitions", name, method, "paper")
    return _text(record and record.results["rows"])


def _text(value: object) -> str:
    return NOT_RUN if value is None else f"{value:,}"
