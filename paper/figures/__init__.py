"""The figures of the page.

Every figure is a function of the records that gives a matplotlib Figure, or None while a record it
needs is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from paper.experiments.toys import ELONGATED, NOISE
from paper.figures.networks import attraction, basins, dynamics
from paper.figures.sets import ablations, curves, entropies, memories
from paper.figures.toys import toys
from paper.view import Origin, View


class FigureInfo(NamedTuple):
    """A figure of the page: its heading, what is to be seen, how it is drawn, and from what."""

    title: str
    caption: str
    draw: Callable[[View], Any]
    origin: Origin


_TOY = (
    "The truth, and what Lloyd's algorithm, DEC and ClAM find, with the paper's loss and its "
    "default one; black dots are prototypes."
)
FIGURES = {
    "ablations": FigureInfo(
        "What self-supervision and weights do",
        "The differences of the table above, with their intervals of 95 %.",
        ablations,
        Origin("partitions", ("honest",), ("clam", "clam-unmasked", "clam-weighted")),
    ),
    "two-clusters": FigureInfo(
        "Two clusters",
        _TOY,
        partial(toys, names=ELONGATED[:1]),
        Origin("toys"),
    ),
    "three-clusters": FigureInfo(
        "Three elongated clusters",
        _TOY,
        partial(toys, names=ELONGATED[1:]),
        Origin("toys"),
    ),
    "noise": FigureInfo(
        "Outliers",
        "The same two clusters clean and with outliers (crosses). ClAM has the paper's loss in one "
        "column and its default one in the last. One drawing of ten: the table has all.",
        partial(toys, names=NOISE),
        Origin("toys"),
    ),
    "basins-three": FigureInfo(
        "Basins against Voronoi cells, three memories",
        "Coloured: what falls to which memory in ten steps of size 0.1. Dashed: where the nearest "
        "memory changes. In the titles, the part of the square that falls to another memory than "
        "the nearest.",
        partial(basins, name="three-memories"),
        Origin("networks", methods=("basins",)),
    ),
    "basins-five": FigureInfo(
        "Basins against Voronoi cells, five memories",
        "The same for five memories.",
        partial(basins, name="five-memories"),
        Origin("networks", methods=("basins",)),
    ),
    "dynamics": FigureInfo(
        "Attractor dynamics",
        "Left: the pull of every memory on a point (coloured; the longer the stronger), their sum "
        "(black), and where the first step leads (ring). Right: all steps, down to the memory.",
        dynamics,
        Origin("networks", methods=("dynamics",)),
    ),
    "attraction": FigureInfo(
        "Collective attraction",
        "Pull of every memory on the point x (coloured) and their sum (black), at the β of the "
        "title. I: the nearest wins. II: two memories together draw x away from the nearest. III: "
        "two memories are to cancel, so that x falls to the farthest; in the places that the paper "
        "draws this happens at no β, with the two moved apart it does.",
        attraction,
        Origin("networks", methods=("attraction",)),
    ),
    "memories": FigureInfo(
        "Evolution of memories on Fashion-MNIST",
        "Memories, a row each, at some epochs, from the paper's normal seeding; red is above the "
        "mean of a pixel, blue below. Few clusters live at the end, and memories go on changing: "
        "they do not settle as in the paper's figure.",
        memories,
        Origin("memories", methods=("evolution",)),
    ),
    "curves-beta": FigureInfo(
        "Silhouette against β",
        "A line for each number of steps T; hollow points have empty clusters. k-means is dashed.",
        partial(curves, parameter="beta"),
        Origin("curves", methods=("beta",)),
    ),
    **{
        f"curves-{parameter.replace('_', '-')}": FigureInfo(
            f"Silhouette against the {title}",
            "As above.",
            partial(curves, parameter=parameter),
            Origin("curves", methods=(parameter,)),
        )
        for parameter, title in (
            ("learning_rate", "learning rate"),
            ("mask_prob", "part of the entries that is hidden"),
            ("mask_value", "mask value"),
        )
    },
    "entropies": FigureInfo(
        "Entropies",
        "Entropy of the memberships of all rows (10,000 of Fashion-MNIST), with the paper's best "
        "hyperparameters: 0 where the nearest memory decides alone. Some axes are logarithmic.",
        entropies,
        Origin("memories", methods=("entropy",)),
    ),
}
