"""Spectral clustering of scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.cluster import SpectralClustering

from benchmarks.data import IntArray, Table
from benchmarks.paper.methods.base import Config, FitError, PlainMethod, product
from benchmarks.paper.published import SPECTRAL_GRID
from benchmarks.paper.settings import Settings


class SpectralMethod(PlainMethod):
    """Both affinities, with all their widths and both ways to assign labels."""

    name = "spectral"
    title = "spectral"

    def rows(self, name: str, settings: Settings) -> int | None:
        return settings.sample_rows

    def paper_configs(self, name: str, settings: Settings) -> list[Config]:
        return _grid(settings.kmeans_restarts.get(name, SPECTRAL_GRID["n_init"]))

    def single_configs(self, name: str, settings: Settings) -> list[Config]:
        return _grid(1)

    def weight(self, config: Config) -> float:
        """Add what the restarts of k-means in the embedding take."""
        return 1.0 + (0.01 * config["n_init"] if config["assign_labels"] == "kmeans" else 0.0)

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        model = SpectralClustering(table.n_clusters, **config, random_state=seed)
        try:
            return model.fit_predict(table.features)
        except (np.linalg.LinAlgError, ValueError) as error:
            # Kernels that are all but zero leave the eigensolver with nothing to solve.
            raise FitError(str(error)) from error


def _grid(restarts: int) -> list[Config]:
    shared = {"assign_labels": SPECTRAL_GRID["assign_labels"], "n_init": [restarts]}
    return [
        *product(
            affinity=["nearest_neighbors"], n_neighbors=SPECTRAL_GRID["n_neighbors"], **shared
        ),
        *product(affinity=["rbf"], gamma=SPECTRAL_GRID["gamma"], **shared),
    ]


SPECTRAL = SpectralMethod()
