"""Clusters of any shape: assemblies of memories that share low passes of the energy.

Rows lie between memories. Where many do, the energy has a low pass there, and the memories belong
together: how many rows they share is a graph, and its normalised cut gives each memory a cluster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from threadpoolctl import threadpool_limits

from amclust._network import Network, Want
from amclust._recipe import Recipe
from amclust._rows import Indices
from amclust._training import Fit, Options, fit, with_assembly
from amclust._validation import DistinctRowsError
from amclust.backends import Backend, TrainingSet

# Memories are learned, and shared rows counted, on at most so many rows for each memory, ...
MEMORY_ROWS, GRAPH_ROWS = 256, 128
# ... where that is more than this.
MAX_ALL_ROWS = 2**14
# Distances of rows to memories that are held at a time.
MAX_DISTANCES = 2**22
# Starts of the k-means that reads clusters off eigenvectors.
N_READINGS = 20
# Round clusters do as well whose partition has this adjusted Rand index with the assemblies'.
SAME = 0.9
# A row of which memories that are no noise have less is noise, and counts this much.
MIN_KEPT_SHARE, NOISE_WEIGHT = 0.34, 0.03
# Eigenvalues that are kept, at least, and the least length of what eigenvectors show of a memory.
MIN_EIGENVALUES, MIN_LENGTH = 30, 1e-8
# An eigenvalue that is no further from 1 is 1.
ROUNDING = 1e-5

EVIDENCE_DTYPE = np.dtype(
    [
        ("n_memories", np.int64),
        ("n_nearest", np.int64),
        ("cut", np.float64),
        ("silhouette", np.float64),
        ("chosen", np.bool_),
    ]
)

Labels = NDArray[np.int32]
Floats = NDArray[np.float64]


# --- evidence -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShapeEvidence:
    """What the shape of the clusters was chosen by: round ones, or assemblies of memories.

    It reads like a frame: ``evidence["cut"]`` is a column, ``evidence.to_pandas()`` all of them.

    Parameters
    ----------
    table : structured ndarray of shape (n_candidates,)
        One row per candidate: n_memories, n_nearest (memories that share a row), cut (the mean part
        of a cluster's rows that it shares with others, in the graph that memories make of the
        rows, where no row counts for the memory that is its own mean), silhouette, chosen.

    eigenvalues : ndarray of shape (n_eigenvalues,)
        The largest of the graph, falling. As many as there are separate pieces are 1, and a
        clear number of clusters has a gap after it.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from amclust import ClAM
    >>> X, _ = make_moons(300, noise=0.05, random_state=0)
    >>> evidence = ClAM(2, n_memories="auto", random_state=0).fit(X).shape_evidence_
    >>> evidence.columns
    ('n_memories', 'n_nearest', 'cut', 'silhouette', 'chosen')
    >>> evidence["n_memories"].tolist(), evidence["chosen"].tolist()
    ([2, 60], [False, True])
    """

    table: NDArray[np.void]
    eigenvalues: Floats

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.table.dtype.names or ())

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.table[column]

    def to_pandas(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        frame : DataFrame
            A row per candidate.
        """
        import pandas as pd

        return pd.DataFrame(self.table)

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw the cuts of the candidates and the eigenvalues, as `ShapeDisplay` does.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None: a new figure.

        **kwargs : dict
            Keywords of :meth:`amclust.plotting.ShapeDisplay.plot`.

        Returns
        -------
        display : ShapeDisplay
            What was drawn.
        """
        from amclust.plotting import ShapeDisplay

        return ShapeDisplay(evidence=self).plot(ax=ax, **kwargs)


# --- the graph ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Overlap:
    """How many rows memories share.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The rows that were counted.

    weights : ndarray of shape (n_rows,)
        How many rows each stands for.

    nearest : ndarray of shape (n_rows,)
        The memory nearest to each.

    shares : CSR array of shape (n_rows, n_memories)
        How much each row belongs to the memories nearest to it; rows sum to 1.

    sizes : ndarray of shape (n_memories,)
        How many rows each memory has.
    """

    rows: Indices
    weights: Floats
    nearest: NDArray[np.int64]
    shares: Any
    sizes: Floats

    @property
    def shared(self) -> Floats:
        """How many rows two memories share."""
        found: Floats = (self.shares.T @ (sparse.diags_array(self.weights) @ self.shares)).toarray()
        return (found + found.T) / 2

    @property
    def graph(self) -> Floats:
        """Rows that two memories share, over the geometric mean of those that they have."""
        roots = np.sqrt(np.where(self.sizes > 0, self.sizes, 1.0))
        return self.shared / np.outer(roots, roots)

    def without_noise(self, share: float, min_kept: int) -> Overlap:
        """Return the overlap where rows between clusters hardly count.

        Memories with less than this part of the rows that those around them have are where rows are
        rare. Rows that are mostly theirs count little, and the others are shared out among the
        other memories.
        """
        shared = self.shared
        np.fill_diagonal(shared, 0.0)
        totals = shared.sum(axis=1)
        around = np.where(totals > 0, shared @ self.sizes / np.where(totals > 0, totals, 1.0), 0.0)
        kept = self.sizes >= share * around
        if kept.all() or np.count_nonzero(kept) < min_kept:
            return self
        among = self.shares @ sparse.diags_array(kept.astype(np.float64))
        parts = np.asarray(among.sum(axis=1)).ravel()
        inside = parts > MIN_KEPT_SHARE
        factors = np.where(inside, 1.0 / np.where(inside, parts, 1.0), 0.0)
        noise = sparse.diags_array((~inside).astype(np.float64)) @ self.shares
        shares = (sparse.diags_array(factors) @ among + noise).tocsr()
        weights = self.weights * np.where(inside, 1.0, NOISE_WEIGHT)
        sizes = np.asarray(weights @ shares).ravel()
        return Overlap(self.rows, weights, self.nearest, shares, sizes)

    def by_cluster(self, labels: Labels, n_clusters: int) -> Floats:
        """Return how many rows of each cluster each memory has; labels are of the rows."""
        kept = labels >= 0  # the others are noise
        places = (labels[kept], np.flatnonzero(kept))
        members = sparse.csr_array((self.weights[kept], places), shape=(n_clusters, len(labels)))
        found: Floats = (members @ self.shares).toarray()
        return found

    def cut(self, labels: Labels, n_clusters: int) -> float:
        """Return the mean normalised cut of clusters: the part of their rows they share.

        Rows are as near as the memories that they share say. A cluster without rows counts as one
        that shares all of them.
        """
        parts = self.by_cluster(labels, n_clusters)
        totals = parts.sum(axis=1)
        inside = (parts**2 / np.where(self.sizes > 0, self.sizes, 1.0)).sum(axis=1)
        kept = np.where(totals > 0, inside / np.where(totals > 0, totals, 1.0), 0.0)
        return max(0.0, float(np.mean(1.0 - kept)))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows, and the memories nearest to each of them."""

    rows: Indices
    weights: Floats  # how many rows each stands for
    memories: NDArray[np.int64]  # the nearest first; a few more than share a row
    distances: Floats  # infinite where there are no more memories
    n_memories: int

    def overlap(self, n_nearest: int, decay: float, *, leave_out: bool = False) -> Overlap:
        """Share out rows among their nearest memories, by a width of each row's own.

        With `leave_out` a row says nothing about where its nearest memory is, which lies at the
        mean of rows that it is one of: one that has a memory to itself is shared by the others.
        """
        memories, distances = self.memories, self.distances
        if leave_out:
            nearest = memories[:, 0]
            sizes = np.bincount(nearest, self.weights, minlength=self.n_memories)[nearest]
            others = np.maximum(sizes - self.weights, 0.0)
            alone = others <= 1e-9 * sizes
            factors = (sizes / np.where(alone, 1.0, others)) ** 2
            own = np.where(alone, np.inf, distances[:, 0] * factors)
            distances = np.column_stack([own, distances[:, 1:]])
            order = np.argsort(distances, axis=1, kind="stable")
            memories = np.take_along_axis(memories, order, axis=1)
            distances = np.take_along_axis(distances, order, axis=1)
        width = distances[:, n_nearest : n_nearest + 1]
        # Without a memory that does not share the row, the farthest that does gives the width.
        width = np.where(np.isfinite(width), width, distances[:, n_nearest - 1 : n_nearest])
        width = np.where(np.isfinite(width), np.maximum(width, np.finfo(np.float64).tiny), 1.0)
        shares = np.exp(-decay * distances[:, :n_nearest] / width)
        shares /= np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        n = len(self.rows)
        starts = np.arange(0, n * n_nearest + 1, n_nearest)
        columns = memories[:, :n_nearest].ravel()
        shape = (n, self.n_memories)
        found = sparse.csr_array((shares.ravel(), columns, starts), shape=shape)
        totals: Floats = np.asarray(self.weights @ found, dtype=np.float64).ravel()
        return Overlap(self.rows, self.weights, self.memories[:, 0], found, totals)


