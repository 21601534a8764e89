"""Mixtures of memories with covariances, learned from rows that may lack values.

By expectation and maximisation, with the missing values integrated out; the sums over rows are the
core's (`_core/inference/gaussians.hpp`). They complete rows (`_completion.py`), and the covariance
that they share is that of the Mahalanobis energy (`_geometry.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._categories import as_dense
from amclust._rows import Indices, Rows, Weights, draw_places

Floats = NDArray[np.float64]

# Mixtures of this many memories, with one covariance for all and with one for each.
SHARED, OWN = (4,), (2, 4)
# A mixture has so many rows for each memory at least.
ROWS_PER_MEMORY = 5
# Columns that are seen together in this part of the rows are tied, and so are those that are both
# tied to a third one. Elsewhere nothing says how clusters of the one go with those of the other.
MIN_SEEN_TOGETHER = 0.02
# Columns that are compared with all others at a time.
MEETING_COLUMNS = 256
# Mixtures are learned on at most so many rows, and of these on so many values (but some rows).
MAX_ROWS, MAX_VALUES, MIN_ROWS = 4096, 2**20, 512
# With more columns, covariances are those of a few factors.
MAX_FULL = 100
FACTORS, FACTOR_MEMORIES = (20, 60), 8
# How much of a covariance is taken from its diagonal, and what is added to variances (of 1).
SHRINKAGE, RIDGE = 0.05, 1e-3
# Variances that factors leave are at least this.
FACTOR_NOISE = 0.01
FACTOR_PRIOR = 20.0
# Steps of expectation and maximisation, and the least gain in a value's log-likelihood for another.
MAX_STEPS, MIN_GAIN = 10, 1e-4
# Where there are twice as many rows as these, so many of the steps are made on these.
EARLY_STEPS, EARLY_ROWS = 6, 1024
# Steps of the k-means that mixtures start from, and starts of one that is wanted for itself.
START_STEPS, N_STARTS = 10, 4
# Columns that scatter less have one value.
MIN_SPREAD = 1e-30
TINY = 1e-12


class Mixture(NamedTuple):
    """Memories with covariances, as they are learned."""

    parts: Floats
    means: Floats
    covariances: Floats  # one for all memories, or one each; of shape (0, d, d) with factors
    loadings: Floats | None = None
    noise: Floats | None = None
    likelihood: float | None = None  # mean logarithm of that of a row it was learned of, if known

    @property
    def memories(self) -> _native.GaussianMemories:
        if self.loadings is not None and self.noise is not None:
            return _native.GaussianMemories.with_factors(
                self.parts, self.means, self.loadings, self.noise
            )
        return _native.GaussianMemories.with_precisions(self.parts, self.means, self.precisions)

    @property
    def n_parameters(self) -> int:
        """How many numbers were learned."""
        count, d = self.means.shape
        if self.loadings is not None:
            covariances = self.loadings.size + d
        else:
            covariances = len(self.covariances) * d * (d + 1) // 2
        return count * (d + 1) - 1 + covariances

    @property
    def shared(self) -> Floats:
        """The covariance, where all memories share one."""
        if self.loadings is not None and self.noise is not None:
            found: Floats = self.loadings @ self.loadings.T + np.diag(self.noise)
            return found
        return self.covariances[0]

    @property
    def precisions(self) -> Floats:
        inverse = np.linalg.inv(self.covariances)
        return np.ascontiguousarray((inverse + inverse.transpose(0, 2, 1)) / 2)


class Sums(NamedTuple):
    """What `_native.GaussianSums` has, of rows that are no longer there."""

    sizes: Floats
    sums: Floats
    squares: Floats
    factor_squares: Floats
    factor_values: Floats
    value_squares: Floats
    column_weights: Floats


@dataclass(frozen=True)
class Learner:
    """Rows to learn mixtures from, in units of their columns; NaN where values are missing."""

    Z: Floats
    weights: Weights | None
    threads: int

    @property
    def rows(self) -> _native.Rows:
        d = self.Z.shape[1]
        return in_units(_native.dense_rows(self.Z), np.zeros(d), np.ones(d))

    @cached_property
    def shares(self) -> Floats:
        """The weights of rows, with sum 1."""
        n = len(self.Z)
        weights = np.ones(n) if self.weights is None else self.weights.astype(np.float64)
        return weights / weights.sum()

    def filled(self, mixture: Mixture) -> Floats:
        """Return the rows, completed."""
        found = _native.complete_rows(self.rows, mixture.memories, None, self.threads, False)
        filled = self.Z.copy()
        filled[np.isnan(filled)] = found.means
        return filled

    @cached_property
    def some(self) -> Learner:
        """Some of the rows, to begin with."""
        places = draw_places(len(self.Z), EARLY_ROWS, 0)
        weights = None if self.weights is None else np.ascontiguousarray(self.weights[places])
        return Learner(np.ascontiguousarray(self.Z[places]), weights, self.threads)

    def learn(self, mixture: Mixture) -> Mixture:
        """Go on by expectation and maximisation, at first on some of many rows."""
        if len(self.Z) < 2 * EARLY_ROWS:
            return self._stepped(mixture, MAX_STEPS)
        return self._stepped(self.some._stepped(mixture, EARLY_STEPS), MAX_STEPS - EARLY_STEPS)

    def _stepped(self, mixture: Mixture, most: int) -> Mixture:
        """Take so many steps at most."""
        rows, last, d = self.rows, -np.inf, self.Z.shape[1]
        for _ in range(most):
            sums = _native.gaussian_sums(rows, mixture.memories, None, self.weights, self.threads)
            likelihood = sums.likelihood / sums.weight
            if likelihood - last < MIN_GAIN * d:
                return mixture._replace(likelihood=likelihood)
            last = likelihood
            mixture = _maximised(mixture, sums)
        return mixture

    def all_in_one(self) -> Mixture:
        """Return a single memory with its covariance."""
        d = self.Z.shape[1]
        seen = ~np.isnan(self.Z)
        totals = self.shares @ seen
        values = np.where(seen, self.Z, 0.0)
        mean = self.shares @ values / np.maximum(totals, TINY)
        variance = self.shares @ np.where(seen, self.Z - mean, 0.0) ** 2 / np.maximum(totals, TINY)
        if d <= MAX_FULL:
            start = Mixture(np.ones(1), mean[None], np.diag(variance + RIDGE)[None])
            return self.learn(start)
        return self.by_factors(np.where(seen, self.Z, mean), np.zeros(len(self.Z), np.int64), 0)

    def several(self, filled: Floats, count: int, shared: bool, seed: int) -> Mixture:
        """Return a mixture of so many memories, which start from clusters of completed rows."""
        labels = nearest_clusters(filled, self.weights, count, seed)
        members = np.zeros((count, len(filled)))
        members[labels, np.arange(len(filled))] = self.shares
        sizes = members.sum(axis=1)
        means = members @ filled / np.maximum(sizes, TINY)[:, None]
        apart = filled - means[labels]
        covariance = _pooled((apart * self.shares[:, None]).T @ apart)
        covariances = np.repeat(covariance[None], 1 if shared else count, axis=0)
        return self.learn(Mixture(sizes / sizes.sum(), means, covariances))

    def by_factors(self, filled: Floats, labels: NDArray[np.int64], n_factors: int) -> Mixture:
        """Return memories that share a few factors, which start from principal directions."""
        n, d = filled.shape
        count = int(labels.max()) + 1
        n_factors = n_factors or min(FACTORS)
        n_factors = max(1, min(n_factors, n // 3, d // 2))
        members = np.zeros((count, n))
        members[labels, np.arange(n)] = self.shares
        sizes = members.sum(axis=1)
        means = members @ filled / np.maximum(sizes, TINY)[:, None]
        apart = (filled - means[labels]) * np.sqrt(self.shares)[:, None]
        kept, directions = _principal(apart, n_factors)
        left = max((apart**2).sum() - kept.sum(), 0.0) / d
        loadings = directions.T * np.sqrt(np.maximum(kept - left, RIDGE))
        loadings = np.ascontiguousarray(np.pad(loadings, ((0, 0), (0, n_factors - len(kept)))))
        noise = np.maximum((apart**2).sum(axis=0) - (loadings**2).sum(axis=1), 0.0)
        noise = np.maximum(noise, FACTOR_NOISE)
        start = Mixture(sizes / sizes.sum(), means, np.zeros((0, d, d)), loadings, noise)
        return self.learn(start)

    def mixtures(self) -> list[Mixture]:
        """Return the mixtures whose answers are averaged.

        A single memory is one of them where there are factors, or no mixture of several: among
        these it is the worst by far where clusters differ.
        """
        n, d = self.Z.shape
        alone = self.all_in_one()
        filled = self.filled(alone)
        most = n // ROWS_PER_MEMORY if self._columns_are_tied() else 0
        if d <= MAX_FULL:
            kinds = [(one, True) for one in SHARED] + [(one, False) for one in OWN]
            found = [
                self.several(filled, count, shared, seed)
                for seed, (count, shared) in enumerate(kinds)
                if count <= most
            ]
            return found or [alone]
        labels = np.zeros(n, np.int64)
        found = [alone, *(self.by_factors(filled, labels, count) for count in FACTORS[1:])]
        if most >= FACTOR_MEMORIES:
            labels = nearest_clusters(filled, self.weights, FACTOR_MEMORIES, 0)
            found.append(self.by_factors(filled, labels, FACTORS[0]))
        return found

    def shared_covariance(self, numbers: Sequence[int]) -> Floats:
        """Return the covariance that memories share: as many as given, or as the rows ask for.

        Of several starts it is the likeliest; of several numbers, by the BIC.
        """
        n, d = self.Z.shape
        alone = self.all_in_one()
        filled, most = self.filled(alone), max(1, n // ROWS_PER_MEMORY)
        tried: list[tuple[float, int, Mixture]] = []
        for count in sorted({min(number, most) for number in numbers}):
            for seed in range(N_STARTS if count > 1 else 1):
                mixture = alone
                if count > 1 and d <= MAX_FULL:
                    mixture = self.several(filled, count, True, seed)
                elif count > 1:
                    labels = nearest_clusters(filled, self.weights, count, seed)
                    mixture = self.by_factors(filled, labels, max(FACTORS))
                tried.append((self.evidence(mixture), -len(tried), mixture))
        return max(tried, key=lambda one: one[:2])[2].shared

    def evidence(self, mixture: Mixture) -> float:
        """Return the mean log-likelihood of a row, less what BIC takes for the parameters."""
        n = len(self.Z)
        known = mixture.likelihood  # of the rows that it was learned of, which are these
        likelihood = self.likelihood(mixture) if known is None else known
        return likelihood - 0.5 * mixture.n_parameters * float(np.log(n)) / n

    def likelihood(self, mixture: Mixture) -> float:
        """Return the mean log-likelihood of a row."""
        sums = _native.gaussian_sums(self.rows, mixture.memories, None, self.weights, self.threads)
        return float(sums.likelihood / sums.weight)

    def _columns_are_tied(self) -> bool:
        """Whether every two columns are, but for those that are hardly ever seen."""
        seen = (~np.isnan(self.Z)).astype(np.float32)
        shares = np.ascontiguousarray((seen * self.shares[:, None].astype(np.float32)).T)
        left = shares.sum(axis=1) >= MIN_SEEN_TOGETHER
        waiting = np.flatnonzero(left)[:1]
        left[waiting] = False
        while len(waiting):
            now, waiting = waiting[:MEETING_COLUMNS], waiting[MEETING_COLUMNS:]
            met = left & (shares[now] @ seen >= MIN_SEEN_TOGETHER).any(axis=0)
            left &= ~met
            waiting = np.concatenate([waiting, np.flatnonzero(met)])
        return not left.any()


def nearest_clusters(
    filled: Floats, weights: Weights | Floats | None, count: int, seed: int
) -> NDArray[np.int64]:
    """Return the nearest of memories that k-means++ and a few exact steps find."""
    rng = np.random.default_rng(seed)
    shares = np.ones(len(filled)) if weights is None else weights.astype(np.float64)
    means = _spread_out(filled, shares, count, rng)
    labels = np.zeros(len(filled), np.int64)
    for step in range(START_STEPS):
        before = labels
        # Distances, but for what is the same for all memories.
        labels = (filled @ (-2.0 * means).T + (means**2).sum(axis=1)).argmin(axis=1)
        if step and np.array_equal(labels, before):
            break
        members = np.zeros((count, len(filled)))
        members[labels, np.arange(len(filled))] = shares
        sizes = members.sum(axis=1)
        moved = members @ filled / np.maximum(sizes, TINY)[:, None]
        means = np.where(sizes[:, None] > 0, moved, means)
    return labels


def _spread_out(points: Floats, shares: Floats, count: int, rng: np.random.Generator) -> Floats:
    first = rng.choice(len(points), p=shares / shares.sum())
    chosen = [int(first)]
    squares = (points**2).sum(axis=1)
    nearest = _distances(points, squares, int(first))
    for _ in range(count - 1):
        chances = np.maximum(nearest, 0.0) * shares
        total = chances.sum()
        at = int(rng.choice(len(points), p=chances / total)) if total > 0 else chosen[0]
        chosen.append(at)
        nearest = np.minimum(nearest, _distances(points, squares, at))
    return points[chosen].copy()


def _distances(points: Floats, squares: Floats, at: int) -> Floats:
    """Return squared distances from points, whose squared norms are given, to one of them."""
    found: Floats = squares + points @ (-2.0 * points[at]) + squares[at]
    return found


def _principal(points: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the largest squared singular values and their right vectors, by the shorter side."""
    n, d = points.shape
    if n >= d:
        values, vectors = np.linalg.eigh(points.T @ points)
        directions = vectors[:, ::-1][:, :count].T
    else:
        values, vectors = np.linalg.eigh(points @ points.T)
        directions = vectors[:, ::-1][:, :count].T @ points
        lengths = np.linalg.norm(directions, axis=1, keepdims=True)
        directions = directions / np.maximum(lengths, TINY)
    return np.maximum(values[::-1][:count], 0.0), directions


