"""What missing values are likely to be.

Where memories have covariances, the energy of a row has its minimum at the conditional means of its
missing values: a regression on the observed ones, inside each memory. Several mixtures of such
memories are learned (`_mixtures.py`, or read off the clusters of complete rows:
`_cluster_mixtures.py`), and their answers averaged: together they are better than the best of them.
More rows are added to the sums that they are made of (`_more_rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from amclust import _native
from amclust._categories import as_dense
from amclust._cluster_mixtures import (
    ENOUGH_ERRORS,
    MAX_COLUMNS,
    errors_between_halves,
    mixtures_of_clusters,
)
from amclust._mixtures import (
    TINY,
    Learner,
    Mixture,
    column_spread,
    in_units,
    places_to_learn,
    rows_to_learn,
)
from amclust._more_rows import in_new_units, with_more_rows
from amclust._rows import Indices, Rows, Weights, draw_places
from amclust._threads import single_threaded_blas

Floats = NDArray[np.float64]

# No columns beyond this: the memories' own values fill such rows.
MAX_FEATURES = 10_000
# Part of the observed values that is hidden to see how sure completions are, and on how many rows.
HIDDEN_PART, SURE_ROWS = 0.2, 512
# ... so often that so many were; of fewer nothing is said.
MAX_HIDINGS, MIN_HIDDEN, MIN_CAUTION = 2, 40, 0.2
# With so few known values of a column, regression does not tell how sure it is; with so many it
# does alone, and in between more and more.
FEW_KNOWN, MANY_KNOWN = 10, 40
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

    known : ndarray of shape (n_features,)
        How many values of each column this was learned from.

    n_rows : float
        How many rows.

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
    known: Floats
    n_rows: float
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
        positive = np.isfinite(self.spread) & (self.spread > 0) & (self.known >= 0)
        numbers = np.array([self.caution, self.n_rows])
        if not (positive.all() and np.isfinite(numbers).all() and (numbers > 0).all()):
            msg = "A completion must have positive spreads, rows and a positive caution."
            raise ValueError(msg)

    @classmethod
    def of(
        cls, mixtures: Sequence[Mixture], units: _Units, caution: float, likeliest: int
    ) -> Completion:
        """Return the completion by mixtures in units of the columns."""
        d = len(units.mean)
        full = [one.precisions for one in mixtures if one.loadings is None]
        wide = [
            (one.loadings, one.noise)
            for one in mixtures
            if one.loadings is not None and one.noise is not None
        ]
        rank = max((loadings.shape[1] for loadings, _ in wide), default=0)
        loadings = [np.pad(one, ((0, 0), (0, rank - one.shape[1]))) for one, _ in wide]
        sizes = [len(one.parts) for one in mixtures]
        return cls(
            mean=units.mean,
            spread=units.spread,
            known=units.known,
            n_rows=units.n_rows,
            caution=caution,
            likeliest=likeliest,
            parts=np.concatenate([one.parts for one in mixtures]),
            means=np.concatenate([one.means for one in mixtures]),
            mixture=np.repeat(np.arange(len(mixtures), dtype=np.int32), sizes),
            precisions=np.concatenate(full or [np.zeros((0, d, d))]),
            n_covariances=np.array([len(one.covariances) for one in mixtures], np.int32),
            loadings=np.stack(loadings) if wide else np.zeros((0, d, 0)),
            noise=np.stack([noise for _, noise in wide]) if wide else np.zeros((0, d)),
        )

    def __getstate__(self) -> dict[str, Any]:
        # What the core made of it stays here.
        return {name: value for name, value in vars(self).items() if name != "memories"}

    @property
    def regressions(self) -> list[Regression]:
        """The mixtures, each with what it is made of."""
        found, covariance, factor = [], 0, 0
        for number, count in enumerate(self.n_covariances):
            own = self.mixture == number
            parts, means = self.parts[own], self.means[own]
            if count:
                precisions = self.precisions[covariance : covariance + count]
                found.append(Regression(parts, means, np.ascontiguousarray(precisions)))
                covariance += int(count)
            else:
                loadings = np.ascontiguousarray(self.loadings[factor])
                noise = np.ascontiguousarray(self.noise[factor])
                found.append(Regression(parts, means, None, loadings, noise))
                factor += 1
        return found

    @cached_property
    def memories(self) -> list[_native.GaussianMemories]:
        """The mixtures, as the core takes them."""
        found = []
        for parts, means, precisions, loadings, noise in self.regressions:
            if precisions is not None:
                one = _native.GaussianMemories.with_precisions(parts, means, precisions)
            else:
                assert loadings is not None
                assert noise is not None
                one = _native.GaussianMemories.with_factors(parts, means, loadings, noise)
            found.append(one)
        return found

    @property
    def mixtures(self) -> list[Mixture]:
        """The mixtures as they were learned."""
        found, d = [], self.n_features
        for parts, means, precisions, loadings, noise in self.regressions:
            if precisions is not None:
                inverse = np.linalg.inv(precisions)
                found.append(Mixture(parts, means, (inverse + inverse.transpose(0, 2, 1)) / 2))
            else:
                found.append(Mixture(parts, means, np.zeros((0, d, d)), loadings, noise))
        return found

    @property
    def least_deviations(self) -> Floats:
        """What standard deviations are at least, in units of the columns.

        Those of a column of which few values are known: the spread of these, by Student's
        distribution, where a regression would believe to know better.
        """
        known = np.maximum(self.known, 2.0)
        trust = np.clip((self.known - FEW_KNOWN) / (MANY_KNOWN - FEW_KNOWN), 0.0, 1.0)
        # Half of what lies outside of the deviations lies beyond each of them.
        student = stdtrit(known - 1, (1 + HELD) / 2) / DEVIATIONS
        wider = np.sqrt((1 + 1 / known) * known / (known - 1))
        found: Floats = np.sqrt(1.0 - trust) * student * wider
        return found

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.mean)

    def fills(
        self,
        rows: Rows,
        inside: Range,
        threads: int,
        *,
        order: Indices | None = None,
        seed: int | None = None,
    ) -> Fills:
        """Return what may stand for the missing values of all rows.

        Parameters
        ----------
        rows : Rows
            Rows in original units.

        inside : Range
            What completed values do not leave.

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
        starts = rows.gaps(threads)
        values = np.empty(starts[-1], np.float32)
        units, others = in_units(rows.read(), self.mean, self.spread), None
        low, high = self._in_units(inside)
        if seed is not None:
            drawn_by = self.memories[self.likeliest]
            _native.draw_rows(units, drawn_by, order, seed, low, high, starts, values, threads)
            if order is not None:
                others = np.delete(np.arange(rows.n_rows), order)
        if seed is None or others is not None:
            _native.fill_rows(units, self.memories, others, low, high, starts, values, threads)
        return Fills(starts, values)

    def complete(self, rows: Rows, inside: Range, threads: int) -> tuple[Floats, Floats]:
        """Return the likeliest missing values of rows and their deviations, in original units.

        Parameters
        ----------
        rows : Rows
            Rows in original units.

        inside : Range
            What completed values do not leave.

        threads : int
            Number of threads.

        Returns
        -------
        values, deviations : ndarrays of shape (n_missing,)
            One row after the other.
        """
        read, values, deviations = rows.read(), [np.zeros(0)], [np.zeros(0)]
        units, least = in_units(read, self.mean, self.spread), self.least_deviations
        for first in range(0, rows.n_rows, CHUNK_ROWS):
            chunk = np.arange(first, min(first + CHUNK_ROWS, rows.n_rows))
            found = _average(
                [_native.complete_rows(units, one, chunk, threads) for one in self.memories]
            )
            columns = _native.missing_columns(read, chunk)
            original = found.means * self.spread[columns] + self.mean[columns]
            values.append(np.clip(original, inside.low[columns], inside.high[columns]))
            sure = np.maximum(self.caution * found.deviations, least[columns])
            deviations.append(sure * self.spread[columns])
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

    def with_more(
        self,
        rows: Rows,
        stats: _native.Statistics,
        *,
        indices: Indices | None,
        weights: Weights | None,
        threads: int,
    ) -> Completion:
        """Return what was learned from the rows before and from these.

        Parameters
        ----------
        rows : Rows
            More rows, in original units.

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
        completion : Completion
            As many mixtures as before, in units of the columns of all these rows.
        """
        new = _Units.of(rows, stats, indices, weights)
        units = _Units.of_both(_Units(self.mean, self.spread, self.known, self.n_rows), new)
        Z, weights = rows_to_learn(rows, indices, weights)
        learner = Learner(np.ascontiguousarray(units.apply(Z)), weights, threads)
        shift, factor = (units.mean - self.mean) / self.spread, self.spread / units.spread
        with single_threaded_blas():
            mixtures = [
                with_more_rows(
                    in_new_units(one, shift, factor),
                    learner.rows,
                    weights,
                    n_before=self.n_rows,
                    known_before=self.known,
                    n_rows=new.n_rows,
                    threads=threads,
                )
                for one in self.mixtures
            ]
            return self.of(mixtures, units, self.caution, self.likeliest)

    def _in_units(self, inside: Range) -> tuple[Floats, Floats]:
        """Return a range in units of the columns."""
        return (inside.low - self.mean) / self.spread, (inside.high - self.mean) / self.spread


