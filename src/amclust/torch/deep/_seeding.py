"""Where the memories of a deep fit start among the latent rows, and what they are to agree with."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from amclust import ClAM
from amclust.torch import functional

Latents = NDArray[np.float32]

# Rows are neighbours if each is among so many nearest of the other (fewer in small clusters), ...
NEIGHBOURS = 20
# ... and weakly if one is among so many of the other, so that no row is alone.
WEAK_NEIGHBOURS, WEAKNESS = 3, 1e-3
# A random walk on the neighbours goes on until so much is left of its direction number n_clusters:
# by then it has forgotten where in a cluster it began, but not in which.
LEFT = 0.9
# Directions of the embedding, for each cluster.
DIRECTIONS = 2
# beta is so much over the median gap between the squared distances to the two nearest memories.
GAP_FACTOR = 6.0
# Up to this many rows "auto" takes the graph of all of them.
MAX_GRAPH_ROWS = 20_000
# Memories of which assemblies are made, for each cluster.
MEMORIES_PER_CLUSTER = 10
# Up to this many rows all eigenvectors are had at once.
DENSE_ROWS = 500


class Seeds(NamedTuple):
    """Where training starts."""

    memories: Tensor  # (n_clusters, latent_dim)
    beta: float
    targets: Tensor | None  # (n, n_clusters): memberships to agree with


def seed_by_clam(latents: Latents, n_clusters: int, beta: float | str, seed: int) -> Seeds:
    """Take the memories and the temperature that ClAM finds among the latent rows."""
    model = _fitted(ClAM(n_clusters, scale=None, beta=beta, random_state=seed), latents)
    return Seeds(torch.from_numpy(model.cluster_centers_), model.beta_, None)


def seed_by_graph(latents: Latents, n_clusters: int, beta: float | str, seed: int) -> Seeds:
    """Find clusters in the graph of neighbours, of any shape, which training is to make round.

    ClAM clusters the rows where random walks on the graph cannot tell them apart. The memories
    are the clusters' means in latent space, the targets the memberships in that embedding.
    """
    if n_clusters == 1:
        return seed_by_clam(latents, n_clusters, beta, seed)
    embedded = walk_embedding(latents, n_clusters)
    model = _fitted(ClAM(n_clusters, scale=None, random_state=seed), embedded)
    places, centers = torch.from_numpy(embedded), torch.from_numpy(model.cluster_centers_)
    targets = functional.memberships(places, centers, gap_beta(places, centers))
    rows = torch.from_numpy(latents)
    memories = targets.T @ rows / targets.sum(dim=0)[:, None].clamp_min(1e-6)
    return Seeds(
        memories, gap_beta(rows, memories) if isinstance(beta, str) else float(beta), targets
    )


def seed_by_assemblies(latents: Latents, n_clusters: int, beta: float | str, seed: int) -> Seeds:
    """Find clusters of any shape as assemblies of memories, in time linear in the rows.

    The memories are the clusters' means in latent space, the targets the memberships of the rows.
    """
    n_memories = min(MEMORIES_PER_CLUSTER * n_clusters, len(np.unique(latents, axis=0)) // 5)
    if n_clusters == 1 or n_memories < 2 * n_clusters:
        return seed_by_clam(latents, n_clusters, beta, seed)
    assembled = ClAM(n_clusters, n_memories=max(n_memories, 4), scale=None, random_state=seed)
    model = _fitted(assembled, latents)
    rows, targets = torch.from_numpy(latents), torch.from_numpy(model.predict_proba(latents))
    memories = targets.T @ rows / targets.sum(dim=0)[:, None].clamp_min(1e-6)
    return Seeds(
        memories, gap_beta(rows, memories) if isinstance(beta, str) else float(beta), targets
    )


def seed_by_size(latents: Latents, n_clusters: int, beta: float | str, seed: int) -> Seeds:
    """Take the graph of neighbours of all rows where that is not too many of them."""
    seeding = seed_by_graph if len(latents) <= MAX_GRAPH_ROWS else seed_by_assemblies
    return seeding(latents, n_clusters, beta, seed)


SEEDINGS: dict[str, Callable[[Latents, int, float | str, int], Seeds]] = {
    "auto": seed_by_size,
    "clam": seed_by_clam,
    "graph": seed_by_graph,
    "assemblies": seed_by_assemblies,
}


def gap_beta(rows: Tensor, memories: Tensor) -> float:
    """Return a temperature at which a typical row belongs clearly, but not wholly, to a memory."""
    nearest = torch.cdist(rows, memories).square().topk(2, dim=1, largest=False).values
    gap = (nearest[:, 1] - nearest[:, 0]).median().item()
    return GAP_FACTOR / gap if gap > 0 else 1.0


def walk_embedding(latents: Latents, n_clusters: int) -> Latents:
    """Place rows by where lazy random walks on their mutual neighbours lead, on the unit sphere."""
    weights = neighbour_graph(latents, n_clusters)
    root = sparse.diags(np.asarray(weights.sum(axis=1)).ravel() ** -0.5)
    # Symmetric, with the eigenvalues of the random walk.
    values, vectors = leading_eigenvectors(root @ weights @ root, DIRECTIONS * n_clusters)
    lazy = np.clip((1 + values) / 2, 1e-9, 1 - 1e-9)
    last = lazy[min(n_clusters, len(lazy)) - 1]
    embedded = vectors * lazy ** (np.log(LEFT) / np.log(last))
    length = np.linalg.norm(embedded, axis=1, keepdims=True)
    places: Latents = (embedded / np.maximum(length, 1e-30)).astype(np.float32)
    return places


def leading_eigenvectors(
    walk: sparse.csr_matrix, n_vectors: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest eigenvalues, falling, and their eigenvectors.

    Parts that nothing links share eigenvalues, and an iteration would miss some of them: so each
    part by itself. Of equal ones, those of larger parts come first.
    """
    _, part_of = connected_components(walk, directed=False)
    values, sizes, columns = [], [], []
    for rows in np.split(np.argsort(part_of, kind="stable"), np.cumsum(np.bincount(part_of))[:-1]):
        part, size = walk[rows][:, rows], len(rows)
        count = min(n_vectors, size)
        if size <= max(DENSE_ROWS, count):
            found = linalg.eigh(part.toarray(), subset_by_index=(size - count, size - 1))
        else:
            found = eigsh(part, count, which="LA", v0=np.ones(size), tol=1e-4)
        values.append(found[0])
        sizes.append(np.full(count, size))
        place = np.tile(rows, count), np.repeat(np.arange(count), size)
        columns.append(sparse.csc_matrix((found[1].T.ravel(), place), shape=(walk.shape[0], count)))
    every = np.concatenate(values)
    first = np.lexsort((-np.concatenate(sizes), -every.round(6)))[:n_vectors]
    return every[first], sparse.hstack(columns, format="csc")[:, first].toarray()


def neighbour_graph(latents: Latents, n_clusters: int) -> sparse.csr_matrix:
    """Return the symmetric weights between neighbours."""
    n_rows = len(latents)
    # Not more than half the rows of a cluster, else all are neighbours of all.
    n_neighbors = min(NEIGHBOURS, max(2, n_rows // (2 * n_clusters)), n_rows - 1)
    found = NearestNeighbors(n_neighbors=n_neighbors).fit(latents).kneighbors(return_distance=False)

    def links(n_nearest: int) -> sparse.csr_matrix:
        columns = found[:, :n_nearest]
        starts = np.arange(n_rows + 1) * columns.shape[1]
        ones = np.ones(columns.size)
        return sparse.csr_matrix((ones, columns.ravel(), starts), shape=(n_rows, n_rows))

    near, nearest = links(n_neighbors), links(WEAK_NEIGHBOURS)
    return near.minimum(near.T) + WEAKNESS * nearest.maximum(nearest.T)


def _fitted(model: ClAM, rows: Latents) -> ClAM:
    with warnings.catch_warnings():  # seeds need not have converged
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(rows)
