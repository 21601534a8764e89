"""Efficiency: silhouette and seconds of k-means and ClAM."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.printing import amount
from benchmarks.quality.grids import Grid, number
from benchmarks.timing import median_ratio
from paper import sets
from paper.experiments.timings import DEFAULT, KMEANS, PUBLISHED, TITLES
from paper.published import EFFICIENCY
from paper.runs import Record
from paper.tables.cells import NOT_DEFINED, beside_paper
from paper.view import NOT_RUN, View

MADE = " (made data of this shape)"
_COLUMNS = ("", "silhouette", "seconds", "of k-means' time")


def efficiency(view: View) -> Grid:
    """A row for each set and method, the paper's numbers below those that it has."""
    rows = [row for name in sets.TIMED_SETS for row in _rows(view, name)]
    return Grid("Efficiency", _COLUMNS, rows)


def conditions(view: View) -> str:
    """Say in how many threads all this was timed, and how busy the machine was before."""
    found = [record.results for record in view.records("timings").values()]
    threads = sorted({one["threads"][name] for one in found for name in one.get("threads", {})})
    loads = sorted(one["load"] for one in found if one.get("load") is not None)
    if not threads or not loads:
        return ""
    return (
        f"Threads: {' or '.join(map(str, threads))}. Load of the machine in the minute before a "
        f"set: {loads[0]} to {loads[-1]}.\n"
    )


def ratio(record: Record, method: str = DEFAULT) -> float:
    """Give a variant's seconds over those of k-means, the median of pairs."""
    ours, theirs = ([one["seconds"] for one in record.results[name]] for name in (method, KMEANS))
    return median_ratio(ours, theirs)


def _rows(view: View, name: str) -> list[list[str]]:
    record = view.one("timings", name, "all", "paper")
    title = sets.title(name)
    if record is None:
        return [[title, NOT_RUN, NOT_RUN, NOT_RUN]]
    if record.definition["made"]:
        title += MADE
    return [
        [f"{title}: {label}", *_cells(name, method, record)] for method, label in TITLES.items()
    ]


def _cells(name: str, method: str, record: Record) -> list[str]:
    paper, found = EFFICIENCY[name], record.results[method]
    score = _silhouette(found, record.definition)
    seconds = amount(median(row["seconds"] for row in found))
    relative = NOT_DEFINED if method == KMEANS else f"{ratio(record, method):.2g}"
    if method == KMEANS:
        timed, all_restarts = (record.definition[KMEANS][key] for key in ("timed", "n_init"))
        if timed < all_restarts:
            seconds += f" ({timed} of {all_restarts} restarts, scaled up)"
        score = beside_paper(score, paper.kmeans_silhouette)
        seconds = beside_paper(seconds, paper.kmeans_seconds, 0)
    if method == PUBLISHED:
        score = beside_paper(score, paper.clam_silhouette)
        seconds = beside_paper(seconds, paper.clam_seconds, 0)
        relative = beside_paper(relative, paper.clam_seconds / paper.kmeans_seconds, 1)
    return [score, seconds, relative]


def _silhouette(rows: list[dict[str, Any]], definition: dict[str, Any]) -> str:
    """Write the median and the living clusters; a silhouette of made data says nothing."""
    living = f" <small>({min(row['living'] for row in rows)} living)</small>"
    if definition["made"]:
        return f"{NOT_DEFINED}{living}"
    return number(median(row["silhouette"] for row in rows)) + living