class Regression(NamedTuple):
    """One mixture: memories that share covariances, or have some each, or factors and noise."""

    parts: Floats
    means: Floats
    precisions: Floats | None  # one for all memories, or one each
    loadings: Floats | None = None
    noise: Floats | None = None


class Range(NamedTuple):
    """The least and the largest observed value of each column, in original units."""

    low: Floats
    high: Floats


class _Units(NamedTuple):
    """What columns of the rows are like that something is learned from."""

    mean: Floats
    spread: Floats
    known: Floats  # how many values
    n_rows: float

    @classmethod
    def of(
        cls,
        rows: Rows,
        stats: _native.Statistics,
        indices: Indices | None,
        weights: Weights | None,
    ) -> _Units:
        """Return those of some rows, by their statistics."""
        n = rows.n_rows if indices is None else len(indices)
        total = max(float(stats.weight.max()), TINY)
        if weights is not None:
            total = max(float(weights.sum(dtype=np.float64)), TINY)
        spread = column_spread(stats.mean, stats.variance, rows.dtype)
        # How sure one can be hangs on rows, not on what they weigh; among others that counts.
        known = stats.weight * (n / total)
        return cls(np.asarray(stats.mean), spread, known, max(total, float(n)))

    @classmethod
    def of_both(cls, before: _Units, new: _Units) -> _Units:
        """Return those of rows of which some came before."""
        known = before.known + new.known
        share = new.known / np.maximum(known, TINY)
        apart = np.where(new.known > 0, new.mean - before.mean, 0.0)
        mean = before.mean + share * apart
        square = (1 - share) * before.spread**2 + share * new.spread**2
        spread = np.sqrt(square + share * (1 - share) * apart**2)
        return cls(mean, spread, known, before.n_rows + new.n_rows)

    def apply(self, X: NDArray[Any]) -> Floats:
        """Bring rows into units of the columns."""
        found: Floats = (X - self.mean) / self.spread
        return found