def find_neighbours(data: TrainingSet, network: Network, count: int, seed: int) -> Neighbours:
    """Return the memories nearest to rows, so many each."""
    rows = np.arange(data.rows.n_rows) if data.indices is None else np.asarray(data.indices)
    weights = np.ones(len(rows)) if data.counts is None else data.counts.astype(np.float64)
    limit = max(MAX_ALL_ROWS, GRAPH_ROWS * network.n_memories)
    if len(rows) > limit:
        some = _draw(len(rows), limit, seed)
        rows, weights = rows[some], weights[some]
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    n, m = len(rows), network.n_memories
    memories, distances = np.zeros((n, count), np.int64), np.full((n, count), np.inf)
    step = max(1, MAX_DISTANCES // m)
    for first in range(0, n, step):
        part = slice(first, first + step)
        found = network.infer(
            data.rows, Want.SQUARE_DISTANCES, indices=rows[part], n_jobs=data.threads
        ).square_distances
        found = np.maximum(found, 0.0)  # of directions, rounding leaves less
        kept = min(count, m)
        nearest = np.argpartition(found, kept - 1, axis=1)[:, :kept]
        near = np.take_along_axis(found, nearest, axis=1)
        order = np.lexsort((nearest, near), axis=1)  # of equal distances the first memories
        memories[part, :kept] = np.take_along_axis(nearest, order, axis=1)
        distances[part, :kept] = np.take_along_axis(near, order, axis=1)
    return Neighbours(rows, weights, memories, distances, m)


def _draw(n: int, count: int, seed: int) -> NDArray[np.int64]:
    return np.sort(np.random.default_rng(seed).choice(n, count, replace=False))


# --- its cut --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues, the largest first, and eigenvectors of how memories share rows."""

    values: Floats
    vectors: Floats

    @classmethod
    def of(cls, overlap: Overlap, max_clusters: int) -> Spectrum:
        """Return as many as so many clusters need."""
        graph = overlap.graph
        m = len(graph)
        first = max(0, m - max(MIN_EIGENVALUES, max_clusters + 1))
        with threadpool_limits(limits=1, user_api="blas"):  # the same bits for any number of them
            values, vectors = linalg.eigh(graph, subset_by_index=(first, m - 1))
        return cls(values[::-1], vectors[:, ::-1])

    def partition(self, n_clusters: int, seed: int) -> Labels:
        """Return the cluster of each memory, by the relaxed normalised cut."""
        # Imported here, so that `import amclust` stays light.
        from sklearn.cluster import KMeans

        vectors = self.vectors[:, :n_clusters]
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # Pieces that the first eigenvectors do not show have no direction in them.
        seen = lengths > MIN_LENGTH
        places = np.where(seen, vectors / np.where(seen, lengths, 1.0), 0.0)
        with threadpool_limits(limits=1):
            reading = KMeans(n_clusters, n_init=N_READINGS, random_state=seed).fit(places)
        labels = np.array(reading.labels_)
        for cluster in np.setdiff1d(np.arange(n_clusters), labels):  # places that coincide
            labels[np.flatnonzero(labels == np.bincount(labels).argmax())[0]] = cluster
        # Clusters are numbered as their first memories are.
        _, firsts, labels = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(firsts))
        found: Labels = order[labels].astype(np.int32)
        return found


