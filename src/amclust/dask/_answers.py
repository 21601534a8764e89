"""What a network says about rows in blocks: not computed yet, in blocks like theirs."""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
from dask.base import tokenize
from dask.delayed import Delayed, delayed
from scipy import sparse

from amclust._categories import MixedTable
from amclust._columns import as_table, fill_table, tell
from amclust._frames import fill_frame
from amclust._network import Network
from amclust._rows import empty_rows
from amclust._validation import empty_rows_message
from amclust._warnings import EmptyRowsWarning, UnseenLevelsWarning
from amclust.dask._blocks import as_told_rows, named, whole_rows


@dataclass(frozen=True)
class Question:
    """What is asked about every row.

    Attributes
    ----------
    method : str
        The method of `Network` that answers.

    columns : tuple or None
        Names of the columns of the answer; None: one number for each row.

    dtype : str
        Type of the answer.

    top : int or None
        What `memberships` is given.
    """

    method: str
    columns: tuple[Any, ...] | None
    dtype: str
    top: int | None = None

    def answer(self, block: Any, network: Network, names: tuple[Any, ...] | None) -> Any:
        """Answer for a block: an array for an array, a series or a frame for a frame."""
        matrix = rows_of(block, network, names)
        given = {} if self.top is None else {"top": self.top}
        if matrix.shape[0] and self.method == "deviations" and isinstance(matrix, MixedTable):
            completed, std = network.complete(matrix, return_std=True, n_jobs=1)
            found = tell(completed, std, matrix).deviations
        elif matrix.shape[0]:
            found = getattr(network, self.method)(matrix, n_jobs=1, **given)
        else:
            found = self._nothing()
        if not isinstance(block, pd.DataFrame):
            return found
        if self.columns is None:
            return pd.Series(found, index=block.index)
        return pd.DataFrame(found, index=block.index, columns=list(self.columns))

    def array(self, X: da.Array, network: Delayed) -> da.Array:
        """Return the answer for an array."""
        how: dict[str, Any] = {"drop_axis": 1}
        if self.columns is not None:
            how = {"chunks": (X.chunks[0], (len(self.columns),))}
        meta = self._nothing()
        return X.map_blocks(label, network, self, token=PREFIX, dtype=self.dtype, meta=meta, **how)

    def frame_meta(self, X: dd.DataFrame) -> Any:
        """Return an answer of no rows, for a frame."""
        if self.columns is None:
            return pd.Series(self._nothing(), index=X._meta.index)
        return pd.DataFrame(self._nothing(), index=X._meta.index, columns=list(self.columns))

    def _nothing(self) -> Any:
        shape = (0,) if self.columns is None else (0, len(self.columns))
        nothing = np.zeros(shape, self.dtype)
        return nothing if self.top is None else sparse.csr_array(nothing)


@dataclass(frozen=True)
class Completion:
    """Missing values filled in; a frame keeps its columns and their types."""

    dtype: str

    def answer(self, block: Any, network: Network, names: tuple[Any, ...] | None) -> Any:
        """Return a block without missing values."""
        matrix = rows_of(block, network, names)
        if isinstance(matrix, MixedTable):
            if not matrix.shape[0]:
                return block
            told = tell(network.complete(matrix, n_jobs=1), None, matrix)
            return fill_table(as_table(block), told, matrix)
        found = network.complete(matrix, n_jobs=1) if matrix.shape[0] else matrix
        if not isinstance(block, pd.DataFrame):
            return found
        if sparse.issparse(matrix):  # of a frame of sparse columns
            matrix, found = matrix.toarray(), found.toarray()
        return fill_frame(block, found, np.isnan(matrix))

    def array(self, X: da.Array, network: Delayed) -> da.Array:
        """Return an array without missing values."""
        return X.map_blocks(label, network, self, token=PREFIX, dtype=self.dtype)

    def frame_meta(self, X: dd.DataFrame) -> Any:
        """Return a completed frame of no rows."""
        return X._meta


def rows_of(block: Any, network: Network, names: tuple[Any, ...] | None) -> Any:
    """Return a block as rows that a network reads."""
    return told_rows_of(block, network, names)[0]


def told_rows_of(
    block: Any, network: Network, names: tuple[Any, ...] | None
) -> tuple[Any, str | None]:
    """Return a block as rows that a network reads, and what is told of levels it does not know."""
    layout = network.geometry.categories
    return as_told_rows(block, names, network.n_features if layout is None else None, layout)


def answer_dtype(X: Any, network: Network) -> str:
    """Return the type that answers in floats have: float32 for rows of float32."""
    if isinstance(X, dd.DataFrame):
        return str(rows_of(X._meta, network, None).dtype)
    return "float32" if getattr(X, "dtype", None) == np.float32 else "float64"


# --- tasks ----------------------------------------------------------------------------------------

PREFIX = "clam-label"


def label(
    block: Any,
    network: Network,
    question: Question | Completion,
    names: tuple[Any, ...] | None = None,
    *,
    number: int | None = None,
    block_id: tuple[int, ...] | None = None,
    partition_info: dict[str, Any] | None = None,
) -> Any:
    """Answer a question about the rows of a block; Dask says which of an array or a frame it is."""
    if block_id is not None:
        number = block_id[0]
    elif partition_info is not None:
        number = partition_info["number"]
    if number is None:  # of no rows, to see what an answer is like
        return question.answer(block, network, names)
    with named(number):
        matrix, unseen = told_rows_of(block, network, names)
        if unseen is not None:
            distributed.warn(f"Block {number} of X: {unseen}", UnseenLevelsWarning)
        if n_empty := len(empty_rows(matrix)):
            # Workers have no line of the user's code to point at, but tell the client.
            message = empty_rows_message(n_empty, matrix.shape[0])
            distributed.warn(f"Block {number} of X: {message}", EmptyRowsWarning)
        return question.answer(block, network, names)


label.__name__ = PREFIX  # Dask calls the tasks of frames by it


def ask(question: Question | Completion, X: Any, network: Network) -> Any:
    """Return the answer for rows of Dask, in blocks like theirs and not computed yet."""
    # All that it is made of: another network's answers have other keys.
    token = hashlib.sha256(pickle.dumps(network)).hexdigest()
    # A task of its own: it is sent once, and not with every block.
    known = delayed(network, name=f"clam-network-{token}", traverse=False)
    if isinstance(X, dd.DataFrame):
        meta = question.frame_meta(X)
        return X.map_partitions(label, known, question, tuple(X.columns), meta=meta)
    if isinstance(X, da.Array):
        return question.array(whole_rows(X), known)
    layout = network.geometry.categories
    names = network.geometry.feature_names if layout is None else layout.names
    return [
        delayed(label, pure=True)(
            block,
            known,
            question,
            names,
            number=number,
            dask_key_name=f"{PREFIX}-{tokenize(question, block.key, token)}",
        )
        for number, block in enumerate(X)
    ]
