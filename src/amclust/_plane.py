"""A plane to look at rows with many features: from the table to it, and back."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from amclust._network import NetworkMethods
from amclust._validation import as_numbers, name_column

Floats = NDArray[np.float64]

# Principal components are those of a fixed sample of so many rows.
MOST_ROWS = 20_000
# Cells of a table that are made at a time.
BLOCK_CELLS = 2**22
# What follows the name of a column where rows are directions.
UNIT_LENGTH = " (rows of unit length)"


@dataclasses.dataclass(frozen=True)
class Plane:
    """A plane through the space of the table.

    A point (u, v) of the plane is the row ``origin + (u, v) @ axes.T / factors``. For
    ``metric="cosine"`` rows are scaled to unit length first, as the model does.

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
    >>> plane = Plane.of(ClAM(3, random_state=0).fit(X), X)
    >>> plane.labels
    ('PC 1 (73 % of the variance)', 'PC 2 (23 % of the variance)')
    >>> plane.project(X).shape, plane.lift([[0, 0], [1, 2]]).shape
    ((150, 2), (2, 4))
    """

    model: Any
    origin: Floats
    axes: Floats
    factors: Floats
    labels: tuple[str, str]
    rows: Floats
    memories: Floats

    @classmethod
    def of(cls, model: Any, X: Any, features: Any = None, *, through: Any = None) -> Plane:
        """Return the plane of two features, or the one along which rows vary most.

        Parameters
        ----------
        model : ClAM or ClAMSearch
            A fitted estimator.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        features : pair of int or str, default=None
            Columns that span the plane. None: both columns of a table with two, otherwise the first
            two principal components of the rows, scaled as the model scales them.

        through : array-like of shape (n_features,), default=None
            A row that the plane goes through; None: the mean of `X`.
        """
        model = fitted_network(model)
        X = model._validate(X)
        sample = completed(model, _sample(X))
        d = model.n_features_in_
        if through is None:
            origin = sample.mean(axis=0)
        else:
            origin = _check_through(through, d)
        pair = _pair(features, d, getattr(model, "feature_names_in_", None))
        if pair is None and not np.ptp(sample, axis=0).any():  # a single row, or many of it
            pair = (0, 1)
        if pair is not None:
            axes, labels = _coordinates(pair, d), _axis_names(model, pair)
            factors = np.ones(d)
            # The coordinates of the plane are those of the table.
            origin = np.where(axes.any(axis=1), 0.0, origin)
        else:
            factors = _column_factors(model, sample)
            axes, labels = _principal(sample * factors)
        nothing = np.empty((0, 2))
        plane = cls(model, origin, axes, factors, labels, nothing, nothing)
        memories = plane.flatten(model.cluster_centers_)
        return dataclasses.replace(plane, rows=plane._projected(X), memories=memories)

    def project(self, X: Any) -> Floats:
        """Return rows on the plane, shape (n_samples, 2); missing values are filled by the model.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        """
        return self._projected(self.model._validate(X))

    def flatten(self, rows: Any) -> Floats:
        """Return complete rows on the plane, of shape (..., n_features), without checks."""
        rows = _directions(rows) if self.model._metric == "cosine" else rows
        return ((np.asarray(rows, dtype=np.float64) - self.origin) * self.factors) @ self.axes

    def lift(self, points: Any) -> Floats:
        """Return points of the plane as rows of the table, shape (n_points, n_features)."""
        points = np.asarray(points, dtype=np.float64)
        rows = self.origin + points @ self.axes.T / self.factors
        if self.model._metric == "cosine":  # zero has no direction
            rows[~rows.any(axis=1)] = 1e-9
        return rows

    def grid(self, resolution: int = 200, margin: float = 0.1) -> tuple[Floats, Floats, Floats]:
        """Return a grid that holds all rows and memories.

        Parameters
        ----------
        resolution : int, default=200
            Points in each direction.

        margin : float, default=0.1
            Room on each side, as a part of the extent of rows and memories.

        Returns
        -------
        xs, ys : ndarrays of shape (resolution,)
            Coordinates in the plane.

        points : ndarray of shape (resolution * resolution, n_features)
            The grid as rows of the table; ``reshape(resolution, resolution)`` of what is asked of
            them has ys for rows and xs for columns.
        """
        xs, ys = self.ranges(resolution, margin)
        return xs, ys, self.lift(_mesh(xs, ys))

    def ranges(self, resolution: int = 200, margin: float = 0.1) -> tuple[Floats, Floats]:
        """Return the coordinates of a grid only."""
        seen = np.concatenate([self.rows, self.memories])
        low, high = seen.min(axis=0), seen.max(axis=0)
        flat = high - low <= 1e-9 * np.maximum(np.abs(low), np.abs(high))
        room = np.where(flat, np.maximum(np.abs(low), 1.0), high - low) * margin
        low, high = low - room, high + room
        xs, ys = (np.linspace(low[i], high[i], resolution) for i in range(2))
        return xs, ys

    def ask(self, method: str, xs: Floats, ys: Floats) -> NDArray[Any]:
        """Return what a method of the model says on a grid, shape (len(ys), len(xs), ...)."""
        points = _mesh(xs, ys)
        ask = getattr(without_names(self.model), method)
        parts = _parts(len(points), len(self.origin))
        found = np.concatenate([ask(self.lift(points[part])) for part in parts])
        return found.reshape(len(ys), len(xs), *found.shape[1:])

    def _projected(self, X: Any) -> Floats:
        pieces = [self.flatten(completed(self.model, X[part])) for part in _parts(*X.shape)]
        return np.concatenate(pieces)


def fitted_network(estimator: Any) -> Any:
    """Return a fitted ClAM: the estimator, or the best one of a search."""
    check_is_fitted(estimator)
    model = getattr(estimator, "best_estimator_", estimator)
    if not isinstance(model, NetworkMethods):
        msg = f"estimator must be a fitted ClAM or ClAMSearch, got {kind_of(estimator)}."
        raise TypeError(msg)
    return model


def kind_of(estimator: Any) -> str:
    """Name the kind of an estimator that is refused; of a pipeline, with what to pass instead."""
    # Imported here, so that `import amclust` stays light.
    from sklearn.pipeline import Pipeline

    kind = type(estimator).__name__
    if not isinstance(estimator, Pipeline):
        return kind
    return f"{kind}: pass pipeline[-1] and the rows as it gets them: pipeline[:-1].transform(X)"


def without_names(model: Any) -> Any:
    """Return a model that takes rows without names of columns, and does not warn of that."""
    model = copy.copy(model)
    model.__dict__.pop("feature_names_in_", None)
    return model


def completed(model: Any, X: Any) -> Floats:
    """Return validated rows as dense floats, filled by the model; unit vectors for "cosine"."""
    rows = without_names(model).complete(X)
    rows = rows.toarray() if sparse.issparse(rows) else rows
    rows = np.asarray(rows, dtype=np.float64)
    return _directions(rows) if model._metric == "cosine" else rows


def _directions(rows: Any) -> Floats:
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def feature_names(model: Any, X: Any = None) -> list[str]:
    """Return the names of the columns: those of a frame, the model's, or x0, x1, ..."""
    names = getattr(X, "columns", None)
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{index}" for index in range(model.n_features_in_)]
    # A blank name could not be seen.
    return [str(name) if str(name).strip() else "(no name)" for name in names]


