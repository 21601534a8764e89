"""Data for the benchmarks: the paper's tables, Fashion-MNIST, and made mixtures."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from amclust.datasets import _table, load_dataset
from benchmarks.framework.environment import UnavailableError

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

FASHION_MNIST_SHAPE = (60_000, 784)
_ROWS_A_CHUNK = 65_536


class Table(NamedTuple):
    """A data set with the classes that score a clustering of it."""

    name: str
    features: FloatArray
    classes: IntArray

    @property
    def n_clusters(self) -> int:
        """Number of distinct classes, the k every method is given."""
        return int(np.unique(self.classes).size)


def load_table(name: str, folder: Path) -> Table:
    """Read one of the paper's sets, ``name.csv.gz``: raw features, and classes as codes 0, 1, ...

    Raises an UnavailableError if the file is not in the folder.
    """
    path = folder / f"{name}.csv.gz"
    if not path.is_file():
        message = f"{path} is missing: set AMCLUST_DATA or --data-dir to the folder of the tables"
        raise UnavailableError(message)
    bunch = load_dataset(name, data_dir=folder, download=False)
    return Table(name, bunch.data, bunch.target)


def load_fashion_mnist(folder: Path) -> FloatArray:
    """Read the 60,000 training images of Debian's package: standardised pixels in float32."""
    pixels = read_idx(folder, "train", "images-idx3")
    return standardise(pixels.reshape(FASHION_MNIST_SHAPE).astype(np.float32))


def load_fashion_mnist_test(folder: Path) -> tuple[FloatArray, IntArray]:
    """Read the 10,000 test images, raw and in float64, and their classes."""
    classes = read_idx(folder, "t10k", "labels-idx1")
    pixels = read_idx(folder, "t10k", "images-idx3")
    return pixels.reshape(len(classes), -1).astype(np.float64), classes


def read_idx(folder: Path, part: str, kind: str) -> NDArray[np.uint8]:
    """Read a file of Debian's dataset-fashion-mnist; an UnavailableError where it is not."""
    path = folder / f"{part}-{kind}-ubyte.gz"
    if not path.is_file():
        message = (
            f"{path} is missing: install Debian's dataset-fashion-mnist "
            "or set --fashion-mnist-dir to the folder of the idx files"
        )
        raise UnavailableError(message)
    return _table.read_idx(path)


def standardise(features: FloatArray) -> FloatArray:
    """Give every feature mean 0 and variance 1 over its observed (not NaN) entries.

    Constant features become 0. The dtype is kept.
    """
    return np.ascontiguousarray(StandardScaler().fit_transform(features))


def make_mixture(n_samples: int, n_features: int, n_clusters: int, seed: int = 0) -> FloatArray:
    """Draw overlapping Gaussian clusters of unequal size and spread, float32.

    Stands in for data that cannot be had here, BNG Japanese Vowels in particular (1,000,000 x 14,
    nine classes). Filled a chunk at a time, so that making it needs hardly more memory than holding
    it.
    """
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(n_clusters, 3.0))
    centers = generator.normal(0.0, 1.0, (n_clusters, n_features)).astype(np.float32)
    spreads = generator.uniform(0.6, 1.4, (n_clusters, n_features)).astype(np.float32)
    features = np.empty((n_samples, n_features), dtype=np.float32)
    for start in range(0, n_samples, _ROWS_A_CHUNK):
        chunk = features[start : start + _ROWS_A_CHUNK]
        members = generator.choice(n_clusters, len(chunk), p=shares)
        generator.standard_normal(out=chunk, dtype=np.float32)
        chunk *= spreads[members]
        chunk += centers[members]
    return features


def draw_removed(shape: tuple[int, int], fraction: float, seed: int) -> BoolArray:
    """Choose entries to remove completely at random, never a whole row or column."""
    generator = np.random.default_rng(seed)
    rows, columns = shape
    removed = np.zeros(shape, dtype=bool)
    removed.flat[generator.permutation(removed.size)[: round(fraction * removed.size)]] = True
    for row in np.flatnonzero(removed.all(axis=1)):
        removed[row, generator.integers(columns)] = False
    for column in np.flatnonzero(removed.all(axis=0)):
        removed[generator.integers(rows), column] = False
    return removed
