"""Agglomerative clustering of scikit-learn."""

from __future__ import annotations

from sklearn.cluster import AgglomerativeClustering

from benchmarks.data import IntArray, Table
from paper.methods.base import Config, PlainMethod, product
from paper.published import AGGLOMERATIVE_GRID
from paper.settings import Settings

# Other names of metrics that are in the grid, which would only repeat what they give.
_SAME = {"l1", "l2"}


class AgglomerativeMethod(PlainMethod):
    """Every metric with every linkage; Ward's is defined for Euclidean distances alone."""

    name = "agglomerative"
    title = "agglomerative"
    seeded = False

    def rows(self, name: str, settings: Settings) -> int | None:
        return settings.sample_rows

    def paper_configs(self, name: str, settings: Settings) -> list[Config]:
        grid = product(linkage=AGGLOMERATIVE_GRID["linkage"], metric=AGGLOMERATIVE_GRID["metric"])
        return [
            config
            for config in grid
            if config["metric"] not in _SAME
            and (config["linkage"] != "ward" or config["metric"] == "euclidean")
        ]

    def single_configs(self, name: str, settings: Settings) -> list[Config]:
        return self.paper_configs(name, settings)

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        return AgglomerativeClustering(table.n_clusters, **config).fit_predict(table.features)


AGGLOMERATIVE = AgglomerativeMethod()