def _sample(X: Any) -> Any:
    if X.shape[0] <= MOST_ROWS:
        return X
    rows = np.random.default_rng(0).choice(X.shape[0], MOST_ROWS, replace=False)
    return X[np.sort(rows)]


def _parts(n: int, d: int) -> Iterator[slice]:
    step = max(1, BLOCK_CELLS // max(d, 1))
    return (slice(start, start + step) for start in range(0, n, step))


def _mesh(xs: Floats, ys: Floats) -> Floats:
    return np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)


def _check_through(through: Any, d: int) -> Floats:
    row: Floats = as_numbers("through", through)
    if row.shape != (d,) or not np.isfinite(row).all():
        msg = f"through must be a row of {d} finite numbers, got {through!r}."
        raise ValueError(msg)
    return row


def _pair(features: Any, d: int, names: NDArray[Any] | None) -> tuple[int, ...] | None:
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


def _column(feature: Any, d: int, names: NDArray[Any] | None) -> int:
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


def _coordinates(pair: tuple[int, ...], d: int) -> Floats:
    axes = np.zeros((d, 2))
    for axis, column in enumerate(pair):
        axes[column, axis] = 1.0
    return axes


def _axis_names(model: Any, pair: tuple[int, ...]) -> tuple[str, str]:
    names = feature_names(model)
    units = UNIT_LENGTH if model._metric == "cosine" else ""
    first, second = ([names[column] + units for column in pair] + [""])[:2]
    return first, second


def _column_factors(model: Any, sample: Floats) -> Floats:
    """Return what columns are multiplied with before their variance counts."""
    if model._fitted_metric == "mahalanobis":
        # Whitened rows vary alike in all directions: standard units are what is left to look at.
        spread = sample.std(axis=0)
        return 1.0 / np.where(spread > 0, spread, 1.0)
    return model._scale.astype(np.float64) * model._length


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
