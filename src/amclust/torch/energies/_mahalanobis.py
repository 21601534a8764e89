"""A metric that is learned."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from amclust.torch.energies._base import Energy, keep, minus_square_distances


class Mahalanobis(Energy):
    r"""A learned linear metric: :math:`d(a, b) = \|(a - b) L\|^2` with a factor L.

    Parameters
    ----------
    dim : int
        Number of features.
    rank : int, default=None
        Number of columns of the factor; None: as many as features.
    factor : array-like of shape (dim, rank), default=None
        The factor to begin with; None: the identity (its first columns).
    learn : bool, default=True
        Whether the factor is a parameter. Losses that are measured in data space
        (completion, reconstruction) or in units of the distances (silhouette) keep it in bounds.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.energies import Mahalanobis
    >>> energy = Mahalanobis(2, factor=[[1.0, 0.0], [0.0, 10.0]])
    >>> memories = torch.tensor([[0.0, 1.0], [3.0, 0.0]])
    >>> energy.memberships(torch.zeros(1, 2), memories, beta=1.0).argmax().item()
    1
    """

    factor: Tensor

    def __init__(
        self,
        dim: int,
        rank: int | None = None,
        *,
        factor: Tensor | Sequence[Sequence[float]] | None = None,
        learn: bool = True,
    ) -> None:
        super().__init__()
        self.dim = dim
        if factor is None:
            start = torch.eye(dim, dim if rank is None else rank)
        else:
            start = torch.as_tensor(factor, dtype=torch.get_default_dtype()).detach().clone()
            expected = (dim, start.shape[-1] if rank is None else rank)
            if start.shape != expected:
                message = f"factor must have shape (dim, rank) = {expected}, got {start.shape}"
                raise ValueError(message)
        keep(self, "factor", start, learn=learn)

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the squared length of the difference, seen through the factor."""
        return self.embed(a - b).square().sum(-1)

    def attraction(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return minus the squared distances, by products with the factor."""
        if seen is not None:
            return super().attraction(state, memories, seen)
        return minus_square_distances(self.embed(state), self.embed(memories))

    def pull(
        self, state: Tensor, memories: Tensor, responsibilities: Tensor, moves: Tensor | None
    ) -> Tensor:
        """Return the way to the mean; where coordinates are held, the gradient of the metric.

        The mean is where the metric would have the free coordinates only if none were held.
        """
        way = responsibilities @ memories - state
        if moves is None:
            return way
        return self.embed(way) @ self.factor.mT / torch.linalg.matrix_norm(self.factor, 2).square()

    def embed(self, x: Tensor) -> Tensor:
        """Return the rows times the factor."""
        return x @ self.factor
