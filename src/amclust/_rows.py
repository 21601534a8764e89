"""Where rows lie, and what a fit needs of them.

Whatever holds rows in memory (an array, a memory-mapped file, a CSR matrix) stands behind `Rows`.
The core reads a `_native.Rows` that a geometry makes of them: the same memory, in other units. A
table that may be too large for that, or lie elsewhere, is a `RowSource`: it tells what all rows
have in common, and hands out those that a fit looks at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native
from amclust._categories import Categories, MixedTable, categories_of

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

    @property
    def categories(self) -> Categories | None:
        """What the columns are, where some are categories."""

    def statistics(
        self, indices: Indices | None, weights: Weights | None, threads: int
    ) -> _native.Statistics:
        """Return statistics of the columns."""

    def distinct(self, indices: Indices | None, weights: Weights | None) -> tuple[Indices, Weights]:
        """Return the distinct rows in a fixed order, and the weight of all copies of each."""

    def column(self, index: int, indices: Indices | None) -> NDArray[Any]:
        """Return the values of one column."""

    def take(self, indices: Indices | None) -> Any:
        """Return rows as an array, a CSR matrix or a table with categories."""

    def read(self) -> _native.Rows:
        """Return the rows as the core reads them, in original units."""

    def gaps(self, threads: int) -> Indices:
        """Return where the missing values of each row begin if all are listed, and their number."""


@dataclass(frozen=True)
class TableRows:
    """Rows of a validated table: a C-contiguous matrix (it may be memory-mapped), CSR or mixed."""

    X: Any

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X}  # what the core made of it stays here

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

    @property
    def categories(self) -> Categories | None:
        """What the columns are, where some are categories."""
        return categories_of(self.X)

    def statistics(
        self, indices: Indices | None, weights: Weights | None, threads: int
    ) -> _native.Statistics:
        """Return statistics of the columns; those of all rows, once they are known."""
        if indices is not None or weights is not None:
            return _native.statistics(self.read(), indices, weights, threads)
        if "_statistics" not in self.__dict__:
            self.__dict__["_statistics"] = _native.statistics(self.read(), None, None, threads)
        found: _native.Statistics = self.__dict__["_statistics"]
        return found

    def distinct(self, indices: Indices | None, weights: Weights | None) -> tuple[Indices, Weights]:
        """Return the distinct rows in a fixed order, and the weight of all copies of each."""
        return _native.distinct_rows(self.read(), indices, weights)

    def column(self, index: int, indices: Indices | None) -> NDArray[Any]:
        """Return the values of one column."""
        if self.is_sparse:
            column = self._by_column[:, [index]].toarray()[:, 0]
        elif isinstance(self.X, MixedTable):
            column = self.X.column(index)
        else:
            column = self.X[:, index]
        return np.asarray(column if indices is None else column[indices])

    def take(self, indices: Indices | None) -> Any:
        """Return rows as an array, a CSR matrix or a table with categories."""
        return self.X if indices is None else self.X[indices]

    def read(self) -> _native.Rows:
        """Return the rows as the core reads them; CSR with unsorted entries or zeros is copied."""
        return self._read

    @cached_property
    def _read(self) -> _native.Rows:
        X = self.X
        if not self.is_sparse:
            return _read_dense(X)
        if not X.has_canonical_format or not X.data.all():
            X = X.copy()
            X.sum_duplicates()
            X.eliminate_zeros()
        values, indices, indptr = map(np.ascontiguousarray, (X.data, X.indices, X.indptr))
        return _native.csr_rows(values, indices, indptr, X.shape[1])

    def gaps(self, threads: int) -> Indices:
        """Return where the missing values of each row begin if all are listed, and their number."""
        if "_gaps" not in self.__dict__:
            starts = np.zeros(self.n_rows + 1, np.int64)
            np.cumsum(_native.count_missing(self.read(), threads), out=starts[1:])
            self.__dict__["_gaps"] = starts
        found: Indices = self.__dict__["_gaps"]
        return found

    @cached_property
    def _by_column(self) -> Any:
        return self.X.tocsc()


def _read_dense(X: Any) -> _native.Rows:
    if isinstance(X, MixedTable):
        return _native.mixed_rows(X.numbers, X.codes, X.categories.n_levels)
    return _native.dense_rows(X)


def empty_rows(X: Any, threads: int = 1) -> Indices:
    """Return which rows of a validated matrix have no value at all: all of it is NaN."""
    n_features = X.shape[1]
    if not n_features:
        return np.zeros(0, np.int64)
    if not sparse.issparse(X):
        return _native.empty_rows(_read_dense(X), threads)
    unknown = np.flatnonzero(np.isnan(X.data))
    if len(unknown) < n_features:
        return np.zeros(0, np.int64)
    rows = np.searchsorted(X.indptr, unknown, side="right") - 1
    found = np.flatnonzero(np.bincount(rows) >= n_features)
    # An entry that is stored twice was counted twice.
    return found[np.isnan(X[found].toarray()).all(axis=1)]


def observed_weights(
    X: Any, sample_weight: Weights | None, threads: int = 1
) -> tuple[Weights | None, int]:
    """Return the weights of rows, 0 for those without any value, and how many of these there are.

    None: all rows count the same.
    """
    empty = empty_rows(X, threads)
    if not len(empty):
        return sample_weight, 0
    weights = np.ones(X.shape[0], np.float32) if sample_weight is None else sample_weight.copy()
    weights[empty] = 0.0
    return weights, len(empty)


def digest(values: Any) -> str:
    """Return a fingerprint of a matrix, an array or None."""
    if values is None:
        return "None"
    parts = [values.data, values.indices, values.indptr] if sparse.issparse(values) else [values]
    code = hashlib.sha256(str(values.shape).encode())
    if isinstance(values, MixedTable):
        code.update(repr(values.categories).encode())
        parts = [values.numbers, values.codes]
    for part in parts:
        code.update(np.ascontiguousarray(part).data)
    return code.hexdigest()


# --- tables of any size ---------------------------------------------------------------------------


def draw_places(n: int, count: int, seed: int) -> Indices:
    """Return so many of the numbers 0 ... n - 1, ascending: one from each of equal stretches.

    They cost no memory for the others, and a table that is sorted is drawn from evenly.
    """
    edges = np.arange(count + 1, dtype=np.int64) * n // count
    lengths = np.diff(edges)
    found: Indices = edges[:-1] + np.random.default_rng(seed).integers(lengths)
    return found


@dataclass(frozen=True, eq=False)
class TableStatistics:
    """What a fit has to know about all rows, also about those that it does not look at."""

    everything: _native.Statistics  # of all rows, those of weight 0 too
    counted: _native.Statistics  # of those that count, by their weights


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Rows in memory that a fit looks at: all of a table, or some that stand for all."""

    rows: TableRows
    n_counted: int  # how many rows the table has that count
    sample_weight: Weights | None = None  # one for each of these rows
    trained: Indices | None = None  # those that are trained on; None: all
    judged: Indices | None = None  # those that partitions are judged on; None: all that count
    is_sample: bool = False  # whether the rows to train on stand for others too
    statistics: TableStatistics | None = None  # of the table; None: the rows are the table

    @property
    def counted(self) -> tuple[Indices | None, Weights | None]:
        """The rows that count, None for all, and their weights."""
        weights = self.sample_weight
        if weights is None or weights.all():
            return None, weights
        counted = np.flatnonzero(weights)
        return counted, np.ascontiguousarray(weights[counted])

    @property
    def total_weight(self) -> float:
        """The weight of these rows: their number, where they have none."""
        if self.sample_weight is None:
            return float(self.rows.n_rows)
        return float(self.sample_weight.sum(dtype=np.float64))


