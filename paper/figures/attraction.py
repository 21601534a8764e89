"""Collective attraction: the cases of the paper, each at a β that the records bear out."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from paper.figures.arrows import draw_pulls
from paper.networks import CASES, given_network
from paper.runs import Record
from paper.view import View

_TITLES = {
    "case-1": "I",
    "case-2": "II",
    "case-3": "III as drawn",
    "case-3-apart": "III moved apart",
}
# A point has arrived at a memory from here on.
_NEAR = 0.25


def draw(view: View) -> Figure | None:
    """A panel a case."""
    records = {name: view.one("networks", name, "attraction", "given") for name in CASES}
    if None in records.values():
        return None
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    for ax, (name, record) in zip(figure.subplots(2, 2).flat, records.items(), strict=True):
        assert record is not None
        _panel(ax, name, record)
    return figure


def _panel(ax: Any, name: str, record: Record) -> None:
    beta, end = telling_beta(record)
    memories, point = (np.array(record.definition[part]) for part in ("memories", "point"))
    model = given_network(memories, beta)
    draw_pulls(ax, model, point, shift=0.1)
    ax.set_title(f"{_TITLES[name]}: β = {beta:.2g}, x falls to ρ{end + 1}")
    ax.set(xlim=(0.5, 5.0), ylim=(-0.7, 1.8), xticks=[], yticks=[], aspect="equal")


def telling_beta(record: Record) -> tuple[float, int]:
    """Give a β at which the point arrives at another memory than the nearest, else any.

    It is the middle one of those β, and comes with the memory that the point arrives at.
    """
    results = record.results
    rows = list(
        zip(record.definition["betas"], results["falls_to"], results["distance"], strict=True)
    )
    memories, point = (np.array(record.definition[part]) for part in ("memories", "point"))
    distances = np.linalg.norm(memories - point, axis=1)
    arrived = [row for row in rows if row[2] < _NEAR]
    farther = [row for row in arrived if distances[row[1]] > distances.min() + 1e-6]
    among = farther or arrived or rows
    beta, end, _ = among[len(among) // 2]
    return beta, end
