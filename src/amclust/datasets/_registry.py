"""The sets: what was published of each, and where its original is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from amclust.datasets._profiles import HASHES, PROFILES
from amclust.datasets._sources import (
    HeadedFile,
    IdxFiles,
    MatlabFile,
    OpenML,
    Source,
    SvmLightFile,
    TextFile,
)

_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
_ASU = "https://jundongl.github.io/scikit-feature/files/datasets/"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"
_ZALANDO = "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/"
_FASHION_MNIST = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it.

    Attributes
    ----------
    name : str
        What `load_dataset` calls it.

    title : str
        The name in the paper's tables; of a set that is not in them, the usual name.

    n_samples, n_features, n_classes : int
        The published shape.

    origin : str
        Who published it.

    note : str
        How the set differs from its original, or what it stands for. May be empty.

    feature_names : tuple of str
        Published names of the features. May be empty.

    dtype : str
        Type of the values.

    is_idx : bool
        Whether its files are idx files of images and classes, not a CSV.

    files : tuple of str
        Names of its files in a data folder.

    source : object or None
        The original on the network.

    sha256 : str or None
        Hash of the points, for sets whose digits are the same wherever they come from.

    class_profile : tuple of (int, float)
        Rows and mean value of every class. Empty if not known.

    See Also
    --------
    load_dataset : Load one of the sets.

    Examples
    --------
    >>> from amclust.datasets import DATASETS
    >>> DATASETS["ecoli"].title, DATASETS["ecoli"].feature_names[:2]
    ('Ecoli', ('mcg', 'gvh'))
    >>> print(DATASETS["gcm"].describe())
    GCM: 190 points, 16063 features, 14 classes. ...
    """

    name: str
    title: str
    n_samples: int
    n_features: int
    n_classes: int
    origin: str
    source: Source | None = field(repr=False)
    note: str = field(default="", repr=False)
    feature_names: tuple[str, ...] = field(default=(), repr=False)
    dtype: str = field(default="float64", repr=False)
    is_idx: bool = field(default=False, repr=False)
    sha256: str | None = field(default=None, repr=False)
    class_profile: tuple[tuple[int, float], ...] = field(default=(), repr=False)

    @property
    def files(self) -> tuple[str, ...]:
        """Names of its files in a data folder."""
        return _FASHION_MNIST if self.is_idx else (f"{self.name}.csv.gz",)

    def describe(self) -> str:
        """Say in words what the set is and where it comes from."""
        shape = f"{self.n_samples} points, {self.n_features} features, {self.n_classes} classes"
        place = self.source.address if self.source else ""
        parts = (f"{self.title}: {shape}.", f"From {self.origin}.", self.note, place)
        return "\n".join(part for part in parts if part)


