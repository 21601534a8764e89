"""How numbers are written in the cells of the tables."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from benchmarks.quality.grids import mean_and_deviation, number
from paper.runs import Record
from paper.view import NOT_RUN

NOT_DEFINED = "—"
BREAK = "<br>"
# Where no partition has a silhouette.
ONE_CLUSTER = "one cluster"


def beside_paper(ours: str, paper: float | None, digits: int = 3) -> str:
    """Put the paper's number below ours."""
    return ours if paper is None else f"{ours}{BREAK}*{number(paper, digits)}*"


def with_living(record: Record | None, rule: str) -> str:
    """Write the silhouette of what a rule chose, and its number of living clusters."""
    if record is None:
        return NOT_RUN
    found: dict[str, Any] | None = record.results[rule]
    if found is None:
        return ONE_CLUSTER
    return number(found["silhouette"]) + _living(found["living"], record.results["n_clusters"])


def over_seeds(records: Sequence[Record], quantity: str, digits: int = 3) -> str:
    """Write the mean ± standard deviation over the seeds."""
    if not records:
        return NOT_RUN
    values = [found[quantity] for found in _defined(records)]
    return mean_and_deviation(values, digits) if values else ONE_CLUSTER


def living_over_seeds(records: Sequence[Record]) -> str:
    """Write the mean number of living clusters over the seeds, and how many were asked for."""
    found = _defined(records)
    if not found:
        return ""
    living = fmean(one["living"] for one in found)
    failed = len(records) - len(found)
    more = f", {failed} seeds with {ONE_CLUSTER}" if failed else ""
    return _living(living, records[0].results["n_clusters"], more)


def _living(living: float, asked: int, more: str = "") -> str:
    return f" <small>({living:.3g}/{asked}{more})</small>"


def _defined(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Leave out the seeds for which every partition was a single cluster."""
    return [record.results["living"] for record in records if record.results["living"]]