class TableSize(NamedTuple):
    """How much there is of a table: what decides how many of its rows a fit looks at."""

    n_counted: int  # rows with a weight above 0
    values_per_row: float  # those that are stored


class Places(NamedTuple):
    """Rows that a fit looks at, by their numbers among those that count."""

    trained: Indices | None  # to train on; None: all
    judged: Indices | None  # to judge partitions on; None: all


# What is made of some rows of a block (None: all), their weights (None: all 1) and threads.
Part = Callable[[TableRows, Indices | None, Weights | None, int], Any]


class RowSource(Protocol):
    """A table, wherever it lies. Places are numbers among the rows that count."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""

    @property
    def n_counted(self) -> int:
        """How many of them have a weight above 0."""

    @property
    def n_features(self) -> int:
        """How many columns there are."""

    @property
    def size(self) -> TableSize:
        """How much there is of the table."""

    def draw(self, choose: Callable[[TableSize], Places]) -> DrawnRows:
        """Bring the rows to memory that are chosen once it is known how much there is."""

    def total(self, part: Part, threads: int) -> Any:
        """Return the sum of what is made of every block of rows."""

    def digests(self) -> dict[str, str]:
        """Return fingerprints of X and of sample_weight."""


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table in memory, validated. Nothing has to be copied."""

    X: Any
    sample_weight: Weights | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @property
    def n_counted(self) -> int:
        """How many of them have a weight above 0."""
        if self.sample_weight is None:
            return self.n_rows
        return int(np.count_nonzero(self.sample_weight))

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return int(self.X.shape[1])

    @property
    def size(self) -> TableSize:
        """How much there is of the table."""
        values = float(self.n_features)
        if sparse.issparse(self.X):
            values = self.X.nnz / self.n_rows
        elif isinstance(self.X, MixedTable):
            values = float(self.X.n_stored)
        return TableSize(self.n_counted, values)

    def draw(self, choose: Callable[[TableSize], Places]) -> DrawnRows:
        """Return the table, and which of its rows are meant."""
        trained, judged = choose(self.size)
        whole = DrawnRows(TableRows(self.X), self.n_counted, self.sample_weight)
        counted, _ = whole.counted

        def at(places: Indices | None) -> Indices | None:
            return counted if places is None else places if counted is None else counted[places]

        return replace(whole, trained=at(trained), judged=at(judged), is_sample=trained is not None)

    def total(self, part: Part, threads: int) -> Any:
        """Return what is made of all rows that count."""
        whole = DrawnRows(TableRows(self.X), self.n_counted, self.sample_weight)
        return part(whole.rows, *whole.counted, threads)

    def digests(self) -> dict[str, str]:
        """Return fingerprints of X and of sample_weight."""
        return {"X": digest(self.X), "sample_weight": digest(self.sample_weight)}
