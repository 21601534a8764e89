"""Data for the benchmarks: the paper's tables, those of other packages, images, texts, mixtures."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq
from scipy.spatial.distance import cdist, pdist
from scipy.stats import norm
from sklearn.datasets import (
    fetch_20newsgroups,
    load_breast_cancer,
    load_digits,
    load_files,
    load_iris,
    load_sample_image,
    load_wine,
)
from sklearn.datasets._twenty_newsgroups import (
    strip_newsgroup_footer,
    strip_newsgroup_header,
    strip_newsgroup_quoting,
)
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from amclust.datasets import _table, load_dataset
from benchmarks.folders import FASHION_MNIST
from benchmarks.framework.environment import UnavailableError, optional_module

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]

FASHION_MNIST_SHAPE = (60_000, 784)
_ROWS_A_CHUNK = 65_536
# Of made documents: words that are left out as too frequent, and how alike topics are.
_STOP_WORDS = 50.0
_TOPIC_CONCENTRATION = 200.0

# --- tables ---------------------------------------------------------------------------------------

SHARED = ("zoo", "ecoli", "movement_libras", "yale", "mice_protein", "ctg", "segment")
SHARED += ("usps_test", "usps_train", "nci9")
_BUNDLED = {"digits": load_digits, "wine": load_wine}
_BUNDLED |= {"breast_cancer": load_breast_cancer, "iris": load_iris}
SETS = (*SHARED, *_BUNDLED)

# Tables of the R package mlbench: name, column of the classes, then what is no feature (the speaker
# of a vowel, a patient's number).
_MLBENCH = {
    "glass": ("Glass", "Type"),
    "vehicle": ("Vehicle", "Class"),
    "vowel": ("Vowel", "Class", "V1"),
    "sonar": ("Sonar", "Class"),
    "ionosphere": ("Ionosphere", "Class"),
    "satellite": ("Satellite", "classes"),
    "pima": ("PimaIndiansDiabetes", "diabetes"),
    "breast_cancer_original": ("BreastCancer", "Class", "Id"),
    "letter": ("LetterRecognition", "lettr"),
}
# Debian's r-cran-mlbench, below the root of the system or of a package unpacked with dpkg -x.
_MLBENCH_ROOT = Path(os.environ.get("AMCLUST_MLBENCH") or "/")
_MLBENCH_DATA = Path("usr/lib/R/site-library/mlbench/data")
FRESH = (*_MLBENCH, "fashion_mnist")
# Of larger fresh sets a sample is taken.
_SAMPLE_ROWS = 3_000


class Table(NamedTuple):
    """A data set with the classes that score a clustering of it; `shape` is that of its images."""

    name: str
    features: FloatArray
    classes: IntArray
    shape: tuple[int, int] | None = None

    @property
    def n_clusters(self) -> int:
        """Number of distinct classes, the k every method is given."""
        return int(np.unique(self.classes).size)

    def sample(self, rows: int | None) -> Table:
        """Give so many rows, always the same; all of them where there are no more."""
        if rows is None or rows >= len(self.classes):
            return self
        pick = sample_of(len(self.classes), rows)
        return self._replace(features=self.features[pick], classes=self.classes[pick])


def sample_of(count: int, rows: int) -> IntArray:
    """Choose the rows of a sample, always the same."""
    return np.sort(np.random.default_rng(0).choice(count, rows, replace=False))


@cache
def load_set(name: str, folder: Path) -> Table:
    """Give one of `SETS` or `FRESH`, every feature with mean 0 and variance 1.

    Raises an UnavailableError if the file of the set is not on this machine.
    """
    if name in FRESH:
        fashion = name == "fashion_mnist"
        table = load_fashion_mnist_test(FASHION_MNIST) if fashion else load_mlbench(name)
        table = table.sample(_SAMPLE_ROWS)
    elif name in _BUNDLED:
        table = Table(name, *_BUNDLED[name](return_X_y=True))
    else:
        table = load_table(name, folder)
    return table._replace(features=standardise(table.features))


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


def load_mlbench(name: str, root: Path = _MLBENCH_ROOT) -> Table:
    """Read a table of mlbench, without R: numbers, no incomplete rows, no constant columns.

    A factor counts by its levels, which are numbers in these tables; classes are codes 0, 1, ...
    Raises an UnavailableError if the package or the reader of its files is not there.
    """
    original, class_column, *others = _MLBENCH[name]
    path = root / _MLBENCH_DATA / f"{original}.rda"
    if not path.is_file():
        message = (
            f"{path} is missing: install Debian's r-cran-mlbench, "
            "or unpack it with dpkg -x and set AMCLUST_MLBENCH to that folder"
        )
        raise UnavailableError(message)
    rdata = optional_module("rdata", "rdata")
    frame = rdata.read_rda(path, default_encoding="ascii")[original].dropna()
    _, classes = np.unique(frame[class_column].astype(str), return_inverse=True)
    features = frame.drop(columns=[class_column, *others])
    numbers = np.column_stack([features[column].astype(float) for column in features])
    return Table(name, numbers[:, np.ptp(numbers, axis=0) > 0], classes)


def load_fashion_mnist(folder: Path) -> FloatArray:
    """Read the 60,000 training images of Debian's package: standardised pixels in float32."""
    pixels = _read_idx(folder, "train", "images-idx3")
    return standardise(pixels.reshape(FASHION_MNIST_SHAPE).astype(np.float32))


