"""The limits of columns, for `scale="robust"`: what most of their values say of the others.

Quartiles say where the middle half of a column lies. Values count up to a near fence around it;
what lies beyond a far one is not believed, and counts as missing. Both are so wherever rows are
read (`Dataset` in the core).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native
from amclust._categories import MISSING, MixedTable
from amclust._rows import Indices, Rows, TableRows, Weights

Floats = NDArray[np.float64]

# The fences, in distances between the quartiles beyond these.
NEAR, FAR = 1.0, 3.0
# Where more than half of the values of a column are the same, those around it, in distances of the
# others from it: the median of these.
RARE_NEAR, RARE_FAR = 2.0, 4.0
# Values are not larger: squares of much larger ones do not fit float32, in which the core computes.
MAX_VALUE = 1e19
# Values that differ by less, in units of what their type can tell apart, are the same.
ROUNDING = 10
# Of a level: no quartiles, and limits that it does not meet.
LEVEL = (0.0, 0.0, 1.0, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Limits:
    """What values of columns may be.

    Attributes
    ----------
    low, high : ndarray of shape (n_features,)
        Values beyond count as these, ...

    believed_low, believed_high : ndarray of shape (n_features,)
        ... and those beyond these as missing, unless their row has no other value.
    """

    low: Floats
    high: Floats
    believed_low: Floats
    believed_high: Floats

    def __post_init__(self) -> None:
        ordered = (self.believed_low, self.low, self.high, self.believed_high)
        if not all((a <= b).all() for a, b in pairwise(ordered)):
            msg = "The limits of columns must be ordered: believed_low, low, high, believed_high."
            raise ValueError(msg)

    def apply(self, X: Any) -> Any:
        """Return a copy of a table, dense or CSR, with all values within the limits."""
        if isinstance(X, MixedTable):
            return self._apply_beside_levels(X)
        if not sparse.issparse(X):
            none = ~np.any(self._believed(X, slice(None)), axis=1)
            return self._limited(X, slice(None), none[:, None])
        X = X.copy()
        believed = self._believed(X.data, X.indices)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        none = np.bincount(rows, ~believed, minlength=X.shape[0]) == X.shape[1]
        X.data = self._limited(X.data, X.indices, none[rows])
        return X

    def _apply_beside_levels(self, X: MixedTable) -> MixedTable:
        """Limit the numbers of a table with categories, whose levels are what they are."""
        layout = X.categories
        features = layout.starts[layout.numbers]
        none = ~np.any(self._believed(X.numbers, features), axis=1) & (X.codes == MISSING).all(
            axis=1
        )
        return X.with_numbers(lambda values: self._limited(values, features, none[:, None]))

    def _believed(self, values: Any, columns: Any) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = values >= self.believed_low[columns]
        return found & (values <= self.believed_high[columns])

    def _limited(self, values: Any, columns: Any, believe_all: NDArray[np.bool_]) -> Any:
        inside = np.clip(values, self.low[columns], self.high[columns]).astype(values.dtype)
        return np.where(self._believed(values, columns) | believe_all, inside, np.nan)

    def within(self, rows: Rows) -> LimitedRows:
        """Return rows that are read within the limits."""
        return LimitedRows(rows.take(None), rows.read(), self)


@dataclass(frozen=True, eq=False)
class LimitedRows(TableRows):
    """Rows that are read within limits; nothing is copied for that."""

    unlimited: _native.Rows
    limits: Limits

    @cached_property
    def _read(self) -> _native.Rows:
        limits = self.limits
        ends = limits.low, limits.high, limits.believed_low, limits.believed_high
        return self.unlimited.with_limits(*ends)

    def take(self, indices: Indices | None) -> Any:
        """Return rows as an array or a CSR matrix, within the limits."""
        return self.limits.apply(super().take(indices))

    def statistics(
        self, indices: Indices | None, weights: Weights | None, threads: int
    ) -> _native.Statistics:
        """Return statistics of the columns, within the limits."""
        return TableRows(self.take(indices)).statistics(None, weights, threads)


class Quartiles(NamedTuple):
    """What most values of columns say."""

    distances: Floats  # between the quartiles of each; 0 where more than half of it is one value
    limits: Limits

    @classmethod
    def of(cls, rows: Rows, indices: Indices | None, weights: Weights | None) -> Quartiles:
        """Return the quartiles of some rows; one of weight 2 counts like two."""
        layout = rows.categories
        columns = [
            LEVEL
            if layout is not None and layout.are_levels[j]
            else _quartiles(rows.column(j, indices), weights)
            for j in range(rows.n_features)
        ]
        distances, *fences = np.array(columns).T.copy()
        if rows.is_sparse:  # zeros are not stored: they stay what they are
            fences = [
                bound(fence, 0.0)
                for bound, fence in zip(2 * [np.minimum, np.maximum], fences, strict=True)
            ]
        return cls(distances, Limits(*fences))


def _quartiles(values: NDArray[Any], weights: Weights | None) -> tuple[float, ...]:
    """Return how far a column's quartiles are apart, and its limits."""
    observed = np.flatnonzero(~np.isnan(values))
    order = observed[np.argsort(values[observed], kind="stable")]
    ordered = values[order].astype(np.float64)
    mass = np.ones(len(order)) if weights is None else weights[order].astype(np.float64)
    if not len(order):  # only rows that were not drawn have values here: nothing is known of them
        return 0.0, -MAX_VALUE, MAX_VALUE, -MAX_VALUE, MAX_VALUE
    low, high = _middle_half(ordered, mass)
    noise = ROUNDING * np.finfo(values.dtype).eps * abs(low)
    while high - low > noise:
        near, far = NEAR * (high - low), FAR * (high - low)
        first = np.searchsorted(ordered, low - far)
        last = np.searchsorted(ordered, high + far, side="right")
        if last - first == len(ordered):
            return high - low, low - near, high + near, low - far, high + far
        # Values that are not believed have no say in where the middle half is.
        ordered, mass = ordered[first:last], mass[first:last]
        low, high = _middle_half(ordered, mass)
    others = np.abs(ordered - low) > noise
    if not others.any():
        return 0.0, low, high, low, high
    distance = _median(np.abs(ordered[others] - low), mass[others])
    near, far = RARE_NEAR * distance, RARE_FAR * distance
    return 0.0, low - near, low + near, low - far, low + far


def _median(values: Floats, mass: Floats) -> float:
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(mass[order])
    return float(values[order[np.searchsorted(sums, sums[-1] / 2)]])


def _middle_half(ordered: Floats, mass: Floats) -> tuple[float, float]:
    """Return the quartiles of ordered values."""
    sums = np.cumsum(mass)
    low, high = ordered[np.searchsorted(sums, sums[-1] * np.array([0.25, 0.75]))]
    return float(low), float(high)
