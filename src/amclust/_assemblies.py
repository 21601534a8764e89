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

from amclust import _native
from amclust._clouds import Clouds, enough_rows, find_clouds, move_memories
from amclust._judging import judge
from amclust._network import Network, Want
from amclust._options import Options
from amclust._recipe import Recipe
from amclust._rows import Indices, TableRows
from amclust._runs import Fit
from amclust._silhouettes import judged_rows
from amclust._threads import single_threaded, single_threaded_blas
from amclust._training import fit, with_assembly
from amclust._validation import DistinctRowsError
from amclust.backends import Backend, TrainingSet
from amclust.backends.base import read_to_train

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

# Candidates for the shape of clusters; a file holds their places here.
KINDS = ("round", "cut", "clouds")
ROUND, CUT, CLOUDS = range(3)

EVIDENCE_DTYPE = np.dtype(
    [
        ("kind", np.int64),
        ("n_memories", np.int64),
        ("n_nearest", np.int64),
        ("cut", np.float64),
        ("likelihood", np.float64),
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
        One row per candidate: kind (0, 1, 2; ``evidence["kind"]`` has their names: "round" clusters
        of one memory each, assemblies by a "cut", and assemblies that are "clouds", Gaussians of
        any covariance), n_memories, n_nearest (memories that share a row), cut (the mean part of a
        cluster's rows that it shares with others, in the graph that memories make of the rows,
        where no row counts for the memory that is its own mean), likelihood (the mean
        log-likelihood of a row, less what BIC takes for the parameters: of balls of one size, for
        the cut of the best mixture of more Gaussians than there are clusters, of a Gaussian for
        each cluster; NaN: not asked), silhouette, chosen.

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
    ('kind', 'n_memories', 'n_nearest', 'cut', 'likelihood', 'silhouette', 'chosen')
    >>> evidence["kind"].tolist(), evidence["chosen"].tolist()
    (['round', 'cut', 'clouds'], [False, True, False])
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
        found: NDArray[Any] = self.table[column]
        return np.array(KINDS)[found] if column == "kind" else found

    def to_pandas(self) -> Any:
        """Return the table as a data frame.

        Returns
        -------
        frame : DataFrame
            A row per candidate.
        """
        import pandas as pd

        return pd.DataFrame({column: self[column] for column in self.columns})

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
        with single_threaded_blas():
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
        with single_threaded():
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
        found = learn(some if some is data else _apart(some))
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


def _apart(data: TrainingSet) -> TrainingSet:
    """Return a copy of drawn rows: what is learned from them does not label all others."""
    if data.indices is None:
        return data
    table = TableRows(data.table.take(data.indices))
    return dataclasses.replace(
        data,
        table=table,
        rows=read_to_train(data.geometry, table, None, data.has_missing, data.threads),
        indices=None,
        judged=judged_rows(table, data.counts),
        others_missing=False,
    )


@dataclass(frozen=True, eq=False)
class Assembly:
    """Memories that were learned, the cluster of each, and how many of some rows each has."""

    learned: Fit
    clusters: Labels
    sizes: Floats

    def beta(self, recipe: Recipe) -> float:
        """Return the inverse temperature, in core units: soft near the borders."""
        exact = self.learned.best.plan.exact
        return self.learned.network.beta / (recipe.hard_factor if exact else 1.0)

    def network(self, recipe: Recipe) -> Network:
        """Return the network whose clusters they make up."""
        beta = self.beta(recipe)
        return dataclasses.replace(self.learned.network, assembly=self.clusters, beta=beta)

    def fit(self, data: TrainingSet, recipe: Recipe) -> Fit:
        """Label all rows."""
        sizes = self.sizes * (data.total_weight / self.sizes.sum())  # they are of some rows
        return with_assembly(data, self.learned, self.clusters, sizes, self.beta(recipe))


# --- the choice -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Shape:
    """The fit that was chosen, and why."""

    found: Fit
    evidence: ShapeEvidence
    merge_tree: Floats | None


@dataclass(frozen=True, eq=False)
class Candidate:
    """Clusters of some shape, and what speaks for them."""

    kind: int
    found: Fit | Assembly  # all rows are labelled by what is chosen only
    n_memories: int
    silhouette: float
    labels: Labels  # of the rows of the graph
    n_nearest: int = 0
    cut: float = np.nan
    likelihood: float = np.nan


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
    candidates: list[Candidate] = []
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
        candidates.append(_round(found, graph, n_clusters))
    if graph is not None:
        clusters = graph.partition(n_clusters, sample_seed)
        assembly = Assembly(graph.found, clusters, graph.overlap.sizes)
        candidates.append(_assembled(CUT, assembly, data, graph, n_clusters, recipe))
    chosen = 0
    if graph is not None and len(candidates) == 2:
        candidates = _with_clouds(data, graph, candidates, n_clusters, recipe)
        chosen = _choose(candidates, recipe)
    best = candidates[chosen]
    found = best.found if isinstance(best.found, Fit) else best.found.fit(data, recipe)
    candidates[chosen] = dataclasses.replace(best, silhouette=found.best.silhouette)
    table = np.zeros(len(candidates), EVIDENCE_DTYPE)
    for place, one in enumerate(candidates):
        table[place] = (
            one.kind,
            one.n_memories,
            one.n_nearest,
            one.cut,
            one.likelihood,
            one.silhouette,
            place == chosen,
        )
    tree, values = None, np.zeros(0)
    if graph is not None:
        values = graph.spectra[0].values
        tree = merge_tree(graph.overlap, found.labels[graph.overlap.rows], n_clusters)
    return Shape(found, ShapeEvidence(table, values), tree)


def _round(found: Fit, graph: MemoryGraph | None, n_clusters: int) -> Candidate:
    labels, cut = found.labels, np.nan
    if graph is not None:
        labels = labels[graph.judge.rows]
        cut = graph.judge.cut(labels, n_clusters)
    return Candidate(ROUND, found, n_clusters, found.best.silhouette, labels, cut=cut)


def _assembled(
    kind: int,
    assembly: Assembly,
    data: TrainingSet,
    graph: MemoryGraph,
    n_clusters: int,
    recipe: Recipe,
) -> Candidate:
    network = assembly.network(recipe)
    (judgement,) = judge(data, [network])
    labels = network.core_labels(data.rows, indices=graph.judge.rows, n_jobs=data.threads)
    return Candidate(
        kind,
        assembly,
        network.n_memories,
        judgement.silhouette,
        labels,
        min(recipe.shared_by, network.n_memories - 1),
        graph.judge.cut(labels, n_clusters),
    )


def _with_clouds(
    data: TrainingSet,
    graph: MemoryGraph,
    candidates: list[Candidate],
    n_clusters: int,
    recipe: Recipe,
) -> list[Candidate]:
    """Return round clusters, assemblies by the cut and, where rows allow for them, clouds."""
    geometry, overlap = data.geometry, graph.overlap
    n_memories, n_features = graph.found.network.memories.shape
    plain = geometry.is_native and geometry.energy == "euclidean" and not data.has_missing
    if not plain or not enough_rows(overlap.weights, n_features, n_clusters, n_memories):
        return candidates
    by_round, by_cut = candidates
    assert isinstance(by_cut.found, Assembly)
    points = _native.load_rows(data.rows, overlap.rows).astype(np.float64)
    clouds = find_clouds(
        points,
        overlap.weights,
        overlap.nearest,
        by_round.labels,
        by_cut.found.clusters,
        n_clusters,
    )
    if clouds is None:
        return candidates
    assembly = _moved(graph, clouds, points)
    found = _assembled(CLOUDS, assembly, data, graph, n_clusters, recipe)
    return [
        dataclasses.replace(by_round, likelihood=clouds.round_likelihood),
        dataclasses.replace(by_cut, likelihood=clouds.more_likelihood),
        dataclasses.replace(found, likelihood=clouds.likelihood),
    ]


def _moved(graph: MemoryGraph, clouds: Clouds, points: Floats) -> Assembly:
    """Return the assembly of memories that lie among the rows of their own clouds."""
    found = graph.found
    memories, sizes = move_memories(
        found.network.memories.astype(np.float64),
        clouds.assembly,
        points,
        graph.overlap.weights,
        clouds.labels,
    )
    moved = np.ascontiguousarray(memories, dtype=np.float32)
    run = dataclasses.replace(found.best, moved=moved)
    runs = [*found.runs[: found.chosen], run, *found.runs[found.chosen + 1 :]]
    network = dataclasses.replace(found.network, memories=moved)
    found = dataclasses.replace(found, network=network, runs=runs)
    return Assembly(found, clouds.assembly, sizes)


def _choose(candidates: list[Candidate], recipe: Recipe) -> int:
    """Return the place of the best candidate.

    Where as many Gaussians as clusters tell the rows as well as more do, the likelihood says
    whether they are round. Else clusters have another shape, and the cut says which.
    """
    # Imported here, so that `import amclust` stays light.
    from sklearn.metrics import adjusted_rand_score

    first = candidates[ROUND]

    def agreement(place: int) -> float:
        return float(adjusted_rand_score(first.labels, candidates[place].labels))

    if len(candidates) == len(KINDS):
        by_round, by_cut, by_clouds = (one.likelihood for one in candidates)
        if max(by_round, by_clouds) >= by_cut:
            return CLOUDS if by_clouds > by_round and agreement(CLOUDS) < 1.0 else ROUND
    best = 1 + int(np.argmin([one.cut for one in candidates[1:]]))
    better = candidates[best].cut < recipe.round_cut * first.cut
    return best if better and agreement(best) < SAME else ROUND


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
