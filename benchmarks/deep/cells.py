"""A cell: one set, one autoencoder, one method, one seed, and what came of it."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from benchmarks.deep.methods import METHODS, definition
from benchmarks.deep.pretrained import Shelf
from benchmarks.deep.scoring import agreement, silhouette
from benchmarks.deep.sets import load_set
from benchmarks.deep.settings import Settings
from benchmarks.quality.cells import pack_labels
from benchmarks.quality.scoring import living_clusters

_DIGITS = 6


class Cell(NamedTuple):
    """What is run; `autoencoder` is the kind that the method really gets."""

    set: str
    autoencoder: str
    method: str
    seed: int


@dataclass(frozen=True)
class Record:
    """The result of a cell.

    Attributes
    ----------
    set, autoencoder, method, seed
        The cell.
    definition : str
        Hash of the settings.
    environment : str
        Key of the code and the machine in the results file.
    n_clusters, living : int
        Clusters asked for, and those that have rows.
    nmi, ari, accuracy : float
        Agreement with the classes.
    silhouette, silhouette_recalled : float
        In the encoder's latent space, and where the method's dynamics carries its rows (NaN where
        it has none).
    reconstruction_before, reconstruction : float
        Mean squared error of decoder(encoder(x)), after pre-training and at the end.
    updates : int
        Batches that the method trained on.
    seconds : float
        Of the method, without pre-training.
    labels : str
        The partition, packed.
    """

    set: str
    autoencoder: str
    method: str
    seed: int
    definition: str
    environment: str
    n_clusters: int
    living: int
    nmi: float
    ari: float
    accuracy: float
    silhouette: float
    silhouette_recalled: float
    reconstruction_before: float
    reconstruction: float
    updates: int
    seconds: float
    labels: str

    @property
    def cell(self) -> Cell:
        """The cell that this is the result of."""
        return Cell(self.set, self.autoencoder, self.method, self.seed)

    @property
    def reconstruction_ratio(self) -> float:
        """Error at the end over that after pre-training."""
        return self.reconstruction / self.reconstruction_before

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Record:
        """Read what `as_json` gave; a number that JSON could not hold is NaN."""
        values = {name: math.nan if value is None else value for name, value in content.items()}
        return cls(**{one.name: values[one.name] for one in fields(cls)})

    def as_json(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return {
            name: round(value, _DIGITS) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def run_cell(
    cell: Cell, settings: Settings, data_dir: Path, shelf: Shelf, environment: str
) -> Record:
    """Take the pre-trained autoencoder from the shelf, run the method on a copy, and score.

    Parameters
    ----------
    cell : Cell
        What to run.
    settings : Settings
        How long.
    data_dir : Path
        Folder of the paper's tables.
    shelf : Shelf
        Where pre-trained autoencoders are kept.
    environment : str
        Key of the code and the machine, copied into the record.

    Returns
    -------
    Record
        The same for the same cell and number of threads, apart from the seconds.
    """
    images = load_set(cell.set, data_dir, settings.rows)
    X = torch.from_numpy(images.features)
    pretrained = shelf.pretrained(cell.autoencoder, images, cell.seed, settings)
    start = time.perf_counter()
    fitted = METHODS[cell.method].fit(pretrained.copy(), X, images.n_clusters, cell.seed, settings)
    seconds = time.perf_counter() - start
    labels = np.asarray(fitted.labels)
    recalled = fitted.recalled
    return Record(
        *cell,
        definition=definition(cell.method, cell.autoencoder, settings),
        environment=environment,
        n_clusters=images.n_clusters,
        living=living_clusters(labels),
        **agreement(images.classes, labels),
        silhouette=silhouette(fitted.autoencoder.latent(X), labels),
        silhouette_recalled=math.nan if recalled is None else silhouette(recalled, labels),
        reconstruction_before=pretrained.error(X),
        reconstruction=fitted.autoencoder.error(X),
        updates=fitted.updates,
        seconds=seconds,
        labels=pack_labels(labels),
    )
