"""The energy of the paper."""

from __future__ import annotations

from torch import Tensor

from amclust.torch.energies._base import Energy, minus_square_distances


class Euclidean(Energy):
    """The squared Euclidean distance: the energy of the paper.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.energies import Euclidean
    >>> memories = torch.tensor([[0.0, 0.0], [4.0, 0.0]])
    >>> Euclidean()(torch.tensor([[1.0, 0.0]]), memories, beta=2.0)
    tensor([1.0000])
    """

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the squared Euclidean distance."""
        return (a - b).square().sum(-1)

    def attraction(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return minus the squared distances, by two products."""
        return minus_square_distances(state, memories, seen)
