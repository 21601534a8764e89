"""What is minimised in torch, and what a batch of rows gives: loss, gradient, winners.

A loss is a function of rows, memories and temperature, differentiated by autograd with any energy.
Completion and reconstruction have a closed form for the Euclidean and the cosine energy, the fast
path of training (`_adjoint.py`). What does not depend on the memories is made for many batches at
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from amclust import _native
from amclust._objectives import OWN
from amclust.torch import functional as F
from amclust.torch._soft_silhouette import soft_silhouette_loss
from amclust.torch._training._adjoint import Networks, recall
from amclust.torch._training._rows import Epoch, Rows, draw_hidden
from amclust.torch.energies import Cosine, Energy, Euclidean
from amclust.torch.energies._arrays import learned_parameters

# Entries of the states that are kept for a gradient.
MAX_STATES = 2**25


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


# --- losses ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BatchSettings:
    """What a loss may need besides rows and network; tensors of shape (runs,) differ by run."""

    n_steps: int
    step_size: float
    fill: Tensor  # (d,): where hidden and missing values start
    mask_prob: float
    anchor: Tensor  # (runs,)
    tie: Tensor  # (runs,)
    draw_hidden: Callable[[], Tensor]  # gives a bool Tensor (runs, n, d), drawn as in the core

    @property
    def dynamics(self) -> dict[str, Any]:
        """How states are carried, as the functions of tensors take it."""
        return {"n_steps": self.n_steps, "step_size": self.step_size}


class Loss(Protocol):
    """What is minimised."""

    def __call__(
        self,
        x: Tensor,
        memories: Tensor,
        beta: Tensor,
        *,
        energy: Energy,
        log_weights: Tensor,
        missing: Tensor | None,
        sample_weight: Tensor,
        settings: BatchSettings,
    ) -> Tensor:
        """Return one loss per run, (runs,): a weighted mean over rows.

        Rows are (runs, n, d), in core units, with 0 where a value is ``missing``; memories (runs,
        k, d), ``beta`` (runs,), ``log_weights`` (runs, k), ``sample_weight`` (runs, n). Rows of
        weight 0 only fill the batch.
        """


def _completion(
    x: Tensor, memories: Tensor, beta: Tensor, *, settings: BatchSettings, **given: Any
) -> Tensor:
    hidden = settings.draw_hidden()
    return F.completion_loss(
        x, memories, beta, hidden=hidden, fill=settings.fill, **settings.dynamics, **given
    )


def _reconstruction(
    x: Tensor, memories: Tensor, beta: Tensor, *, settings: BatchSettings, **given: Any
) -> Tensor:
    return F.reconstruction_loss(
        x, memories, beta, fill=settings.fill, **settings.dynamics, **given
    )


def _silhouette(
    x: Tensor, memories: Tensor, beta: Tensor, *, settings: BatchSettings, **given: Any
) -> Tensor:
    anchor, tie = settings.anchor, settings.tie
    return F.silhouette_loss(
        x, memories, beta, anchor=anchor, tie=tie, **settings.dynamics, **given
    )


OBJECTIVES: dict[str, Loss] = {
    "completion": _completion,
    "reconstruction": _reconstruction,
    "silhouette": _silhouette,
}


def register_torch_objective(
    name: str, function: Loss | None = None
) -> Loss | Callable[[Loss], Loss]:
    """Make a loss known by the name of an objective, for ``ClAM(backend="torch")``.

    Parameters
    ----------
    name : str
        The name of an `amclust._objectives.Objective` that is registered.
    function : callable, default=None
        The loss, see :class:`Loss`; None: the result decorates one.

    Returns
    -------
    callable
        The function, or a decorator.

    Examples
    --------
    >>> from amclust.torch import register_torch_objective
    >>> from amclust.torch import functional as F
    >>> def plain_silhouette(x, memories, beta, *, energy, sample_weight, **more):
    ...     return F.silhouette_loss(x, memories, beta, energy=energy, sample_weight=sample_weight)
    >>> register_torch_objective("plain silhouette", plain_silhouette)  # doctest: +SKIP
    """
    if function is None:

        def decorate(loss: Loss) -> Loss:
            register_torch_objective(name, loss)
            return loss

        return decorate
    if name in OBJECTIVES:
        message = f"There is a torch function of the objective {name!r} already."
        raise ValueError(message)
    OBJECTIVES[name] = function
    return function


def find_loss(name: str) -> Loss:
    """Return the loss of an objective."""
    if name in OWN:
        return OWN[name]
    if name not in OBJECTIVES:
        names = ", ".join(repr(known) for known in OBJECTIVES)
        message = (
            f"objective={name!r} has no torch function: give it one with register_torch_objective "
            f"of amclust.torch, or use one of {names}."
        )
        raise ValueError(message)
    return OBJECTIVES[name]


# --- batches --------------------------------------------------------------------------------------


class Batches:
    """Batches of an epoch, with all at hand that does not depend on the memories."""

    def __init__(self, rows: Rows, plan: _native.Plan, epoch: Epoch) -> None:
        self.rows, self.plan, self.epoch = rows, plan, epoch
        index = torch.from_numpy(np.ascontiguousarray(epoch.ids)).to(rows.device)
        self.gather(index)
        valid = torch.from_numpy(epoch.valid).to(rows.device)
        total = (rows.mean_weight * epoch.sizes[:, None]).astype(np.float32)
        self.weight = rows.weights[index] * valid  # (batches, runs, n)
        self.total = torch.from_numpy(total).to(rows.device)  # what losses are divided by

    def gather(self, index: Tensor) -> None:
        """Take rows (batches, runs, n)."""
        self.x = self.rows.values[index]  # (batches, runs, n, d)
        self.missing = None if self.rows.missing is None else self.rows.missing[index]
        self.fill = torch.from_numpy(self.plan.objective.fill).to(self.rows.device)

    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch."""
        raise NotImplementedError


