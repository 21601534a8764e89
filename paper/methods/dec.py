"""The soft clustering of DEC on the features themselves: there is no autoencoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from benchmarks.data import FloatArray, IntArray, Table
from benchmarks.deep.baselines import dec
from benchmarks.deep.baselines.fitted import K_MEANS_RESTARTS, Fitted
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings as DeepSettings
from paper.methods.base import Config, PlainMethod, product
from paper.methods.embedded import one_thread, some_intervals, training
from paper.settings import Settings


@dataclass(frozen=True)
class DECMethod(PlainMethod):
    """DEC from one kind of first centres."""

    name: str
    title: str
    run: Callable[..., Fitted]
    first_centers: str
    # A fit may take as long as a thousand of k-means.
    honest_seeds: int | None = 3

    def rows(self, name: str, settings: Settings) -> int | None:
        return settings.sample_rows

    def fixed(self, settings: Settings) -> Config:
        values = training(1, settings.dec_updates).as_json()
        names = ("batch_size", "updates", "tolerance")
        return {**{name: values[name] for name in names}, "centers": self.first_centers}

    def paper_configs(self, name: str, settings: Settings) -> list[Config]:
        return product(update_interval=some_intervals(settings.dec_intervals.get(name)))

    def single_configs(self, name: str, settings: Settings) -> list[Config]:
        return self.paper_configs(name, settings)

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        deep = training(config["update_interval"], settings.dec_updates)
        return self.fitted(table.features, table.n_clusters, deep, seed).labels

    def fitted(
        self, features: FloatArray, n_clusters: int, deep: DeepSettings, seed: int
    ) -> Fitted:
        """Cluster rows, centres included in what is given back."""
        rows = torch.from_numpy(np.ascontiguousarray(features, dtype=np.float32))
        unchanged = Autoencoder(nn.Identity(), nn.Identity())
        with one_thread():
            return self.run(unchanged, rows, n_clusters, seed, deep)


DEC = DECMethod("dec", "DEC", dec.dec, f"k-means, {K_MEANS_RESTARTS} restarts")
DEC_RANDOM = DECMethod("dec-random", "DEC, random seeds", dec.dec_random, "random rows")