def _pooled(covariance: Floats) -> Floats:
    """Shrink a covariance to its diagonal, and keep it regular."""
    diagonal = np.diag(np.diag(covariance))
    found: Floats = (1 - SHRINKAGE) * covariance + SHRINKAGE * diagonal
    return found + RIDGE * np.eye(len(covariance))


def _maximised(mixture: Mixture, sums: _native.GaussianSums | Sums) -> Mixture:
    """Return the likeliest mixture, given how rows belong to the memories of another."""
    sizes = np.maximum(sums.sizes, TINY)
    means = sums.sums / sizes[:, None]
    parts = sizes / sizes.sum()
    d = means.shape[1]
    if mixture.loadings is not None and mixture.noise is not None:
        rank = mixture.loadings.shape[1]
        seen = np.maximum(sums.column_weights, TINY)
        squares = sums.factor_squares
        # Factors have unit covariance. Of itself their scale hardly moves, where noise is little.
        scatter = squares.sum(axis=0) / max(sums.column_weights.sum(), TINY)
        squares[:, np.arange(rank), np.arange(rank)] += FACTOR_PRIOR
        loadings = np.linalg.solve(squares, sums.factor_values[:, :, None])[:, :, 0]
        noise = (sums.value_squares - (loadings * sums.factor_values).sum(axis=1)) / seen
        noise = np.maximum(noise, FACTOR_NOISE)
        loadings = loadings @ np.linalg.cholesky(scatter)
        return Mixture(parts, means, mixture.covariances, np.ascontiguousarray(loadings), noise)
    if len(mixture.covariances) == 1:
        between = (sizes[:, None] * means).T @ means
        return Mixture(parts, means, _pooled((sums.squares[0] - between) / sizes.sum())[None])
    outer = sizes[:, None, None] * means[:, :, None] * means[:, None, :]
    scatter = sums.squares - outer
    pooled = _pooled(scatter.sum(axis=0) / sizes.sum())
    prior = d + 2  # rows that a covariance has before it has any
    totals = (sizes + prior)[:, None, None]
    return Mixture(parts, means, (scatter + prior * pooled) / totals)


