"""What columns have in common with most of their values: quartiles, and the range that counts.

Values beyond the range are read as its end wherever rows are read (`Dataset` in the core), so that
none of them has more to say than a far value may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native
from amclust._rows import Indices, Rows, Weights

Floats = NDArray[np.float64]

# Values count up to so many distances between the quartiles beyond these.
REACH = 1.5
# Where more than half of the values of a column are the same, the others count up to so many times
# as far beyond their own quartiles as these are from it.
RARE_REACH = 0.5
# Values that differ by less, in units of what their type can tell apart, are the same.
ROUNDING = 10


@dataclass(frozen=True, eq=False)
class Limits:
    """The range of each column that counts.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Values beyond are taken for these.
    """

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        if not (self.low <= self.high).all():
            msg = "The low limits of columns must not be above the high ones."
            raise ValueError(msg)

    def apply(self, X: Any) -> Any:
        """Return a copy of a table, dense or CSR, with all values within the limits."""
        if not sparse.issparse(X):
            return np.clip(X, self.low, self.high).astype(X.dtype, copy=False)
        X = X.copy()
        X.data = np.clip(X.data, self.low[X.indices], self.high[X.indices]).astype(X.dtype)
        return X

    def read(self, rows: Rows) -> _native.Rows:
        """Return rows as the core reads them, within the limits."""
        return rows.read().with_limits(self.low, self.high)


class Quartiles(NamedTuple):
    """What most values of columns say."""

    distances: Floats  # between the quartiles of each; 0 where more than half of it is one value
    limits: Limits

    @classmethod
    def of(cls, rows: Rows, indices: Indices | None, weights: Weights | None) -> Quartiles:
        """Return the quartiles of some rows; one of weight 2 counts like two."""
        columns = [_quartiles(rows.column(j, indices), weights) for j in range(rows.n_features)]
        distances, low, high = np.array(columns).T.copy()
        if rows.is_sparse:  # zeros are not stored: they stay what they are
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        return cls(distances, Limits(low, high))


def _quartiles(values: NDArray[Any], weights: Weights | None) -> tuple[float, float, float]:
    """Return how far a column's quartiles are apart, and the range of its values that counts."""
    observed = np.flatnonzero(~np.isnan(values))
    order = observed[np.argsort(values[observed], kind="stable")]
    ordered = values[order].astype(np.float64)
    mass = np.ones(len(order)) if weights is None else weights[order].astype(np.float64)
    low, high = _middle_half(ordered, mass)
    noise = ROUNDING * np.finfo(values.dtype).eps * abs(low)
    if high - low > noise:
        reach = REACH * (high - low)
        return high - low, low - reach, high + reach
    others = np.abs(ordered - low) > noise
    if not others.any():
        return 0.0, low, high
    rare_low, rare_high = _middle_half(ordered[others], mass[others])
    reach = RARE_REACH * max(rare_high - low, low - rare_low)
    return 0.0, min(low, rare_low - reach), max(low, rare_high + reach)


def _middle_half(ordered: Floats, mass: Floats) -> tuple[float, float]:
    """Return the quartiles of ordered values."""
    sums = np.cumsum(mass)
    low, high = ordered[np.searchsorted(sums, sums[-1] * np.array([0.25, 0.75]))]
    return float(low), float(high)
