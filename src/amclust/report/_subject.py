"""The rows of a report, and what the model answers about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust._categories import Categories, as_dense
from amclust._features import check_feature_names
from amclust._fitted import column_names
from amclust._network import Network
from amclust._rows import TableRows
from amclust._size_limits import GivenLimits, given_limits
from amclust._validation import validate_rows
from amclust.report._numbers import ColumnFormat, ShareFormat, column_formats

if TYPE_CHECKING:
    from amclust._estimator import ClAM

Floats = NDArray[np.float64]

# Silhouettes and k-means look at no more rows than this, nor at more cells (but at some rows).
MAX_ROWS, MAX_CELLS, MIN_ROWS = 10_000, 20_000_000, 2_000
# Figures draw no more rows than this.
MAX_DRAWN = 2_000
# A sparse matrix of more cells than this is not made dense.
MAX_DENSE_CELLS = 50_000_000


class Columns(NamedTuple):
    """Statistics of the columns, in original units."""

    mean: Floats  # NaN where a column has no value at all
    std: Floats
    min: Floats
    max: Floats
    constant: NDArray[np.bool_]
    missing: NDArray[np.int64]
    formats: Sequence[ColumnFormat]


@dataclass(frozen=True)
class Subject:
    """The rows of a report and the answers of its model, each computed once."""

    model: ClAM
    rows: Any  # validated: an array with NaN where a value is missing, or a MixedTable
    names: list[str]  # of the features: columns, or levels of them
    ids: Sequence[str] | None  # of the rows
    labels: NDArray[np.int32]  # -1 for noise
    energy: Floats
    entropy: Floats
    random_state: int

    @classmethod
    def of(
        cls, model: ClAM, X: Any, ids: Any, random_state: int, feature_names: Any = None
    ) -> Subject:
        """Ask the model about rows that are not yet validated."""
        rows = _dense(validate_rows(model, X))
        if feature_names is not None:
            names = list(check_feature_names(feature_names, rows.shape[1]))
        else:
            names = column_names(model.network_, X)
        return cls(
            model,
            rows,
            names,
            _row_ids(_frame_index(X) if ids is None else ids, len(rows)),
            *model.network_.answers(rows, n_jobs=model.n_jobs),
            random_state,
        )

    @cached_property
    def cells(self) -> NDArray[np.floating[Any]]:
        """The rows by features: 0 and 1 for levels, NaN where a value is missing."""
        cells: NDArray[np.floating[Any]] = as_dense(self.rows)
        return cells

    @property
    def layout(self) -> Categories | None:
        """What the columns are, where some are categories."""
        return self.network.geometry.categories

    @property
    def n_columns(self) -> int:
        """Number of columns; a category is one."""
        return len(self.names) if self.layout is None else self.layout.n_columns

    @property
    def column_names(self) -> list[str]:
        """Names of the columns."""
        if self.layout is None:
            return self.names
        return [self.layout.name(column) for column in range(self.layout.n_columns)]

    @cached_property
    def missing(self) -> NDArray[np.int64]:
        """How many values each column lacks."""
        missing = self.columns.missing
        return missing if self.layout is None else missing[self.layout.starts]

    @property
    def n_cells(self) -> int:
        """How many values there would be if none were missing."""
        return self.n_rows * self.n_columns

    @property
    def network(self) -> Network:
        """The network of the model."""
        return self.model.network_

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_clusters(self) -> int:
        """Number of clusters, empty ones included."""
        return self.network.n_clusters

    @cached_property
    def clustered(self) -> NDArray[np.bool_]:
        """Which rows are in a cluster; the others are noise."""
        return self.labels >= 0

    @cached_property
    def n_noise(self) -> int:
        """Number of rows in no cluster."""
        return int(np.count_nonzero(~self.clustered))

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of rows in each cluster."""
        return np.bincount(self.labels[self.clustered], minlength=self.n_clusters)

    @property
    def limits(self) -> GivenLimits | None:
        """Limits of size that the model was fitted with."""
        return given_limits(self.model)

    @cached_property
    def fitted_sizes(self) -> NDArray[np.int64]:
        """Number of rows of the fit in each cluster."""
        labels = self.model.labels_
        return np.bincount(labels[labels >= 0], minlength=self.n_clusters)

    @cached_property
    def columns(self) -> Columns:
        """Statistics of the columns."""
        stats = TableRows(self.cells).statistics(None, None, 1)
        seen = stats.weight > 0
        mean, std, low, high = (
            np.where(seen, values, np.nan)
            for values in (stats.mean, np.sqrt(stats.variance), stats.min, stats.max)
        )
        missing = np.count_nonzero(np.isnan(self.cells), axis=0)
        formats = column_formats(self.cells[self.sample], std)
        if self.layout is not None:
            levels = self.layout.are_levels
            formats = [
                ShareFormat(*one) if level else one
                for level, one in zip(levels, formats, strict=True)
            ]
        return Columns(mean, std, low, high, seen & (low == high), missing, formats)

    @cached_property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(self.missing.sum())

    @cached_property
    def sample(self) -> NDArray[np.int64]:
        """The rows that silhouettes, k-means and figures look at; all where they are few."""
        most = min(MAX_ROWS, max(MIN_ROWS, MAX_CELLS // self.rows.shape[1]))
        return _pick(self.n_rows, most, self.random_state)

    @cached_property
    def drawn(self) -> NDArray[np.int64]:
        """The places, among the sampled rows, of those that figures draw."""
        return _pick(len(self.sample), MAX_DRAWN, self.random_state)

    @cached_property
    def scaled(self) -> NDArray[np.float32]:
        """The sampled rows as distances are measured: completed, then scaled or whitened."""
        rows = self.rows[self.sample]
        if self.n_missing:
            rows = self.network.complete(rows, n_jobs=self.model.n_jobs)
        return self.network.geometry.measured(rows)

    @cached_property
    def silhouettes(self) -> Floats:
        """Silhouettes of the sampled rows; NaN for noise, and where there are no two clusters."""
        labels = self.labels[self.sample]
        if len(np.unique(labels[labels >= 0])) < 2:
            return np.full(len(labels), np.nan)
        return self.network.silhouette_values(
            self.rows[self.sample], labels, max_rows=len(labels), n_jobs=self.model.n_jobs
        )

    @cached_property
    def is_training_data(self) -> bool:
        """Whether the rows look like those of the last fit: as many, with the same labels."""
        return np.array_equal(self.labels, getattr(self.model, "labels_", ()))

    def row_name(self, row: int) -> str:
        """Return the id of a row, else its number."""
        return self.ids[row] if self.ids is not None else str(row)


def _dense(X: Any) -> NDArray[np.floating[Any]]:
    if not sparse.issparse(X):
        rows: NDArray[np.floating[Any]] = X
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


def _frame_index(X: Any) -> list[str] | None:
    """Return what a pandas frame calls its rows; None where it merely numbers them from 0."""
    index: Any = getattr(X, "index", None)
    # Lists have a method of that name, frames of polars have nothing.
    if not hasattr(index, "nlevels") or np.array_equal(index, np.arange(len(index))):
        return None
    # pandas writes them: a date without a time of day stays one.
    levels = [index.get_level_values(i).astype(str) for i in range(index.nlevels)]
    return [", ".join(map(str, parts)) for parts in zip(*levels, strict=True)]


def _row_ids(ids: Any, n_rows: int) -> list[str] | None:
    if ids is None:
        return None
    texts = [str(value) for value in ids]
    if len(texts) != n_rows:
        msg = f"ids must have one entry per row: X has {n_rows:,} rows, got {len(texts):,} ids."
        raise ValueError(msg)
    return texts


def _pick(n_rows: int, most: int, seed: int) -> NDArray[np.int64]:
    """Return the numbers of all rows, or of a sample where there are more than `most`."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(seed).choice(n_rows, most, replace=False))
