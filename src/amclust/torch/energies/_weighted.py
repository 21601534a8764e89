"""The paper's weighted variant."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from amclust.torch.energies._base import Energy


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
        log_weights = log_strengths(weights)
        if learn:
            self.log_weights = nn.Parameter(log_weights)
        else:
            self.register_buffer("log_weights", log_weights)

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the distance of the energy that is weighted."""
        return self.base.distance(a, b)

    def attraction(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return the attraction of the energy that is weighted, without the weights."""
        return self.base.attraction(state, memories, seen)

    def distances(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return the distances of the energy that is weighted."""
        return self.base.distances(state, memories, seen)

    def _sum(self, log_weights: Tensor | None) -> Tensor:
        return self.log_weights if log_weights is None else self.log_weights + log_weights

    def logits(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the weighted logits."""
        return self.base.logits(state, memories, beta, self._sum(log_weights), seen)

    def forward(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
    ) -> Tensor:
        """Return the weighted energy."""
        out: Tensor = self.base(state, memories, beta, self._sum(log_weights))
        return out

    def memberships(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the weighted memberships."""
        return self.base.memberships(state, memories, beta, self._sum(log_weights), seen)

    def responsibilities(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the weighted responsibilities."""
        return self.base.responsibilities(state, memories, beta, self._sum(log_weights), seen)

    def pull(
        self, state: Tensor, memories: Tensor, responsibilities: Tensor, moves: Tensor | None
    ) -> Tensor:
        """Return the pull of the energy that is weighted."""
        return self.base.pull(state, memories, responsibilities, moves)

    def length(self, x: Tensor, missing: Tensor | None = None) -> Tensor | None:
        """Return what the energy that is weighted divides rows by."""
        return self.base.length(x, missing)

    def embed(self, x: Tensor) -> Tensor:
        """Return the coordinates of the energy that is weighted."""
        return self.base.embed(x)


def log_strengths(weights: int | Sequence[float] | Tensor) -> Tensor:
    """Return logarithms of weights that are given, or of as many ones."""
    if isinstance(weights, int):
        return torch.zeros(weights)
    strengths = torch.as_tensor(weights, dtype=torch.get_default_dtype()).detach()
    if strengths.ndim != 1 or not bool((strengths > 0).all() & strengths.isfinite().all()):
        message = f"weights must be a sequence of positive numbers, got {weights}"
        raise ValueError(message)
    return strengths.log()
