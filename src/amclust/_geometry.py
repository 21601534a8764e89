"""The units the core works in, and the way back to those of the table.

The core sees (x - offset) * scale: columns centred, each divided by its own spread where the user
wants that (`scale`), and one common factor that makes the mean variance of a column 1. The latter
leaves the geometry as it is, keeps float32 exact enough for tables whose columns are far from zero,
and lets learning rates mean the same for every table. Spherical data is put on the unit sphere by
the core, and Mahalanobis distances are Euclidean after whitening.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native
from amclust._categories import Categories, MixedTable
from amclust._completion import Completion, Range
from amclust._metrics import METRICS, find_metric
from amclust._mixtures import Learner, column_spread, rows_to_learn
from amclust._rows import Indices, Rows, TableRows, Weights
from amclust._threads import n_threads, single_threaded_blas
from amclust._winsorising import Limits, Quartiles

FloatArray = NDArray[np.floating[Any]]

# Of a normal distribution with standard deviation 1.
NORMAL_INTERQUARTILE_RANGE = 1.3489795
# A column that varies less is one of a single value: float32 could not hold what it is divided by.
MIN_SPREAD = 1e-30


# By what logarithms of shares are divided in the place of shares: those of usual shares are within
# about 1 of their middle then.
SHARPNESS = 4.0


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


# Levels are parts of a column, whose sums are rounded: less than this of a column is none.
ROUNDING = 1e-6
# A column whose range is more than so many standard deviations may have extreme values; its median
# is taken of so many rows.
MAX_PLAIN_RANGE, MEDIAN_ROWS = 8.0, 4096


@dataclass(frozen=True, eq=False)
class Whitening:
    """A linear map after which Mahalanobis distances are Euclidean.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        What is subtracted first.

    forward, backward : ndarrays of shape (n_features, n_features)
        The map and its inverse.
    """

    mean: NDArray[np.float64]
    forward: NDArray[np.float64]
    backward: NDArray[np.float64]

    @classmethod
    def fit(
        cls,
        rows: Rows,
        stats: _native.Statistics,
        indices: Indices | None,
        weights: Weights | None,
        n_memories: Sequence[int],
        threads: int,
    ) -> Whitening:
        """Whiten by the covariance that so many memories share; of several numbers, as rows ask.

        Values may be missing. A row of weight 2 counts like two rows; the units of the columns do
        not matter.
        """
        mean, spread = stats.mean, column_spread(stats.mean, stats.variance, rows.dtype)
        Z, weights = rows_to_learn(rows, indices, weights)
        learner = Learner(np.ascontiguousarray((Z - mean) / spread), weights, threads)
        with single_threaded_blas():
            covariance = learner.shared_covariance(n_memories)
            constant = stats.variance == 0
            covariance[constant], covariance[:, constant] = 0.0, 0.0
            covariance[constant, constant] = 1.0
            values, vectors = np.linalg.eigh(covariance)
        return cls(
            mean,
            (vectors / np.sqrt(values)) @ vectors.T / spread[:, None],
            (vectors * np.sqrt(values)) @ vectors.T * spread,
        )

    def apply(self, X: FloatArray) -> FloatArray:
        """Whiten points; the result has the type of X."""
        return _times(X - self.mean, self.forward).astype(X.dtype, copy=False)

    def undo(self, values: FloatArray) -> FloatArray:
        """Bring whitened points back."""
        return _times(values, self.backward) + self.mean


class Whitened(NamedTuple):
    """All rows of a table, completed and whitened, and how."""

    whitening: Whitening
    rows: Rows


def _times(rows: FloatArray, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows (or stacks of them) times a matrix: the same bits whatever rows are beside."""
    flat = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1, rows.shape[-1])
    found = _native.map_rows(flat, np.ascontiguousarray(matrix), n_threads(None))
    return found.reshape(rows.shape)


