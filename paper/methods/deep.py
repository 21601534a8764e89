"""DEC on the features themselves, without an autoencoder, and DCEC on the image sets."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.data import IntArray, Table, in_unit_interval
from benchmarks.deep.peers import K_MEANS_RESTARTS, Fitted, dcec, dec, dec_random
from benchmarks.deep.pretrained import Autoencoder, Shelf
from benchmarks.deep.pretrained import Settings as DeepSettings
from paper.methods.base import Config, Method, product
from paper.published import EMBEDDED_GRID
from paper.sets import IMAGES, load_raw
from paper.settings import Settings

_INTERVALS: tuple[int, ...] = EMBEDDED_GRID["update_interval"]
_USUAL_INTERVAL = 140
_KIND = "convolutional"


@dataclass(frozen=True)
class DECMethod(Method):
    """The soft clustering of DEC, from one kind of first centres."""

    name: str
    title: str
    run: Callable[..., Fitted]
    first_centers: str
    # A fit may take as long as a thousand of k-means.
    honest_seeds: int | None = 3
    sampled = True

    def fixed(self, settings: Settings) -> Config:
        return {
            "batch_size": EMBEDDED_GRID["batch_size"],
            "tolerance": EMBEDDED_GRID["tolerance"],
            "updates": settings.dec_updates,
            "centers": self.first_centers,
        }

    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        return product(update_interval=_some_intervals(settings.dec_intervals.get(name)))

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        return self.fitted(table, seed, config["update_interval"], settings.dec_updates).labels

    def fitted(self, table: Table, seed: int, update_interval: int, updates: int) -> Fitted:
        """Cluster the rows, and give the centres too."""
        rows = torch.from_numpy(np.ascontiguousarray(table.features, dtype=np.float32))
        unchanged = Autoencoder(nn.Identity(), nn.Identity())
        deep = _training(update_interval, updates)
        return self.run(unchanged, rows, table.n_clusters, seed, deep)


class DCECMethod(Method):
    """DCEC from a convolutional autoencoder that is trained first, one for each seed of a run.

    Its partitions are judged on the features, like all others.
    """

    name = "dcec"
    title = "DCEC"
    # A fit takes as long as thousands of k-means, so the honest protocol has a few seeds of one.
    honest_fits = 1
    honest_seeds = 2
    sampled = True

    def covers(self, name: str) -> bool:
        return name in IMAGES

    def fixed(self, settings: Settings) -> Config:
        values = asdict(_training(1, settings.dcec_updates))
        del values["update_interval"], values["epochs"]
        return {**values, "autoencoder_epochs": dict(settings.dcec_epochs)}

    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        intervals = _some_intervals(settings.dcec_intervals.get(name))
        autoencoders = range(self.honest_seeds if single else 1)
        return product(update_interval=intervals, autoencoder=autoencoders)

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        images = _images(table.name, settings.data_dir, self.rows(settings))
        epochs = {_KIND: settings.dcec_epochs.get(table.name, 0)}
        deep = _training(config["update_interval"], settings.dcec_updates, epochs=epochs)
        shelf = Shelf(settings.folder / "unfinished" / "autoencoders", say=lambda _: None)
        pretrained = shelf.pretrained(_KIND, images, config["autoencoder"], deep).copy()
        rows = torch.from_numpy(images.features)
        return dcec(pretrained, rows, table.n_clusters, seed, deep).labels


def _training(update_interval: int, updates: int, **others: Any) -> DeepSettings:
    """Give the settings of the deep benchmark that say what the paper says."""
    return DeepSettings(
        batch_size=EMBEDDED_GRID["batch_size"],
        updates=updates,
        update_interval=update_interval,
        tolerance=EMBEDDED_GRID["tolerance"],
        **others,
    )


def _some_intervals(count: int | None) -> tuple[int, ...]:
    """Take so many of the paper's intervals, the shortest and the longest among them.

    A single one is that of DCEC's authors: the shortest takes a hundred times as long.
    """
    if count == 1:
        return (_USUAL_INTERVAL,)
    picks = np.linspace(0, len(_INTERVALS) - 1, count or len(_INTERVALS)).round().astype(int)
    return tuple(_INTERVALS[pick] for pick in picks)


@cache
def _images(name: str, folder: Path, rows: int | None) -> Table:
    table = load_raw(name, folder, rows)
    scaled = in_unit_interval(table, table.features.min(), table.features.max())
    return scaled._replace(shape=IMAGES[name])


DEC = DECMethod("dec", "DEC", dec, f"k-means, {K_MEANS_RESTARTS} restarts")
DEC_RANDOM = DECMethod("dec-random", "DEC, random seeds", dec_random, "random rows")
