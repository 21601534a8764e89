"""A cell: one set, one method, one seed, and what came of it."""

from __future__ import annotations

import base64
import math
import time
import warnings
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks.data import IntArray
from benchmarks.quality.methods import METHODS
from benchmarks.quality.scoring import choose, largest_share, living_clusters, silhouettes
from benchmarks.quality.sets import load_set

_DIGITS = 6


class Cell(NamedTuple):
    """What is run."""

    set: str
    method: str
    seed: int


@dataclass(frozen=True)
class Record:
    """The result of a cell.

    Attributes
    ----------
    set, method, seed
        The cell.
    definition : str
        Hash of the parameters that were chosen for the method.
    environment : str
        Key of the code and the machine in the results file.
    n_clusters : int
        The k that was asked for.
    silhouette, nmi, ari : float
        Of the chosen partition: exact silhouette, agreement with the classes.
    living : int
        Clusters that have rows.
    largest : float
        Share of the rows in the largest cluster.
    seconds : float
        All restarts and the choice among them, in one thread.
    labels : str
        The partition, packed.
    """

    set: str
    method: str
    seed: int
    definition: str
    environment: str
    n_clusters: int
    silhouette: float
    nmi: float
    ari: float
    living: int
    largest: float
    seconds: float
    labels: str

    @property
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        return Cell(self.set, self.method, self.seed)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Record:
        """Read what `as_json` gave; a silhouette that JSON could not hold is NaN."""
        silhouette = content["silhouette"]
        return cls(**{**content, "silhouette": math.nan if silhouette is None else silhouette})

    def as_json(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return {
            name: round(value, _DIGITS) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def run_cell(cell: Cell, data_dir: Path, environment: str) -> Record:
    """Run all restarts of a cell in one thread, choose, and score.

    Parameters
    ----------
    cell : Cell
        What to run.
    data_dir : Path
        Folder of the paper's tables.
    environment : str
        Key of the code and the machine, copied into the record.

    Returns
    -------
    Record
        The same for the same cell, apart from the seconds.
    """
    table, method = load_set(cell.set, data_dir), METHODS[cell.method]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        start = time.perf_counter()
        labelings = method.labelings(table, cell.seed)
        scores = silhouettes(table.features, labelings)
        chosen = choose(labelings, scores)
        seconds = time.perf_counter() - start
    labels = labelings[chosen]
    return Record(
        *cell,
        definition=method.definition(table),
        environment=environment,
        n_clusters=table.n_clusters,
        silhouette=float(scores[chosen]),
        nmi=float(normalized_mutual_info_score(table.classes, labels)),
        ari=float(adjusted_rand_score(table.classes, labels)),
        living=living_clusters(labels),
        largest=largest_share(labels),
        seconds=seconds,
        labels=pack_labels(labels),
    )


def pack_labels(labels: IntArray) -> str:
    """Write a partition into at most 256 clusters, numbered by their first rows, as text."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return base64.b64encode(zlib.compress(order[codes].astype(np.uint8).tobytes(), 9)).decode()


def unpack_labels(text: str) -> IntArray:
    """Read what `pack_labels` wrote."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