def load_fashion_mnist_test(folder: Path) -> Table:
    table = _load_fashion_mnist_part(folder, "t10k")
    return table._replace(features=table.features.astype(np.float64))


def _load_fashion_mnist_part(folder: Path, part: str) -> Table:
    classes = _read_idx(folder, part, "labels-idx1")
    pixels = _read_idx(folder, part, "images-idx3")
    return Table("fashion_mnist", pixels.reshape(len(classes), -1), classes)


def _read_idx(folder: Path, part: str, kind: str) -> NDArray[np.uint8]:
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


# --- images ---------------------------------------------------------------------------------------

_FASHION_MNIST_ROWS = 10_000
# Their lowest and highest values.
IMAGES = {"usps": (-1.0, 1.0), "fashion_mnist": (0.0, 255.0), "digits": (0.0, 16.0)}


@cache
def load_images(name: str, folder: Path, rows: int | None = None) -> Table:
    """Give one of `IMAGES`, or a sample of its rows: square images in [0, 1], of one channel.

    ``usps`` is ``usps_train`` followed by ``usps_test``; of ``fashion_mnist`` a sample of 10,000
    training images is taken. Raises an UnavailableError if a file is not on this machine.
    """
    if name == "usps":
        parts = [load_table(part, folder) for part in ("usps_train", "usps_test")]
        _, features, classes, _ = zip(*parts, strict=True)
        table = Table(name, np.concatenate(features), np.concatenate(classes))
    elif name == "fashion_mnist":
        table = _load_fashion_mnist_part(FASHION_MNIST, "train").sample(_FASHION_MNIST_ROWS)
    else:
        table = Table(name, *load_digits(return_X_y=True))
    table, side = table.sample(rows), round(table.features.shape[1] ** 0.5)
    return in_unit_interval(table, *IMAGES[name])._replace(shape=(side, side))


def in_unit_interval(table: Table, lowest: float, highest: float) -> Table:
    """Map values from so low to so high to [0, 1]."""
    scaled = (table.features - lowest) / (highest - lowest)
    return table._replace(features=scaled.astype(np.float32))


PHOTOGRAPHS = ("china", "flower")


def load_photograph(name: str) -> FloatArray:
    """Give the colours of one of scikit-learn's photographs in [0, 1], a row for every pixel."""
    optional_module("PIL", "pillow")
    return load_sample_image(f"{name}.jpg").reshape(-1, 3) / 255.0


# --- texts ----------------------------------------------------------------------------------------

# Parts of 20 newsgroups as published, and the file that scikit-learn makes of them.
_NEWSGROUPS = {"train": "20news-bydate-train", "test": "20news-bydate-test"}
_NEWSGROUPS_CACHE = "20news-bydate_py3.pkz"


class Texts(NamedTuple):
    """Texts with the classes that score a clustering of them."""

    name: str
    texts: list[str]
    classes: IntArray
    class_names: tuple[str, ...]

    @property
    def n_clusters(self) -> int:
        """Number of distinct classes, the k every method is given."""
        return int(np.unique(self.classes).size)


def load_newsgroups(folder: Path, subset: str = "all", *, strip: bool = True) -> Texts:
    """Read a local copy of 20 newsgroups; nothing is downloaded.

    The folder has ``20news-bydate-train/<group>/<file>`` and ``20news-bydate-test/...``, or
    scikit-learn's ``20news-bydate_py3.pkz``, itself or in ``20news_home``; `subset` is "train",
    "test" or "all". `strip` leaves out headers, signatures and quotations, as scikit-learn's guide
    advises, and texts that are empty then. Raises an UnavailableError if there is no copy.
    """
    if subset not in (*_NEWSGROUPS, "all"):
        message = f"subset must be 'train', 'test' or 'all', got {subset!r}"
        raise ValueError(message)
    parts = list(_NEWSGROUPS) if subset == "all" else [subset]
    texts: list[str] = []
    groups: list[str] = []
    for part in parts:
        found, names = _newsgroups_part(folder, part)
        texts += found
        groups += names
    if strip:
        for clean in (strip_newsgroup_header, strip_newsgroup_footer, strip_newsgroup_quoting):
            texts = [clean(text) for text in texts]
    kept = [i for i, text in enumerate(texts) if text.strip()]
    class_names, classes = np.unique([groups[i] for i in kept], return_inverse=True)
    return Texts("newsgroups", [texts[i] for i in kept], classes, tuple(class_names.tolist()))


