"""Clouds: clusters with covariances, as assemblies of memories.

A cut goes where rows are rare, which tells stretched clusters apart that lie side by side but not
where they touch. A mixture of as many Gaussians as there are clusters does, if such clusters made
the rows, and its likelihood says whether they did: if more Gaussians tell the rows better, clusters
are of another shape.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from amclust._threads import single_threaded_blas

Labels = NDArray[np.int32]
Floats = NDArray[np.float64]
Covariance = Literal["own", "shared", "round"]

# The greedy tree of memories takes their number squared.
MAX_MEMORIES = 512
# Mixtures of more Gaussians than clusters: each so many times the last, as long as they have in the
# mean so many memories.
GROWTH, MIN_MEMORIES = 2, 3
# Likelihoods are means over at most so many rows.
MAX_SCORED = 4096
# Steps of a mixture, and the least gain in the mean log-likelihood of a row for another one.
MAX_STEPS, MIN_GAIN = 40, 1e-4
# A covariance has at least this part of the mean variance in every direction.
RIDGE = 1e-6
# Exact steps of the memories of a cluster among its rows.
N_MOVES = 3
TINY = 1e-300


# --- mixtures -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mixture:
    """Gaussians, and how much of the rows each has."""

    parts: Floats
    means: Floats
    covariances: Floats
    kind: Covariance

    @property
    def n_parameters(self) -> int:
        """How many numbers were estimated."""
        k, d = self.means.shape
        numbers = {"own": k * d * (d + 1) // 2, "shared": d * (d + 1) // 2, "round": 1}
        return k * d + k - 1 + numbers[self.kind]

    def log_densities(self, points: Floats) -> Floats:
        """Return the log of each Gaussian's part of the density, of shape (n_points, n)."""
        found = np.empty((len(points), len(self.parts)))
        logs = np.log(np.maximum(self.parts, TINY))
        for place, mean in enumerate(self.means):
            values, vectors = np.linalg.eigh(self.covariances[place])
            squares = (((points - mean) @ vectors) ** 2 / values).sum(axis=1)
            constant = np.log(2 * np.pi * values).sum()
            found[:, place] = logs[place] - 0.5 * (squares + constant)
        return found

    def likelihood(self, points: Floats, weights: Floats) -> float:
        """Return the mean log-likelihood of rows, less what BIC takes for the parameters."""
        total = weights.sum()
        step = -(-len(points) // MAX_SCORED)  # every so many rows do
        points, weights = points[::step], weights[::step]
        logs = np.logaddexp.reduce(self.log_densities(points), axis=1)
        mean = weights @ logs / weights.sum()
        return float(mean - 0.5 * self.n_parameters * np.log(total) / total)


@dataclass(frozen=True, eq=False)
class Moments:
    """What memories know of their rows: how many, their means, and squares about these.

    A mixture is fitted to the memories by them, at a cost that does not depend on the rows.
    """

    sizes: Floats
    means: Floats
    squares: Floats  # of shape (n_memories, n_features, n_features); means over rows

    @classmethod
    def of(cls, points: Floats, weights: Floats, nearest: NDArray[np.int64], count: int) -> Moments:
        """Sum up rows by their nearest memories, each of which has some."""
        d = points.shape[1]
        sizes: Floats = np.bincount(nearest, weights, minlength=count).astype(np.float64)
        sums = [np.bincount(nearest, weights * column, minlength=count) for column in points.T]
        means = np.stack(sums, axis=1) / sizes[:, None]
        inside = points - means[nearest]
        squares = np.empty((count, d, d))
        order = np.argsort(nearest, kind="stable")
        firsts = np.searchsorted(nearest[order], np.arange(count + 1))
        for memory in range(count):
            rows = order[firsts[memory] : firsts[memory + 1]]
            squares[memory] = (inside[rows].T * weights[rows]) @ inside[rows] / sizes[memory]
        return cls(sizes, means, squares)

    @property
    def prior(self) -> int:
        """How many rows a covariance has before it has any: as many as make it regular."""
        return self.means.shape[1] + 2

    def mixture(self, labels: NDArray[np.int64], count: int, kind: Covariance) -> Clustered:
        """Fit a mixture by expectation and maximisation, from the clusters of memories."""
        m, d = self.means.shape
        sizes, total = self.sizes, self.sizes.sum()
        outer = self.means[:, :, None] * self.means[:, None, :]
        second = (self.squares + outer).reshape(m, d * d)
        members = np.zeros((count, m))
        members[labels, np.arange(m)] = 1.0
        last = -np.inf
        for _ in range(MAX_STEPS):
            of_rows = members * sizes
            counts = of_rows.sum(axis=1)
            means = of_rows @ self.means / np.maximum(counts, TINY)[:, None]
            scatter = (of_rows @ second).reshape(count, d, d)
            scatter -= counts[:, None, None] * means[:, :, None] * means[:, None, :]
            covariances = self._covariances(scatter, counts, kind)
            inverses = np.linalg.inv(covariances)
            pulled = np.einsum("kij,kj->ki", inverses, means)
            distances = second @ inverses.reshape(count, -1).T - 2 * self.means @ pulled.T
            distances += (pulled * means).sum(axis=1) + np.linalg.slogdet(covariances)[1]
            logs = np.log(np.maximum(counts, TINY) / total) - 0.5 * distances
            sums = np.logaddexp.reduce(logs, axis=1)
            members = np.exp(logs - sums[:, None]).T
            likelihood = float(sizes @ sums) / total - 0.5 * d * np.log(2 * np.pi)
            if likelihood - last < MIN_GAIN:
                break
            last = likelihood
        found = Mixture(counts / total, means, covariances, kind)
        penalty = 0.5 * found.n_parameters * np.log(total) / total
        return Clustered(found, logs.argmax(axis=1), likelihood - penalty)

    def _covariances(self, scatter: Floats, counts: Floats, kind: Covariance) -> Floats:
        d = self.means.shape[1]
        pooled = scatter.sum(axis=0) / counts.sum()
        pooled = pooled + max(RIDGE * np.trace(pooled) / d, TINY) * np.eye(d)
        if kind == "shared":
            return np.repeat(pooled[None], len(counts), axis=0)
        # A cluster with few rows has nearly the covariance of all.
        totals = (counts + self.prior)[:, None, None]
        found: Floats = (scatter + self.prior * pooled) / totals
        return found

    def tree(self) -> Iterator[NDArray[np.int64]]:
        """Merge memories, at each step the two that lose least likelihood as Gaussians.

        Gives the clusters of memories, from one for each memory to one in all.
        """
        m, d = self.means.shape
        sizes, means = self.sizes.copy(), self.means.copy()
        scatter = self.squares * sizes[:, None, None]
        near = scatter.sum(axis=0) / sizes.sum()  # the covariance of rows about their memories
        near += max(RIDGE * np.trace(near) / d, TINY) * np.eye(d)

        def costs(counts: Floats, scatters: Floats) -> Floats:
            totals = (counts + self.prior)[:, None, None]
            logs = np.linalg.slogdet((scatters + self.prior * near) / totals)[1]
            found: Floats = counts * (logs - 2 * np.log(counts))
            return found

        def joined(one: int, others: NDArray[np.int64]) -> tuple[Floats, Floats]:
            counts = sizes[one] + sizes[others]
            apart = means[one] - means[others]
            between = (sizes[one] * sizes[others] / counts)[:, None, None]
            between = between * apart[:, :, None] * apart[:, None, :]
            return counts, scatter[one] + scatter[others] + between

        own = costs(sizes, scatter)
        losses = np.full((m, m), np.inf)
        for one in range(m - 1):
            others = np.arange(one + 1, m)
            losses[one, others] = costs(*joined(one, others)) - own[one] - own[others]
        labels, alive = np.arange(m), np.ones(m, bool)
        yield labels
        for _ in range(m - 1):
            one, other = (int(place) for place in np.unravel_index(losses.argmin(), losses.shape))
            counts, scatters = joined(one, np.array([other]))
            means[one] = (sizes[one] * means[one] + sizes[other] * means[other]) / counts[0]
            sizes[one], scatter[one] = counts[0], scatters[0]
            own[one] = costs(counts, scatters)[0]
            alive[other] = False
            losses[other], losses[:, other] = np.inf, np.inf
            others = np.flatnonzero(alive)
            others = others[others != one]
            found = costs(*joined(one, others)) - own[one] - own[others]
            losses[np.minimum(one, others), np.maximum(one, others)] = found
            labels = np.where(labels == other, one, labels)
            yield np.unique(labels, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Clustered:
    """A mixture, the Gaussian of each memory, and the penalised likelihood of the memories."""

    mixture: Mixture
    labels: NDArray[np.int64]
    score: float


# --- clouds ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Clouds:
    """As many Gaussians as there are clusters, and whether they made the rows.

    Attributes
    ----------
    labels : ndarray of shape (n_rows,)
        The likeliest Gaussian of each row.

    assembly : ndarray of shape (n_memories,)
        That of most rows of each memory.

    likelihood, round_likelihood, more_likelihood : float
        Penalised log-likelihood of a row: of the best mixture, of balls of one size at the round
        clusters, and of the best mixture with more Gaussians than there are clusters.
    """

    labels: Labels
    assembly: Labels
    likelihood: float
    round_likelihood: float
    more_likelihood: float


def enough_rows(weights: Floats, n_features: int, n_clusters: int, n_memories: int) -> bool:
    """Say whether clusters have, in the mean, a row for each number of their covariances."""
    numbers = n_features * (n_features + 1) / 2
    return n_memories <= MAX_MEMORIES and _effective(weights) >= n_clusters * numbers


def _effective(weights: Floats) -> float:
    """Return how many rows of one weight say as much: scaling weights does not change it."""
    return float(weights.sum() ** 2 / (weights**2).sum())


def find_clouds(
    points: Floats,
    weights: Floats,
    nearest: NDArray[np.int64],
    round_labels: Labels,
    assembly: Labels,
    n_clusters: int,
) -> Clouds | None:
    """Fit Gaussians to the memories of rows; None: one of them is that of no memory.

    They start from round clusters, from the assemblies that a cut found, and from a tree of the
    memories. Labels are of the rows, the assembly of the memories.
    """
    weights = weights * (_effective(weights) / weights.sum())
    with single_threaded_blas():
        there, places = np.unique(nearest, return_inverse=True)
        m = len(there)
        if m < max(n_clusters, 2):
            return None
        moments = Moments.of(points, weights, places, m)
        tree = list(moments.tree())[::-1]
        starts = [
            tree[n_clusters - 1],
            _majority(round_labels, weights, places, n_clusters, m),
            assembly[there].astype(np.int64),
        ]
        kinds: tuple[Covariance, ...] = ("own", "shared")
        tried = [moments.mixture(start, n_clusters, kind) for start in starts for kind in kinds]
        best = max(tried, key=lambda one: one.score).mixture
        labels = best.log_densities(points).argmax(axis=1).astype(np.int32)
        found = assembly.copy()  # memories without rows stay with the assembly's clusters
        found[there] = _majority(labels, weights, places, n_clusters, m)
        if len(np.unique(found[there])) < n_clusters:
            return None
        more = [moments.mixture(tree[count - 1], count, "own") for count in _more(n_clusters, m)]
        larger = max(more, key=lambda one: one.score).mixture if more else None
        return Clouds(
            labels,
            found,
            best.likelihood(points, weights),
            _balls(points, weights, round_labels, n_clusters).likelihood(points, weights),
            -np.inf if larger is None else larger.likelihood(points, weights),
        )


def _more(n_clusters: int, n_memories: int) -> list[int]:
    """Return numbers of Gaussians above that of clusters."""
    found, count = [], n_clusters + 1
    while MIN_MEMORIES * count <= n_memories:
        found.append(count)
        count *= GROWTH
    return found


def _majority(
    labels: Labels, weights: Floats, places: NDArray[np.int64], n_clusters: int, n_memories: int
) -> NDArray[np.int64]:
    """Return the cluster that most rows of each memory have."""
    pairs = places * n_clusters + labels
    counts = np.bincount(pairs, weights, minlength=n_memories * n_clusters)
    return counts.reshape(n_memories, n_clusters).argmax(axis=1)


def _balls(points: Floats, weights: Floats, labels: Labels, n_clusters: int) -> Mixture:
    """Return Gaussians of one variance at the centres of clusters."""
    d = points.shape[1]
    sizes = np.bincount(labels, weights, minlength=n_clusters)
    sums = [np.bincount(labels, weights * column, minlength=n_clusters) for column in points.T]
    means = np.stack(sums, axis=1) / np.maximum(sizes, TINY)[:, None]
    variance = float(weights @ ((points - means[labels]) ** 2).sum(axis=1)) / sizes.sum() / d
    covariances = np.repeat(max(variance, TINY) * np.eye(d)[None], n_clusters, axis=0)
    return Mixture(sizes / sizes.sum(), means, covariances, "round")


def move_memories(
    memories: Floats, assembly: Labels, points: Floats, weights: Floats, labels: Labels
) -> tuple[Floats, Floats]:
    """Move memories among the rows of their own clusters; return them and how many rows each has.

    Where clusters touch, memories that lie between them would have rows of both.
    """
    moved, sizes = memories.copy(), np.zeros(len(memories))
    with single_threaded_blas():
        for cluster in range(int(assembly.max()) + 1):
            own, rows = np.flatnonzero(assembly == cluster), np.flatnonzero(labels == cluster)
            inside, of_rows = points[rows], weights[rows]
            for _ in range(N_MOVES):
                places = moved[own]
                distances = (places**2).sum(axis=1) - 2 * inside @ places.T
                nearest = distances.argmin(axis=1)
                counts = np.bincount(nearest, of_rows, minlength=len(own))
                sums = [np.bincount(nearest, of_rows * one, minlength=len(own)) for one in inside.T]
                means = np.stack(sums, axis=1) / np.maximum(counts, TINY)[:, None]
                moved[own] = np.where(counts[:, None] > 0, means, places)
            sizes[own] = counts
    return moved, sizes
