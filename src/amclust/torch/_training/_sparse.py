"""Sparse rows in torch: products by their stored entries, in both directions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from amclust import _native


class _Product(torch.autograd.Function):
    """A constant sparse matrix times a dense one; its transpose leads back."""

    @staticmethod
    def forward(ctx: FunctionCtx, matrix: Tensor, transpose: Tensor, dense: Tensor) -> Tensor:
        ctx.transpose = transpose  # type: ignore[attr-defined]
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, None, Tensor]:
        (grad,) = grads
        return None, None, ctx.transpose @ grad.contiguous()


def _csr(starts: Tensor, columns: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    # The core has checked them.
    return torch.sparse_csr_tensor(starts, columns, values, size=shape, check_invariants=False)


def _product(matrix: Tensor, transpose: Tensor, dense: Tensor) -> Tensor:
    found: Tensor = _Product.apply(matrix, transpose, dense)  # type: ignore[no-untyped-call]
    return found


@dataclass(frozen=True)
class SparseRows:
    """Some sparse rows: `origin`, which is what centring makes of a row of zeros, and entries."""

    entries: Tensor  # (n, d), CSR
    transpose: Tensor  # (d, n), CSR
    square: Tensor  # (n,)
    origin: Tensor | None  # (d,)

    @classmethod
    def of(
        cls,
        entries: _native.Entries,
        origin: Tensor | None,
        n_features: int,
        device: torch.device,
    ) -> SparseRows:
        """Bring entries of the core to a device, where `origin` is already."""
        shape = (len(entries.squares), n_features)
        starts, columns, values = (
            torch.from_numpy(part).to(device)
            for part in (entries.starts, entries.columns, entries.values)
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
            matrix = _csr(starts, columns, values, shape)
            turned = matrix.to_sparse_csc()
            # The columns of a matrix are the rows of its transpose.
            transpose = _csr(
                turned.ccol_indices(), turned.row_indices(), turned.values(), shape[::-1]
            )
        return cls(matrix, transpose, torch.from_numpy(entries.squares).to(device), origin)

    def with_points(self, points: Tensor) -> Tensor:
        """Return the inner products with points (k, d): (n, k)."""
        found = _product(self.entries, self.transpose, points.mT.contiguous())
        return found if self.origin is None else found + points @ self.origin

    def sums(self, parts: Tensor) -> Tensor:
        """Return the sums of the rows times parts (n, k): (k, d)."""
        found = _product(self.transpose, self.entries, parts).mT
        return found if self.origin is None else found + parts.sum(0)[:, None] * self.origin
