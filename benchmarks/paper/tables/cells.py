"""How numbers are written in the cells of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from benchmarks.paper.runs import Record
from benchmarks.paper.view import NOT_RUN
from benchmarks.quality.grids import mean_and_deviation, number

NOT_DEFINED = "—"
BREAK = "<br>"


def beside_paper(ours: str, paper: float | None, digits: int = 3) -> str:
    """Put the paper's number below ours."""
    return ours if paper is None else f"{ours}{BREAK}*{number(paper, digits)}*"


def with_living(found: dict[str, Any] | None, n_clusters: int | None) -> str:
    """Write a silhouette and the number of living clusters."""
    if found is None:
        return NOT_RUN
    return f"{number(found['silhouette'])} ({found['living']}/{n_clusters})"


def over_seeds(records: Sequence[Record], quantity: str, digits: int = 3) -> str:
    """Write the mean ± standard deviation over the seeds."""
    values = [record.results["living"][quantity] for record in records]
    return mean_and_deviation(values, digits) if values else NOT_RUN


def living_over_seeds(records: Sequence[Record]) -> str:
    """Write the mean number of living clusters over the seeds, and how many were asked for."""
    if not records:
        return ""
    living = fmean(record.results["living"]["living"] for record in records)
    return f" ({living:.3g}/{records[0].results['n_clusters']})"
