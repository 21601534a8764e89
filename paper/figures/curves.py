"""Silhouettes against one hyperparameter, a line for each T."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from amclust._colours import cluster_colours
from paper import sets
from paper.experiments.curves import CURVES, STEPS
from paper.runs import Record
from paper.view import View

_NAMES = {
    "beta": "β",
    "learning_rate": "learning rate",
    "mask_prob": "part hidden",
    "mask_value": "mask value",
}
_COLUMNS = 3


def draw(view: View, parameter: str) -> Figure | None:
    """A panel a set that has a record."""
    records = [record for run, record in view.records("curves").items() if run.method == parameter]
    if not records:
        return None
    order = {name: place for place, name in enumerate(CURVES[parameter])}
    records.sort(key=lambda record: order[sets.paper_set(record.run.set)])
    rows = -(-len(records) // _COLUMNS)
    figure = Figure(figsize=(11, 3 * rows), layout="constrained")
    panels = figure.subplots(rows, _COLUMNS, squeeze=False).flat
    for ax, record in zip(panels, records, strict=False):
        _panel(ax, record, parameter)
        k_means = view.chosen(record.run.set, "kmeans")
        if k_means is not None:
            ax.axhline(k_means["silhouette"], c="0.3", ls="--", lw=1, label="k-means")
        ax.set(title=sets.title(record.run.set), xlabel=_NAMES[parameter], ylabel="silhouette")
    for ax in list(figure.axes)[len(records) :]:
        ax.set_axis_off()
    lines, labels = figure.axes[0].get_legend_handles_labels()
    dead = Line2D([], [], ls="", marker="o", mfc="white", mec="0.3", ms=4)
    figure.legend(
        [*lines, dead],
        [*labels, "with dead clusters"],
        loc="outside lower center",
        ncols=len(lines) + 1,
        fontsize=8,
    )
    return figure


def _panel(ax: Any, record: Record, parameter: str) -> None:
    results = record.results
    steps, scores, living = (np.array(results[name]) for name in ("steps", "silhouettes", "living"))
    values = np.array(results["values"])
    for colour, n_steps in zip(cluster_colours(len(STEPS)), STEPS, strict=True):
        here = steps == n_steps
        ax.plot(values[here], scores[here], c=colour, lw=1.2, label=f"T = {n_steps}")
        full = living[here] == results["n_clusters"]
        faces = np.where(full, colour, "white")
        ax.scatter(values[here], scores[here], s=16, c=faces, edgecolors=colour, zorder=3)
    if parameter in ("beta", "learning_rate"):
        ax.set_xscale("log")
