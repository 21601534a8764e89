"""Memories of bounded reach."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from amclust.torch.energies._base import over
from amclust.torch.energies._euclidean import Euclidean


class Epanechnikov(Euclidean):
    r"""The log-sum-ReLU energy (Hoover et al., 2025): every memory reaches a ball and no farther.

    .. math::
        E(v) = -\tfrac{1}{\beta} \log \sum_\mu \varepsilon_\mu \max(0, 1 - \beta \|v - \rho_\mu\|^2)

    A ball has the radius :math:`1/\sqrt\beta`. A state outside all of them has infinite energy, no
    memberships and no gradient; it does not move, and it is noise (label -1).

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional
    >>> from amclust.torch.energies import Epanechnikov
    >>> memories = torch.tensor([[0.0, 0.0], [4.0, 0.0]])
    >>> x = torch.tensor([[0.5, 0.0], [3.6, 0.0], [2.0, 5.0]])
    >>> functional.assign(x, memories, beta=0.5, energy=Epanechnikov())
    tensor([ 0,  1, -1])
    """

    compact = True

    def _reach(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None,
        seen: Tensor | None,
    ) -> Tensor:
        reach = (1 + over(beta, 2) * self.attraction(state, memories, seen)).relu()
        return reach if log_weights is None else reach * log_weights.unsqueeze(-2).exp()

    def logits(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the logarithms of the memories' attractions; minus infinity out of reach."""
        return self._reach(state, memories, beta, log_weights, seen).log()

    def forward(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
    ) -> Tensor:
        """Return the energy of every state; infinite out of all reach."""
        total = self._reach(state, memories, beta, log_weights, None).sum(-1)
        inside = total > 0
        energy = -torch.where(inside, total, 1.0).log() / over(beta, 1)
        return torch.where(inside, energy, math.inf)

    def memberships(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the memories' parts in the attraction; all 0 out of all reach."""
        return _parts(self._reach(state, memories, beta, log_weights, seen))

    def responsibilities(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return equal parts for the memories in reach, or parts as their weights."""
        reached = self._reach(state, memories, beta, None, seen) > 0
        if log_weights is None:
            return _parts(reached.to(state.dtype))
        return _parts(torch.where(reached, log_weights.unsqueeze(-2).exp(), 0.0))

    def pull(
        self, state: Tensor, memories: Tensor, responsibilities: Tensor, moves: Tensor | None
    ) -> Tensor:
        """Return the way to the mean of the memories in reach; nothing if there is none."""
        return responsibilities @ memories - responsibilities.sum(-1, keepdim=True) * state


def _parts(amounts: Tensor) -> Tensor:
    total = amounts.sum(-1, keepdim=True)
    return amounts / torch.where(total > 0, total, 1.0)
