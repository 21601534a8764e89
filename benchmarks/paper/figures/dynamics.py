"""Attractor dynamics: the pull on a point, and its way to a memory."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from amclust._colours import cluster_colours
from benchmarks.paper.figures.arrows import draw_pulls, name_memories, pulls
from benchmarks.paper.networks import given_network
from benchmarks.paper.view import View

# As in the paper's drawing, in units of its grid over ten.
_MEMORIES = np.array([[0.35, 0.55], [1.15, 0.35], [2.45, 0.75]])
_POINT = np.array([0.8, 1.5])
_BETA, _N_STEPS, _STEP_SIZE = 5.0, 20, 0.25


def draw(view: View) -> Figure:
    """Two panels: one step, and all of them."""
    model = given_network(_MEMORIES, _BETA, _N_STEPS, _STEP_SIZE)
    end, path = model.recall(_POINT[None], return_trajectory=True)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    one, all_steps = figure.subplots(1, 2)
    draw_pulls(one, model, _POINT)
    first = _POINT + _STEP_SIZE * pulls(model, _POINT).sum(axis=0)
    one.scatter(*first, s=40, facecolors="white", edgecolors="black", zorder=6)
    one.set_title(f"pulls, and the first step (α = {_STEP_SIZE})")
    colours = cluster_colours(len(_MEMORIES))
    all_steps.scatter(*_MEMORIES.T, s=110, c=colours, zorder=3)
    name_memories(all_steps, _MEMORIES)
    all_steps.plot(*path[:, 0].T, "o-", c="black", ms=3, lw=1)
    reached = int(np.linalg.norm(_MEMORIES - end[0], axis=1).argmin())
    distance = np.linalg.norm(_MEMORIES[reached] - end[0])
    all_steps.set_title(f"{_N_STEPS} steps: {distance:.2f} from ρ{reached + 1}")
    for ax in (one, all_steps):
        ax.set(xlim=(0, 2.7), ylim=(0, 1.8), xticks=[], yticks=[], aspect="equal")
    return figure
