"""Tables of Dask as blocks of rows, whatever kind of collection they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.base import is_dask_collection
from dask.core import flatten, istask
from dask.delayed import Delayed
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from amclust._categories import Categories
from amclust._columns import as_table, recognise
from amclust._frames import as_plain
from amclust._rows import Weights
from amclust._validation import check_frame, check_numeric_columns


def is_distributed(X: Any) -> bool:
    """Whether rows are a collection of Dask, or a list of delayed blocks."""
    if isinstance(X, list | tuple):
        return any(isinstance(block, Delayed) for block in X)
    return is_dask_collection(X)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows in blocks that are not computed yet.

    Attributes
    ----------
    blocks : list of Delayed
        One a block, in the order of the rows.

    names : tuple of str or None
        Names of the columns that every block must have; None: they have none, or it is not known.

    meta : array or frame without rows, or None
        What kind of blocks they are; None: not known.

    lengths : tuple of int or None
        How many rows each block is said to have; None: not known.

    is_sparse : bool
        Whether they are said to be sparse.
    """

    blocks: list[Delayed]
    names: tuple[Any, ...] | None
    meta: Any
    lengths: tuple[int, ...] | None = None
    is_sparse: bool = False

    @classmethod
    def of(cls, X: Any, *, beside_series: bool = False) -> Blocks:
        """Return the blocks of a collection; those of a frame in step with a series, if wanted."""
        if isinstance(X, list | tuple):
            for at, block in enumerate(X):
                if not isinstance(block, Delayed):
                    msg = f"Block {at} of X: must be delayed, as others are, got {block!r:.60}."
                    raise TypeError(msg)
            return cls(list(X), None, None)
        if isinstance(X, dd.DataFrame):
            names = tuple(X.columns)
            # As they are, beside a series: optimised, columns of one file may come in other parts.
            blocks = list(X.to_delayed(optimize_graph=not beside_series))
            return cls(blocks, names, X._meta)
        if isinstance(X, da.Array):
            rows = whole_rows(X)
            blocks = list(rows.to_delayed().ravel())
            meta, lengths = like_rows(rows), known_lengths(X)
            return cls(blocks, None, meta, lengths, sparse.issparse(X._meta))
        msg = (
            "X must be a dask.array of two dimensions, a dask.dataframe, a list of delayed frames "
            f"or arrays, or rows in memory, got {type(X).__name__}."
        )
        raise TypeError(msg)

    @staticmethod
    def columns_of(labels: Any) -> list[Delayed]:
        """Return the blocks of one column: an array of one dimension, a series or a list."""
        if isinstance(labels, list | tuple):
            return list(labels)
        if isinstance(labels, dd.Series):
            return list(labels.to_delayed(optimize_graph=False))
        return list(np.ravel(labels.to_delayed()))

    def check_lengths(self, found: tuple[int, ...]) -> None:
        """Refuse blocks that are not as long as their collection says: labels would be, too."""
        for at, (n_said, n_found) in enumerate(zip(self.lengths or found, found, strict=True)):
            if n_said != n_found:
                msg = f"Block {at} of X: has {n_found:,} rows, but X.chunks says {n_said:,}."
                raise ValueError(msg)

    def weights(self, sample_weight: Any) -> list[Any]:
        """Return the weights of each block; None: all rows count the same."""
        lengths = self.lengths
        if sample_weight is None:
            return [None] * len(self.blocks)
        if is_distributed(sample_weight):
            known = known_lengths(sample_weight)
            if lengths is not None and known is not None:
                _check_shape(sample_weight.shape, sum(lengths))
                sample_weight = sample_weight.rechunk((lengths,))
            parts: list[Any] = self.columns_of(sample_weight)
        else:
            parts = _cut(np.asarray(sample_weight), lengths)
        if len(parts) != len(self.blocks):
            msg = (
                f"sample_weight must have the blocks of X, {len(self.blocks)} of them, got "
                f"{len(parts)}."
            )
            raise ValueError(msg)
        return parts


def whole_rows(X: da.Array) -> da.Array:
    """Return an array whose blocks have all columns."""
    if X.ndim != 2:
        msg = f"X must have two dimensions, got a dask.array of {X.ndim}."
        raise ValueError(msg)
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def known_lengths(X: Any) -> tuple[int, ...] | None:
    """Return the number of rows of each block, where the collection knows them."""
    if isinstance(X, da.Array) and not any(np.isnan(X.chunks[0])):
        return tuple(int(n) for n in X.chunks[0])
    return None


