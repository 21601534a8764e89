"""DCEC on the image sets; its partitions are judged on the features, like all others."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import torch

from benchmarks.data import IntArray, Table
from benchmarks.deep.baselines.dcec import dcec
from benchmarks.deep.pretrained import Shelf
from benchmarks.deep.sets import Images
from benchmarks.deep.settings import Settings as DeepSettings
from paper.methods.base import Config, PlainMethod, product
from paper.methods.embedded import one_thread, some_intervals, training
from paper.sets import IMAGES, load_raw
from paper.settings import Settings

_KIND = "convolutional"


class DCECMethod(PlainMethod):
    """DCEC from a convolutional autoencoder that is trained first, one for each seed of a run."""

    name = "dcec"
    title = "DCEC"
    # A fit takes as long as thousands of k-means, so the honest protocol has a few seeds of one.
    honest_fits = 1
    honest_seeds = 2

    def covers(self, name: str) -> bool:
        return name in IMAGES

    def rows(self, name: str, settings: Settings) -> int | None:
        return settings.sample_rows

    def fixed(self, settings: Settings) -> Config:
        values = _deep_settings("", 1, settings).as_json()
        del values["update_interval"], values["epochs"]
        return {**values, "autoencoder_epochs": dict(settings.dcec_epochs)}

    def paper_configs(self, name: str, settings: Settings) -> list[Config]:
        intervals = some_intervals(settings.dcec_intervals.get(name))
        return product(update_interval=intervals, autoencoder=[0])

    def single_configs(self, name: str, settings: Settings) -> list[Config]:
        intervals = some_intervals(settings.dcec_intervals.get(name))
        return product(update_interval=intervals, autoencoder=range(self.honest_seeds))

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        images = _images(table.name, settings.data_dir, self.rows(table.name, settings))
        deep = _deep_settings(table.name, config["update_interval"], settings)
        shelf = Shelf(settings.folder / "unfinished" / "autoencoders", say=lambda _: None)
        with one_thread():
            pretrained = shelf.pretrained(_KIND, images, config["autoencoder"], deep).copy()
            rows = torch.from_numpy(images.features)
            return dcec(pretrained, rows, table.n_clusters, seed, deep).labels


def _deep_settings(name: str, interval: int, settings: Settings) -> DeepSettings:
    deep = training(interval, settings.dcec_updates)
    return DeepSettings(
        **{**deep.as_json(), "epochs": {_KIND: settings.dcec_epochs.get(name, 0)}},
    )


@cache
def _images(name: str, folder: Path, rows: int | None) -> Images:
    """Give the images with values in [0, 1]."""
    table = load_raw(name, folder, rows)
    low, high = table.features.min(), table.features.max()
    scaled = ((table.features - low) / (high - low)).astype(np.float32)
    return Images(name, scaled, table.classes, IMAGES[name])


DCEC = DCECMethod()
