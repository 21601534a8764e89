"""Energies of a memory network: what draws a state to the memories.

An energy says how strongly every memory attracts a state and where a step of the dynamics leads.
All of them work in the functions of :mod:`amclust.torch.functional` and in
:class:`amclust.torch.AssociativeMemory`; a new one is a subclass of :class:`Energy`.
"""

import copy

import torch

from amclust._metrics import NATIVE_METRICS, name_metric
from amclust.torch.energies._base import Energy
from amclust.torch.energies._cosine import Cosine
from amclust.torch.energies._epanechnikov import Epanechnikov
from amclust.torch.energies._euclidean import Euclidean
from amclust.torch.energies._kernel import Kernel
from amclust.torch.energies._mahalanobis import Mahalanobis
from amclust.torch.energies._manhattan import Manhattan
from amclust.torch.energies._weighted import Weighted

# Those of a name that are the same for rows and memories of any size.
PLAIN_ENERGIES = {
    "euclidean": Euclidean,
    "cosine": Cosine,
    "manhattan": Manhattan,
    "epanechnikov": Epanechnikov,
}
ENERGY_NAMES = (*PLAIN_ENERGIES, "mahalanobis", "kernel", "weighted")
# Random features of a kernel that is asked for by name.
KERNEL_SEED = 0


def find_energy(energy: object, *, dim: int | None = None, n_memories: int | None = None) -> Energy:
    """Return an energy, or the one of a name; None: the Euclidean one.

    "mahalanobis" has a learned factor that begins as the identity, "kernel" ``gamma = 1 / dim`` and
    the same features every time, "weighted" is the Euclidean one with learned weights that begin
    at 1. These need `dim` or `n_memories`; an energy that is given must suit them.
    """
    if energy is None:
        return Euclidean()
    if isinstance(energy, Energy):
        _check_size(energy, dim, n_memories)
        return energy
    if isinstance(energy, str) and energy in PLAIN_ENERGIES:
        return PLAIN_ENERGIES[energy]()
    if energy == "mahalanobis":
        return Mahalanobis(_size("dim", dim, energy))
    if energy == "kernel":
        dim = _size("dim", dim, energy)
        return Kernel(dim, 1 / dim, generator=torch.Generator().manual_seed(KERNEL_SEED))
    if energy == "weighted":
        return Weighted(Euclidean(), _size("n_memories", n_memories, energy))
    message = f"energy must be an Energy or one of {list(ENERGY_NAMES)}, got {energy!r}"
    raise ValueError(message)


def make_energy(metric: object, *, dim: int, n_memories: int) -> Energy | None:
    """Return a new energy for a metric of `ClAM`; None: the core has it.

    One of the user's own is copied, so that training does not change it.
    """
    if isinstance(metric, str) and metric in NATIVE_METRICS:
        return None
    if isinstance(metric, Energy) and metric.dim not in (None, dim):
        message = (
            f"metric={name_metric(metric)} is for {metric.dim} features, but X has {dim} column(s)."
        )
        raise ValueError(message)
    energy = copy.deepcopy(find_energy(metric, dim=dim, n_memories=n_memories))
    return energy.to("cpu", torch.float32)


def metric_of(energy: Energy, *, dim: int) -> str | Energy:
    """Return the name of a metric that is this energy; the energy itself where there is none.

    "mahalanobis" is none: the core's is not learned.
    """
    for name in ("euclidean", "cosine", "manhattan", "epanechnikov", "kernel", "weighted"):
        count = energy.log_weights.shape[-1] if isinstance(energy, Weighted) else 1
        named = find_energy(name, dim=dim, n_memories=count)
        if _kind(named) == _kind(energy):
            return name
    return energy


def _kind(energy: Energy) -> tuple[object, ...]:
    base = _kind(energy.base) if isinstance(energy, Weighted) else ()
    return type(energy), energy.extra_repr(), *base


def _size(name: str, value: int | None, energy: str) -> int:
    if value is None:
        message = f"the energy {energy!r} needs {name}: give it, or an Energy that has it"
        raise ValueError(message)
    return value


def _check_size(energy: Energy, dim: int | None, n_memories: int | None) -> None:
    """Refuse an energy that is for rows or memories of another size."""
    if dim is not None and energy.dim not in (None, dim):
        message = f"energy is for {energy.dim} features, but dim={dim}"
        raise ValueError(message)
    if isinstance(energy, Weighted):
        given = energy.log_weights.shape[-1]
        if n_memories is not None and given != n_memories:
            message = f"energy has {given} weights, but n_memories={n_memories}"
            raise ValueError(message)
        _check_size(energy.base, dim, n_memories)


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
