"""Energies of a memory network: what draws a state to the memories.

An energy says how strongly every memory attracts a state and where a step of the dynamics leads.
All of them work in the functions of :mod:`amclust.torch.functional` and in
:class:`amclust.torch.AssociativeMemory`; a new one is a subclass of :class:`Energy`.
"""

from amclust.torch.energies._base import Energy
from amclust.torch.energies._cosine import Cosine
from amclust.torch.energies._epanechnikov import Epanechnikov
from amclust.torch.energies._euclidean import Euclidean
from amclust.torch.energies._kernel import Kernel
from amclust.torch.energies._mahalanobis import Mahalanobis
from amclust.torch.energies._manhattan import Manhattan
from amclust.torch.energies._weighted import Weighted

NAMED_ENERGIES = {
    "euclidean": Euclidean,
    "cosine": Cosine,
    "manhattan": Manhattan,
    "epanechnikov": Epanechnikov,
}


def find_energy(energy: object) -> Energy:
    """Return an energy, or the one of a name; None: the Euclidean one."""
    if energy is None:
        return Euclidean()
    if isinstance(energy, Energy):
        return energy
    if isinstance(energy, str) and energy in NAMED_ENERGIES:
        return NAMED_ENERGIES[energy]()
    message = f"energy must be an Energy or one of {list(NAMED_ENERGIES)}, got {energy!r}"
    raise ValueError(message)


__all__ = [
    "Cosine",
    "Energy",
    "Epanechnikov",
    "Euclidean",
    "Kernel",
    "Mahalanobis",
    "Manhattan",
    "Weighted",
]