@dataclass(frozen=True, eq=False)
class MemoryGraph:
    """Memories that were learned, how they share rows, and the spectra of that."""

    found: Fit
    overlap: Overlap
    judge: Overlap  # by which cuts are compared: rows say nothing about their own memories
    spectra: tuple[Spectrum, ...]  # of all rows, then of those that are no noise

    def n_clusters(self, candidates: Sequence[int], recipe: Recipe) -> int | None:
        """Return the number of clusters that the eigenvalues tell; None: they tell nothing."""
        left = 1.0 - self.spectra[0].values + ROUNDING
        possible = [k for k in candidates if 1 < k < len(left)]
        if not possible:
            return None
        if left[possible[-1]] < 2 * ROUNDING:  # more pieces than there may be clusters
            return possible[-1]
        gaps = np.array([left[k - 1] / left[k] for k in possible])
        best = int(gaps.argmin())
        return possible[best] if gaps[best] < recipe.clear_gap else None

    def partition(self, n_clusters: int, seed: int) -> Labels:
        """Return the cluster of each memory: of the relaxed cuts that which cuts least."""
        found = [spectrum.partition(n_clusters, seed) for spectrum in self.spectra]
        nearest = self.judge.nearest
        cuts = [self.judge.cut(assembly[nearest], n_clusters) for assembly in found]
        return found[int(np.argmin(cuts))]


