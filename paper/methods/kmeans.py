"""k-means of scikit-learn."""

from __future__ import annotations

from sklearn.cluster import KMeans

from benchmarks.data import IntArray, Table
from paper.methods.base import Config, PlainMethod, product
from paper.published import KMEANS_GRID
from paper.settings import Settings


class KMeansMethod(PlainMethod):
    """The best inertia of ``n_init`` restarts, from both kinds of seeds."""

    name = "kmeans"
    title = "k-means"

    def paper_configs(self, name: str, settings: Settings) -> list[Config]:
        restarts = settings.kmeans_restarts.get(name, KMEANS_GRID["n_init"])
        return product(init=KMEANS_GRID["init"], n_init=[restarts])

    def single_configs(self, name: str, settings: Settings) -> list[Config]:
        return product(init=KMEANS_GRID["init"], n_init=[1])

    def weight(self, config: Config) -> float:
        return config["n_init"]

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        return KMeans(table.n_clusters, **config, random_state=seed).fit_predict(table.features)


KMEANS = KMeansMethod()