def _cut(weights: NDArray[Any], lengths: tuple[int, ...] | None) -> list[NDArray[Any]]:
    if lengths is None:
        msg = (
            "sample_weight must be a dask.array or a series with the partitions of X, since the "
            f"number of rows in each is not known, got {type(weights).__name__}."
        )
        raise ValueError(msg)
    _check_shape(weights.shape, sum(lengths))
    try:
        values = weights.astype(np.float32)
    except (TypeError, ValueError):
        msg = f"sample_weight must be numbers, got an array of {weights.dtype}."
        raise ValueError(msg) from None
    return np.split(values, np.cumsum(lengths)[:-1])


def _check_shape(shape: tuple[int, ...], n_rows: int) -> None:
    if shape != (n_rows,):
        msg = (
            f"sample_weight must have one entry for each of {n_rows:,} rows, got an array of shape "
            f"{shape}."
        )
        raise ValueError(msg)


def is_persisted(X: Any) -> bool:
    """Whether nothing is left to do to have the blocks: each is a future, or in memory."""
    if isinstance(X, list | tuple):
        return all(_is_there(block.__dask_graph__(), block.key) for block in X)
    graph = dict(X.__dask_graph__())
    return all(_is_there(graph, key) for key in flatten(X.__dask_keys__()))


def like_rows(X: Any) -> Any:
    """Return an array or a frame without rows that has the columns of X; None: not known."""
    if isinstance(X, da.Array):
        return np.empty((0, whole_rows(X).shape[1]))
    return getattr(X, "_meta", None)


def _is_there(graph: Mapping[Any, Any], key: Any) -> bool:
    try:  # not public: where a version of Dask has no such module, its tasks are tuples
        from dask._task_spec import Alias, Task
    except ImportError:
        return not istask(graph[key])
    node = graph[key]
    while isinstance(node, Alias):
        node = graph[node.target]
    return not (isinstance(node, Task) or istask(node))


# --- in a worker ----------------------------------------------------------------------------------


def check_names(block: Any, names: tuple[Any, ...] | None) -> None:
    """Refuse a block whose columns are not named as they should be."""
    columns = [str(name) for name in getattr(block, "columns", names or ())]
    if names is not None and columns != [str(name) for name in names]:
        msg = f"Columns must be {list(names)}, got {list(block.columns)}."
        raise ValueError(msg)


def as_rows(
    block: Any,
    names: tuple[Any, ...] | None,
    n_columns: int | None,
    categories: Categories | None,
) -> Any:
    """Return a block as validated rows; refuse one unlike the others."""
    return as_told_rows(block, names, n_columns, categories)[0]


def as_told_rows(
    block: Any,
    names: tuple[Any, ...] | None,
    n_columns: int | None,
    categories: Categories | None,
) -> tuple[Any, str | None]:
    """Return a block as validated rows, and what is told of levels that no fit has seen."""
    if categories is None:
        return as_matrix(block, names, n_columns), None
    check_names(block, names)
    check_frame(block)
    block = as_table(block)
    if block.shape[1] != categories.n_columns:
        msg = f"Rows must have {categories.n_columns} columns, got {block.shape[1]}."
        raise ValueError(msg)
    check_numeric_columns(block, categorical=categories.categorical)
    return recognise(block, categories)


def as_matrix(block: Any, names: tuple[Any, ...] | None, n_features: int | None) -> Any:
    """Return a block as a C-contiguous or CSR matrix of floats; refuse one unlike the others."""
    check_names(block, names)
    check_numeric_columns(block)
    matrix = check_array(
        as_plain(block),
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        ensure_all_finite=False,
        ensure_min_samples=0,
    )
    if n_features is not None and matrix.shape[1] != n_features:
        msg = f"Rows must have {n_features} columns, got {matrix.shape[1]}."
        raise ValueError(msg)
    return matrix


class BlockError(ValueError):
    """What is wrong with a block of X, by its number."""

    def __init__(self, number: int, reason: object) -> None:
        super().__init__(number, reason)
        self.number, self.reason = number, reason

    def __str__(self) -> str:
        return f"Block {self.number} of X: {self.reason}"


@contextmanager
def named(number: int) -> Iterator[None]:
    """Begin the messages of errors with the number of the block."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise BlockError(number, error) from error


def as_weights(weights: Any, n_rows: int) -> Weights | None:
    """Return the weights of a block's rows as floats."""
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float32)
    _check_shape(values.shape, n_rows)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        bad = values[~(np.isfinite(values) & (values >= 0))][0]
        msg = f"sample_weight must be finite and at least 0, got {bad}."
        raise ValueError(msg)
    return values
