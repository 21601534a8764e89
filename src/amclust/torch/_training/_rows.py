"""The rows of stacked runs, on the device, and which of them the batches of an epoch take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust import _native
from amclust.backends.base import TrainingSet
from amclust.torch._training._sparse import SparseRows


@dataclass(frozen=True)
class Rows:
    """What is trained on, in core units: dense on the device, or sparse where it lies."""

    data: TrainingSet
    weights: Tensor  # (n,), on the device
    mean_weight: float

    @classmethod
    def load(cls, data: TrainingSet, device: torch.device) -> Rows:
        """Load the rows of a training set."""
        weights = data.weights
        if weights is None:
            return cls(data, torch.ones(data.n_rows, device=device), 1.0)
        mean = float(weights.sum(dtype=np.float64)) / len(weights)
        return cls(data, torch.from_numpy(weights).to(device), mean)

    @property
    def device(self) -> torch.device:
        """Where they are trained on."""
        return self.weights.device

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        return self.data.rows.n_features

    @property
    def are_sparse(self) -> bool:
        """Whether rows can be had as their stored entries."""
        return self.data.rows.gives_entries

    @cached_property
    def _dense(self) -> tuple[Tensor, Tensor | None]:
        values = torch.from_numpy(_native.load_rows(self.data.rows, self.data.indices))
        values = values.to(self.device)
        if not self.data.rows.has_missing:
            return values, None
        missing = values.isnan()
        return values.masked_fill_(missing, 0.0), missing

    @property
    def values(self) -> Tensor:
        """All of them, (n, d), on the device; 0 where missing."""
        return self._dense[0]

    @property
    def missing(self) -> Tensor | None:
        """Where they have no value, (n, d); None: nothing is missing."""
        return self._dense[1]

    def take(self, ids: NDArray[np.int64], fill: Tensor) -> Tensor:
        """Return some rows, (n, d), their missing values filled."""
        values = torch.from_numpy(_native.load_rows(self.data.rows, self._places(ids)))
        values = values.to(self.device)
        return torch.where(values.isnan(), fill, values) if self.data.rows.has_missing else values

    @cached_property
    def _origin(self) -> Tensor | None:
        origin = self.data.rows.origin
        return None if origin is None else torch.from_numpy(origin).to(self.device)

    def take_entries(self, ids: NDArray[np.int64]) -> SparseRows:
        """Return some rows by their stored entries."""
        entries = _native.load_entries(self.data.rows, self._places(ids))
        return SparseRows.of(entries, self._origin, self.n_features, self.device)

    def _places(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return where rows that are trained on lie among all."""
        places = ids if self.data.indices is None else self.data.indices[ids]
        return np.ascontiguousarray(places, dtype=np.int64)

    @cached_property
    def first_features(self) -> Tensor | None:
        """The first feature of each column of a table with categories; None: all are."""
        levels = self.data.rows.levels
        if levels is None:
            return None
        widths = np.maximum(levels, 1)
        return torch.from_numpy(np.cumsum(widths) - widths).to(self.device)

    @cached_property
    def missing_on_host(self) -> NDArray[np.uint8] | None:
        """Where rows have no value, for the draws, which are made on the host."""
        return None if self.missing is None else self.missing.cpu().numpy().astype(np.uint8)


class Epoch(NamedTuple):
    """Which rows the batches of an epoch take."""

    number: int
    seeds: list[int]  # of the runs
    ids: NDArray[np.int64]  # (batches, runs, batch size): places among the rows; 0 past the end
    sizes: NDArray[np.int64]  # (batches,): how many of the places count

    @classmethod
    def of(cls, number: int, seeds: list[int], drawn: Sequence[_native.EpochRows]) -> Epoch:
        """Put together what runs in lockstep take, each in its own order."""
        return cls(number, seeds, np.stack([rows.ids for rows in drawn], axis=1), drawn[0].sizes)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which places count, (batches, 1, batch size)."""
        return np.arange(self.ids.shape[2]) < self.sizes[:, None, None]

    def parts(self, n_batches: int) -> list[Epoch]:
        """Cut into parts of so many batches."""
        return [
            self._replace(ids=self.ids[at : at + n_batches], sizes=self.sizes[at : at + n_batches])
            for at in range(0, len(self.sizes), n_batches)
        ]


def draw_hidden(rows: Rows, epoch: Epoch, mask_prob: float) -> Tensor:
    """Draw what is hidden as the core does, by seed, epoch and row: (batches, runs, d, size)."""
    n_batches, n_runs, size = epoch.ids.shape
    d = rows.n_features
    missing = np.zeros((n_batches * size, d), np.uint8)
    drawn = []
    for run, seed in enumerate(epoch.seeds):
        ids = epoch.ids[:, run].ravel()
        if rows.missing_on_host is not None:
            missing = rows.missing_on_host[ids]
        levels = rows.data.rows.levels
        drawn.append(_native.draw_masks(seed, epoch.number, ids, mask_prob, missing, levels))
    places = np.stack(drawn).reshape(n_runs, n_batches, size, -1).transpose(1, 0, 3, 2)
    places = np.where(places < 0, d, places).astype(np.int64)
    hidden = torch.zeros((n_batches, n_runs, d + 1, size), dtype=torch.bool, device=rows.device)
    hidden.scatter_(2, torch.from_numpy(places).to(rows.device), True)
    return hidden[:, :, :d]
