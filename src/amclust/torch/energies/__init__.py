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