class SparseSilhouette(Batches):
    """The silhouette of sparse rows, by their entries: one run after the other."""

    def gather(self, index: Tensor) -> None:
        """Take nothing ahead: entries are few, and read where they lie."""

    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch."""
        runs = range(len(net.memories))
        parts = [self._evaluate(at, run, net, costs) for run in runs]
        loss, by_memories, by_log_weights, winner, badness = zip(*parts, strict=True)
        return Evaluation(*map(torch.stack, (loss, by_memories, by_log_weights, winner, badness)))

    def _evaluate(self, at: int, run: int, net: Networks, costs: Costs) -> tuple[Tensor, ...]:
        rows, weight = self.rows.take_entries(self.epoch.ids[at, run]), self.weight[at, run]
        memories = net.memories[run].clone().requires_grad_()
        log_weights = net.log_weights[run].clone().requires_grad_()
        with torch.enable_grad():
            beta = net.beta[run]
            logits = net.factor[run] * rows.with_points(memories) + log_weights
            if not net.cosine:
                logits = logits - beta * memories.square().sum(-1)
            loss = soft_silhouette_loss(
                rows,
                logits.softmax(-1),
                memories,
                weight,
                costs.anchor[run],
                costs.tie[run],
                spherical=net.cosine,
            )
            loss = loss * (weight.sum() / self.total[at, 0])
            by_memories, by_log_weights = torch.autograd.grad(loss, (memories, log_weights))
        largest, winner = logits.detach().max(-1)
        badness = (rows.square - largest / beta).clamp_(min=0)
        return loss.detach(), by_memories, by_log_weights, winner, badness


class Differentiated(Batches):
    """Any loss, with any energy, by autograd."""

    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch; a row goes to the memory that attracts it most."""
        x, weight = self.x[at], self.weight[at]
        missing = None if self.missing is None else self.missing[at]
        memories = net.memories.clone().requires_grad_()
        log_weights = net.log_weights.clone().requires_grad_()
        settings = self._settings(at, net, costs)
        with torch.enable_grad():
            loss = find_loss(self.plan.objective.name)(
                x,
                memories,
                net.beta,
                energy=net.energy,
                log_weights=log_weights,
                missing=missing,
                sample_weight=weight,
                settings=settings,
            )
            if loss.shape != net.beta.shape:
                message = (
                    f"objective={self.plan.objective.name!r} must give one loss per run, "
                    f"of shape {tuple(net.beta.shape)}, got {tuple(loss.shape)}."
                )
                raise ValueError(message)
            loss = loss * (weight.sum(-1) / self.total[at])
            by_memories, by_log_weights, *by_energy = torch.autograd.grad(
                loss.sum(),
                (memories, log_weights, *learned_parameters(net.energy)),
                materialize_grads=True,
            )
        if missing is not None:
            x = F.complete(
                x,
                net.memories,
                net.beta,
                missing=missing,
                energy=net.energy,
                log_weights=net.log_weights,
                **settings.dynamics,
            )
        return Evaluation(
            loss.detach(),
            by_memories,
            by_log_weights,
            *_places(x, net),
            torch.cat([grad.flatten() for grad in by_energy]) if by_energy else None,
        )

    def _settings(self, at: int, net: Networks, costs: Costs) -> BatchSettings:
        mask_prob = self.plan.objective.mask_prob

        def hidden() -> Tensor:
            return draw_hidden(self.rows, self.epoch.parts(1)[at], mask_prob)[0].mT

        return BatchSettings(net.n_steps, net.step_size, self.fill, mask_prob, *costs, hidden)


