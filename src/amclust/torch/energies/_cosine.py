"""The paper's spherical variant."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from amclust.torch.energies._base import TINY, Energy, exact_product


class Cosine(Energy):
    """The cosine similarity: rows and memories on the unit sphere (the paper's spherical variant).

    Memories need not be unit vectors; only their directions act. Rows are put on the sphere by
    recall, completion and the losses. A state of which some coordinates are held does not stay on
    the sphere.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.energies import Cosine
    >>> from amclust.torch import functional
    >>> memories = torch.tensor([[3.0, 0.0], [0.0, 0.5]])
    >>> functional.recall(torch.tensor([[2.0, 1.0]]), memories, 20.0, energy=Cosine())
    tensor([[1.0000, 0.0081]])
    """

    spherical = True
    degree = 0

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Return minus the inner product with the direction of ``b``."""
        return -(a * nn.functional.normalize(b, dim=-1)).sum(-1)

    def attraction(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return the inner products with the memories' directions."""
        if seen is not None:
            state = torch.where(seen, state, 0.0)
        return exact_product(state, nn.functional.normalize(memories, dim=-1))

    def distances(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return 1 minus the inner products."""
        return 1 - self.attraction(state, memories, seen)

    def pull(
        self, state: Tensor, memories: Tensor, responsibilities: Tensor, moves: Tensor | None
    ) -> Tensor:
        """Return the pull of the directions; free states are put back on the sphere after it."""
        pull = responsibilities @ nn.functional.normalize(memories, dim=-1)
        return pull if moves is None else pull - state

    def length(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the rows' norms; missing values count as the mean of the observed squares."""
        if missing is None:
            return x.norm(dim=-1, keepdim=True).clamp(min=TINY)
        squares = torch.where(missing, 0.0, x).square().sum(-1, keepdim=True)
        share = (~missing).sum(-1, keepdim=True) / x.shape[-1]
        return (squares / share.clamp(min=TINY)).sqrt().clamp(min=TINY)