class Fills(NamedTuple):
    """What stands for the missing values of rows, row by row, in units of the columns."""

    starts: NDArray[np.int64]  # of each row, and the end of the last one
    values: NDArray[np.float32]


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
    if rows.n_features > MAX_FEATURES:
        return None
    units = _Units.of(rows, stats, indices, weights)
    Z, weights = rows_to_learn(rows, indices, weights)
    Z = np.ascontiguousarray(units.apply(Z))
    with single_threaded_blas():
        learner = Learner(Z, weights, threads)
        mixtures = learner.mixtures()
        likeliest = int(np.argmax([learner.evidence(one) for one in mixtures]))
        low, high = units.apply(stats.min), units.apply(stats.max)
        caution = _caution(Z, weights, low, high, threads)
        return Completion.of(mixtures, units, caution, likeliest)


def completion_of_clusters(
    rows: Rows,
    labels: NDArray[np.int32],
    *,
    indices: Indices | None,
    weights: Weights | None,
) -> Completion | None:
    """Return what values are likely to be that complete rows of known clusters would lack.

    Parameters
    ----------
    rows : Rows
        Rows in original units. None of those that are meant lacks a value.

    labels : ndarray of shape (n_rows,)
        The clusters of all rows; -1 for noise.

    indices : ndarray of int or None
        The rows that are meant; None: all.

    weights : ndarray or None
        Their weights; None: all 1.

    Returns
    -------
    completion : Completion or None
        What was learned; None: nothing, as from sparse rows and from very wide ones.
    """
    if rows.is_sparse or rows.n_features > MAX_COLUMNS:
        return None
    places = np.arange(rows.n_rows) if indices is None else indices
    total = float(len(places) if weights is None else weights.sum(dtype=np.float64))
    inside = np.flatnonzero(labels[places] >= 0)
    some = places_to_learn(rows.n_features, len(inside))
    inside = inside if some is None else inside[some]
    if not len(inside):
        return None
    Z = np.asarray(as_dense(rows.take(places[inside])), dtype=np.float64)
    shares = np.ones(len(Z)) if weights is None else weights[inside].astype(np.float64)
    shares /= shares.sum()
    _, clusters = np.unique(labels[places[inside]], return_inverse=True)
    with single_threaded_blas():
        mean = shares @ Z
        spread = column_spread(mean, shares @ (Z - mean) ** 2, rows.dtype)
        n_rows = len(places)
        units = _Units(mean, spread, np.full(len(mean), float(n_rows)), max(total, float(n_rows)))
        Z = units.apply(Z)
        mixtures = mixtures_of_clusters(Z, shares, clusters)
        tried = np.arange(len(Z)) if len(Z) <= SURE_ROWS else draw_places(len(Z), SURE_ROWS, 1)
        errors = errors_between_halves(Z[tried], shares[tried], clusters[tried])
        caution = 1.0 if len(errors) < MIN_HIDDEN else _multiple(errors)
        return Completion.of(mixtures, units, caution, len(mixtures) - 1)


def _caution(Z: Floats, weights: Weights | None, low: Floats, high: Floats, threads: int) -> float:
    """Return what deviations are multiplied with to hold what is hidden as often as they say."""
    if len(Z) > SURE_ROWS:
        some = draw_places(len(Z), SURE_ROWS, 1)
        Z, weights = Z[some], None if weights is None else weights[some]
    errors: list[Floats] = []
    for seed in range(MAX_HIDINGS):
        errors.append(_errors(Z, weights, low, high, seed, threads))
        if sum(map(len, errors)) >= ENOUGH_ERRORS:
            break
    found = np.concatenate(errors)
    return 1.0 if len(found) < MIN_HIDDEN else _multiple(found)


def _multiple(errors: Floats) -> float:
    """Return what deviations are multiplied with to hold as much as they say, by errors in them.

    Of few errors the quantile is one that holds a new one as often as it says.
    """
    level = min(np.ceil((len(errors) + 1) * HELD) / len(errors), 1.0)
    return float(max(np.quantile(errors, level) / DEVIATIONS, MIN_CAUTION))


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
