"""What a report is about: the model, the rows, and what the one says about the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust._fitted import column_names
from amclust._geometry import Geometry
from amclust._network import Network
from amclust._rows import TableRows
from amclust._validation import validate_rows

if TYPE_CHECKING:
    from amclust._estimator import ClAM

FloatArray = NDArray[np.floating[Any]]

# Silhouettes and k-means look at no more rows than this, nor at more cells (but at some rows).
MAX_ROWS, MAX_CELLS, MIN_ROWS = 10_000, 20_000_000, 2_000
# Figures draw no more of these than this.
MAX_DRAWN = 2_000
# A sparse table of more cells than this is not made dense.
MAX_DENSE_CELLS = 50_000_000


@dataclass(frozen=True)
class Subject:
    """The rows of a report and the answers of its model, each computed once."""

    model: ClAM
    rows: FloatArray  # validated; NaN where a value is missing
    names: list[str]  # of the columns
    ids: Sequence[str] | None  # of the rows
    labels: NDArray[np.int32]  # -1 for noise
    energy: NDArray[np.float64]
    entropy: NDArray[np.float64]
    random_state: int

    @classmethod
    def of(cls, model: ClAM, X: Any, ids: Any, random_state: int) -> Subject:
        """Ask the model about rows that are not yet validated."""
        rows = dense_rows(validate_rows(model, X))
        return cls(
            model,
            rows,
            column_names(model.network_, X),
            row_ids(frame_index(X) if ids is None else ids, len(rows)),
            *model.network_.answers(rows, n_jobs=model.n_jobs),
            random_state,
        )

    @property
    def network(self) -> Network:
        """The network of the model."""
        return self.model.network_

    @property
    def geometry(self) -> Geometry:
        """The units of the network."""
        return self.network.geometry

    @property
    def n_jobs(self) -> int | None:
        """How many threads the network may use."""
        return self.model.n_jobs

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def n_clusters(self) -> int:
        """How many clusters there are."""
        return self.network.n_clusters

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many rows fall to each memory."""
        return np.bincount(self.labels[self.clustered], minlength=self.n_clusters)

    @cached_property
    def clustered(self) -> NDArray[np.bool_]:
        """Which rows are in a cluster; the others are noise, out of reach of all memories."""
        return self.labels >= 0

    @property
    def noise(self) -> int:
        """How many rows are in no cluster."""
        return int(np.count_nonzero(~self.clustered))

    @cached_property
    def missing(self) -> NDArray[np.int64]:
        """How many values each column lacks."""
        return np.count_nonzero(np.isnan(self.rows), axis=0)

    @cached_property
    def columns(self) -> Columns:
        """Mean, spread and kind of every column."""
        return Columns.of(self)

    @cached_property
    def sample(self) -> NDArray[np.int64]:
        """The rows that silhouettes, k-means and figures look at; all where they are few."""
        most = min(MAX_ROWS, max(MIN_ROWS, MAX_CELLS // self.rows.shape[1]))
        return pick_rows(self.n_rows, most, self.random_state)

    @cached_property
    def drawn(self) -> NDArray[np.int64]:
        """The places, among the sampled rows, of those that figures draw."""
        return pick_rows(len(self.sample), MAX_DRAWN, self.random_state)

    @property
    def sampled(self) -> bool:
        """Whether these are fewer than all."""
        return len(self.sample) < self.n_rows

    @cached_property
    def completed(self) -> FloatArray:
        """The sampled rows, their missing values filled by the model."""
        rows = self.rows[self.sample]
        if self.missing.any():
            rows = self.network.complete(rows, n_jobs=self.n_jobs)
        return rows

    @cached_property
    def scaled(self) -> NDArray[np.float32]:
        """The same as the model measures distances: scaled, whitened or on the unit sphere."""
        return self.geometry.measured(self.completed)

    @cached_property
    def is_training_data(self) -> bool:
        """Whether the rows look like those of the last fit: as many, with the same labels."""
        return np.array_equal(self.labels, getattr(self.model, "labels_", ()))

    def row_name(self, row: int) -> str:
        """Name a row by its id, else by its number."""
        return self.ids[row] if self.ids is not None else str(row)


@dataclass(frozen=True)
class Columns:
    """Statistics of the columns, in original units."""

    mean: NDArray[np.float64]  # NaN where a column has no value at all
    spread: NDArray[np.float64]  # standard deviation
    least: NDArray[np.float64]
    greatest: NDArray[np.float64]
    constant: NDArray[np.bool_]
    # What a difference is multiplied with to be one of the scaled columns.
    factor: NDArray[np.float64]

    @classmethod
    def of(cls, subject: Subject) -> Columns:
        """Measure the columns of all rows."""
        stats = TableRows(subject.rows).statistics(None, None, 1)
        seen = stats.weight > 0
        mean, least, greatest = (
            np.where(seen, values, np.nan) for values in (stats.mean, stats.min, stats.max)
        )
        spread = np.where(seen, np.sqrt(stats.variance), np.nan)
        constant = seen & (least == greatest)
        if subject.geometry.by_column:
            factor = subject.geometry.column_scale
        else:  # there is no scale of a single column
            factor = 1 / np.where(spread > 0, spread, 1.0)
        return cls(mean, spread, least, greatest, constant, factor)


def dense_rows(X: Any) -> FloatArray:
    """Return validated rows as an array."""
    if not sparse.issparse(X):
        rows: FloatArray = X
        return rows
    cells = X.shape[0] * X.shape[1]
    if cells > MAX_DENSE_CELLS:
        msg = (
            f"A report of a sparse X holds it dense: at most {MAX_DENSE_CELLS:,} cells, got "
            f"{X.shape[0]:,} rows of {X.shape[1]:,} columns ({cells:,} cells). Report on some of "
            "the rows, X[:1000] for example."
        )
        raise ValueError(msg)
    return X.toarray()


def frame_index(X: Any) -> list[str] | None:
    """Return what a pandas frame calls its rows; None where it merely numbers them from 0."""
    index: Any = getattr(X, "index", None)
    # Lists have a method of that name, frames of polars have nothing.
    if not hasattr(index, "nlevels") or np.array_equal(index, np.arange(len(index))):
        return None
    # pandas writes them: a date without a time of day stays one.
    levels = [index.get_level_values(i).astype(str) for i in range(index.nlevels)]
    return [", ".join(map(str, parts)) for parts in zip(*levels, strict=True)]


def row_ids(ids: Any, n_rows: int) -> list[str] | None:
    """Return the names of the rows as text."""
    if ids is None:
        return None
    texts = [str(value) for value in ids]
    if len(texts) != n_rows:
        msg = f"ids must have one entry per row: X has {n_rows:,} rows, got {len(texts):,} ids."
        raise ValueError(msg)
    return texts


def pick_rows(n_rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return the numbers of all rows, or of a sample where there are more than ``most``."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))