def learn_memories(
    data: TrainingSet,
    options: Options,
    n_memories: int,
    *,
    max_clusters: int,
    seed: int,
    sample_seed: int,
    backend: Backend,
    recipe: Recipe,
    verbose: int,
) -> MemoryGraph:
    """Learn memories that cover the rows, and find out how they share these.

    The options are those for so many memories.
    """
    some, limit = data, max(MAX_ALL_ROWS, MEMORY_ROWS * n_memories)
    if data.n_rows > limit:
        drawn = _draw(data.n_rows, limit, sample_seed)
        some = dataclasses.replace(
            data,
            indices=drawn if data.indices is None else data.indices[drawn],
            weights=None if data.weights is None else data.weights[drawn],
            counts=None if data.counts is None else data.counts[drawn],
        )
    objective = "reconstruction" if options.objective == "auto" else options.objective
    options = dataclasses.replace(options, objective=objective)

    def learn(rows: TrainingSet) -> Fit:
        return fit(
            rows,
            options,
            n_clusters=n_memories,
            seeds=np.array([seed]),
            sample_seed=sample_seed,
            backend=backend,
            recipe=recipe,
            verbose=verbose,
        )

    try:
        found = learn(some)
    except DistinctRowsError:
        if some is data:
            raise
        some, found = data, learn(data)  # many of the rows that were drawn are copies
    n_nearest = min(recipe.shared_by, n_memories - 1)
    neighbours = find_neighbours(some, found.network, n_nearest + 2, sample_seed)
    overlap = neighbours.overlap(n_nearest, recipe.decay)
    judge = neighbours.overlap(n_nearest, recipe.decay, leave_out=True)
    spectra = [Spectrum.of(overlap, max_clusters)]
    quiet = overlap.without_noise(recipe.noise, max(2 * max_clusters, recipe.shared_by + 2))
    if quiet is not overlap:
        spectra.append(Spectrum.of(quiet, max_clusters))
    return MemoryGraph(found, overlap, judge, tuple(spectra))


def assemble(
    data: TrainingSet, graph: MemoryGraph, n_clusters: int, recipe: Recipe, seed: int
) -> Fit:
    """Return the fit whose clusters are assemblies of the memories that were learned."""
    found = graph.found
    beta = found.network.beta
    if found.best.plan.exact:  # soft near the borders, as the silhouette's
        beta /= recipe.hard_factor
    assembly = graph.partition(n_clusters, seed)
    sizes = graph.overlap.sizes
    total = data.n_rows if data.counts is None else data.counts.sum(dtype=np.float64)
    sizes = sizes * (total / sizes.sum())  # they may have been counted on some rows
    return with_assembly(data, found, assembly, sizes, beta)


