"""The soft silhouette of rows that may be dense or sparse.

It meets rows in two products only, with points and with coefficients: whatever has these two can be
clustered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

# A cluster with a smaller part of the rows is empty.
MIN_SHARE = 1e-6


class RowProducts(Protocol):
    """Rows as the silhouette meets them."""

    @property
    def square(self) -> Tensor:
        """Squared norms, (..., n)."""

    def with_points(self, points: Tensor) -> Tensor:
        """Return the inner products with points (..., k, d): (..., n, k)."""

    def sums(self, parts: Tensor) -> Tensor:
        """Return the sums of the rows times parts (..., n, k): (..., k, d)."""


@dataclass(frozen=True)
class DenseRows:
    """Rows of a tensor (..., n, d)."""

    values: Tensor

    @property
    def square(self) -> Tensor:
        """Squared norms."""
        return self.values.square().sum(-1)

    def with_points(self, points: Tensor) -> Tensor:
        """Return the inner products with points."""
        return self.values @ points.mT

    def sums(self, parts: Tensor) -> Tensor:
        """Return the sums of the rows times parts."""
        return parts.mT @ self.values


def soft_silhouette_loss(
    rows: RowProducts,
    memberships: Tensor,
    memories: Tensor,
    weight: Tensor,
    anchor: float | Tensor,
    tie: float | Tensor,
    *,
    spherical: bool,
) -> Tensor:
    """Return minus the soft silhouette, with its anchor: see `functional.silhouette_loss`."""
    p, total = memberships, weight.sum(-1)
    size = (weight.unsqueeze(-2) @ p).squeeze(-2)
    empty = size < MIN_SHARE * total.unsqueeze(-1)
    # What is empty is left out of everything; its size must not be divided by.
    safe = torch.where(empty, 1.0, size)
    parts = weight.unsqueeze(-1) * p
    centre = rows.sums(parts) / safe.unsqueeze(-1)
    square = rows.square
    mean_square = (square.unsqueeze(-2) @ parts).squeeze(-2) / safe
    r2 = square.unsqueeze(-1) - 2 * rows.with_points(centre) + mean_square.unsqueeze(-2)
    r2 = r2.clamp(min=1e-12)
    value, kept = _row_silhouettes(r2, p, weight, safe, empty)
    soft = (weight * (p * kept * value).sum(-1)).sum(-1) / total
    scatter = mean_square - centre.square().sum(-1)
    distance = (memories - centre).square().sum(-1)
    if spherical:
        # The direction of a centre is the best place for its memory, not the centre itself.
        length = torch.where(empty, 1.0, centre.square().sum(-1)).clamp(min=1e-12).sqrt()
        scatter, distance = scatter + (1 - length).square(), distance - (1 - length).square()
    cost = _last(anchor) * scatter + _last(tie) * distance
    return -soft + torch.where(empty, 0.0, size * cost).sum(-1) / total


def _row_silhouettes(
    r2: Tensor, p: Tensor, weight: Tensor, size: Tensor, empty: Tensor
) -> tuple[Tensor, Tensor]:
    """Return every row's silhouette in every cluster, and the part of it that counts.

    One copy of a row, of weight at most 1, is left out of its own cluster; a cluster that is little
    more than the row itself earns little.
    """
    size, empty = size.unsqueeze(-2), empty.unsqueeze(-2)
    own = weight.clamp(max=1).unsqueeze(-1) * p
    inside = (r2 * size / (size - own).maximum(1e-4 * size)).sqrt()
    root = torch.where(empty, torch.inf, r2).sqrt()
    nearest, which = root.topk(2, dim=-1, largest=False)
    clusters = torch.arange(p.shape[-1], device=p.device)
    outside = torch.where(clusters == which[..., :1], nearest[..., 1:], nearest[..., :1])
    alone = empty | outside.isinf()
    outside = torch.where(alone, 1.0, outside)
    value = (outside - inside) / torch.maximum(inside, outside)
    return torch.where(alone, 0.0, value), (1 - own / size).clamp(min=0)


def _last(value: float | Tensor) -> float | Tensor:
    return value.unsqueeze(-1) if isinstance(value, Tensor) and value.ndim else value
