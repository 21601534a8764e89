"""The figures of the page: one file each.

Every figure is a function of the records that gives a matplotlib Figure, or None while a record it
needs is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from paper.figures import (
    ablations,
    attraction,
    basins,
    curves,
    dynamics,
    entropies,
    memories,
    toys,
)
from paper.toys import ELONGATED, NOISE
from paper.view import Origin, View


class FigureInfo(NamedTuple):
    """A figure of the page: its heading, what is to be seen, how it is drawn, and from what."""

    title: str
    caption: str
    draw: Callable[[View], Any]
    origin: Origin


FIGURES = {
    "ablations": FigureInfo(
        "What self-supervision and weights do",
        "The differences of the table above, with their intervals of 95 %.",
        ablations.draw,
        Origin("partitions", ("honest",), ("clam", "clam-unmasked", "clam-weighted")),
    ),
    "two-clusters": FigureInfo(
        "Two clusters",
        "The truth, and what Lloyd's algorithm, DEC and ClAM find, with the paper's loss and its "
        "default one; black dots are prototypes.",
        lambda view: toys.draw(view, ELONGATED[:1]),
        Origin("toys"),
    ),
    "three-clusters": FigureInfo(
        "Three elongated clusters",
        "The truth, and what Lloyd's algorithm, DEC and ClAM find, with the paper's loss and its "
        "default one; black dots are prototypes.",
        lambda view: toys.draw(view, ELONGATED[1:]),
        Origin("toys"),
    ),
    "noise": FigureInfo(
        "Outliers",
        "The same two clusters clean and with outliers (crosses). ClAM has the paper's loss in one "
        "column and its default one in the last. One drawing of ten: the table has all.",
        lambda view: toys.draw(view, NOISE),
        Origin("toys"),
    ),
    "basins-three": FigureInfo(
        "Basins against Voronoi cells, three memories",
        "Coloured: what falls to which memory in ten steps of size 0.1. Dashed: where the nearest "
        "memory changes. In the titles, the part of the square that falls to another memory than "
        "the nearest.",
        lambda view: basins.draw(view, "three-memories"),
        Origin("networks", methods=("basins",)),
    ),
    "basins-five": FigureInfo(
        "Basins against Voronoi cells, five memories",
        "The same for five memories.",
        lambda view: basins.draw(view, "five-memories"),
        Origin("networks", methods=("basins",)),
    ),
    "dynamics": FigureInfo(
        "Attractor dynamics",
        "Left: the pull of every memory on a point (coloured; the longer the stronger), their sum "
        "(black), and where the first step leads (ring). Right: all steps, down to the memory.",
        dynamics.draw,
        Origin("networks", methods=("dynamics",)),
    ),
    "attraction": FigureInfo(
        "Collective attraction",
        "Pull of every memory on the point x (coloured) and their sum (black), at the β of the "
        "title. I: the nearest wins. II: two memories together draw x away from the nearest. III: "
        "two memories are to cancel, so that x falls to the farthest; in the places that the paper "
        "draws this happens at no β, with the two moved apart it does.",
        attraction.draw,
        Origin("networks", methods=("attraction",)),
    ),
    "memories": FigureInfo(
        "Evolution of memories on Fashion-MNIST",
        "Memories, a row each, at some epochs, from the paper's normal seeding; red is above the "
        "mean of a pixel, blue below. Few clusters live at the end, and memories go on changing: "
        "they do not settle as in the paper's figure.",
        memories.draw,
        Origin("memories", methods=("evolution",)),
    ),
    "curves-beta": FigureInfo(
        "Silhouette against β",
        "A line for each number of steps T; hollow points have dead clusters. k-means is dashed.",
        lambda view: curves.draw(view, "beta"),
        Origin("curves", methods=("beta",)),
    ),
    "curves-learning-rate": FigureInfo(
        "Silhouette against the learning rate",
        "As above.",
        lambda view: curves.draw(view, "learning_rate"),
        Origin("curves", methods=("learning_rate",)),
    ),
    "curves-mask-prob": FigureInfo(
        "Silhouette against the part of the entries that is hidden",
        "As above.",
        lambda view: curves.draw(view, "mask_prob"),
        Origin("curves", methods=("mask_prob",)),
    ),
    "curves-mask-value": FigureInfo(
        "Silhouette against the mask value",
        "As above.",
        lambda view: curves.draw(view, "mask_value"),
        Origin("curves", methods=("mask_value",)),
    ),
    "entropies": FigureInfo(
        "Entropies",
        "Entropy of the memberships of all rows (10,000 of Fashion-MNIST), with the paper's best "
        "hyperparameters: 0 where the nearest memory decides alone. Some axes are logarithmic.",
        entropies.draw,
        Origin("memories", methods=("entropy",)),
    ),
}