@dataclass(frozen=True, eq=False)
class Shape:
    """The fit that was chosen, and why."""

    found: Fit
    evidence: ShapeEvidence
    merge_tree: Floats | None


def choose_shape(
    data: TrainingSet,
    options: Options,
    graph: MemoryGraph | None,
    n_clusters: int,
    seeds: NDArray[np.int64],
    *,
    compare_round: bool,
    sample_seed: int,
    backend: Backend,
    recipe: Recipe,
    verbose: int,
) -> Shape:
    """Fit assemblies, or round clusters, or both: then round ones are kept that do as well.

    Without a graph there are too few rows for assemblies.
    """
    # Imported here, so that `import amclust` stays light.
    from sklearn.metrics import adjusted_rand_score

    candidates: list[tuple[Fit, int, float]] = []  # with n_nearest and the cut
    if graph is None or compare_round:
        found = fit(
            data,
            options,
            n_clusters=n_clusters,
            seeds=seeds,
            sample_seed=sample_seed,
            backend=backend,
            recipe=recipe,
            verbose=verbose,
        )
        cut = np.nan
        if graph is not None:
            cut = graph.judge.cut(found.labels[graph.judge.rows], n_clusters)
        candidates.append((found, 0, cut))
    if graph is not None:
        found = assemble(data, graph, n_clusters, recipe, sample_seed)
        cut = graph.judge.cut(found.labels[graph.judge.rows], n_clusters)
        candidates.append((found, min(recipe.shared_by, found.network.n_memories - 1), cut))
    chosen = 0
    if graph is not None and len(candidates) == 2:
        (round_fit, _, round_cut), (assembled, _, cut) = candidates
        some = graph.overlap.rows
        same = adjusted_rand_score(round_fit.labels[some], assembled.labels[some]) >= SAME
        chosen = int(cut < recipe.round_cut * round_cut and not same)
    table = np.zeros(len(candidates), EVIDENCE_DTYPE)
    for place, (found, n_nearest, cut) in enumerate(candidates):
        table[place] = (
            found.network.n_memories,
            n_nearest,
            cut,
            found.best.silhouette,
            place == chosen,
        )
    found, tree = candidates[chosen][0], None
    values = np.zeros(0)
    if graph is not None:
        values = graph.spectra[0].values
        tree = merge_tree(graph.overlap, found.labels[graph.overlap.rows], n_clusters)
    return Shape(found, ShapeEvidence(table, values), tree)


def merge_tree(overlap: Overlap, labels: Labels, n_clusters: int) -> Floats:
    """Return how clusters join, those first that share most rows, in the format of scipy.

    Heights are 1 minus the rows that two share, over the geometric mean of those that they have.
    """
    parts = overlap.by_cluster(labels, n_clusters)
    shared = parts @ (parts / np.where(overlap.sizes > 0, overlap.sizes, 1.0)).T
    names, counts = list(range(n_clusters)), [1] * n_clusters
    merges: list[list[float]] = []
    height = 0.0
    while len(names) > 1:
        totals = shared.sum(axis=1)
        roots = np.sqrt(np.where(totals > 0, totals, 1.0))
        closeness = shared / np.outer(roots, roots)
        closeness[np.tril_indices(len(names))] = -1.0
        a, b = (int(place) for place in np.unravel_index(closeness.argmax(), closeness.shape))
        height = max(height, float(1.0 - closeness[a, b]))
        counts[a] += counts.pop(b)
        merges.append([names[a], names.pop(b), height, counts[a]])
        names[a] = n_clusters + len(merges) - 1
        shared[a] += shared[b]
        shared[:, a] += shared[:, b]
        kept = np.arange(len(shared)) != b
        shared = shared[np.ix_(kept, kept)]
    return np.array(merges, dtype=np.float64).reshape(-1, 4)
