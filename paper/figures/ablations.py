"""What masking and learned weights do, as intervals."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from amclust._colours import cluster_colours
from paper import sets
from paper.tables.ablations import QUANTITIES, QUESTIONS, effect_in_all, effect_on
from paper.view import View


def draw(view: View) -> Figure | None:
    """A panel a question, a line a set, a colour a quantity."""
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
            ax.errorbar(
                [one.mean for _, one in there],
                np.array([place for place, _ in there]) + 0.22 * (offset - 1),
                xerr=[one.half_width for _, one in there],
                fmt="o",
                ms=4,
                capsize=2,
                lw=1,
                color=colour,
                label=QUANTITIES[quantity],
            )
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
