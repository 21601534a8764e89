"""The toys: truth and partitions side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from amclust._colours import cluster_colours
from benchmarks.data import FloatArray, IntArray
from benchmarks.framework.cases import unpack_labels
from paper.experiments.toys import FIRST_SEED, TOY_METHODS, TOYS, Drawn, draw
from paper.records import View

_METHODS = ("kmeans", "dec", "clam-completion", "clam")


def toys(view: View, names: Sequence[str]) -> Figure | None:
    """A row a toy: the truth and the methods, on the first drawing."""
    records = {
        (name, method): record
        for name in names
        for method in _METHODS
        if (record := view.one("toys", name, method, "toy", FIRST_SEED)) is not None
    }
    if len(records) < len(names) * len(_METHODS):
        return None
    figure = Figure(figsize=(13, 2.3 * len(names)), layout="constrained")
    panels = figure.subplots(len(names), 1 + len(_METHODS), squeeze=False)
    for row, name in zip(panels, names, strict=True):
        toy = draw(name, FIRST_SEED)
        _panel(row[0], toy, toy.table.classes, None)
        title = "truth" if len(names) == 1 else f"truth, {TOYS[name].title}"
        row[0].set_title(title, fontsize=9)
        for ax, method in zip(row[1:], _METHODS, strict=True):
            results = records[name, method].results
            labels = _matched(unpack_labels(results["labels"]), toy)
            _panel(ax, toy, labels, np.array(results["prototypes"]))
            # Adding zero takes the sign from a zero.
            agreement = round(results["ari"], 2) + 0.0
            ax.set_title(f"{TOY_METHODS[method].title}: ARI {agreement:.2f}", fontsize=9)
    return figure


def _panel(ax: Any, toy: Drawn, labels: IntArray, prototypes: FloatArray | None) -> None:
    points, colours = toy.table.features, np.array(cluster_colours(toy.table.n_clusters))
    inside, outside = toy.inliers, ~toy.inliers
    ax.scatter(*points[inside].T, s=9, c=colours[labels[inside]], linewidths=0)
    edge = colours[labels[outside]] if prototypes is not None else "0.5"
    ax.scatter(*points[outside].T, s=24, c=edge, marker="x", linewidths=1)
    if prototypes is not None:
        ax.scatter(*prototypes.T, s=70, c="black", edgecolors="white", linewidths=1, zorder=3)
    ax.set(xticks=[], yticks=[], aspect="equal")


def _matched(labels: IntArray, toy: Drawn) -> IntArray:
    """Number clusters by the class that most of their points have, as far as that goes."""
    k = toy.table.n_clusters
    counts = np.zeros((k, k))
    np.add.at(counts, (labels, toy.table.classes), toy.inliers.astype(float))
    return linear_sum_assignment(-counts)[1][labels]
