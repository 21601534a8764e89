"""Where rows lie, and what a fit needs of them.

Whatever holds rows (an array, a memory-mapped file, a CSR matrix) stands behind `Rows`. The core
reads a `_native.Rows` that a geometry makes of them: the same memory, in other units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native

Indices = NDArray[np.int64]
Weights = NDArray[np.float32]


class Rows(Protocol):
    """Rows in original units; indices are row numbers, None all of them."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def n_features(self) -> int:
        """How many columns there are."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values, float32 or float64."""

    def statistics(
        self, indices: Indices | None, weights: Weights | None, threads: int
    ) -> _native.Statistics:
        """Return statistics of the columns."""

    def distinct(self, indices: Indices | None, weights: Weights | None) -> tuple[Indices, Weights]:
        """Return the distinct rows in a fixed order, and the weight of all copies of each."""

    def column(self, index: int, indices: Indices | None) -> NDArray[Any]:
        """Return the values of one column."""

    def take(self, indices: Indices | None) -> Any:
        """Return rows as an array or a CSR matrix."""

    def blocks(self, n_cells: int) -> Iterator[Any]:
        """Yield all rows in their order, about so many cells at a time."""

    def read(self) -> _native.Rows:
        """Return the rows as the core reads them, in original units."""


@dataclass(frozen=True)
class TableRows:
    """Rows of a validated matrix: C-contiguous (in memory or memory-mapped) or CSR."""

    X: Any

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the values."""
        return np.dtype(self.X.dtype)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are a CSR matrix."""
        return bool(sparse.issparse(self.X))

    def statistics(
        self, indices: Indices | None, weights: Weights | None, threads: int
    ) -> _native.Statistics:
        """Return statistics of the columns."""
        return _native.statistics(self.read(), indices, weights, threads)

    def distinct(self, indices: Indices | None, weights: Weights | None) -> tuple[Indices, Weights]:
        """Return the distinct rows in a fixed order, and the weight of all copies of each."""
        return _native.distinct_rows(self.read(), indices, weights)

    def column(self, index: int, indices: Indices | None) -> NDArray[Any]:
        """Return the values of one column."""
        column = self.X[:, [index]].toarray()[:, 0] if self.is_sparse else self.X[:, index]
        return np.asarray(column if indices is None else column[indices])

    def take(self, indices: Indices | None) -> Any:
        """Return rows as an array or a CSR matrix."""
        return self.X if indices is None else self.X[indices]

    def blocks(self, n_cells: int) -> Iterator[Any]:
        """Yield all rows in their order, about so many cells at a time."""
        step = max(1, n_cells // max(self.n_features, 1))
        return (self.X[start : start + step] for start in range(0, self.n_rows, step))

    def read(self) -> _native.Rows:
        """Return the rows as the core reads them; only CSR with unsorted entries is copied."""
        X = self.X
        if not self.is_sparse:
            return _native.dense_rows(X)
        if X.nnz and (X.indices.min() < 0 or X.indices.max() >= X.shape[1]):
            msg = f"The sparse X has column indices outside 0 ... {X.shape[1] - 1}: it is damaged."
            raise ValueError(msg)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return _native.csr_rows(X.data, X.indices, X.indptr, X.shape[1])
