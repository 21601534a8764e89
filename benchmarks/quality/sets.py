"""The data sets, standardised for every method: those of the comparison, and fresh ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks.data import (
    FloatArray,
    IntArray,
    Table,
    load_fashion_mnist_test,
    load_table,
    standardise,
)
from benchmarks.folders import FASHION_MNIST
from benchmarks.mlbench import load_mlbench

Loader = Callable[[], tuple[FloatArray, IntArray]]

SHARED = ("zoo", "ecoli", "movement_libras", "yale", "mice_protein", "ctg", "segment")
SHARED += ("usps_test", "usps_train", "nci9")
_BUNDLED: dict[str, Loader] = {
    "digits": partial(load_digits, return_X_y=True),
    "wine": partial(load_wine, return_X_y=True),
    "breast_cancer": partial(load_breast_cancer, return_X_y=True),
    "iris": partial(load_iris, return_X_y=True),
}
_FRESH: dict[str, Loader] = {
    "glass": partial(load_mlbench, "Glass"),
    "vehicle": partial(load_mlbench, "Vehicle"),
    "vowel": partial(load_mlbench, "Vowel"),
    "sonar": partial(load_mlbench, "Sonar"),
    "ionosphere": partial(load_mlbench, "Ionosphere"),
    "satellite": partial(load_mlbench, "Satellite"),
    "pima": partial(load_mlbench, "PimaIndiansDiabetes"),
    "breast_cancer_original": partial(load_mlbench, "BreastCancer"),
    "letter": partial(load_mlbench, "LetterRecognition"),
    "fashion_mnist": partial(load_fashion_mnist_test, FASHION_MNIST),
}
SETS = (*SHARED, *_BUNDLED)
FRESH = tuple(_FRESH)
GROUPS = {"all": SETS, "fresh": FRESH}

# In no comparison that the default recipe was chosen by; the fresh sets were first run after it.
HELD_OUT = ("usps_train", *FRESH)

# Of larger fresh sets a sample is taken, the same for every seed.
_SAMPLE_ROWS = 3_000


def expand_groups(names: Iterable[str]) -> list[str]:
    """Put the sets of a group in the place of its name; every set once, in the usual order."""
    chosen = {one for name in names for one in GROUPS.get(name, (name,))}
    return [name for name in (*SETS, *FRESH) if name in chosen]


@cache
def load_set(name: str, folder: Path) -> Table:
    """Give one of `SETS` or `FRESH`, every feature with mean 0 and variance 1.

    Raises an UnavailableError if the file of the set is not on this machine.
    """
    if name in _FRESH:
        table = _sampled(Table(name, *_FRESH[name]()))
    elif name in _BUNDLED:
        table = Table(name, *_BUNDLED[name]())
    else:
        table = load_table(name, folder)
    return table._replace(features=standardise(table.features))


def _sampled(table: Table) -> Table:
    rows = len(table.classes)
    if rows <= _SAMPLE_ROWS:
        return table
    pick = np.sort(np.random.default_rng(0).choice(rows, _SAMPLE_ROWS, replace=False))
    return Table(table.name, table.features[pick], table.classes[pick])
