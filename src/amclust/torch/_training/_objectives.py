"""The objectives of stacked runs: loss, gradient, winners and badly represented rows of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust import _native
from amclust.torch import functional as F
from amclust.torch._training._adjoint import Networks, recall
from amclust.torch._training._stream import Epoch, Rows
from amclust.torch.energies import Cosine, Euclidean

# Entries of the states that are kept for a gradient.
MOST_STATES = 2**25


class Costs(NamedTuple):
    """What the parts of the silhouette objective cost, (runs,)."""

    anchor: Tensor
    tie: Tensor


class Evaluation(NamedTuple):
    """What a batch gives."""

    loss: Tensor  # (runs,)
    by_memories: Tensor  # its gradients
    by_log_weights: Tensor
    winner: Tensor  # (runs, n): the memory that each row falls to
    badness: Tensor  # (runs, n): how badly the memories represent each row


class Batches(Protocol):
    """Batches of which all is at hand that does not depend on the memories."""

    weight: Tensor  # (batches, runs, n); 0 past the end of a batch

    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch."""


@dataclass
class MovingBatches:
    """Rows, as columns, that the dynamics moves and that are compared with what they were."""

    weight: Tensor
    start: Tensor  # (batches, runs, d, n)
    target: Tensor
    share: Tensor  # of every entry in the loss
    amount: Tensor | None = None  # how far every entry follows the pull; None: all the same

    @torch.inference_mode()
    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch, in parts where its states would take much memory."""
        n_runs, d, n = self.start[at].shape
        most = max(1, MOST_STATES // (n_runs * d * net.n_steps))
        if n <= most:
            return self._evaluate(at, net, slice(None))
        parts = [self._evaluate(at, net, slice(i, i + most)) for i in range(0, n, most)]
        loss, by_memories, by_log_weights, winner, badness = zip(*parts, strict=True)
        return Evaluation(
            torch.stack(loss).sum(0),
            torch.stack(by_memories).sum(0),
            torch.stack(by_log_weights).sum(0),
            torch.cat(winner, dim=1),
            torch.cat(badness, dim=1),
        )

    def _evaluate(self, at: int, net: Networks, part: slice) -> Evaluation:
        """Evaluate rows of a batch.

        A row goes to the memory nearest to its final state; where some entries are held (or, in
        the core, it is cheaper not to ask), to the one that pulls most in the last step.
        """
        amount = net.step_size if self.amount is None else self.amount[at, ..., part]
        trajectory = recall(net, self.start[at, ..., part], amount)
        state = trajectory.states[-1]
        residual = state - self.target[at, ..., part]
        by_state = residual * self.share[at, ..., part]
        losses = (by_state * residual).sum(1)
        by_memories, by_log_weights = trajectory.gradient(2 * by_state)
        nearness = trajectory.memberships[-1]
        k, d = net.memories.shape[1:]
        if self.amount is None and (net.cosine or k <= d):
            nearness = net.memories @ state
            if not net.cosine:
                nearness = 2 * nearness - net.memories.square().sum(-1, keepdim=True)
        winner = nearness.max(dim=1).indices
        return Evaluation(losses.sum(-1), by_memories, by_log_weights, winner, losses)


@dataclass
class SilhouetteBatches:
    """Rows whose soft silhouette is taken; missing entries are filled by the memories."""

    weight: Tensor
    rows: Tensor  # (batches, runs, n, d)
    missing: Tensor | None
    total: Tensor  # (batches, 1): what the loss is divided by

    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch; a row goes to the memory of its largest membership."""
        x, weight = self.rows[at], self.weight[at]
        energy = Cosine() if net.cosine else Euclidean()
        more: dict[str, Any] = {}
        if self.missing is not None:
            more = {
                "missing": self.missing[at],
                "n_steps": net.n_steps,
                "step_size": net.step_size,
            }
        memories = net.memories.clone().requires_grad_()
        log_weights = net.log_weights.clone().requires_grad_()
        with torch.enable_grad():
            loss = F.silhouette_loss(
                x,
                memories,
                net.beta,
                anchor=costs.anchor,
                tie=costs.tie,
                sample_weight=weight,
                energy=energy,
                log_weights=log_weights,
                **more,
            )
            loss = loss * (weight.sum(-1) / self.total[at])
            by_memories, by_log_weights = torch.autograd.grad(loss.sum(), (memories, log_weights))
        if self.missing is not None:
            x = F.complete(
                x, net.memories, net.beta, energy=energy, log_weights=net.log_weights, **more
            )
        bias, patterns = net.logit_parts()
        largest, winner = torch.baddbmm(bias, patterns, x.mT).max(dim=1)
        badness = (x.square().sum(-1) - largest / net.beta[:, None]).clamp_(min=0)
        return Evaluation(loss.detach(), by_memories, by_log_weights, winner, badness)


