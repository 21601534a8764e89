"""The paper's sets, standardised; what stands in for those that are not at hand."""

import hashlib
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from amclust.datasets import DATASETS, load_dataset
from benchmarks.data import Table, make_mixture, standardise
from benchmarks.folders import DATA
from benchmarks.framework.environment import UnavailableError
from paper.published import EFFICIENCY, SILHOUETTES

TABLE_SETS = tuple(SILHOUETTES)
TIMED_SETS = tuple(EFFICIENCY)
IMAGES = {"yale": (32, 32), "usps_test": (16, 16), "fashion_mnist": (28, 28)}
STAND_INS = {"gcm": "nci9"}
# Timed on made points of their shape where they are not at hand: one is not published, the other
# has a million rows.
MADE = ("cifar10_features", "japanese_vowels")

_FINGERPRINT_DIGITS = 12


class AbsentError(UnavailableError):
    """A set is nowhere on this machine."""


def set_in_place_of(name: str, folder: Path) -> str:
    """Give the set itself where it is at hand, else the one that stands in for it."""
    if name in STAND_INS and not is_at_hand(name, folder):
        return STAND_INS[name]
    return name


def paper_set(name: str) -> str:
    """Give the set of the paper that a set is or stands in for."""
    return {stand_in: name for name, stand_in in STAND_INS.items()}.get(name, name)


def title(name: str) -> str:
    """Name a set as the paper does, and say what stands in for it."""
    of = paper_set(name)
    if of != name:
        return f"{DATASETS[of].title} (stand-in: {DATASETS[name].title})"
    return DATASETS[name].title


def is_at_hand(name: str, folder: Path) -> bool:
    """Whether the files of a set are on this machine; UnavailableError if they are damaged."""
    try:
        _load(name, folder)
    except AbsentError:
        return False
    return True


def is_made(name: str, folder: Path) -> bool:
    return name in MADE and not is_at_hand(name, folder)


def problems(names: Iterable[str], folder: Path, *, download: bool = False) -> list[str]:
    """Say of each set that is needed and cannot be had why; what is made needs no data.

    What is not at hand may be downloaded into the cache, where `load` finds it.
    """
    found = []
    for name in dict.fromkeys(names):
        if name not in DATASETS or name in MADE:
            continue
        try:
            _obtain(name, folder, download=download)
        except UnavailableError as error:
            found.append(f"{name}: {error}")
    return found


@cache
def fingerprint(name: str, folder: Path) -> str | None:
    """Name the data of a set by a few characters; None where there are none at hand.

    The order of the rows counts: labels in different records are compared row by row.
    """
    if name not in DATASETS or not is_at_hand(name, folder):
        return None
    table = _load(name, folder)
    digest = hashlib.sha256(repr(table.features.shape).encode())
    digest.update(np.ascontiguousarray(table.features).data)
    digest.update(np.ascontiguousarray(table.classes, dtype=np.int64).data)
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]


@cache
def load(name: str, folder: Path, rows: int | None = None) -> Table:
    """Give a set, or a sample of its rows, with every feature standardised.

    UnavailableError if it is not on this machine, or damaged.
    """
    table = load_raw(name, folder, rows)
    return table._replace(features=standardise(table.features))


@cache
def load_raw(name: str, folder: Path, rows: int | None = None) -> Table:
    """Give the same rows as `load`, not standardised."""
    return _load(name, folder).sample(rows)


def make_like(name: str, rows: int | None = None) -> Table:
    """Make rows of the published shape of a set, for timings where it is not at hand."""
    info = DATASETS[name]
    features = make_mixture(rows or info.n_samples, info.n_features, info.n_classes)
    classes = np.arange(len(features)) % info.n_classes
    return Table(name, standardise(features), classes)


@cache
def _load(name: str, folder: Path) -> Table:
    return _read(name, folder, download=False)


def _obtain(name: str, folder: Path, *, download: bool) -> None:
    try:
        _load(name, folder)
    except UnavailableError:
        if not download:
            raise
        _read(name, folder, download=True)


def _read(name: str, folder: Path, *, download: bool) -> Table:
    try:
        bunch = load_dataset(name, data_dir=_data_dir(folder), download=download)
    except FileNotFoundError as error:
        raise AbsentError(f"{error} (options: --data-dir, --download)") from error
    except (OSError, ValueError) as error:
        raise UnavailableError(str(error)) from error
    return Table(name, bunch.data, bunch.target)


def _data_dir(folder: Path) -> Path | None:
    """Give the folder of the sets; None, for the cache alone, where it is only a guess of ours."""
    guessed = folder == DATA and not os.environ.get("AMCLUST_DATA")
    return None if guessed and not folder.is_dir() else folder
