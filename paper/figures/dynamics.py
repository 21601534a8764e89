"""Attractor dynamics: the pull on a point, and its way to a memory."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from amclust._colours import cluster_colours
from paper.figures.arrows import draw_pulls, name_memories, pulls
from paper.networks import given_network
from paper.view import View


def draw(view: View) -> Figure | None:
    """Two panels: one step, and all of them."""
    record = view.one("networks", "three-and-a-point", "dynamics", "given")
    if record is None:
        return None
    asked, found = record.definition, record.results
    memories, point = np.array(asked["memories"]), np.array(asked["point"])
    steps, step_size = asked["n_steps"], asked["step_size"]
    model = given_network(memories, asked["betas"][0], steps, step_size)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    one, all_steps = figure.subplots(1, 2)
    draw_pulls(one, model, point)
    first = point + step_size * pulls(model, point).sum(axis=0)
    one.scatter(*first, s=40, facecolors="white", edgecolors="black", zorder=6)
    one.set_title(f"pulls, and the first step (α = {step_size})")
    all_steps.scatter(*memories.T, s=110, c=cluster_colours(len(memories)), zorder=3)
    name_memories(all_steps, memories)
    all_steps.plot(*np.array(found["path"]).T, "o-", c="black", ms=3, lw=1)
    all_steps.set_title(f"{steps} steps: {found['distance']:.2f} from ρ{found['falls_to'] + 1}")
    for ax in (one, all_steps):
        ax.set(xlim=(0, 2.7), ylim=(0, 1.8), xticks=[], yticks=[], aspect="equal")
    return figure
