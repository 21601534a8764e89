"""The paper's weighted variant."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from amclust.torch.energies._base import Energy, keep


def _delegated(name: str) -> Any:
    """Return a method that is that of the energy that is weighted."""

    @functools.wraps(getattr(Energy, name))
    def method(self: Weighted, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.base, name)(*args, **kwargs)

    return method


def _weighted(name: str) -> Any:
    """Return a method that is that of the energy that is weighted, with the weights."""

    @functools.wraps(getattr(Energy, name))
    def method(
        self: Weighted,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        *seen: Tensor | None,
        **more: Any,
    ) -> Any:
        own = self.log_weights if log_weights is None else self.log_weights + log_weights
        return getattr(self.base, name)(state, memories, beta, own, *seen, **more)

    return method


class Weighted(Energy):
    r"""Another energy with memories of different strength (the paper's weighted variant).

    Parameters
    ----------
    energy : Energy
        What is weighted.
    weights : int or sequence of float
        The strengths :math:`\varepsilon_\mu > 0` of the memories, or how many memories there are:
        then all begin at 1.
    learn : bool, default=True
        Whether the strengths are a parameter.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.energies import Euclidean, Weighted
    >>> energy = Weighted(Euclidean(), [3.0, 1.0], learn=False)
    >>> memories = torch.tensor([[-1.0], [1.0]])
    >>> energy.memberships(torch.tensor([[0.0]]), memories, beta=1.0)
    tensor([[0.7500, 0.2500]])
    """

    log_weights: Tensor

    def __init__(
        self, energy: Energy, weights: int | Sequence[float] | Tensor, *, learn: bool = True
    ) -> None:
        super().__init__()
        self.base = energy
        self.compact, self.dim = energy.compact, energy.dim
        self.spherical, self.degree = energy.spherical, energy.degree
        keep(self, "log_weights", log_strengths(weights), learn=learn)

    distance = _delegated("distance")
    attraction = _delegated("attraction")  # without the weights
    distances = _delegated("distances")
    pull = _delegated("pull")
    length = _delegated("length")
    embed = _delegated("embed")
    forward = _weighted("forward")
    logits = _weighted("logits")
    memberships = _weighted("memberships")
    responsibilities = _weighted("responsibilities")


def log_strengths(weights: int | Sequence[float] | Tensor) -> Tensor:
    """Return logarithms of weights that are given, or of as many ones."""
    if isinstance(weights, int):
        return torch.zeros(weights)
    strengths = torch.as_tensor(weights, dtype=torch.get_default_dtype()).detach()
    if strengths.ndim != 1 or not bool((strengths > 0).all() & strengths.isfinite().all()):
        message = f"weights must be a sequence of positive numbers, got {weights}"
        raise ValueError(message)
    return strengths.log()
