"""The noise, and the toys of the figures: means over several drawings."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from benchmarks.quality.grids import Grid, mean_and_deviation
from paper.experiments.toys import PAPER_METHODS, TOY_METHODS
from paper.published import NOISE as PAPER_NOISE
from paper.runs import Record
from paper.tables.cells import beside_paper
from paper.toys import ELONGATED, NOISE, TOYS
from paper.view import NOT_RUN, View


def noise(view: View) -> Grid:
    """Silhouette, NMI and ARI of the inliers, clean and with outliers."""
    columns = [
        "",
        *(f"{quantity}, {TOYS[toy].title}" for quantity in ("SC", "NMI", "ARI") for toy in NOISE),
    ]
    rows = []
    for method, info in TOY_METHODS.items():
        paper = PAPER_NOISE.get(PAPER_METHODS.get(method, ""), (None, None))
        cells = [
            beside_paper(_mean(drawings(view, toy, method), "silhouette"), number)
            for toy, number in zip(NOISE, paper, strict=True)
        ]
        cells += [_mean(drawings(view, toy, method), q) for q in ("nmi", "ari") for toy in NOISE]
        rows.append([info.title, *cells])
    return Grid("Noise", columns, rows)


def elongated(view: View) -> Grid:
    """ARI and silhouette of every method on the two toys, with the truth's silhouette."""
    columns = [
        "",
        *(f"{quantity}, {TOYS[toy].title}" for toy in ELONGATED for quantity in ("ARI", "SC")),
    ]
    rows = [
        [
            info.title,
            *(
                _mean(drawings(view, toy, method), quantity)
                for toy in ELONGATED
                for quantity in ("ari", "silhouette")
            ),
        ]
        for method, info in TOY_METHODS.items()
    ]
    truth = ["the truth"]
    for toy in ELONGATED:
        truth += ["1.000", _mean(drawings(view, toy, "kmeans"), "true_silhouette")]
    return Grid("The toys", columns, [*rows, truth])


def drawings(view: View, toy: str, method: str) -> list[Record]:
    """Give the records of a method on all drawings of a toy."""
    return [
        record
        for run, record in view.records("toys").items()
        if (run.set, run.method) == (toy, method)
    ]


def _mean(records: Sequence[Record], quantity: str) -> str:
    if not records:
        return NOT_RUN
    values = [record.results[quantity] for record in records]
    return mean_and_deviation([nan if value is None else value for value in values])