def _places(x: Tensor, net: Networks) -> tuple[Tensor, Tensor]:
    """Return the memory that each row goes to, and how badly the memories represent it."""
    energy = net.energy
    if type(energy) in (Euclidean, Cosine):  # as in the core
        bias, patterns = net.logit_parts()
        largest, winner = torch.baddbmm(bias, patterns, x.mT).max(dim=1)
        return winner, (x.square().sum(-1) - largest / net.beta[:, None]).clamp_(min=0)
    x = energy.place(x)
    largest, winner = energy.logits(x, net.memories, net.beta, net.log_weights).max(-1)
    if energy.compact:
        winner = torch.where(largest.isneginf(), -1, winner)
    return winner, energy.distances(x, net.memories).amin(-1).clamp_(min=0)


class ClosedForm(Batches):
    """Rows, as columns, that the dynamics moves and that are compared with what they were."""

    target: Tensor  # (batches, runs, d, n)
    start: Tensor
    share: Tensor  # of every entry in the loss
    amount: Tensor | None = None  # how far every entry follows the pull; None: all the same

    def __init__(self, rows: Rows, plan: _native.Plan, epoch: Epoch) -> None:
        super().__init__(rows, plan, epoch)
        self.target = self.start = self.x.mT.contiguous()
        missing = None if self.missing is None else self.missing.mT.contiguous()
        self.compare(missing)

    def compare(self, missing: Tensor | None) -> None:
        """Say where states start, what of them is compared and what moves."""
        raise NotImplementedError

    def _columns(self, marked: Tensor) -> Tensor:
        """Return how many columns of the table are marked; a category is, or not, as a whole."""
        firsts = self.rows.first_features
        return (marked if firsts is None else marked[:, :, firsts]).sum(2)

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


class Completion(ClosedForm):
    """Hidden entries are completed and compared; missing ones move along."""

    def compare(self, missing: Tensor | None) -> None:
        """Draw what is hidden."""
        hidden = draw_hidden(self.rows, self.epoch, self.plan.objective.mask_prob)
        moves = hidden if missing is None else hidden | missing
        share = self.weight / self.total[..., None] / self._columns(hidden).clamp_(min=1)
        self.start = torch.where(moves, self.fill[:, None], self.target)
        self.share = hidden * share[:, :, None]
        self.amount = moves * self.plan.network.step_size


class Reconstruction(ClosedForm):
    """Everything moves, the observed entries are compared."""

    def compare(self, missing: Tensor | None) -> None:
        """Compare what is observed."""
        seen = torch.ones_like(self.target)
        if missing is not None:
            seen = (~missing).to(self.target)
            self.start = torch.where(missing, self.fill[:, None], self.target)
        share = self.weight / self.total[..., None] / self._columns(seen)
        self.share = seen * share[:, :, None]


# For the Euclidean and the cosine energy.
CLOSED_FORMS: dict[str, type[Batches]] = {
    "completion": Completion,
    "reconstruction": Reconstruction,
}


def batches_of(name: str, energy: Energy, *, sparse: bool) -> type[Batches]:
    """Return the kind of batches that an objective is evaluated by, of rows that may be sparse."""
    find_loss(name)
    if type(energy) in (Euclidean, Cosine):
        if sparse and name == "silhouette":
            return SparseSilhouette
        return CLOSED_FORMS.get(name, Differentiated)
    return Differentiated