@dataclass(frozen=True, eq=False)
class Geometry:
    """How core units relate to original units: the only place that knows both.

    Parameters
    ----------
    metric : str or Energy
        The name of the energy ("euclidean", "cosine", "mahalanobis", ...), or an energy of the
        user's own.

    dtype : str
        Type of the table that it was taken from, "float32" or "float64".

    offset : ndarray of shape (n_features,)
        What is subtracted from columns (after whitening).

    scale : ndarray of shape (n_features,)
        What columns are multiplied with then.

    fill : ndarray of shape (n_features,)
        Where hidden and missing values start, in core units.

    length : float
        What one unit of the core is in the table, its columns scaled: distances of the core times
        this are those that users see.

    whitening : Whitening or None
        What comes first for "mahalanobis".

    feature_names : tuple of str or None
        Names of the columns, where they have names; of levels ``colour=red``.

    scaling : {"standard", "robust"} or None
        What columns were divided by; None: nothing, as for directions and whitened rows.

    low, high : ndarray of shape (n_features,) or None
        The range of the observed values, which completed ones do not leave. None: it is not known.

    completion : Completion or None
        What missing values are likely to be. None: they are left to the memories.

    reads_completed : bool
        Whether missing values are taken to be that wherever rows are read; else they are left to
        the memories, but where they are asked for themselves.

    limits : Limits or None
        The ranges that values of columns are brought into wherever rows are read, for
        ``scaling="robust"``. None: values are taken as they are.

    categories : Categories or None
        What the columns of the table are, where some are categories: these have a feature for each
        of their levels. None: all columns are numbers.

    log_levels : bool
        Whether memories have logarithms of the shares of levels (over `SHARPNESS`, and shifted) in
        the place of shares.

    Examples
    --------
    >>> import numpy as np
    >>> from amclust import ClAM
    >>> X = np.array([[0.0, 10.0], [1.0, 30.0], [8.0, 20.0], [9.0, 40.0]])
    >>> geometry = ClAM(2, random_state=0).fit(X).network_.geometry
    >>> geometry.metric
    'euclidean'
    >>> geometry.from_core(geometry.to_core(X)).round(5)[1]
    array([ 1., 30.])
    """

    metric: Any
    dtype: str
    offset: NDArray[np.float64]
    scale: NDArray[np.float32]
    fill: NDArray[np.float32]
    length: float
    whitening: Whitening | None = None
    feature_names: tuple[str, ...] | None = None
    scaling: str | None = None
    low: NDArray[np.float64] | None = None
    high: NDArray[np.float64] | None = None
    completion: Completion | None = None
    reads_completed: bool = True
    limits: Limits | None = None
    categories: Categories | None = None
    log_levels: bool = False

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            msg = "A range has a low and a high end."
            raise ValueError(msg)
        if self.low is not None and self.high is not None and not (self.low <= self.high).all():
            msg = "A range must not be empty."
            raise ValueError(msg)
        for name in ("offset", "scale", "fill", "low", "high"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))

    @classmethod
    def fit(
        cls,
        rows: Rows,
        stats: _native.Statistics,
        *,
        metric: Any,
        scale: str | None,
        mask_value: str | float,
        indices: Indices | None,
        weights: Weights | None,
        threads: int,
        feature_names: tuple[str, ...] | None = None,
        completion: Completion | None = None,
        whitened: Whitened | None = None,
        quartiles: Quartiles | None = None,
        feature_weights: NDArray[np.float64] | None = None,
        scaling_variance: NDArray[np.float64] | None = None,
    ) -> Geometry:
        """Choose the units for rows, from the statistics of those that are trained on.

        Parameters
        ----------
        rows : Rows
            All rows.

        stats : _native.Statistics
            Statistics of the rows that are trained on.

        metric : str or Energy
            The name of the energy, or an energy of `amclust.torch`.

        scale : {"standard", "robust"} or None
            What columns are divided by.

        mask_value : {"mean", "min", "max"} or float
            Where hidden and missing values start.

        indices : ndarray of int or None
            The rows that are trained on; None: all.

        weights : ndarray or None
            Their weights; None: all 1.

        threads : int
            Number of threads.

        feature_names : tuple of str, default=None
            Names of the columns.

        completion : Completion, default=None
            What missing values are likely to be.

        whitened : Whitened, default=None
            All rows as "mahalanobis" whitens them.

        quartiles : Quartiles, default=None
            Of the columns, for ``scale="robust"``; `rows` are within their limits then.

        feature_weights : ndarray of shape (n_features,), default=None
            What squared differences in columns are multiplied with; None: all 1. Levels of a
            category have one weight.

        scaling_variance : ndarray of shape (n_features,), default=None
            Of columns, what they are scaled by with ``scale="standard"``; None: their own.

        Returns
        -------
        geometry : Geometry
            These units.
        """
        low, high = np.asarray(stats.min), np.asarray(stats.max)
        whitening = None
        if whitened is not None:
            whitening, rows = whitened.whitening, whitened.rows
            stats = rows.statistics(indices, weights, threads)
        mean, variance, dtype = stats.mean, stats.variance, rows.dtype.name
        masks = _mask_values(mask_value, stats)
        d = len(mean)
        roots = np.ones(d) if feature_weights is None else np.sqrt(feature_weights)
        counts = roots > 0
        if find_metric(metric).spherical:
            # Directions have no offset; mask values become parts of a row of typical length.
            length = float(np.sqrt(np.sum((variance + mean**2) * roots**2))) or 1.0
            fill = np.ascontiguousarray(masks * roots / length, dtype=np.float32)
            return cls(
                metric,
                dtype,
                np.zeros(d),
                roots.astype(np.float32),
                fill,
                1.0,
                None,
                feature_names,
                low=low,
                high=high,
                completion=completion,
            )
        scaling = scale if whitening is None else None
        factors = np.ones(d)
        if scaling is not None:
            distances = None if quartiles is None else quartiles.distances
            deviation = np.sqrt(variance if scaling_variance is None else scaling_variance)
            factors = _column_factors(distances, deviation, stats.mean, rows.dtype)
        if rows.categories is not None:
            factors = _with_levels(factors, stats, rows.categories, in_units=scaling is None)
        factors = factors * roots
        middle = _middles(rows, stats, indices)
        offset = middle.astype(dtype).astype(np.float64)  # exact in the type of the table
        squares, columns = variance * factors**2, counts
        if rows.categories is not None:  # a category is one column, whatever its levels
            squares = rows.categories.totals(squares)
            columns = counts[rows.categories.starts]
        spread = float(np.sqrt(np.mean(squares[columns])))
        common = 1.0 / spread if spread > 0 else 1.0
        scales = (factors * common).astype(np.float32)
        fill = np.ascontiguousarray((masks - offset) * scales, dtype=np.float32)
        length = 1.0 / float(np.float32(common))
        return cls(
            metric,
            dtype,
            offset,
            scales,
            fill,
            length,
            whitening,
            feature_names,
            scaling,
            low,
            high,
            completion,
            limits=None if quartiles is None else quartiles.limits,
            categories=rows.categories,
        )

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.offset)

    @property
    def range(self) -> Range:
        """The range that completed values do not leave; without end where it is not known."""
        if self.low is None or self.high is None:
            return Range(np.full(self.n_features, -np.inf), np.full(self.n_features, np.inf))
        return Range(self.low, self.high)

    @property
    def energy(self) -> str:
        """The energy by which the core seeds and takes silhouettes.

        Whitened, Mahalanobis distances are Euclidean; for an energy that the core does not have it
        is the nearest one that it has.
        """
        if self.is_native and self.whitening is None:
            return str(self.metric)
        return "cosine" if self.spherical else "euclidean"

    @property
    def spherical(self) -> bool:
        """Whether rows and memories are directions, of unit length."""
        return find_metric(self.metric).spherical

    @property
    def by_column(self) -> bool:
        """Whether columns have units of their own: rows are neither whitened nor directions."""
        return self.whitening is None and not self.spherical

    @property
    def mixed_units(self) -> bool:
        """Whether columns may differ in their units: they were scaled, or whitened."""
        return self.scaling is not None or self.whitening is not None

    @property
    def is_native(self) -> bool:
        """Whether the core computes the metric; else an energy of `amclust.torch` does."""
        return isinstance(self.metric, str) and METRICS[self.metric].native

    @property
    def degree(self) -> float:
        """How distances grow with the units: 2 as their square, 1 as they do, 0 not at all."""
        return find_metric(self.metric).degree

    @property
    def ignored(self) -> NDArray[np.int64]:
        """The columns of weight 0."""
        return np.flatnonzero(self.scale == 0)

    @property
    def distance_unit(self) -> float:
        """What one unit of the core's distances, and so of energy, is for users."""
        return float(self.length**self.degree)

    @property
    def center(self) -> NDArray[np.float64]:
        """What rows are centred on, in original units: their mean, mostly; 0 for directions."""
        return self.offset if self.whitening is None else self.whitening.mean

    @property
    def column_scale(self) -> NDArray[np.float64]:
        """What differences in a column are multiplied with to be distances as users see them.

        Whitening has no scale of a single column: there it is that of a column's own direction.
        """
        if self.whitening is not None:
            return 1.0 / np.linalg.norm(self.whitening.backward, axis=0)
        return self.scale.astype(np.float64) * self.length

    def to_core(self, points: FloatArray) -> NDArray[np.float32]:
        """Bring points into core units (directions are not put on the sphere).

        Parameters
        ----------
        points : ndarray of shape (n_points, n_features)
            Points in original units.

        Returns
        -------
        points : float32 ndarray of shape (n_points, n_features)
            The same in core units.
        """
        return np.ascontiguousarray(self.to_core_exactly(points), dtype=np.float32)

    def to_core_exactly(self, points: FloatArray) -> NDArray[np.float64]:
        """Bring points into core units as `to_core` does, but without rounding to float32.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_features)
            Points in original units.

        Returns
        -------
        points : float64 ndarray of shape (n_points, n_features)
            The same in core units.
        """
        points = np.asarray(points)
        if points.dtype.kind != "f":
            points = points.astype(np.float64)
        if self.whitening is not None:
            points = self.whitening.apply(points)
        return (points - self.offset) * self.scale

    def from_core(self, points: FloatArray) -> FloatArray:
        """Bring points of the core back to original units; columns of weight 0 are at the offset.

        Parameters
        ----------
        points : ndarray of shape (..., n_features)
            Points in core units.

        Returns
        -------
        points : float64 ndarray of shape (..., n_features)
            The same in original units.
        """
        scale = np.where(self.scale > 0, self.scale.astype(np.float64), np.inf)
        values = points / scale + self.offset
        return values if self.whitening is None else self.whitening.undo(values)

    def centers(self, memories: FloatArray) -> FloatArray:
        """Return memories in original units, with shares of levels where they have logarithms.

        Parameters
        ----------
        memories : ndarray of shape (..., n_features)
            Memories, or states on their way to these, in core units.

        Returns
        -------
        centers : float64 ndarray of shape (..., n_features)
            What a cluster is: shares of levels are positive and sum to 1 then.
        """
        values = self.from_core(memories)
        if self.log_levels and self.categories is not None:
            for column in self.categories.categorical:
                block = self.categories.block(int(column))
                logs = SHARPNESS * values[..., block]
                shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
                values[..., block] = shares / shares.sum(axis=-1, keepdims=True)
        return values

    def read(
        self,
        rows: Rows,
        *,
        has_missing: bool,
        order: Indices | None = None,
        seed: int | None = None,
        threads: int | None = None,
    ) -> _native.Rows:
        """Return rows as the core reads them, in core units.

        Parameters
        ----------
        rows : Rows
            Rows in original units.

        has_missing : bool
            Whether values are missing among them.

        order : ndarray of int, default=None
            The rows whose missing values are drawn, in the order in which they are; None: all.

        seed : int, default=None
            Have missing values drawn from where they are likely to be. None: where they are most
            likely to be.

        threads : int, default=None
            Number of threads; None: as many as may be.

        Returns
        -------
        rows : _native.Rows
            The same memory, read in other units; of whitened rows a copy.
        """
        if self.limits is not None:
            rows = self.limits.within(rows)
        read, completion = rows.read(), self.completion
        if has_missing and completion is not None and self.reads_completed:
            threads = n_threads(None) if threads is None else threads
            fills = completion.fills(rows, self.range, threads, order=order, seed=seed)
            if self.whitening is not None:
                rows = TableRows(completion.filled(rows.take(None), fills))
            else:
                read = read.with_fills(*fills, completion.mean, completion.spread)
            has_missing = False
        if has_missing and self.whitening is not None:
            msg = "This network does not know what missing values are likely to be. Fit it anew."
            raise ValueError(msg)
        if self.whitening is not None:
            return self.read_whitened(TableRows(self.whitening.apply(rows.take(None))))
        return read.in_units(self.energy, self.offset, self.scale, has_missing)

    def read_whitened(self, rows: Rows) -> _native.Rows:
        """Return complete rows that are whitened already as the core reads them.

        Parameters
        ----------
        rows : Rows
            Rows after `whitening`.

        Returns
        -------
        rows : _native.Rows
            The same memory, read in other units.
        """
        return rows.read().in_units(self.energy, self.offset, self.scale, False)

    def with_more(
        self,
        rows: Rows,
        stats: _native.Statistics,
        *,
        indices: Indices | None,
        weights: Weights | None,
        threads: int,
    ) -> Geometry:
        """Return the same units, with what more rows tell of their range and of missing values.

        Parameters
        ----------
        rows : Rows
            More rows, in original units.

        stats : _native.Statistics
            Their statistics.

        indices : ndarray of int or None
            The rows that are meant; None: all.

        weights : ndarray or None
            Their weights; None: all 1.

        threads : int
            Number of threads.

        Returns
        -------
        geometry : Geometry
            Core units stay as they are: memories are in them.
        """
        completion = self.completion
        if self.limits is not None:
            rows = self.limits.within(rows)
            stats = rows.statistics(indices, weights, threads)
        if completion is not None:
            completion = completion.with_more(
                rows, stats, indices=indices, weights=weights, threads=threads
            )
        if self.low is None or self.high is None:
            return dataclasses.replace(self, completion=completion)
        # Of a column without a value there is no range.
        low, high = np.fmin(self.low, stats.min), np.fmax(self.high, stats.max)
        return dataclasses.replace(self, low=low, high=high, completion=completion)

    def incomplete(
        self, rows: _native.Rows, indices: Indices | None, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return which rows lack values, and by what distances of the others are those of all.

        Parameters
        ----------
        rows : _native.Rows
            What `read` gives; of whitened rows nothing is missing.

        indices : ndarray of int or None
            The rows that are meant; None: all.

        threads : int
            Number of threads.

        Returns
        -------
        places : ndarray of int
            Of rows that lack some values, but not all.

        factors : ndarray of shape (n_places,)
            Columns that count, over those of them that a row has.
        """
        counts = _native.count_missing(rows, threads)
        counts = counts if indices is None else counts[indices]
        partly = np.flatnonzero(counts)
        places = partly if indices is None else indices[partly]
        columns = _native.missing_columns(rows.as_observed(), places)
        lacking = _native.count_missing(rows.as_observed(), threads)[places]
        counted = (self.scale > 0).astype(np.float64)
        if self.categories is not None:
            counted *= self.categories.parts
        own = np.repeat(np.arange(len(partly)), lacking)
        observed = counted.sum() - np.bincount(own, counted[columns], minlength=len(partly))
        some = observed > ROUNDING
        return partly[some], counted.sum() / observed[some]

    def lacks_values(self, rows: Rows, threads: int) -> NDArray[np.bool_]:
        """Return which rows lack values, or have some that are not believed.

        Parameters
        ----------
        rows : Rows
            Rows in original units.

        threads : int
            Number of threads.

        Returns
        -------
        lacking : bool ndarray of shape (n_rows,)
            True for each of these rows.
        """
        read = (rows if self.limits is None else self.limits.within(rows)).read()
        return _native.count_missing(read, threads) > 0

    def measured(self, X: Any) -> NDArray[np.float32]:
        """Return rows as distances between them are measured: scaled, whitened or on the sphere.

        Parameters
        ----------
        X : {ndarray, CSR matrix} of shape (n_samples, n_features)
            Rows in original units, float32 or float64; NaN stays NaN.

        Returns
        -------
        points : float32 ndarray of shape (n_samples, n_features)
            The same in core units.
        """
        if not (sparse.issparse(X) or isinstance(X, MixedTable)):
            X = np.asarray(X)
            X = np.ascontiguousarray(X, dtype=X.dtype if X.dtype.kind == "f" else np.float64)
        rows = TableRows(X)
        if self.limits is not None:  # values that are not believed are where they seem to be
            read = self.limits.within(rows).read().as_observed()
            return _native.load_rows(
                read.in_units(self.energy, self.offset, self.scale, True), None
            )
        return _native.load_rows(self.read(rows, has_missing=False), None)


def _middles(rows: Rows, stats: _native.Statistics, indices: Indices | None) -> NDArray[np.float64]:
    """Return what columns are centred on: their means, or medians where these are far away.

    A few extreme values carry the mean away from all others, whose differences float32 could not
    hold any more.
    """
    middles = stats.mean.copy()
    spread = np.sqrt(stats.variance)
    suspects = np.flatnonzero(stats.max - stats.min > MAX_PLAIN_RANGE * spread)
    if rows.categories is not None:
        suspects = suspects[~rows.categories.are_levels[suspects]]
    if rows.is_sparse or not len(suspects):
        return middles
    every = np.arange(rows.n_rows) if indices is None else indices
    some = every[:: max(1, len(every) // MEDIAN_ROWS)]
    for j in suspects:
        values = rows.column(int(j), some)
        seen = values[~np.isnan(values)]
        if not len(seen):
            continue
        low, median, high = np.quantile(seen, [0.25, 0.5, 0.75])
        if abs(middles[j] - median) > high - low > 0:
            middles[j] = median
    return middles


def _mask_values(mask_value: str | float, stats: _native.Statistics) -> NDArray[np.float64]:
    """Return the value that stands for a hidden or missing entry of each column."""
    if isinstance(mask_value, str):
        return {"mean": stats.mean, "min": stats.min, "max": stats.max}[mask_value]
    return np.full(len(stats.mean), float(mask_value))


def _column_factors(
    quartiles: NDArray[np.float64] | None,
    deviation: NDArray[np.float64],
    mean: NDArray[np.float64],
    dtype: np.dtype[Any],
) -> NDArray[np.float64]:
    """Return what each column is multiplied with before distances are taken.

    `quartiles` are the distances between those of each column; None: its deviation counts. Columns
    of one value (up to rounding) are left as they are.
    """
    noise = np.maximum(10 * np.finfo(dtype).eps * np.abs(mean), MIN_SPREAD)
    spread = deviation
    if quartiles is not None:
        spread = quartiles / NORMAL_INTERQUARTILE_RANGE
        # More than half of the values are the same: the middle says nothing about the others.
        spread = np.where(spread > noise, spread, deviation)
    return 1.0 / np.where(spread > noise, spread, 1.0)


def _with_levels(
    factors: NDArray[np.float64],
    stats: _native.Statistics,
    categories: Categories,
    *,
    in_units: bool,
) -> NDArray[np.float64]:
    """Return what features are multiplied with, where some are levels.

    The expected squared distance of two random rows is that of a number of variance 1: 2. Where
    numbers are `in_units` of their own a category weighs as they do on average.
    """
    levels = categories.are_levels
    variances = stats.variance[~levels]
    weight = float(variances.mean()) if in_units and variances.any() else 1.0
    shares = categories.totals(np.where(levels, stats.mean, 0.0) ** 2)
    apart = np.maximum(1.0 - shares, 0.0)
    # A level that all rows have tells nothing.
    constant = categories.totals(stats.variance) <= 0
    scales = np.sqrt(weight / np.where(constant | (apart <= 0), 1.0, apart))
    return np.where(levels, categories.spread(scales), factors)
