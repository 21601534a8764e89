"""The objectives of the paper with the Euclidean and the cosine energy: the fast path of training.

Loss, gradient, winners and badly represented rows of a batch; whatever does not depend on the
memories is made for many batches at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from amclust.torch import functional as F
from amclust.torch._training._adjoint import Networks, recall
from amclust.torch._training._batches import Costs, Evaluation, Objective
from amclust.torch._training._rows import Epoch, draw_hidden
from amclust.torch.energies import Cosine, Euclidean

# Entries of the states that are kept for a gradient.
MAX_STATES = 2**25


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
        size = max(1, MAX_STATES // (n_runs * d * net.n_steps))
        if n <= size:
            return self._evaluate(at, net, slice(None))
        parts = [self._evaluate(at, net, slice(i, i + size)) for i in range(0, n, size)]
        loss, by_memories, by_log_weights, winner, badness, _ = zip(*parts, strict=True)
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


class Completion(Objective):
    """Hidden entries are completed and compared; missing ones move along."""

    def prepare(self, epoch: Epoch) -> MovingBatches:
        """Gather the rows and draw what is hidden."""
        target, missing = self.columns(epoch)
        weight, total = self.weights(epoch)
        hidden = draw_hidden(self.rows, epoch, self.plan.objective.mask_prob)
        moves = hidden if missing is None else hidden | missing
        share = weight / total[..., None] / hidden.sum(2).clamp_(min=1)
        return MovingBatches(
            weight,
            torch.where(moves, self.fill[:, None], target),
            target,
            hidden * share[:, :, None],
            moves * self.plan.network.step_size,
        )


class Reconstruction(Objective):
    """Everything moves, the observed entries are compared."""

    def prepare(self, epoch: Epoch) -> MovingBatches:
        """Gather the rows."""
        target, missing = self.columns(epoch)
        weight, total = self.weights(epoch)
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
        weight, total = self.weights(epoch)
        index, missing = epoch.places(self.rows.values.device), self.rows.missing
        absent = None if missing is None else missing[index]
        return SilhouetteBatches(weight, self.rows.values[index], absent, total)
