"""The objectives that can be trained in torch: a table of losses, differentiated by autograd.

A loss is a function of rows, memories and temperature, with any energy. Those of the paper have a
closed form for the Euclidean and the cosine energy beside it (`_closed_form.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from amclust import _native
from amclust.torch import functional as F
from amclust.torch._training import _closed_form
from amclust.torch._training._adjoint import Networks
from amclust.torch._training._batches import Costs, Evaluation, Objective
from amclust.torch._training._rows import Epoch, Rows, draw_hidden
from amclust.torch.energies import Energy
from amclust.torch.energies._arrays import learned_parameters


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


@dataclass(frozen=True)
class TorchObjective:
    """One row of the table."""

    loss: Loss
    closed_form: type[Objective] | None = None  # for the Euclidean and the cosine energy


OBJECTIVES: dict[str, TorchObjective] = {}


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
    OBJECTIVES[name] = TorchObjective(function)
    return function


def make_objective(rows: Rows, plan: _native.Plan, energy: Energy | None) -> Objective:
    """Return what makes batches for an objective; ``energy`` is None where it has a closed form."""
    name = plan.objective.name
    if name not in OBJECTIVES:
        names = ", ".join(repr(known) for known in OBJECTIVES)
        message = (
            f"objective={name!r} has no torch function: give it one with register_torch_objective "
            f"of amclust.torch, or use one of {names}."
        )
        raise ValueError(message)
    found = OBJECTIVES[name]
    if energy is None and found.closed_form is not None:
        return found.closed_form(rows, plan)
    return Differentiated(rows, plan, found.loss)


# --- losses ---------------------------------------------------------------------------------------


def _completion(
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
    return F.completion_loss(
        x,
        memories,
        beta,
        hidden=settings.draw_hidden(),
        missing=missing,
        fill=settings.fill,
        sample_weight=sample_weight,
        energy=energy,
        log_weights=log_weights,
        n_steps=settings.n_steps,
        step_size=settings.step_size,
    )


def _reconstruction(
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
    return F.reconstruction_loss(
        x,
        memories,
        beta,
        missing=missing,
        fill=settings.fill,
        sample_weight=sample_weight,
        energy=energy,
        log_weights=log_weights,
        n_steps=settings.n_steps,
        step_size=settings.step_size,
    )


def _silhouette(
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
    return F.silhouette_loss(
        x,
        memories,
        beta,
        anchor=settings.anchor,
        tie=settings.tie,
        missing=missing,
        sample_weight=sample_weight,
        energy=energy,
        log_weights=log_weights,
        n_steps=settings.n_steps,
        step_size=settings.step_size,
    )


OBJECTIVES["completion"] = TorchObjective(_completion, _closed_form.Completion)
OBJECTIVES["reconstruction"] = TorchObjective(_reconstruction, _closed_form.Reconstruction)
OBJECTIVES["silhouette"] = TorchObjective(_silhouette, _closed_form.Silhouette)


# --- by autograd ----------------------------------------------------------------------------------


@dataclass
class DifferentiatedBatches:
    """Rows of which any loss is taken, with any energy."""

    objective: Differentiated
    weight: Tensor
    rows: Tensor  # (batches, runs, n, d)
    missing: Tensor | None
    total: Tensor  # (batches, 1): what the loss is divided by
    epoch: Epoch

    def evaluate(self, at: int, net: Networks, costs: Costs) -> Evaluation:
        """Evaluate one batch; a row goes to the memory that attracts it most."""
        energy = net.energy
        assert energy is not None
        x, weight = self.rows[at], self.weight[at]
        missing = None if self.missing is None else self.missing[at]
        memories = net.memories.clone().requires_grad_()
        log_weights = net.log_weights.clone().requires_grad_()
        learned = learned_parameters(energy)
        with torch.enable_grad():
            loss = self.objective.loss(
                x,
                memories,
                net.beta,
                energy=energy,
                log_weights=log_weights,
                missing=missing,
                sample_weight=weight,
                settings=self._settings(at, net, costs),
            )
            if loss.shape != net.beta.shape:
                message = (
                    f"objective={self.objective.plan.objective.name!r} must give one loss per run, "
                    f"of shape {tuple(net.beta.shape)}, got {tuple(loss.shape)}."
                )
                raise ValueError(message)
            loss = loss * (weight.sum(-1) / self.total[at])
            by_memories, by_log_weights, *by_energy = torch.autograd.grad(
                loss.sum(), (memories, log_weights, *learned), materialize_grads=True
            )
        winner, badness = self._places(x, missing, net, energy)
        return Evaluation(
            loss.detach(),
            by_memories,
            by_log_weights,
            winner,
            badness,
            torch.cat([grad.flatten() for grad in by_energy]) if by_energy else None,
        )

    def _settings(self, at: int, net: Networks, costs: Costs) -> BatchSettings:
        part = self.epoch.parts(1)[at]
        rows, mask_prob = self.objective.rows, self.objective.plan.objective.mask_prob
        return BatchSettings(
            net.n_steps,
            net.step_size,
            self.objective.fill,
            mask_prob,
            costs.anchor,
            costs.tie,
            lambda: draw_hidden(rows, part, mask_prob)[0].mT,
        )

    def _places(
        self, x: Tensor, missing: Tensor | None, net: Networks, energy: Energy
    ) -> tuple[Tensor, Tensor]:
        """Return the memory that each row goes to, and how far it is from the nearest."""
        if missing is not None:
            x = F.complete(
                x,
                net.memories,
                net.beta,
                missing=missing,
                energy=energy,
                log_weights=net.log_weights,
                n_steps=net.n_steps,
                step_size=net.step_size,
            )
        x = energy.place(x)
        largest, winner = energy.logits(x, net.memories, net.beta, net.log_weights).max(-1)
        badness = energy.distances(x, net.memories).amin(-1).clamp_(min=0)
        if energy.compact:
            winner = torch.where(largest.isneginf(), -1, winner)
        return winner, badness


class Differentiated(Objective):
    """Any loss, with any energy."""

    def __init__(self, rows: Rows, plan: _native.Plan, loss: Loss) -> None:
        super().__init__(rows, plan)
        self.loss = loss

    def prepare(self, epoch: Epoch) -> DifferentiatedBatches:
        """Gather the rows."""
        weight, total = self.weights(epoch)
        index, missing = epoch.places(self.rows.device), self.rows.missing
        absent = None if missing is None else missing[index]
        return DifferentiatedBatches(self, weight, self.rows.values[index], absent, total, epoch)
