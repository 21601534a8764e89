"""Networks with given memories: basins, pulls on a point, and its way to a memory."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from amclust import ClAM
from amclust._colours import cluster_colours
from amclust.plotting import BasinsDisplay
from benchmarks.data import FloatArray
from paper.experiments.networks import CASES, given_network, given_networks
from paper.records import Record, View

_SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
_CASE_TITLES = dict(zip(CASES, ("I", "II", "III as drawn", "III moved apart"), strict=True))
# A point has arrived at a memory from here on.
_NEAR = 0.25


def basins(view: View, name: str) -> Figure | None:
    """Basins against Voronoi cells at ten temperatures, with the record's numbers as titles."""
    record = view.one("networks", name, "basins", "given")
    if record is None:
        return None
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    models, elsewhere = given_networks(record.case.definition), record.results["elsewhere"]
    for ax, model, part in zip(figure.subplots(2, 5).flat, models, elsewhere, strict=True):
        BasinsDisplay.from_estimator(
            model, _SQUARE, margin=0.0, resolution=200, ax=ax, show_rows=False
        )
        ax.set_title(f"β = {model.beta:g}: {part:.1%} elsewhere", fontsize=9)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="", aspect="equal")
    return figure


def dynamics(view: View) -> Figure | None:
    record = view.one("networks", "three-and-a-point", "dynamics", "given")
    if record is None:
        return None
    asked, found = record.case.definition, record.results
    memories, point = np.array(asked["memories"]), np.array(asked["point"])
    step_size, (model,) = asked["step_size"], given_networks(asked)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    one, all_steps = figure.subplots(1, 2)
    _draw_pulls(one, model, point)
    first = point + step_size * _pulls(model, point).sum(axis=0)
    one.scatter(*first, s=40, facecolors="white", edgecolors="black", zorder=6)
    one.set_title(f"pulls, and the first step (α = {step_size})")
    _draw_memories(all_steps, memories)
    all_steps.plot(*np.array(found["path"]).T, "o-", c="black", ms=3, lw=1)
    falls_to, distance = found["falls_to"], found["distance"]
    all_steps.set_title(f"{model.n_steps} steps: {distance:.2f} from ρ{falls_to + 1}")
    for ax in (one, all_steps):
        ax.set(xlim=(0, 2.7), ylim=(0, 1.8), xticks=[], yticks=[], aspect="equal")
    return figure


def attraction(view: View) -> Figure | None:
    """Collective attraction: a panel a case, at a β that the record bears out."""
    records = {record.key.set: record for record in view.records("networks", method="attraction")}
    if set(records) != set(CASES):
        return None
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    for ax, name in zip(figure.subplots(2, 2).flat, CASES, strict=True):
        record = records[name]
        beta, end = _telling_beta(record)
        memories, point = (np.array(record.case.definition[part]) for part in ("memories", "point"))
        _draw_pulls(ax, given_network(memories, beta), point, shift=0.1)
        ax.set_title(f"{_CASE_TITLES[name]}: β = {beta:.2g}, x falls to ρ{end + 1}")
        ax.set(xlim=(0.5, 5.0), ylim=(-0.7, 1.8), xticks=[], yticks=[], aspect="equal")
    return figure


def _telling_beta(record: Record) -> tuple[float, int]:
    """Give the middle β at which the point arrives beyond the nearest memory, and where."""
    asked, results = record.case.definition, record.results
    rows = list(zip(asked["betas"], results["falls_to"], results["distance"], strict=True))
    distances = np.linalg.norm(np.array(asked["memories"]) - asked["point"], axis=1)
    arrived = [row for row in rows if row[2] < _NEAR]
    farther = [row for row in arrived if distances[row[1]] > distances.min() + 1e-6]
    among = farther or arrived or rows
    beta, end, _ = among[len(among) // 2]
    return beta, end


def _pulls(model: ClAM, point: FloatArray) -> FloatArray:
    """Multiply the membership of every memory by the way to it."""
    memberships = model.predict_proba(point[None])[0]
    return memberships[:, None] * (model.cluster_centers_ - point)


def _draw_pulls(ax: Any, model: ClAM, point: FloatArray, shift: float = 0.0) -> None:
    """Draw memories, the point, all pulls and their sum; `shift` keeps arrows on a line apart."""
    memories = np.asarray(model.cluster_centers_)
    each = _pulls(model, point)
    _draw_memories(ax, memories)
    ax.scatter(*point, s=30, c="black", zorder=4)
    colours = cluster_colours(len(memories))
    parts = [*zip(each, colours, strict=True), (each.sum(axis=0), "black")]
    for place, (pull, colour) in enumerate(parts):
        start = point + np.array([0.0, shift * (place - (len(parts) - 1) / 2)])
        style = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", start + pull, start, arrowprops=style, zorder=5)


def _draw_memories(ax: Any, memories: FloatArray) -> None:
    ax.scatter(*memories.T, s=110, c=cluster_colours(len(memories)), zorder=3)
    for number, memory in enumerate(memories, start=1):
        ax.annotate(f"ρ{number}", memory, xytext=(0, 9), textcoords="offset points", ha="center")
