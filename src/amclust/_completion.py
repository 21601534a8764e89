"""What missing values are likely to be, learned from rows that lack some.

Where memories have covariances, the energy of a row has its minimum at the conditional means of its
missing values: a regression on the observed ones, inside each memory. Several mixtures of such
memories are learned (`_mixtures.py`), and their answers averaged: together they are better than the
best of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from amclust import _native
from amclust._mixtures import TINY, Learner, column_spread, in_units, rows_to_learn
from amclust._rows import Indices, Rows, Weights, draw_places

Floats = NDArray[np.float64]

# No columns beyond this: the memories' own values fill such rows.
MAX_FEATURES = 10_000
# Part of the observed values that is hidden to see how sure completions are, and on how many rows.
HIDDEN_PART, SURE_ROWS = 0.2, 512
# ... so often that so many were; of fewer nothing is said.
MAX_HIDINGS, ENOUGH_HIDDEN, MIN_HIDDEN, MIN_CAUTION = 2, 300, 40, 0.2
# So many standard deviations to each side hold this part of what is hidden.
DEVIATIONS, HELD = 1.959964, 0.95
# Of the values that stand for missing ones while training: the same for every restart.
DRAW_SEED = 0
# Rows that are completed at a time.
CHUNK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class Completion:
    """What missing values are likely to be, given the observed ones.

    Several mixtures of memories with covariances; their answers are averaged. All of them are in
    units of the columns' spread.

    Attributes
    ----------
    mean, spread : ndarray of shape (n_features,)
        What is subtracted from columns, and what they are divided by then.

    low, high : ndarray of shape (n_features,)
        The range of the observed values, which completed ones do not leave.

    caution : float
        What standard deviations are multiplied with, so that they are right for values that were
        hidden and completed.

    likeliest : int
        The number of the mixture that draws are made by: that which tells the rows best, by BIC.

    parts : ndarray of shape (n_memories,)
        How much of the rows each memory has; they sum to 1 in each mixture.

    means : ndarray of shape (n_memories, n_features)
        The memories.

    mixture : int32 ndarray of shape (n_memories,)
        The mixture of each memory, ascending.

    precisions : ndarray of shape (n_covariances, n_features, n_features)
        Inverse covariances of one mixture after the other: one for each memory, or one for all.

    n_covariances : int32 ndarray of shape (n_mixtures,)
        How many of them each mixture has; 0: it has factors.

    loadings : ndarray of shape (n_with_factors, n_features, n_factors)
        The factors of each mixture that has some; its covariance is ``loadings @ loadings.T`` and
        its noise.

    noise : ndarray of shape (n_with_factors, n_features)
        Variances that the factors leave.
    """

    mean: Floats
    spread: Floats
    low: Floats
    high: Floats
    caution: float
    likeliest: int
    parts: Floats
    means: Floats
    mixture: NDArray[np.int32]
    precisions: Floats
    n_covariances: NDArray[np.int32]
    loadings: Floats
    noise: Floats

    def __post_init__(self) -> None:
        own, count = self.n_covariances, 0
        if len(self.mixture) and 0 <= self.mixture.min() <= self.mixture.max() < len(own):
            count = len(own)
        counts = np.bincount(self.mixture if count else self.mixture[:0], minlength=count)
        sound = (
            len(counts) == len(own) > 0
            and bool(((own >= 0) & (counts > 0)).all())
            and bool((np.diff(self.mixture) >= 0).all())
            and bool(((own <= 1) | (own == counts)).all())
            and own.sum() == len(self.precisions)
            and np.count_nonzero(own == 0) == len(self.loadings) == len(self.noise)
            and 0 <= self.likeliest < len(own)
        )
        if not sound:
            msg = "The memories of a completion do not fit its covariances."
            raise ValueError(msg)
        inside = np.isfinite(self.spread) & (self.spread > 0) & (self.low <= self.high)
        if not (inside.all() and np.isfinite(self.caution) and self.caution > 0):
            msg = "A completion must have positive spreads, ranges and a positive caution."
            raise ValueError(msg)

    def __getstate__(self) -> dict[str, Any]:
        # What the core made of it stays here.
        return {name: value for name, value in vars(self).items() if name != "memories"}

    @cached_property
    def memories(self) -> list[_native.GaussianMemories]:
        """The mixtures, as the core takes them."""
        found, covariance, factor = [], 0, 0
        for number, count in enumerate(self.n_covariances):
            own = self.mixture == number
            if count:
                precisions = self.precisions[covariance : covariance + count]
                found.append(
                    _native.GaussianMemories.with_precisions(
                        self.parts[own], self.means[own], np.ascontiguousarray(precisions)
                    )
                )
                covariance += int(count)
            else:
                found.append(
                    _native.GaussianMemories.with_factors(
                        self.parts[own],
                        self.means[own],
                        np.ascontiguousarray(self.loadings[factor]),
                        np.ascontiguousarray(self.noise[factor]),
                    )
                )
                factor += 1
        return found

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.mean)

    def likely(self, rows: _native.Rows, indices: Indices | None, threads: int) -> Likely:
        """Return what the missing values of rows are likely to be, in units of the columns.

        Parameters
        ----------
        rows : _native.Rows
            Rows in original units.

        indices : ndarray of int or None
            The rows that are meant; None: all.

        threads : int
            Number of threads.

        Returns
        -------
        likely : Likely
            Means and standard deviations.
        """
        units = in_units(rows, self.mean, self.spread)
        found = _average(
            [_native.complete_rows(units, one, indices, threads) for one in self.memories]
        )
        columns = _native.missing_columns(rows, indices)
        means = self._inside(found.means, columns)
        return Likely(found.starts, columns, means, self.caution * found.deviations)

    def _likeliest(self, rows: _native.Rows, indices: Indices, threads: int) -> Floats:
        """Return the means that `likely` has, at a smaller cost."""
        units = in_units(rows, self.mean, self.spread)
        found = [
            _native.complete_rows(units, one, indices, threads, False).means
            for one in self.memories
        ]
        return self._inside(_mean(found), _native.missing_columns(rows, indices))

    def fills(
        self,
        rows: _native.Rows,
        threads: int,
        *,
        order: Indices | None = None,
        seed: int | None = None,
    ) -> Fills:
        """Return what may stand for the missing values of all rows.

        Parameters
        ----------
        rows : _native.Rows
            Rows in original units.

        threads : int
            Number of threads.

        order : ndarray of int, default=None
            The order in which rows are given their draws; those that are not in it get none. None:
            as they come.

        seed : int, default=None
            Draw values from where they are likely to be, so that they scatter as observed ones do.
            None: take their means.

        Returns
        -------
        fills : Fills
            Values, row by row.
        """
        starts = np.zeros(rows.n_rows + 1, np.int64)
        np.cumsum(_native.count_missing(rows, threads), out=starts[1:])
        values = np.empty(starts[-1], np.float32)
        lots = None
        if seed is not None:
            lots = _Lots(np.diff(starts), order, seed, self.memories[self.likeliest].rank)
        for first in range(0, rows.n_rows, CHUNK_ROWS):
            chunk = np.arange(first, min(first + CHUNK_ROWS, rows.n_rows))
            if lots is not None:
                self._draw(rows, chunk[lots.drawn[chunk]], lots, starts, values, threads)
                chunk = chunk[~lots.drawn[chunk]]
            if len(chunk):
                values[_places(starts, chunk)] = self._likeliest(rows, chunk, threads)
        return Fills(starts, values)

    def _draw(
        self,
        rows: _native.Rows,
        drawn: Indices,
        lots: _Lots,
        starts: NDArray[np.int64],
        values: NDArray[np.float32],
        threads: int,
    ) -> None:
        """Put draws of the missing values of some rows where they belong."""
        if not len(drawn):
            return
        units, memories = in_units(rows, self.mean, self.spread), self.memories[self.likeliest]
        ends = np.concatenate([[0], np.cumsum(starts[drawn + 1] - starts[drawn])])
        chances, normals = lots.chances[drawn], lots.normals[lots.places(drawn)]
        factors = lots.factors[drawn]
        found = _native.draw_rows(units, memories, drawn, chances, ends, normals, factors, threads)
        columns = _native.missing_columns(rows, drawn)
        values[_places(starts, drawn)] = self._inside(found, columns)

    def complete(self, rows: Rows, threads: int) -> tuple[Floats, Floats]:
        """Return the likeliest missing values of rows and their deviations, in original units.

        Parameters
        ----------
        rows : Rows
            Rows in original units.

        threads : int
            Number of threads.

        Returns
        -------
        values, deviations : ndarrays of shape (n_missing,)
            One row after the other.
        """
        read, values, deviations = rows.read(), [np.zeros(0)], [np.zeros(0)]
        for first in range(0, rows.n_rows, CHUNK_ROWS):
            chunk = np.arange(first, min(first + CHUNK_ROWS, rows.n_rows))
            found = self.likely(read, chunk, threads)
            columns = found.columns
            # Not beyond the range by rounding, either.
            original = found.means * self.spread[columns] + self.mean[columns]
            values.append(np.clip(original, self.low[columns], self.high[columns]))
            deviations.append(found.deviations * self.spread[columns])
        return np.concatenate(values), np.concatenate(deviations)

    def filled(self, X: NDArray[Any], fills: Fills) -> NDArray[Any]:
        """Return a copy of a dense table with its missing values filled.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Rows in original units.

        fills : Fills
            What stands for their missing values.

        Returns
        -------
        X : ndarray of shape (n_rows, n_features)
            All values, in the type of the rows.
        """
        X, missing = X.copy(), np.isnan(X)
        columns = np.nonzero(missing)[1]
        X[missing] = fills.values * self.spread[columns] + self.mean[columns]
        return X

    def _inside(self, values: Floats, columns: NDArray[np.int32]) -> Floats:
        """Bring values into the observed range of their columns."""
        low, high = (self.low - self.mean) / self.spread, (self.high - self.mean) / self.spread
        return np.clip(values, low[columns], high[columns])


class Fills(NamedTuple):
    """What stands for the missing values of rows, row by row, in units of the columns."""

    starts: NDArray[np.int64]  # of each row, and the end of the last one
    values: NDArray[np.float32]


class Likely(NamedTuple):
    """What missing values are likely to be, one row after the other, in units of the columns."""

    starts: NDArray[np.int64]  # of each row, and the end of the last one
    columns: NDArray[np.int32]
    means: Floats
    deviations: Floats


class _Lots:
    """What decides the draws of rows: numbers that belong to them, whatever is asked when."""

    def __init__(
        self,
        counts: NDArray[np.int64],
        order: Indices | None,
        seed: int,
        n_factors: int,
    ) -> None:
        n = len(counts)
        order = np.arange(n) if order is None else order
        rng = np.random.default_rng(seed)
        self.drawn = np.zeros(n, bool)
        self.drawn[order] = counts[order] > 0
        self.chances = np.zeros(n)
        self.chances[order] = rng.random(len(order))
        self.starts = np.zeros(n + 1, np.int64)
        ends = np.cumsum(counts[order])
        self.starts[order] = ends - counts[order]
        self.counts = counts
        self.normals = rng.standard_normal(int(ends[-1]) if len(ends) else 0)
        self.factors = np.zeros((n, n_factors))
        self.factors[order] = rng.standard_normal((len(order), n_factors))

    def places(self, rows: Indices) -> NDArray[np.int64]:
        """Return where the normal numbers of rows are, one row after the other."""
        return _stretches(self.starts[rows], self.counts[rows])


def _places(starts: NDArray[np.int64], rows: Indices) -> NDArray[np.int64]:
    """Return where the values of rows are, one row after the other."""
    return _stretches(starts[rows], starts[rows + 1] - starts[rows])


def _stretches(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the whole numbers from each start, so many."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - counts), counts) + np.arange(total)


class _Average(NamedTuple):
    starts: NDArray[np.int64]
    means: Floats
    deviations: Floats


def _average(found: Sequence[_native.Completions]) -> _Average:
    """Return means over mixtures, and deviations that know where these differ."""
    means = _mean([one.means for one in found])
    squares = _mean([one.variances + (one.means - means) ** 2 for one in found])
    return _Average(found[0].starts, means, np.sqrt(np.maximum(squares, 0.0)))


def _mean(values: Sequence[Floats]) -> Floats:
    """Return the mean of arrays, added one after the other.

    With np.mean the order would be another one where they have a single number.
    """
    total = np.zeros_like(values[0])
    for one in values:
        total += one / len(values)
    return total


def learn_completion(
    rows: Rows,
    stats: _native.Statistics,
    *,
    indices: Indices | None,
    weights: Weights | None,
    threads: int,
) -> Completion | None:
    """Learn what missing values are likely to be; None: there are too many columns for it.

    Parameters
    ----------
    rows : Rows
        Rows in original units.

    stats : _native.Statistics
        Their statistics.

    indices : ndarray of int or None
        The rows to learn from; None: all.

    weights : ndarray or None
        Their weights; None: all 1.

    threads : int
        Number of threads; what is learned does not depend on it.

    Returns
    -------
    completion : Completion or None
        What was learned.
    """
    d = rows.n_features
    if d > MAX_FEATURES:
        return None
    mean, spread = np.asarray(stats.mean), column_spread(stats, rows.dtype)
    Z, weights = rows_to_learn(rows, indices, weights)
    Z = np.ascontiguousarray((Z - mean) / spread)
    with threadpool_limits(limits=1, user_api="blas"):  # the same bits for any number of them
        learner = Learner(Z, weights, threads)
        mixtures = learner.mixtures()
        likeliest = int(np.argmax([learner.evidence(one) for one in mixtures]))
        low, high = (stats.min - mean) / spread, (stats.max - mean) / spread
        caution = _caution(Z, weights, low, high, threads)
        precisions = [one.precisions for one in mixtures if one.loadings is None]
    wide = [one for one in mixtures if one.loadings is not None]
    rank = max((one.loadings.shape[1] for one in wide if one.loadings is not None), default=0)
    loadings = [
        np.pad(one.loadings, ((0, 0), (0, rank - one.loadings.shape[1])))
        for one in wide
        if one.loadings is not None
    ]
    return Completion(
        mean=mean,
        spread=spread,
        low=np.asarray(stats.min),
        high=np.asarray(stats.max),
        caution=caution,
        likeliest=likeliest,
        parts=np.concatenate([one.parts for one in mixtures]),
        means=np.concatenate([one.means for one in mixtures]),
        mixture=np.repeat(
            np.arange(len(mixtures), dtype=np.int32), [len(one.parts) for one in mixtures]
        ),
        precisions=np.concatenate(precisions or [np.zeros((0, d, d))]),
        n_covariances=np.array([len(one.covariances) for one in mixtures], np.int32),
        loadings=np.stack(loadings) if wide else np.zeros((0, d, 0)),
        noise=np.stack([one.noise for one in wide if one.noise is not None])
        if wide
        else np.zeros((0, d)),
    )


def _caution(Z: Floats, weights: Weights | None, low: Floats, high: Floats, threads: int) -> float:
    """Return what deviations are multiplied with to hold what is hidden as often as they say."""
    if len(Z) > SURE_ROWS:
        some = draw_places(len(Z), SURE_ROWS, 1)
        Z, weights = Z[some], None if weights is None else weights[some]
    errors: list[Floats] = []
    for seed in range(MAX_HIDINGS):
        errors.append(_errors(Z, weights, low, high, seed, threads))
        if sum(map(len, errors)) >= ENOUGH_HIDDEN:
            break
    found = np.concatenate(errors)
    if len(found) < MIN_HIDDEN:
        return 1.0
    return float(max(np.quantile(found, HELD) / DEVIATIONS, MIN_CAUTION))


def _errors(
    Z: Floats, weights: Weights | None, low: Floats, high: Floats, seed: int, threads: int
) -> Floats:
    """Hide some values and complete them; return how many deviations they are off."""
    seen = ~np.isnan(Z)
    hidden = seen & (np.random.default_rng(seed).random(Z.shape) < HIDDEN_PART)
    hidden[seen.sum(axis=1) <= hidden.sum(axis=1)] = False  # a row keeps something
    hidden[:, seen.sum(axis=0) - hidden.sum(axis=0) < 2] = False  # and so does a column
    partly = np.where(hidden, np.nan, Z)
    learner = Learner(partly, weights, threads)
    found = [
        _native.complete_rows(learner.rows, one.memories, None, threads)
        for one in learner.mixtures()
    ]
    average = _average(found)
    gone = np.isnan(partly)
    asked = hidden[gone]
    columns = np.nonzero(gone)[1][asked]
    means = np.clip(average.means[asked], low[columns], high[columns])
    errors: Floats = np.abs(means - Z[hidden]) / np.maximum(average.deviations[asked], TINY)
    return errors