def _newsgroups_part(folder: Path, part: str) -> tuple[list[str], list[str]]:
    """Return the texts of a part and the names of their groups, in a fixed order."""
    for home in (folder, folder / "20news_home"):
        if (home / _NEWSGROUPS[part]).is_dir():
            # The encoding of the posts, as scikit-learn reads them.
            read = load_files(home / _NEWSGROUPS[part], encoding="latin1", shuffle=False)
        elif (home / _NEWSGROUPS_CACHE).is_file():
            read = fetch_20newsgroups(
                data_home=home, subset=part, shuffle=False, download_if_missing=False
            )
        else:
            continue
        return list(read.data), [str(read.target_names[i]) for i in read.target]
    message = (
        f"{folder} has no copy of 20 newsgroups: neither {_NEWSGROUPS[part]}/<group>/<file>, as "
        f"20news-bydate.tar.gz unpacks, nor {_NEWSGROUPS_CACHE} of scikit-learn's cache"
    )
    raise UnavailableError(message)


# --- made data ------------------------------------------------------------------------------------


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


def make_round(centers: FloatArray, n_samples: int, generator: np.random.Generator) -> Table:
    """Draw round clusters of equal size about the centres, with unit Gaussian noise, float32."""
    n_clusters, n_features = centers.shape
    classes = generator.permutation(np.arange(n_samples) % n_clusters)
    features = generator.standard_normal((n_samples, n_features), dtype=np.float32)
    features += centers.astype(np.float32)[classes]
    return Table(f"{n_samples}x{n_features}, k={n_clusters}", features, classes)


def spread_centers(
    n_clusters: int, n_features: int, overlap: float, generator: np.random.Generator
) -> FloatArray:
    """Draw centres in a box, evenly, for `make_round`.

    Each is that of ten uniform draws which is farthest from those before it. The box is so large
    that a share `overlap` of the rows, at most, will be closer to another centre than to its own.
    """
    centers = generator.random((1, n_features))
    while len(centers) < n_clusters:
        draws = generator.random((10, n_features))
        gaps = cdist(draws, centers).min(axis=1)
        centers = np.vstack([centers, draws[gaps.argmax()]])
    gaps = pdist(centers)

    def excess(scale: float) -> float:
        """Sum what lies across the borders of all pairs."""
        return float(2.0 * norm.sf(scale * gaps / 2.0).sum() / n_clusters - overlap)

    return centers * brentq(excess, 0.0, 100.0 / gaps.min())


class Documents(NamedTuple):
    """Counts of words, CSR in float32 with 32-bit indices, and the topic of every document."""

    counts: sparse.csr_array
    topics: IntArray

    @property
    def tfidf(self) -> sparse.csr_array:
        """Words weighed by how rare they are, rows of unit length."""
        return TfidfTransformer().fit_transform(self.counts)

    @property
    def binary(self) -> sparse.csr_array:
        """Which words a document has."""
        return (self.counts > 0).astype(np.float32)


def make_documents(
    n_documents: int, n_words: int, n_topics: int, seed: int = 0, *, topical: float = 0.4
) -> Documents:
    """Draw documents of 30 to 300 words, a part `topical` of them from one topic's own words.

    The other words are of a background that all share, its frequencies those of Zipf's law without
    the most frequent words (which any stop list removes). A topic's frequencies are a Dirichlet
    draw around the background, topics differ in size, and documents in length and in how much of
    them is topical.
    """
    generator = np.random.default_rng(seed)
    background = 1.0 / (np.arange(n_words) + _STOP_WORDS)
    background /= background.sum()
    sizes = generator.dirichlet(np.full(n_topics, 5.0))
    topics = generator.choice(n_topics, n_documents, p=sizes)
    lengths = np.exp(generator.normal(np.log(95.0), 0.55, n_documents))
    lengths = np.clip(lengths, 30, 300).astype(np.int64)
    shares = generator.beta(4.0, 4.0 * (1.0 / topical - 1.0), n_documents)
    own = generator.binomial(lengths, shares)
    rows, words = [], []
    for topic in range(n_topics):
        frequencies = generator.gamma(_TOPIC_CONCENTRATION * background)
        members = np.flatnonzero(topics == topic)
        rows.append(np.repeat(members, own[members]))
        frequencies /= frequencies.sum()
        words.append(generator.choice(n_words, len(rows[-1]), p=frequencies))
    rows.append(np.repeat(np.arange(n_documents), lengths - own))
    words.append(generator.choice(n_words, len(rows[-1]), p=background))
    places = tuple(np.concatenate(parts).astype(np.int32) for parts in (rows, words))
    ones = np.ones(len(places[0]), np.float32)
    counts = sparse.coo_array((ones, places), shape=(n_documents, n_words)).tocsr()
    return Documents(counts, topics)


def make_directions(n_samples: int, n_features: int, n_clusters: int, noise: float) -> Table:
    """Draw unit vectors about directions drawn at random, as embeddings are compared.

    `noise` is its mean length beside a direction's.
    """
    generator = np.random.default_rng(0)
    centers = generator.standard_normal((n_clusters, n_features))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    classes = generator.integers(n_clusters, size=n_samples)
    rows = generator.standard_normal((n_samples, n_features), dtype=np.float32)
    rows *= noise / n_features**0.5
    rows += centers[classes]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    name = f"{n_samples}x{n_features} directions, noise {noise}"
    return Table(name, rows, classes)


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