class Objective:
    """Makes batches of rows."""

    def __init__(self, rows: Rows, settings: dict[str, Any]) -> None:
        self.rows = rows
        self.fill = torch.from_numpy(settings["fill"]).to(rows.values.device)
        self.settings = settings

    def prepare(self, epoch: Epoch) -> Batches:
        """Gather and draw what the batches of an epoch need."""
        raise NotImplementedError

    def _weights(self, epoch: Epoch) -> tuple[Tensor, Tensor]:
        """Return the weights of the rows, and what the batches' losses are divided by."""
        weights = self.rows.weights
        valid = torch.from_numpy(epoch.valid).to(weights.device)
        total = (self.rows.mean_weight * epoch.sizes[:, None]).astype(np.float32)
        index = epoch.places(weights.device)
        return weights[index] * valid, torch.from_numpy(total).to(weights.device)

    def _columns(self, epoch: Epoch) -> tuple[Tensor, Tensor | None]:
        """Return the rows as columns, and where they have no value."""
        index = epoch.places(self.rows.values.device)
        missing = self.rows.missing
        columns = self.rows.values[index].mT.contiguous()
        return columns, None if missing is None else missing[index].mT.contiguous()


class Completion(Objective):
    """Hidden entries are completed and compared; missing ones move along."""

    @cached_property
    def _missing(self) -> NDArray[np.uint8]:
        """Where rows have no value, for the draws, which are made on the host."""
        assert self.rows.missing is not None
        return self.rows.missing.cpu().numpy().astype(np.uint8)

    def prepare(self, epoch: Epoch) -> MovingBatches:
        """Gather the rows and draw what is hidden."""
        target, missing = self._columns(epoch)
        weight, total = self._weights(epoch)
        hidden = self._draw(epoch)
        moves = hidden if missing is None else hidden | missing
        share = weight / total[..., None] / hidden.sum(2).clamp_(min=1)
        return MovingBatches(
            weight,
            torch.where(moves, self.fill[:, None], target),
            target,
            hidden * share[:, :, None],
            moves * self.settings["step_size"],
        )

    def _draw(self, epoch: Epoch) -> Tensor:
        """Draw as the native core does: by seed, epoch and row."""
        n_batches, n_runs, size = epoch.ids.shape
        d = self.rows.values.shape[1]
        holes = np.zeros((n_batches * size, d), np.uint8)
        drawn = []
        for run, seed in enumerate(epoch.seeds):
            ids = epoch.ids[:, run].ravel()
            if self.rows.missing is not None:
                holes = self._missing[ids]
            fraction = self.settings["mask_prob"]
            drawn.append(_native.draw_masks(seed, epoch.number, ids, fraction, holes))
        places = np.stack(drawn).reshape(n_runs, n_batches, size, -1).transpose(1, 0, 3, 2)
        places = np.where(places < 0, d, places).astype(np.int64)
        device = self.rows.values.device
        hidden = torch.zeros((n_batches, n_runs, d + 1, size), dtype=torch.bool, device=device)
        hidden.scatter_(2, torch.from_numpy(places).to(device), True)
        return hidden[:, :, :d]


class Reconstruction(Objective):
    """Everything moves, the observed entries are compared."""

    def prepare(self, epoch: Epoch) -> MovingBatches:
        """Gather the rows."""
        target, missing = self._columns(epoch)
        weight, total = self._weights(epoch)
        seen = torch.ones_like(target) if missing is None else (~missing).to(target)
        share = weight / total[..., None] / seen.sum(2)
        start = target
        if missing is not None:
            start = torch.where(missing, self.fill[:, None], target)
        return MovingBatches(weight, start, target, seen * share[:, :, None])


class Silhouette(Objective):
    """The soft silhouette of the rows, with what keeps it honest."""

    def prepare(self, epoch: Epoch) -> SilhouetteBatches:
        """Gather the rows."""
        weight, total = self._weights(epoch)
        index, missing = epoch.places(self.rows.values.device), self.rows.missing
        holes = None if missing is None else missing[index]
        return SilhouetteBatches(weight, self.rows.values[index], holes, total)


OBJECTIVES: dict[str, type[Objective]] = {
    "completion": Completion,
    "reconstruction": Reconstruction,
    "silhouette": Silhouette,
}
