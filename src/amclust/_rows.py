"""Where rows lie, and what a fit needs of them.

Whatever holds rows (an array, a memory-mapped file, a CSR matrix) stands behind `Rows`. The core
reads a `_native.Rows` that a geometry makes of them: the same memory, in other units.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are a CSR matrix."""

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
        if self.is_sparse:
            column = self._by_column[:, [index]].toarray()[:, 0]
        else:
            column = self.X[:, index]
        return np.asarray(column if indices is None else column[indices])

    def take(self, indices: Indices | None) -> Any:
        """Return rows as an array or a CSR matrix."""
        return self.X if indices is None else self.X[indices]

    def read(self) -> _native.Rows:
        """Return the rows as the core reads them; CSR with unsorted entries or zeros is copied."""
        return self._read

    @cached_property
    def _read(self) -> _native.Rows:
        X = self.X
        if not self.is_sparse:
            return _native.dense_rows(X)
        if not X.has_canonical_format or not X.data.all():
            X = X.copy()
            X.sum_duplicates()
            X.eliminate_zeros()
        values, indices, indptr = map(np.ascontiguousarray, (X.data, X.indices, X.indptr))
        return _native.csr_rows(values, indices, indptr, X.shape[1])

    @cached_property
    def _by_column(self) -> Any:
        return self.X.tocsc()
