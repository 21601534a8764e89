"""Basins of attraction against Voronoi cells at the paper's ten temperatures."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from amclust.plotting import BasinsDisplay
from paper.networks import given_network
from paper.view import View

_SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def draw(view: View, name: str) -> Figure | None:
    """Ten panels, with what the record says in their titles."""
    record = view.one("networks", name, "basins", "given")
    if record is None:
        return None
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    definition = record.definition
    for ax, beta, part in zip(
        figure.subplots(2, 5).flat, definition["betas"], record.results["elsewhere"], strict=True
    ):
        steps = definition["n_steps"], definition["step_size"]
        model = given_network(np.array(definition["memories"]), beta, *steps)
        BasinsDisplay.from_estimator(
            model, _SQUARE, margin=0.0, resolution=200, ax=ax, show_rows=False
        )
        ax.set_title(f"β = {beta:g}: {part:.1%} elsewhere", fontsize=9)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="", aspect="equal")
    return figure
