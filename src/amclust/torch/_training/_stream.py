"""The rows of stacked runs, and the order in which batches take them: the native core's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust import _native


@dataclass(frozen=True)
class Rows:
    """What is trained on, in the core's units and on the device."""

    values: Tensor  # (n, d), 0 where missing
    missing: Tensor | None  # (n, d); None: nothing is missing
    weights: Tensor  # (n,)
    mean_weight: float

    @classmethod
    def load(
        cls,
        data: _native.Dataset,
        rows: NDArray[np.int64] | None,
        weights: NDArray[np.float32] | None,
        device: torch.device,
    ) -> Rows:
        """Load rows of a dataset."""
        values = torch.from_numpy(_native.load_rows(data, rows)).to(device)
        missing = values.isnan() if data.has_missing else None
        if missing is not None:
            values = values.masked_fill_(missing, 0.0)
        if weights is None:
            return cls(values, missing, torch.ones(len(values), device=device), 1.0)
        mean = float(weights.sum(dtype=np.float64)) / len(weights)
        return cls(values, missing, torch.from_numpy(weights).to(device), mean)


class Epoch(NamedTuple):
    """Which rows the batches of an epoch take."""

    number: int
    seeds: list[int]  # of the runs
    ids: NDArray[np.int64]  # (batches, runs, batch size): places among the rows; 0 past the end
    sizes: NDArray[np.int64]  # (batches,): how many of the places count

    @property
    def valid(self) -> NDArray[np.bool_]:
        """Which places count, (batches, 1, batch size)."""
        return np.arange(self.ids.shape[2]) < self.sizes[:, None, None]

    def places(self, device: torch.device) -> Tensor:
        """Return the ids, to index rows with."""
        return torch.from_numpy(np.ascontiguousarray(self.ids)).to(device)

    def parts(self, n_batches: int) -> list[Epoch]:
        """Cut into parts of so many batches."""
        return [
            self._replace(ids=self.ids[at : at + n_batches], sizes=self.sizes[at : at + n_batches])
            for at in range(0, len(self.sizes), n_batches)
        ]


class Stream:
    """Walks through the rows in a new order every pass, each run in its own.

    When one batch holds all rows, it has them in their own order. A pass ends with what is left of
    it; on many rows an epoch is a part of a pass.
    """

    def __init__(
        self, n_rows: int, batch_size: int, *, whole_epochs: bool, pass_: int, place: int
    ) -> None:
        self._n_rows, self._batch = n_rows, min(batch_size, n_rows)
        rows = n_rows if whole_epochs else min(n_rows, _native.EPOCH_ROWS)
        self.n_batches = max(1, -(-rows // self._batch))
        self.pass_, self.place = pass_, place

    def epoch(self, number: int, seeds: Sequence[int]) -> Epoch:
        """Return the batches of the next epoch."""
        ids: list[NDArray[np.int64]] = []
        sizes: list[int] = []
        while len(sizes) < self.n_batches:
            if self.place == self._n_rows:
                self.place = 0
                self.pass_ += 1
            count = min(self._n_rows - self.place, (self.n_batches - len(sizes)) * self._batch)
            batches = -(-count // self._batch)
            padded = np.zeros((len(seeds), batches * self._batch), np.int64)
            padded[:, :count] = self._order(seeds, count)
            ids.append(padded.reshape(len(seeds), batches, self._batch).swapaxes(0, 1))
            sizes += [self._batch] * (batches - 1) + [count - (batches - 1) * self._batch]
            self.place += count
        return Epoch(number, list(seeds), np.concatenate(ids), np.array(sizes))

    def _order(self, seeds: Sequence[int], count: int) -> NDArray[np.int64]:
        if self._batch == self._n_rows:
            return np.arange(count)
        return np.stack(
            [_native.draw_order(s, self.pass_, self._n_rows, self.place, count) for s in seeds]
        )