def in_units(rows: _native.Rows, mean: Floats, spread: Floats) -> _native.Rows:
    """Return rows in units of their columns, as rows that may lack values."""
    return rows.in_units("euclidean", mean, (1.0 / spread).astype(np.float32), True)


def column_spread(mean: Floats, variance: Floats, dtype: np.dtype[Any]) -> Floats:
    """Return the standard deviations of columns; 1 for those of one value, up to rounding."""
    spread = np.sqrt(variance)
    noise = 10 * np.finfo(dtype).eps * np.abs(mean)
    found: Floats = np.where(spread > np.maximum(noise, MIN_SPREAD), spread, 1.0)
    return found


def rows_to_learn(
    rows: Rows, indices: Indices | None, weights: Weights | None
) -> tuple[Floats, Weights | None]:
    """Return rows to learn from, dense, and their weights."""
    places = np.arange(rows.n_rows) if indices is None else indices
    some = places_to_learn(rows.n_features, len(places))
    if some is not None:
        places, weights = places[some], None if weights is None else weights[some]
    if weights is not None:  # only ratios matter: covariances have some rows before they have any
        mean = max(float(weights.mean(dtype=np.float64)), TINY)
        weights = np.ascontiguousarray(weights / mean, dtype=np.float32)
    return np.asarray(as_dense(rows.take(places)), dtype=np.float64), weights


def places_to_learn(n_features: int, n_rows: int) -> Indices | None:
    """Return which of some rows are learned from; None: all of them."""
    count = min(MAX_ROWS, max(MIN_ROWS, MAX_VALUES // n_features))
    return draw_places(n_rows, count, 0) if n_rows > count else None
