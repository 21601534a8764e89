"""A deep fit over its epochs: how deep the recall is, which epoch is kept, when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Epoch(NamedTuple):
    """What an epoch led to; epoch 0 is what pre-training and seeding gave."""

    epoch: int
    n_steps: int  # of the recall that was trained; 0 in epoch 0
    loss: float  # mean over the epoch, while the weights change; NaN in epoch 0
    reconstruction: float  # of decoder(encoder(x)), after it
    recalled_reconstruction: float  # of decoder(recall(encoder(x))) at full depth, after it
    silhouette: float
    living_clusters: int


HISTORY_DTYPE = np.dtype(
    [
        ("epoch", np.int64),
        ("n_steps", np.int64),
        ("loss", np.float64),
        ("reconstruction", np.float64),
        ("recalled_reconstruction", np.float64),
        ("silhouette", np.float64),
        ("living_clusters", np.int64),
        ("chosen", np.bool_),
    ]
)


# By how much the autoencoder's own loss counts more after an epoch half way to the bound.
GUARD_FACTOR = 1.5


class Schedule(NamedTuple):
    """Decisions that depend on nothing but the epochs so far, so that a resumed fit makes them too.

    The recall deepens from one step to `n_steps` over the first part `deepen` of the epochs.
    """

    max_epochs: int
    n_steps: int
    deepen: float
    max_reconstruction: float
    patience: int

    @property
    def deepening_epochs(self) -> int:
        """Return how many epochs have fewer steps than `n_steps`."""
        return 0 if self.n_steps == 1 else round(self.deepen * self.max_epochs)

    def depth(self, epoch: int) -> int:
        """Return the steps of the recall in an epoch, the first being 1."""
        behind = epoch - 1
        if behind >= self.deepening_epochs:
            return self.n_steps
        return 1 + behind * (self.n_steps - 1) // self.deepening_epochs

    def rate(self, epoch: int) -> float:
        """Return the learning rate of an epoch as a part of the first: half a cosine down to 0."""
        return (1 + math.cos(math.pi * (epoch - 1) / self.max_epochs)) / 2

    def guard(self, history: Sequence[Epoch]) -> float:
        """Return what the autoencoder's own loss counts: more after epochs near the bound."""
        near = (1 + self.max_reconstruction) / 2 * history[0].reconstruction
        return GUARD_FACTOR ** sum(record.reconstruction > near for record in history)

    def best(self, history: Sequence[Epoch]) -> int:
        """Return the epoch to keep: the best silhouette within the bound, without empty clusters.

        Where all epochs have empty clusters, it has as few as possible. Epoch 0 is within the
        bound; it is kept only where no other epoch is its equal in these.
        """
        bound = self.max_reconstruction * history[0].reconstruction

        def rank(record: Epoch) -> tuple[bool, int, bool, float]:
            # A single cluster has no silhouette.
            score = record.silhouette
            score = -record.recalled_reconstruction if math.isnan(score) else score
            within = record.reconstruction <= bound
            return within, record.living_clusters, record.epoch > 0, score

        return max(range(len(history)), key=lambda epoch: rank(history[epoch]))

    def is_finished(self, history: Sequence[Epoch]) -> bool:
        """Whether all epochs are behind, or none was better for `patience` epochs of full depth."""
        behind = len(history) - 1
        waited = behind - max(self.best(history), self.deepening_epochs)
        return behind >= self.max_epochs or waited >= self.patience


def history_table(history: Sequence[Epoch], chosen: int) -> NDArray[np.void]:
    """One row an epoch, as a structured array."""
    rows = [(*record, record.epoch == chosen) for record in history]
    return np.array(rows, dtype=HISTORY_DTYPE)
