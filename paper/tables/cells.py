"""What cells of the tables have in common."""

from __future__ import annotations

from benchmarks.framework import number

NOT_DEFINED = "—"


def beside_paper(ours: str, paper: float | None, digits: int = 3) -> str:
    """Put the paper's number below ours."""
    return ours if paper is None else f"{ours}<br>*{number(paper, digits)}*"
