"""The units the core works in, and the way back to the table's own.

The core sees (x - offset) * scale: columns centred, each divided by its own spread where the user
wants that (`scale`), and one common factor that makes the mean variance of a column 1. The latter
leaves the geometry as it is, keeps float32 exact enough for tables whose columns are far from zero,
and lets learning rates mean the same for every table. Spherical data is put on the unit sphere by
the core, and Mahalanobis distances are Euclidean after whitening.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native

FloatArray = NDArray[np.floating[Any]]

# Of a normal distribution with standard deviation 1.
NORMAL_INTERQUARTILE_RANGE = 1.3489795
# A column that varies less is one of a single value: float32 could not hold what it is divided by.
LEAST_SPREAD = 1e-30


class Units(NamedTuple):
    """How the core's numbers relate to the table's."""

    metric: str  # "euclidean" or "cosine": what the core computes
    offset: NDArray[np.float64]
    scale: NDArray[np.float32]
    fill: NDArray[np.float32]  # where hidden and missing values start, in the core's units
    length: float  # what one unit of the core is in the table, its columns scaled

    def inward(self, values: FloatArray) -> NDArray[np.float32]:
        """Bring points of the table into the core's units."""
        return np.ascontiguousarray((values - self.offset) * self.scale, dtype=np.float32)

    def outward(self, values: FloatArray) -> NDArray[np.float64]:
        """Bring points of the core back to the table."""
        return values / self.scale.astype(np.float64) + self.offset


def mask_values(mask_value: str | float, stats: dict[str, Any]) -> NDArray[np.float64]:
    """Return the value that stands for a hidden or missing entry of each column."""
    if isinstance(mask_value, str):
        return np.asarray(stats[mask_value], dtype=np.float64)
    return np.full(len(stats["mean"]), float(mask_value))


def column_factors(
    scale: str | None,
    metric: str,
    X: Any,
    stats: dict[str, Any],
    rows: NDArray[np.int64] | None,
    weights: NDArray[np.float32] | None,
) -> NDArray[np.float64]:
    """Return what each column is multiplied with before distances are taken.

    Columns of one value (up to rounding) are left as they are.
    """
    mean, deviation = np.asarray(stats["mean"]), np.sqrt(stats["variance"])
    if scale is None or metric != "euclidean":
        return np.ones(len(mean))
    noise = np.maximum(10 * np.finfo(X.dtype).eps * np.abs(mean), LEAST_SPREAD)
    spread = deviation
    if scale == "robust":
        spread = interquartile_ranges(X, rows, weights) / NORMAL_INTERQUARTILE_RANGE
        # More than half of the values are the same: the middle says nothing about the others.
        spread = np.where(spread > noise, spread, deviation)
    return 1.0 / np.where(spread > noise, spread, 1.0)


def interquartile_ranges(
    X: Any, rows: NDArray[np.int64] | None, weights: NDArray[np.float32] | None
) -> NDArray[np.float64]:
    """Return the distance between the quartiles of each column's observed values.

    A row of weight 2 counts like two rows.
    """
    out = np.zeros(X.shape[1])
    columns = X.tocsc() if sparse.issparse(X) else X
    for j in range(X.shape[1]):
        column = columns[:, [j]].toarray()[:, 0] if sparse.issparse(X) else columns[:, j]
        values = column if rows is None else column[rows]
        observed = np.flatnonzero(~np.isnan(values))
        order = observed[np.argsort(values[observed], kind="stable")]
        mass = np.cumsum(np.ones(len(order)) if weights is None else weights[order], dtype=float)
        low, high = values[order[np.searchsorted(mass, mass[-1] * np.array([0.25, 0.75]))]]
        out[j] = high - low
    return out


def choose_units(
    stats: dict[str, Any],
    metric: str,
    mask_value: str | float,
    dtype: str,
    factors: NDArray[np.float64],
) -> Units:
    """Choose offset and scale from column statistics of a table of the given type."""
    mean = np.asarray(stats["mean"])
    variance = np.asarray(stats["variance"])
    masks = mask_values(mask_value, stats)
    d = len(mean)
    if metric == "cosine":
        # Directions have no offset; mask values become parts of a row of typical length.
        length = float(np.sqrt(np.sum(variance + mean**2))) or 1.0
        zeros, ones = np.zeros(d), np.ones(d, np.float32)
        fill = np.ascontiguousarray(masks / length, dtype=np.float32)
        return Units("cosine", zeros, ones, fill, 1.0)
    offset = mean.astype(dtype).astype(np.float64)  # exact in the table's own type
    spread = float(np.sqrt(np.mean(variance * factors**2)))
    common = 1.0 / spread if spread > 0 else 1.0
    scale = (factors * common).astype(np.float32)
    fill = np.ascontiguousarray((masks - offset) * scale, dtype=np.float32)
    return Units("euclidean", offset, scale, fill, 1.0 / float(np.float32(common)))


def make_dataset(X: Any) -> _native.Dataset:
    """Wrap a validated matrix for the core; only CSR with unsorted entries is copied."""
    if sparse.issparse(X):
        if X.nnz and (X.indices.min() < 0 or X.indices.max() >= X.shape[1]):
            msg = f"The sparse X has column indices outside 0 ... {X.shape[1] - 1}: it is damaged."
            raise ValueError(msg)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return _native.sparse_dataset(X.data, X.indices, X.indptr, X.shape[1])
    return _native.dense_dataset(X)


class Whitening(NamedTuple):
    """A linear map after which Mahalanobis distances are Euclidean."""

    mean: NDArray[np.float64]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]

    @classmethod
    def of(cls, X: FloatArray, weights: NDArray[np.float32] | None) -> Whitening:
        """Whiten by the covariance of weighted rows; a row of weight 2 counts like two rows.

        The correlations are shrunk towards none (Ledoit and Wolf, 2004), so that they can be
        inverted for any shape of table; the units of the columns do not matter.
        """
        w = np.ones(len(X)) if weights is None else weights.astype(np.float64)
        n, d = w.sum(), X.shape[1]
        mean = w @ X / n
        spread = np.sqrt(w @ (X - mean) ** 2 / n)
        spread[spread == 0] = 1.0
        centred = (X - mean) / spread
        covariance = (centred * w[:, None]).T @ centred / n
        level = np.trace(covariance) / d
        distance = np.sum(covariance**2) - d * level**2
        noise = (w @ np.sum(centred**2, axis=1) ** 2 / n - np.sum(covariance**2)) / n
        shrinkage = min(1.0, noise / distance) if distance > 0 else 1.0
        covariance = (1 - shrinkage) * covariance + shrinkage * level * np.eye(d)
        values, vectors = np.linalg.eigh(covariance)
        values = np.maximum(values, values.max() * 1e-10) if values.max() > 0 else np.ones(d)
        return cls(
            mean,
            (vectors / np.sqrt(values)) @ vectors.T / spread[:, None],
            (vectors * np.sqrt(values)) @ vectors.T * spread,
        )

    def apply(self, X: FloatArray) -> FloatArray:
        """Whiten points; the result has the type of X."""
        return np.ascontiguousarray((X - self.mean) @ self.forward, dtype=X.dtype)

    def undo(self, values: FloatArray) -> FloatArray:
        """Bring whitened points back."""
        return values @ self.backward + self.mean
