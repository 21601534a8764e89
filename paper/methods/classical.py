"""k-means, agglomerative and spectral clustering of scikit-learn.

With narrow kernels, of which the paper's grid has many, the iterative eigensolvers of spectral
clustering take minutes and do not converge. Here all eigenvectors come from a dense solver, once
for each affinity; k-means or the discretization of scikit-learn follows.
"""

from contextlib import redirect_stdout
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.csgraph import laplacian
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.cluster._spectral import discretize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import kneighbors_graph

from benchmarks.data import FloatArray, IntArray, Table
from paper import sets
from paper.methods.base import Config, FitError, Method, product
from paper.published import AGGLOMERATIVE_GRID, KMEANS_GRID, SPECTRAL_GRID
from paper.settings import Settings

# Other names of metrics that are in the grid, which would only repeat what they give.
_SAME_METRICS = {"l1", "l2"}
# The dense eigensolver's cost grows with the cube of the rows.
_MAX_SPECTRAL_ROWS = 3_000
# As many embeddings as the grid has affinities, so that seeds share them.
_EMBEDDINGS = len(SPECTRAL_GRID["gamma"]) + len(SPECTRAL_GRID["n_neighbors"])


class KMeansMethod(Method):
    """The best inertia of ``n_init`` restarts, from both kinds of seeds."""

    name = "kmeans"
    title = "k-means"

    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        restarts = 1 if single else settings.kmeans_restarts.get(name, KMEANS_GRID["n_init"])
        return product(init=KMEANS_GRID["init"], n_init=[restarts])

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        return KMeans(table.n_clusters, **config, random_state=seed).fit_predict(table.features)


class AgglomerativeMethod(Method):
    """Every metric with every linkage; Ward's is defined for Euclidean distances alone."""

    name = title = "agglomerative"
    seeded = False
    sampled = True

    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        metrics = [name for name in AGGLOMERATIVE_GRID["metric"] if name not in _SAME_METRICS]
        grid = product(linkage=AGGLOMERATIVE_GRID["linkage"], metric=metrics)
        return [one for one in grid if one["linkage"] != "ward" or one["metric"] == "euclidean"]

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        return AgglomerativeClustering(table.n_clusters, **config).fit_predict(table.features)


class SpectralMethod(Method):
    """Both affinities, with all their widths and both ways to assign labels."""

    name = title = "spectral"

    def rows(self, settings: Settings) -> int:
        return min(settings.sample_rows, _MAX_SPECTRAL_ROWS)

    def fixed(self, settings: Settings) -> Config:
        return {"eigen_solver": "dense"}

    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        restarts = 1 if single else settings.kmeans_restarts.get(name, SPECTRAL_GRID["n_init"])
        shared = {"assign_labels": SPECTRAL_GRID["assign_labels"], "n_init": [restarts]}
        neighbors, gamma = SPECTRAL_GRID["n_neighbors"], SPECTRAL_GRID["gamma"]
        return [
            *product(affinity=["nearest_neighbors"], n_neighbors=neighbors, **shared),
            *product(affinity=["rbf"], gamma=gamma, **shared),
        ]

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        width = config.get("gamma", config.get("n_neighbors"))
        place = table.name, settings.data_dir, self.rows(settings)
        maps = _embedding(*place, config["affinity"], width)
        if config["assign_labels"] == "kmeans":
            model = KMeans(table.n_clusters, n_init=config["n_init"], random_state=seed)
            return model.fit_predict(maps)
        try:
            # It prints when it tries again, and divides by zero before it does.
            with redirect_stdout(StringIO()), np.errstate(all="ignore"):
                return discretize(maps, random_state=seed)
        except np.linalg.LinAlgError as error:
            raise FitError(str(error)) from error


@lru_cache(maxsize=_EMBEDDINGS)
def _embedding(name: str, folder: Path, rows: int, affinity: str, width: Any) -> FloatArray:
    table = sets.load(name, folder, rows)
    return embed(table.features, table.n_clusters, affinity, width)


def embed(features: FloatArray, n_clusters: int, affinity: str, width: Any) -> FloatArray:
    """Map rows to the first eigenvectors of the normalised Laplacian, as scikit-learn does."""
    features = features.astype(np.float64)
    if affinity == "rbf":
        weights = rbf_kernel(features, gamma=width)
    else:
        graph = kneighbors_graph(features, min(width, len(features)), include_self=True)
        weights = (0.5 * (graph + graph.T)).toarray()
    matrix, degrees = laplacian(weights, normed=True, return_diag=True)
    _, vectors = eigh(matrix, subset_by_index=[0, n_clusters - 1])
    maps = vectors / degrees[:, None]
    largest = np.abs(maps).argmax(axis=0)
    return maps * np.sign(maps[largest, np.arange(maps.shape[1])])
