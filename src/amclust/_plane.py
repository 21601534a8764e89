"""A plane to look at rows with many features: from the table to it, and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust._fitted import column_names, fitted_clam
from amclust._geometry import Geometry
from amclust._network import Network
from amclust._validation import as_numbers, name_column, validate_rows

Floats = NDArray[np.float64]

# Principal components are those of a fixed sample of so many rows.
MAX_ROWS = 20_000
# Cells of a table that are computed at a time.
BLOCK_CELLS = 2**22
# What follows the name of a column where rows are directions.
UNIT_LENGTH = " (rows of unit length)"


@dataclasses.dataclass(frozen=True, eq=False)
class Plane:
    """A plane through the space of the table.

    A point (u, v) of the plane is the row ``origin + (u, v) @ axes.T / factors``. For
    ``metric="cosine"`` rows are scaled to unit length first, as the network does.

    Attributes
    ----------
    labels : tuple of two str
        Names of the axes. The second is empty for a table with one column.

    rows : ndarray of shape (n_samples, 2)
        The rows it was made for, projected.

    memories : ndarray of shape (n_clusters, 2)
        The memories, projected.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAM
    >>> from amclust._plane import Plane
    >>> X = load_iris().data
    >>> plane = Plane.of(ClAM(3, random_state=0).fit(X).network_, X)
    >>> plane.labels
    ('PC 1 (73 % of the variance)', 'PC 2 (23 % of the variance)')
    >>> plane.project(X).shape, plane.lift([[0, 0], [1, 2]]).shape
    ((150, 2), (2, 4))
    """

    network: Network
    origin: Floats
    axes: Floats
    factors: Floats
    labels: tuple[str, str]
    rows: Floats
    memories: Floats
    n_jobs: int | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, features: Any = None, *, through: Any = None
    ) -> Plane:
        """Return the plane of a fitted ClAM or ClAMSearch, for rows that it still has to check.

        All other parameters are those of `of`.
        """
        model = fitted_clam(estimator)
        X = validate_rows(model, X)
        return cls.of(model.network_, X, features, through=through, n_jobs=model.n_jobs)

    @classmethod
    def of(
        cls,
        network: Network,
        X: Any,
        features: Any = None,
        *,
        through: Any = None,
        n_jobs: int | None = None,
    ) -> Plane:
        """Return the plane of two features, or the one along which rows vary most.

        Parameters
        ----------
        network : Network
            What is looked at.

        X : {ndarray, CSR matrix} of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        features : pair of int or str, default=None
            Columns that span the plane. None: both columns of a table with two, otherwise the first
            two principal components of the rows, scaled as the network scales them.

        through : array-like of shape (n_features,), default=None
            A row that the plane goes through; None: the mean of `X`.

        n_jobs : int, default=None
            Number of threads of what the network is asked; None: as many as may be.
        """
        sample = completed(network, _sample(X), n_jobs)
        d = network.n_features
        if through is None:
            origin = sample.mean(axis=0)
        else:
            origin = _check_through(through, d)
        pair = _pair(features, d, network.geometry.feature_names)
        if pair is None and not np.ptp(sample, axis=0).any():  # a single row, or many of it
            pair = (0, 1)
        if pair is not None:
            axes, factors = np.zeros((d, 2)), np.ones(d)
            axes[pair, range(len(pair))] = 1.0
            units = UNIT_LENGTH if network.geometry.spherical else ""
            names = column_names(network)
            first, second, *_ = [*(names[column] + units for column in pair), ""]
            labels = (first, second)
            # The coordinates of the plane are those of the table.
            origin = np.where(axes.any(axis=1), 0.0, origin)
        else:
            factors = _column_factors(network.geometry, sample)
            axes, labels = _principal(sample * factors)
        nothing = np.empty((0, 2))
        plane = cls(network, origin, axes, factors, labels, nothing, nothing, n_jobs)
        memories = plane.flatten(network.centers)
        return dataclasses.replace(plane, rows=plane.project(X), memories=memories)

    def project(self, X: Any) -> Floats:
        """Return rows on the plane, shape (n_samples, 2); missing values are filled.

        X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        """
        chunks = (completed(self.network, X[part], self.n_jobs) for part in _parts(*X.shape))
        return np.concatenate([self.flatten(chunk) for chunk in chunks])

    def flatten(self, rows: Any) -> Floats:
        """Return complete rows on the plane, of shape (..., n_features), without checks."""
        rows = _directions(rows) if self.network.geometry.spherical else rows
        return ((np.asarray(rows, dtype=np.float64) - self.origin) * self.factors) @ self.axes

    def lift(self, points: Any) -> Floats:
        """Return points of the plane as rows of the table, shape (n_points, n_features)."""
        points = np.asarray(points, dtype=np.float64)
        # A column of weight 0 is the same everywhere on the plane.
        rows = self.origin + points @ self.axes.T / np.where(self.factors > 0, self.factors, np.inf)
        if self.network.geometry.spherical:  # zero has no direction
            rows[~rows.any(axis=1)] = 1e-9
        return rows

    def ranges(self, resolution: int = 200, margin: float = 0.1) -> tuple[Floats, Floats]:
        """Return the coordinates of a grid that holds all rows and memories.

        `resolution` is the number of points in each direction, `margin` the room on each side, as
        a part of the extent of rows and memories.
        """
        seen = np.concatenate([self.rows, self.memories])
        low, high = seen.min(axis=0), seen.max(axis=0)
        flat = high - low <= 1e-9 * np.maximum(np.abs(low), np.abs(high))
        room = np.where(flat, np.maximum(np.abs(low), 1.0), high - low) * margin
        low, high = low - room, high + room
        xs, ys = (np.linspace(low[i], high[i], resolution) for i in range(2))
        return xs, ys

    def ask(self, answer: Callable[..., NDArray[Any]], xs: Floats, ys: Floats) -> NDArray[Any]:
        """Return what a method of the network says on a grid, shape (len(ys), len(xs), ...)."""
        points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
        parts = _parts(len(points), len(self.origin))
        chunks = [answer(self.lift(points[part]), n_jobs=self.n_jobs) for part in parts]
        found = np.concatenate(chunks)
        return found.reshape(len(ys), len(xs), *found.shape[1:])


def completed(network: Network, X: Any, n_jobs: int | None = None) -> Floats:
    """Return rows as dense floats, filled by the network; unit vectors for "cosine"."""
    rows = network.complete(X, n_jobs=n_jobs)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    rows = np.asarray(rows, dtype=np.float64)
    return _directions(rows) if network.geometry.spherical else rows


def _directions(rows: Any) -> Floats:
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def _sample(X: Any) -> Any:
    if X.shape[0] <= MAX_ROWS:
        return X
    rows = np.random.default_rng(0).choice(X.shape[0], MAX_ROWS, replace=False)
    return X[np.sort(rows)]


def _parts(n: int, d: int) -> Iterator[slice]:
    step = max(1, BLOCK_CELLS // max(d, 1))
    return (slice(start, start + step) for start in range(0, n, step))


def _check_through(through: Any, d: int) -> Floats:
    row: Floats = as_numbers("through", through)
    if row.shape != (d,) or not np.isfinite(row).all():
        msg = f"through must be a row of {d} finite numbers, got {through!r}."
        raise ValueError(msg)
    return row


def _pair(features: Any, d: int, names: Sequence[str] | None) -> tuple[int, ...] | None:
    """Return the columns that span the plane; None: the principal components."""
    if features is None:
        return tuple(range(d)) if d <= 2 else None
    if isinstance(features, str | bytes) or not hasattr(features, "__len__") or len(features) != 2:
        msg = f"features must be a pair of columns, by number or name, got {features!r}."
        raise ValueError(msg)
    first, second = (_column(feature, d, names) for feature in features)
    if first == second:
        msg = f"features must be two different columns, got {name_column(first, names)} twice."
        raise ValueError(msg)
    return first, second


def _column(feature: Any, d: int, names: Sequence[str] | None) -> int:
    if isinstance(feature, Integral):
        column = int(feature)
        if not 0 <= column < d:
            msg = f"features has column {column}; the columns are numbered from 0 to {d - 1}."
            raise ValueError(msg)
        return column
    if names is None:
        msg = (
            f"features has the column {feature!r}, but the model was fitted to rows without names: "
            f"give numbers from 0 to {d - 1}."
        )
        raise ValueError(msg)
    found = np.flatnonzero(np.asarray(names) == feature)
    if not len(found):
        known = ", ".join(repr(str(name)) for name in names[:20])
        more = f" and {len(names) - 20} more" if len(names) > 20 else ""
        msg = f"features has the column {feature!r}, which is not there. There are: {known}{more}."
        raise ValueError(msg)
    return int(found[0])


def _column_factors(geometry: Geometry, sample: Floats) -> Floats:
    """Return what columns are multiplied with before their variance counts."""
    if geometry.whitening is not None:
        # Whitened rows vary alike in all directions: standard units are what is left to look at.
        spread = sample.std(axis=0)
        return 1.0 / np.where(spread > 0, spread, 1.0)
    return geometry.column_scale


def _principal(rows: Floats) -> tuple[Floats, tuple[str, str]]:
    """Return the first two principal components, and their names."""
    # Imported here, so that `import amclust` stays light.
    from sklearn.decomposition import PCA

    fitted = PCA(n_components=2, random_state=0).fit(rows)
    components = fitted.components_
    largest = components[np.arange(2), np.abs(components).argmax(axis=1)]
    components = components * np.where(largest < 0, -1.0, 1.0)[:, None]
    first, second = (
        f"PC {number} ({share:.0%} of the variance)".replace("%", " %")
        for number, share in enumerate(fitted.explained_variance_ratio_, start=1)
    )
    return components.T, (first, second)
