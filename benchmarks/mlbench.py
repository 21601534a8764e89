"""Tables of the R package mlbench, read from Debian's r-cran-mlbench; R itself is not needed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from benchmarks.data import FloatArray, IntArray
from benchmarks.framework.environment import UnavailableError, optional_module

# The root of the system, or of a package unpacked with dpkg -x.
ROOT = Path(os.environ.get("AMCLUST_MLBENCH") or "/")
_FOLDER = Path("usr/lib/R/site-library/mlbench/data")


# The column of the classes, then what is no feature: the speaker of a vowel, a patient's number.
TABLES = {
    "Glass": ("Type",),
    "Vehicle": ("Class",),
    "Vowel": ("Class", "V1"),
    "Sonar": ("Class",),
    "Ionosphere": ("Class",),
    "Satellite": ("classes",),
    "PimaIndiansDiabetes": ("diabetes",),
    "BreastCancer": ("Class", "Id"),
    "LetterRecognition": ("lettr",),
}


def load_mlbench(name: str, root: Path = ROOT) -> tuple[FloatArray, IntArray]:
    """Read a table: features as numbers, without incomplete rows and constant columns.

    A factor counts by its levels, which are numbers in these tables; classes are codes 0, 1, ...
    Raises an UnavailableError if the package or the reader of its files is not there.
    """
    path = root / _FOLDER / f"{name}.rda"
    if not path.is_file():
        message = (
            f"{path} is missing: install Debian's r-cran-mlbench, "
            "or unpack it with dpkg -x and set AMCLUST_MLBENCH to that folder"
        )
        raise UnavailableError(message)
    rdata = optional_module("rdata", "rdata")
    frame = rdata.read_rda(path, default_encoding="ascii")[name].dropna()
    _, classes = np.unique(frame[TABLES[name][0]].astype(str), return_inverse=True)
    features = frame.drop(columns=[*TABLES[name]])
    numbers = np.column_stack([features[column].astype(float) for column in features])
    return numbers[:, np.ptp(numbers, axis=0) > 0], classes
