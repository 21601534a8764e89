"""Pulls of memories on a point, as arrows."""

from __future__ import annotations

from typing import Any

import numpy as np

from amclust import ClAM
from amclust._colours import cluster_colours
from benchmarks.data import FloatArray


def pulls(model: ClAM, point: FloatArray) -> FloatArray:
    """Give the pull of every memory on a point: membership times the way to the memory."""
    memberships = model.predict_proba(point[None])[0]
    return memberships[:, None] * (model.cluster_centers_ - point)


def draw_pulls(ax: Any, model: ClAM, point: FloatArray, shift: float = 0.0) -> None:
    """Draw memories, the point, all pulls and their sum; `shift` keeps arrows on a line apart."""
    memories = np.asarray(model.cluster_centers_)
    colours = cluster_colours(len(memories))
    each = pulls(model, point)
    ax.scatter(*memories.T, s=110, c=colours, zorder=3)
    name_memories(ax, memories)
    ax.scatter(*point, s=30, c="black", zorder=4)
    parts = [*zip(each, colours, strict=True), (each.sum(axis=0), "black")]
    for place, (pull, colour) in enumerate(parts):
        start = point + np.array([0.0, shift * (place - (len(parts) - 1) / 2)])
        style = {"arrowstyle": "-|>", "color": colour, "lw": 2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", start + pull, start, arrowprops=style, zorder=5)


def name_memories(ax: Any, memories: FloatArray) -> None:
    """Write ρ1, ρ2, ... above the memories."""
    for number, memory in enumerate(memories, start=1):
        ax.annotate(f"ρ{number}", memory, xytext=(0, 9), textcoords="offset points", ha="center")
