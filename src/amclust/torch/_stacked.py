"""The objectives of stacked runs: loss, winners and badly represented rows of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from amclust import _native
from amclust.torch import functional as F
from amclust.torch._adjoint import logit_bias, logit_factor, recall
from amclust.torch._stream import Epoch, Rows
from amclust.torch.energies import Cosine, Euclidean


@dataclass
class Networks:
    """Stacked networks: what differs between runs is a tensor."""

    memories: Tensor  # (runs, k, d); unit vectors for the cosine metric
    log_weights: Tensor  # (runs, k)
    beta: Tensor  # (runs,)
    anchor: Tensor  # (runs,)
    tie: Tensor  # (runs,)
    step_size: float
    n_steps: int
    cosine: bool


class Evaluation(NamedTuple):
    """What a batch gives."""

    loss: Tensor  # (runs,)
    winner: Tensor  # (runs, n): the memory that each row falls to
    badness: Tensor  # (runs, n): how badly the memories represent each row


class Batches(NamedTuple):
    """Some batches of an epoch, (batches, runs, n, ...), prepared."""

    rows: Tensor  # what the final state is compared with
    start: Tensor
    missing: Tensor | None
    weight: Tensor  # of the rows; 0 past the end of a batch
    total: Tensor  # (batches,): what the loss is divided by
    share: Tensor | None = None  # of every entry in the loss
    amount: Tensor | None = None  # how far every entry follows the pull; None: all the same


class Objective(Protocol):
    """Something to minimise."""

    def prepare(self, epoch: Epoch) -> Batches:
        """Gather, and draw, what the batches need."""

    def evaluate(self, batches: Batches, at: int, net: Networks) -> Evaluation:
        """Evaluate one batch."""


def make_objective(rows: Rows, settings: dict[str, Any]) -> Objective:
    """Return the objective of runs by its name."""
    kinds = {
        "completion": Completion,
        "reconstruction": Reconstruction,
        "silhouette": Silhouette,
    }
    return kinds[settings["objective"]](rows, settings)


class _Gathering:
    """Rows of an epoch, gathered."""

    def __init__(self, rows: Rows, settings: dict[str, Any]) -> None:
        self._rows = rows
        self._fill = torch.from_numpy(settings["fill"]).to(rows.values.device)
        self._mask_prob = settings["mask_prob"]
        self._step_size = settings["step_size"]

    def _gather(self, epoch: Epoch) -> Batches:
        rows, device = self._rows, self._rows.values.device
        index = torch.from_numpy(np.ascontiguousarray(epoch.ids)).to(device)
        valid = torch.from_numpy(epoch.valid).to(device)
        total = torch.as_tensor(rows.mean_weight * epoch.sizes, dtype=torch.float32, device=device)
        values = rows.values[index]
        missing = None if rows.missing is None else rows.missing[index]
        start = values if missing is None else torch.where(missing, self._fill, values)
        return Batches(values, start, missing, rows.weights[index] * valid, total)


class Completion(_Gathering):
    """Hidden entries are completed and compared; missing ones move along."""

    def prepare(self, epoch: Epoch) -> Batches:
        """Gather the rows and draw what is hidden."""
        b = self._gather(epoch)
        hidden = self._draw(epoch)
        moves = hidden if b.missing is None else hidden | b.missing
        share = b.weight / b.total[:, None, None] / hidden.sum(-1).clamp_(min=1)
        return b._replace(
            start=torch.where(hidden, self._fill, b.start),
            share=hidden * share[..., None],
            amount=moves * self._step_size,
        )

    def evaluate(self, batches: Batches, at: int, net: Networks) -> Evaluation:
        """Evaluate one batch; a row goes to the memory that pulls most in the last step."""
        assert batches.amount is not None
        state, parts = _recall(batches.start[at], net, batches.amount[at])
        return _compared(batches, at, state, parts.argmax(-1))

    def _draw(self, epoch: Epoch) -> Tensor:
        """Draw as the native core does: by seed, epoch and row."""
        n_batches, n_runs, size = epoch.ids.shape
        d, missing = self._rows.values.shape[1], self._rows.missing
        nothing = np.zeros((n_batches * size, d), np.uint8)
        drawn = []
        for run, seed in enumerate(epoch.seeds):
            ids = epoch.ids[:, run].ravel()
            holes = nothing if missing is None else missing.cpu().numpy()[ids].astype(np.uint8)
            drawn.append(_native.draw_masks(seed, epoch.number, ids, self._mask_prob, holes))
        places = np.stack(drawn).reshape(n_runs, n_batches, size, -1).swapaxes(0, 1)
        places = np.where(places < 0, d, places).astype(np.int64)
        device = self._rows.values.device
        hidden = torch.zeros((n_batches, n_runs, size, d + 1), dtype=torch.bool, device=device)
        return hidden.scatter_(-1, torch.from_numpy(places).to(device), True)[..., :d]


class Reconstruction(_Gathering):
    """Everything moves, the observed entries are compared."""

    def prepare(self, epoch: Epoch) -> Batches:
        """Gather the rows."""
        b = self._gather(epoch)
        share = (b.weight / b.total[:, None, None])[..., None]
        if b.missing is None:
            return b._replace(share=share / b.rows.shape[-1])
        seen = ~b.missing
        return b._replace(share=seen * share / seen.sum(-1, keepdim=True))

    def evaluate(self, batches: Batches, at: int, net: Networks) -> Evaluation:
        """Evaluate one batch; a row goes to the memory nearest to its final state."""
        state, _ = _recall(batches.start[at], net, net.step_size)
        with torch.no_grad():
            products = state @ net.memories.mT
            if not net.cosine:
                products = 2 * products - net.memories.square().sum(-1)[:, None]
        return _compared(batches, at, state, products.argmax(-1))


class _OnSphere(Cosine):
    """The cosine energy of rows and memories that the core has put where they belong."""

    def length(self, x: Tensor, missing: Tensor | None = None) -> None:
        """Take rows as they are."""

    def embed(self, x: Tensor) -> Tensor:
        """Take rows as they are, those too that the memories have filled."""
        return x


class Silhouette(_Gathering):
    """The soft silhouette of the rows, with anchor and tie."""

    def prepare(self, epoch: Epoch) -> Batches:
        """Gather the rows."""
        return self._gather(epoch)

    def evaluate(self, batches: Batches, at: int, net: Networks) -> Evaluation:
        """Evaluate one batch; a row goes to the memory of its largest membership."""
        x, weight = batches.rows[at], batches.weight[at]
        missing = None if batches.missing is None else batches.missing[at]
        shared: dict[str, Any] = {
            "energy": _OnSphere() if net.cosine else Euclidean(),
            "log_weights": net.log_weights,
        }
        if missing is not None:
            shared |= {"missing": missing, "n_steps": net.n_steps, "step_size": net.step_size}
        loss = F.silhouette_loss(
            x,
            net.memories,
            net.beta,
            anchor=net.anchor,
            tie=net.tie,
            sample_weight=weight,
            **shared,
        )
        with torch.no_grad():
            if missing is not None:
                x = F.complete(x, net.memories, net.beta, **shared)
            factor = logit_factor(net.beta, cosine=net.cosine)
            bias = logit_bias(net.memories, net.log_weights, net.beta, cosine=net.cosine)
            logit, winner = torch.baddbmm(bias, x, (factor * net.memories).mT).max(-1)
            badness = (x.square().sum(-1) - logit / net.beta[:, None]).clamp_(min=0)
        return Evaluation(loss * weight.sum(-1) / batches.total[at], winner, badness)


def _recall(start: Tensor, net: Networks, amount: Tensor | float) -> tuple[Tensor, Tensor]:
    return recall(
        start,
        net.memories,
        net.log_weights,
        net.beta,
        amount=amount,
        n_steps=net.n_steps,
        cosine=net.cosine,
    )


def _compared(batches: Batches, at: int, state: Tensor, winner: Tensor) -> Evaluation:
    assert batches.share is not None
    losses = ((state - batches.rows[at]).square() * batches.share[at]).sum(-1)
    return Evaluation(losses.sum(-1), winner, losses.detach())
