"""What an objective makes of the rows of an epoch, and what a batch of them gives."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from amclust import _native
from amclust.torch._training._adjoint import Networks
from amclust.torch._training._rows import Epoch, Rows


class Costs(NamedTuple):
    """What the parts of the silhouette objective cost, (runs,)."""

    anchor: Tensor
    tie: Tensor


class Evaluation(NamedTuple):
    """What a batch gives."""

    loss: Tensor  # (runs,)
    by_memories: Tensor  # its gradients
    by_log_weights: Tensor
    winner: Tensor  # (runs, n): the memory that each row falls to; -1: none
    badness: Tensor  # (runs, n): how badly the memories represent each row
    by_energy: Tensor | None = None  # (parameters,), where the energy has any


class Batches(Protocol):
    """Batches of which all is at hand that does not depend on the memories."""

    weight: Tensor  # (batches, runs, n); 0 past the end of a batch

    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch."""


class Objective:
    """Makes batches of rows."""

    def __init__(self, rows: Rows, plan: _native.Plan) -> None:
        self.rows = rows
        self.fill = torch.from_numpy(plan.objective.fill).to(rows.device)
        self.plan = plan

    def prepare(self, epoch: Epoch) -> Batches:
        """Gather and draw what the batches of an epoch need."""
        raise NotImplementedError

    def weights(self, epoch: Epoch) -> tuple[Tensor, Tensor]:
        """Return the weights of the rows, and what the batches' losses are divided by."""
        weights = self.rows.weights
        valid = torch.from_numpy(epoch.valid).to(weights.device)
        total = (self.rows.mean_weight * epoch.sizes[:, None]).astype(np.float32)
        index = epoch.places(weights.device)
        return weights[index] * valid, torch.from_numpy(total).to(weights.device)

    def columns(self, epoch: Epoch) -> tuple[Tensor, Tensor | None]:
        """Return the rows as columns, and where they have no value."""
        index = epoch.places(self.rows.device)
        missing = self.rows.missing
        columns = self.rows.values[index].mT.contiguous()
        return columns, None if missing is None else missing[index].mT.contiguous()
