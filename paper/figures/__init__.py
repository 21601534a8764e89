"""The figures of the page.

Every figure is a function of the records that gives a matplotlib Figure, or None while a record it
needs is missing.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from paper.experiments.curves import CURVES
from paper.experiments.toys import ELONGATED, NOISE
from paper.figures.networks import attraction, basins, dynamics
from paper.figures.sets import ablations, curves, entropies, memories
from paper.figures.toys import toys
from paper.records import Origin, View


class FigureInfo(NamedTuple):
    draw: Callable[[View], Any]
    origin: Origin


_BASINS = Origin("networks", methods=("basins",))
FIGURES = {
    "ablations": FigureInfo(
        ablations, Origin("partitions", ("honest",), ("clam", "clam-unmasked", "clam-weighted"))
    ),
    "two-clusters": FigureInfo(partial(toys, names=ELONGATED[:1]), Origin("toys")),
    "three-clusters": FigureInfo(partial(toys, names=ELONGATED[1:]), Origin("toys")),
    "noise": FigureInfo(partial(toys, names=NOISE), Origin("toys")),
    "basins-three": FigureInfo(partial(basins, name="three-memories"), _BASINS),
    "basins-five": FigureInfo(partial(basins, name="five-memories"), _BASINS),
    "dynamics": FigureInfo(dynamics, Origin("networks", methods=("dynamics",))),
    "attraction": FigureInfo(attraction, Origin("networks", methods=("attraction",))),
    "memories": FigureInfo(memories, Origin("memories", methods=("evolution",))),
    **{
        f"curves-{parameter.replace('_', '-')}": FigureInfo(
            partial(curves, parameter=parameter), Origin("curves", methods=(parameter,))
        )
        for parameter in CURVES
    },
    "entropies": FigureInfo(entropies, Origin("memories", methods=("entropy",))),
}
