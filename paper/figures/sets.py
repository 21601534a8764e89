"""The paper's sets: ablations, silhouettes against hyperparameters, entropies, memories."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from amclust._colours import cluster_colours
from amclust.plotting import EntropyDisplay, MemoriesDisplay
from benchmarks.framework.cases import unpack_array
from paper import sets
from paper.experiments.curves import CURVES, STEPS
from paper.records import Record, View
from paper.tables.ablations import QUANTITIES, QUESTIONS, effect_in_all, effect_on

_PARAMETERS = {
    "beta": "β",
    "learning_rate": "learning rate",
    "mask_prob": "part hidden",
    "mask_value": "mask value",
}


def ablations(view: View) -> Figure | None:
    """What masking and learned weights do: a panel a question, a line a set, as intervals."""
    names = view.table_sets
    figure = Figure(figsize=(11, 0.42 * len(names) + 1.8), layout="constrained")
    panels = figure.subplots(1, len(QUESTIONS), sharey=True)
    empty = True
    for ax, question in zip(panels, QUESTIONS, strict=True):
        colours = cluster_colours(len(QUANTITIES))
        for offset, (quantity, colour) in enumerate(zip(QUANTITIES, colours, strict=True)):
            effects = [effect_on(view, name, question, quantity) for name in names]
            effects.append(effect_in_all(view, question, quantity))
            there = [(place, one) for place, one in enumerate(effects) if one is not None]
            if not there:
                continue
            empty = False
            means, widths = zip(*((one.mean, one.half_width) for _, one in there), strict=True)
            heights = np.array([place for place, _ in there]) + 0.22 * (offset - 1)
            style = {"fmt": "o", "ms": 4, "capsize": 2, "lw": 1, "color": colour}
            ax.errorbar(means, heights, xerr=widths, label=QUANTITIES[quantity], **style)
        ax.axvline(0.0, c="0.4", lw=0.8)
        ax.axhline(len(names) - 0.5, c="0.7", lw=0.8)
        ax.set_title(f"with {question}, less without")
        ax.grid(axis="x", alpha=0.3)
    panels[0].set_yticks(range(len(names) + 1), [*map(sets.title, names), "all sets"])
    panels[0].invert_yaxis()
    if empty:
        return None
    panels[-1].legend(fontsize=8)
    return figure


def curves(view: View, parameter: str) -> Figure | None:
    """Silhouettes against one hyperparameter, a panel a set, a line for each T."""
    records = view.records("curves", method=parameter)
    if not records:
        return None
    order = CURVES[parameter]
    records.sort(key=lambda record: order.index(sets.paper_set(record.key.set)))
    figure, panels = _panels(len(records), columns=3, width=11, height=3)
    for ax, record in zip(panels, records, strict=False):
        _draw_curves(ax, record, parameter)
        k_means = view.chosen(record.key.set, "kmeans")
        if k_means is not None:
            ax.axhline(k_means["silhouette"], c="0.3", ls="--", lw=1, label="k-means")
        ax.set(title=sets.title(record.key.set), xlabel=_PARAMETERS[parameter], ylabel="silhouette")
    lines, labels = figure.axes[0].get_legend_handles_labels()
    hollow = Line2D([], [], ls="", marker="o", mfc="white", mec="0.3", ms=4)
    place = {"loc": "outside lower center", "ncols": len(lines) + 1}
    figure.legend([*lines, hollow], [*labels, "with empty clusters"], **place, fontsize=8)
    return figure


def entropies(view: View) -> Figure | None:
    """Histograms of the entropy of memberships, a panel for each set that has a record."""
    order = {name: place for place, name in enumerate(view.table_sets)}
    records = view.records("memories", method="entropy")
    if not records:
        return None
    records.sort(key=lambda record: order.get(record.key.set, len(order)))
    figure, panels = _panels(len(records), columns=4, width=12, height=2.9)
    for ax, record in zip(panels, records, strict=False):
        k, entropy = record.results["n_clusters"], unpack_array(record.results["entropy"])
        EntropyDisplay(entropy=entropy, n_clusters=k).plot(ax=ax)
        title = f"{sets.title(record.key.set)}, β = {record.results['beta']:g}"
        ax.set_title(title, fontsize=9, loc="left", pad=22)
        ax.set_xlabel(f"entropy (at most log {k})")
    return figure


def memories(view: View) -> Figure | None:
    """Evolution of memories on Fashion-MNIST: a row a memory, a column an epoch."""
    record = view.one("memories", "fashion_mnist", "evolution", "paper")
    if record is None:
        return None
    figure = Figure(figsize=(6.5, 9), layout="constrained")
    display = MemoriesDisplay(
        memories=unpack_array(record.results["memories"]),
        image_shape=sets.IMAGES["fashion_mnist"],
        epochs=record.results["epochs"],
        value_name="deviation from the mean, in standard deviations",
    )
    display.plot(ax=figure.subplots())
    return figure


def _panels(count: int, *, columns: int, width: float, height: float) -> tuple[Figure, list[Any]]:
    """Start a figure with so many panels; places that are left over stay empty."""
    rows = -(-count // columns)
    figure = Figure(figsize=(width, height * rows), layout="constrained")
    panels = list(figure.subplots(rows, columns, squeeze=False).flat)
    for ax in panels[count:]:
        ax.set_axis_off()
    return figure, panels


def _draw_curves(ax: Any, record: Record, parameter: str) -> None:
    results = record.results
    steps, scores, living, values = (
        np.array(results[name]) for name in ("steps", "silhouettes", "living", "values")
    )
    for colour, n_steps in zip(cluster_colours(len(STEPS)), STEPS, strict=True):
        here = steps == n_steps
        ax.plot(values[here], scores[here], c=colour, lw=1.2, label=f"T = {n_steps}")
        faces = np.where(living[here] == results["n_clusters"], colour, "white")
        ax.scatter(values[here], scores[here], s=16, c=faces, edgecolors=colour, zorder=3)
    if parameter in ("beta", "learning_rate"):
        ax.set_xscale("log")
