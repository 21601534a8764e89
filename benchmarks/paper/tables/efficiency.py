"""Table 4: silhouette and seconds of k-means and ClAM."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks.paper import sets
from benchmarks.paper.published import EFFICIENCY
from benchmarks.paper.runs import Record
from benchmarks.paper.tables.cells import beside_paper
from benchmarks.paper.view import NOT_RUN, View
from benchmarks.printing import amount
from benchmarks.quality.grids import Grid, number
from benchmarks.timing import median_ratio

_COLUMNS = (
    "",
    "k-means, silhouette",
    "ClAM, silhouette",
    "k-means, seconds",
    "ClAM, seconds",
    "ClAM / k-means",
)


def efficiency(view: View) -> Grid:
    """A row a set; the silhouette of made data says nothing, so it is left out."""
    rows = [_row(name, view.one("timings", name, "both", "paper")) for name in sets.TIMED_SETS]
    return Grid("Table 4: efficiency", _COLUMNS, rows)


def ratio(record: Record) -> float:
    """Give ClAM's seconds over those of k-means, the median of pairs."""
    ours, theirs = (
        [one["seconds"] for one in record.results[method]] for method in ("clam", "kmeans")
    )
    return median_ratio(ours, theirs)


def _row(name: str, record: Record | None) -> list[str]:
    paper = EFFICIENCY[name]
    paper_ratio = paper.clam_seconds / paper.kmeans_seconds
    title = sets.title(name)
    if record is None:
        return [
            title,
            beside_paper(NOT_RUN, paper.kmeans_silhouette),
            beside_paper(NOT_RUN, paper.clam_silhouette),
            beside_paper(NOT_RUN, paper.kmeans_seconds, 0),
            beside_paper(NOT_RUN, paper.clam_seconds, 0),
            beside_paper(NOT_RUN, paper_ratio, 1),
        ]
    definition = record.definition
    if definition["made"]:
        title += " (made data of this shape)"
    k_means, clam = record.results["kmeans"], record.results["clam"]
    timed, all_restarts = definition["kmeans"]["timed"], definition["kmeans"]["n_init"]
    scaled = f" ({timed} of {all_restarts} restarts, scaled up)" if timed < all_restarts else ""
    return [
        title,
        beside_paper(_silhouette(k_means, definition), paper.kmeans_silhouette),
        beside_paper(_silhouette(clam, definition), paper.clam_silhouette),
        beside_paper(_seconds(k_means) + scaled, paper.kmeans_seconds, 0),
        beside_paper(_seconds(clam), paper.clam_seconds, 0),
        beside_paper(f"{ratio(record):.2g}", paper_ratio, 1),
    ]


def _silhouette(rows: list[dict[str, Any]], definition: dict[str, Any]) -> str:
    if definition["made"]:
        return "made data"
    return number(median(row["silhouette"] for row in rows))


def _seconds(rows: list[dict[str, Any]]) -> str:
    return amount(median(row["seconds"] for row in rows))