_ALL = (
    DatasetInfo(
        "zoo",
        "Zoo",
        101,
        16,
        7,
        "the UCI machine learning repository",
        TextFile(_UCI + "zoo/zoo.data", delimiter=",", skip=1),
        feature_names=(
            *("hair", "feathers", "eggs", "milk", "airborne", "aquatic", "predator", "toothed"),
            *("backbone", "breathes", "venomous", "fins", "legs", "tail", "domestic", "catsize"),
        ),
    ),
    DatasetInfo(
        "yale",
        "Yale",
        165,
        1024,
        15,
        "the ASU feature selection repository",
        MatlabFile(_ASU + "Yale.mat"),
        "Faces of 32 x 32 pixels.",
    ),
    DatasetInfo(
        "gcm",
        "GCM",
        190,
        16063,
        14,
        "OpenML",
        OpenML("GCM", 1),
        "Gene expression of tumours.",
    ),
    DatasetInfo(
        "ecoli",
        "Ecoli",
        336,
        7,
        8,
        "the UCI machine learning repository",
        TextFile(_UCI + "ecoli/ecoli.data", skip=1),
        feature_names=("mcg", "gvh", "lip", "chg", "aac", "alm1", "alm2"),
    ),
    DatasetInfo(
        "movement_libras",
        "MovLib",
        360,
        90,
        15,
        "the UCI machine learning repository",
        TextFile(_UCI + "libras/movement_libras.data", delimiter=","),
        "Movements of a hand in Brazilian sign language: 45 positions, x and y in turn.",
    ),
    DatasetInfo(
        "mice_protein",
        "MicePE",
        1080,
        77,
        8,
        "the UCI machine learning repository",
        OpenML("miceprotein", 4, missing=0.0),
        "Protein levels in mice. A missing value is 0.",
    ),
    DatasetInfo(
        "usps_test",
        "USPS",
        2007,
        256,
        10,
        "the US Postal Service",
        SvmLightFile(_LIBSVM + "usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118", 256),
        "Handwritten digits of 16 x 16 pixels, the test part.",
    ),
    DatasetInfo(
        "ctg",
        "CTG",
        2126,
        21,
        10,
        "the UCI machine learning repository",
        HeadedFile("https://archive.ics.uci.edu/static/public/193/data.csv", "CLASS", ("NSP",), 3),
        "Cardiotocograms. Rates are rounded to three decimals.",
        feature_names=(
            *("LB", "AC", "FM", "UC", "DL", "DS", "DP", "ASTV", "MSTV", "ALTV", "MLTV", "Width"),
            *("Min", "Max", "Nmax", "Nzeros", "Mode", "Mean", "Median", "Variance", "Tendency"),
        ),
    ),
    DatasetInfo(
        "segment",
        "Segment",
        2310,
        19,
        7,
        "the UCI machine learning repository",
        TextFile(_UCI + "statlog/segment/segment.dat"),
        "Regions of outdoor images.",
        feature_names=(
            *("region-centroid-col", "region-centroid-row", "region-pixel-count"),
            *("short-line-density-5", "short-line-density-2", "vedge-mean", "vedge-sd"),
            *("hedge-mean", "hedge-sd", "intensity-mean", "rawred-mean", "rawblue-mean"),
            *("rawgreen-mean", "exred-mean", "exblue-mean", "exgreen-mean", "value-mean"),
            *("saturation-mean", "hue-mean"),
        ),
    ),
    DatasetInfo(
        "fashion_mnist",
        "FMNIST",
        60_000,
        784,
        10,
        "Zalando Research",
        IdxFiles(_ZALANDO, *_FASHION_MNIST),
        "Articles of clothing, 28 x 28 pixels, the training part.",
        dtype="float32",
        is_idx=True,
    ),
    DatasetInfo(
        "cifar10_features",
        "CIFAR-10",
        50_000,
        1920,
        10,
        "the University of Toronto",
        None,
        "The paper's features are not published. To make them, run the training images through "
        "DenseNet-201 with its ImageNet weights up to the pooling layer and write "
        "cifar10_features.csv.gz: a header, one row an image, the class last.",
        dtype="float32",
    ),
    DatasetInfo(
        "japanese_vowels",
        "JV",
        1_000_000,
        14,
        9,
        "OpenML",
        OpenML("BNG(JapaneseVowels)", 1),
        "A million points drawn from a model of the recordings of nine speakers.",
    ),
    DatasetInfo(
        "usps_train",
        "USPS (train)",
        7291,
        256,
        10,
        "the US Postal Service",
        SvmLightFile(_LIBSVM + "usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197", 256),
        "Handwritten digits of 16 x 16 pixels, the training part, which is not in the paper.",
    ),
    DatasetInfo(
        "nci9",
        "NCI9",
        60,
        9712,
        9,
        "the ASU feature selection repository",
        MatlabFile(_ASU + "nci9.mat"),
        "Gene expression of tumours; not in the paper, it stands in for GCM.",
    ),
)

DATASETS: Mapping[str, DatasetInfo] = MappingProxyType(
    {
        info.name: replace(
            info, sha256=HASHES.get(info.name), class_profile=PROFILES.get(info.name, ())
        )
        for info in _ALL
    }
)
"""Every set by its name."""

NAMES = tuple(DATASETS)[:12]
"""The twelve sets of the paper, in the order of its tables."""
