"""The images, with values in [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.data import FloatArray, IntArray, load_table, read_idx
from benchmarks.folders import FASHION_MNIST

_FASHION_MNIST_ROWS = 10_000
_SAMPLE_SEED = 0


class Images(NamedTuple):
    """Flat images of one channel, and their classes."""

    name: str
    features: FloatArray
    classes: IntArray
    shape: tuple[int, int]

    @property
    def n_clusters(self) -> int:
        """Number of distinct classes, the k every method is given."""
        return int(np.unique(self.classes).size)


def _usps(folder: Path) -> tuple[FloatArray, IntArray]:
    parts = [load_table(name, folder) for name in ("usps_train", "usps_test")]
    features, classes = zip(*((part.features, part.classes) for part in parts), strict=True)
    return np.concatenate(features), np.concatenate(classes)


def _fashion_mnist(_: Path) -> tuple[FloatArray, IntArray]:
    classes = read_idx(FASHION_MNIST, "train", "labels-idx1")
    pixels = read_idx(FASHION_MNIST, "train", "images-idx3").reshape(len(classes), -1)
    return _sampled(pixels, classes, _FASHION_MNIST_ROWS)


# How each is loaded, its lowest and its highest value.
_SETS: dict[str, tuple[Callable[[Path], tuple[FloatArray, IntArray]], float, float]] = {
    "usps": (_usps, -1.0, 1.0),
    "fashion_mnist": (_fashion_mnist, 0.0, 255.0),
    "digits": (lambda _: load_digits(return_X_y=True), 0.0, 16.0),
}
SETS = tuple(_SETS)
# The digits are small and always there, for trying things out.
DEFAULT_SETS = ("usps", "fashion_mnist")


@cache
def load_set(name: str, folder: Path, rows: int | None = None) -> Images:
    """Give one of `SETS`, or a sample of its rows, always the same: square images in [0, 1].

    ``usps`` is ``usps_train`` followed by ``usps_test``; of ``fashion_mnist`` a sample of 10,000
    training images is taken. Raises an UnavailableError if a file is not on this machine.
    """
    load, lowest, highest = _SETS[name]
    features, classes = load(folder)
    if rows is not None:
        features, classes = _sampled(features, classes, rows)
    scaled = ((features - lowest) / (highest - lowest)).astype(np.float32)
    side = round(scaled.shape[1] ** 0.5)
    return Images(name, scaled, classes, (side, side))


def _sampled(features: FloatArray, classes: IntArray, rows: int) -> tuple[FloatArray, IntArray]:
    generator = np.random.default_rng(_SAMPLE_SEED)
    pick = np.sort(generator.choice(len(classes), min(rows, len(classes)), replace=False))
    return features[pick], classes[pick]
