"""Training in torch: runs of one kind are one stacked tensor program.

Rows, schedule, re-seeding and record of every run are the core's (`_native.Run`), so from the same
memories training goes the same way as there, up to rounding. Only what is needed once an epoch
leaves the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from amclust import _native
from amclust.backends.base import Progress, TrainingSet
from amclust.torch._training._adam import Adam, Rates
from amclust.torch._training._adjoint import Networks
from amclust.torch._training._objectives import Costs, Evaluation, batches_of
from amclust.torch._training._rows import Epoch, Rows
from amclust.torch.energies import Cosine, Energy, Euclidean, find_energy, make_energy
from amclust.torch.energies._arrays import learned_parameters, set_learned_values

# Entries of the rows in one batch of a stack (by memories, if the core has not the energy), and
# of rows gathered ahead.
MAX_STACKED, MAX_AHEAD = 2**24, 2**22


@dataclass
class Trainee:
    """One run: what it is to do, and where it stands."""

    place: int
    plan: _native.Plan
    run: _native.Run
    steps: int

    @property
    def start(self) -> _native.Network | _native.Record:
        """What the memories come from: another network, or this run's record so far."""
        return self.plan.network if self.plan.earlier is None else self.plan.earlier


def train(
    data: TrainingSet,
    plans: Sequence[_native.Plan],
    device: torch.device,
    progress: Progress | None = None,
) -> list[_native.Record]:
    """Train runs of any configurations on the same rows, stacked where they fit together."""
    rows = Rows.load(data, device)
    n_rows, n_features = rows.values.shape
    trainees = [
        Trainee(
            place,
            plan,
            _native.Run(plan, n_rows, data.weights),
            plan.steps if plan.earlier is None else plan.earlier.steps,
        )
        for place, plan in enumerate(plans)
    ]
    records: dict[int, _native.Record] = {}
    cosine = data.geometry.energy == "cosine"
    for group in _groups(trainees):
        plan = group[0].plan
        k = len(plan.network.memories)
        energy = _energy(data, k)
        in_core = type(energy) in (Euclidean, Cosine)
        cells = min(plan.batch_size, n_rows) * n_features * (1 if in_core else k)
        size = 1 if learned_parameters(energy) else max(1, MAX_STACKED // cells)
        for at in range(0, len(group), size):
            own = _energy(data, k) if at else energy
            stack = Stack(rows, group[at : at + size], energy=own, cosine=cosine)
            records |= stack.train(progress)
    return [records[place] for place in range(len(plans))]


def _energy(data: TrainingSet, k: int) -> Energy:
    """Return a new energy of the metric."""
    size = {"dim": data.rows.n_features, "n_memories": k}
    energy = make_energy(data.geometry.metric, **size)
    return find_energy(data.geometry.energy, **size) if energy is None else energy


def _groups(trainees: list[Trainee]) -> Iterator[list[Trainee]]:
    """Group runs that can be stacked."""
    groups: dict[Any, list[Trainee]] = {}
    for trainee in trainees:
        plan = trainee.plan
        objective, network = plan.objective, plan.network
        key = (
            objective.name,
            objective.mask_prob,
            objective.fill.tobytes(),
            network.step_size,
            network.n_steps,
            network.memories.shape,
            plan.batch_size,
            plan.learn_weights,
            plan.whole_epochs,
            trainee.run.epoch,
        )
        groups.setdefault(key, []).append(trainee)
    yield from groups.values()


class Stack:
    """Runs that differ only in seed, temperature, weights of the loss's parts and schedule."""

    def __init__(
        self, rows: Rows, trainees: list[Trainee], *, energy: Energy, cosine: bool
    ) -> None:
        self._rows, self._trainees, self._device = rows, trainees, rows.device
        plan = trainees[0].plan
        network = plan.network
        self._learn_weights = plan.learn_weights
        self._fill = torch.from_numpy(plan.objective.fill).to(self._device)
        self._batches = partial(batches_of(plan.objective.name, energy), rows, plan)
        self._records: dict[int, _native.Record] = {}
        self._net = Networks(
            self._stacked([_last(t)[0] for t in trainees]),
            self._stacked([_last(t)[1] for t in trainees]),
            beta := self._numbers([t.plan.network.beta for t in trainees]),
            (beta if cosine else 2 * beta)[:, None, None],
            network.step_size,
            network.n_steps,
            cosine,
            energy.to(self._device),
        )
        self._costs = Costs(
            self._numbers([t.plan.objective.anchor for t in trainees]),
            self._numbers([t.plan.objective.tie for t in trainees]),
        )
        self._best = (
            self._stacked([t.start.memories for t in trainees]),
            self._stacked([t.start.log_weights for t in trainees]),
        )
        if cosine and trainees[0].run.epoch == 0:
            self._to_sphere()
            self._best = self._net.memories.clone(), self._best[1]
        optimizers = [t.plan if t.plan.earlier is None else t.plan.earlier for t in trainees]
        moments = self._stacked([found.moments for found in optimizers])
        weight_moments = self._stacked([found.weight_moments for found in optimizers])[..., None]
        self._adam = Adam(moments[:, 0].contiguous(), moments[:, 1].contiguous())
        self._weight_adam = Adam(weight_moments[:, 0], weight_moments[:, 1])
        self._learned = LearnedEnergy.of(energy, plan)

    @torch.no_grad()
    def train(self, progress: Progress | None) -> dict[int, _native.Record]:
        """Train all runs to their ends; return their records by place."""
        self._let_go()
        while self._trainees:
            runs = [trainee.run for trainee in self._trainees]
            seeds = [trainee.plan.objective.seed for trainee in self._trainees]
            epoch = Epoch.of(runs[0].epoch, seeds, [run.next_epoch() for run in runs])
            # The memories whose loss an epoch measures: those before its only step, or those
            # after its many.
            single = len(epoch.sizes) == 1
            measured = self._net.memories, self._net.log_weights
            if single:
                measured = self._net.memories.clone(), self._net.log_weights.clone()
            if single and self._learned is not None:
                self._learned.measure()
            losses, wins, badness = self._train_epoch(epoch)
            if not single and self._learned is not None:
                self._learned.measure()
            self._keep_best(losses, (wins > 0).sum(axis=1), measured)
            if progress is not None:
                for trainee, loss in zip(self._trainees, losses, strict=True):
                    progress(trainee.place, epoch.number, loss)
            self._reseed(wins, badness)
            for run, loss in zip(runs, losses, strict=True):
                run.end_epoch(loss)
            self._let_go()
        return self._records

    # --- one epoch --------------------------------------------------------------------------------

    def _train_epoch(self, epoch: Epoch) -> tuple[list[float], NDArray[np.float32], Tensor]:
        """Return the runs' losses, the weight of what fell to each memory, and rows' badness."""
        n_batches, n_runs, size = epoch.ids.shape
        rates = Rates(
            [trainee.run.learning_rate for trainee in self._trainees],
            [trainee.steps for trainee in self._trainees],
            n_batches,
            self._device,
        )
        ahead = max(1, MAX_AHEAD // (n_runs * size * self._rows.values.shape[1]))
        weights: list[Tensor] = []
        losses: list[Tensor] = []
        winners: list[Tensor] = []
        badness: list[Tensor] = []
        for part in epoch.parts(ahead):
            batches = self._batches(part)
            weights.append(batches.weight)
            for at in range(len(part.sizes)):
                found = batches.evaluate(at, self._net, self._costs)
                self._step(found, rates[len(losses)])
                losses.append(found.loss)
                winners.append(found.winner)
                badness.append(found.badness)
        for trainee in self._trainees:
            trainee.steps += n_batches
        winner = torch.stack(winners, dim=1).flatten(1)
        weight = torch.cat(weights).transpose(0, 1).flatten(1)
        if self._net.energy.compact:  # rows out of all reach fall to none
            weight, winner = weight * (winner >= 0), winner.clamp(min=0)
        wins = torch.zeros_like(self._net.log_weights).scatter_add_(1, winner, weight)
        return (
            torch.stack(losses).cpu().double().mean(0).tolist(),
            wins.cpu().numpy(),
            torch.stack(badness, dim=1),
        )

    def _step(self, evaluation: Evaluation, rates: tuple[Tensor, Tensor]) -> None:
        """Take a step down the gradient."""
        net, gradient = self._net, evaluation.by_memories
        if net.cosine:  # along the sphere
            along = (gradient * net.memories).sum(-1, keepdim=True)
            gradient = gradient - along * net.memories
        self._adam.step(net.memories, gradient, rates)
        if self._learn_weights:
            by_weights = evaluation.by_log_weights[..., None]
            self._weight_adam.step(net.log_weights[..., None], by_weights, rates)
        if self._learned is not None and evaluation.by_energy is not None:
            self._learned.step(evaluation.by_energy, rates)
        if net.cosine:
            self._to_sphere()

    def _to_sphere(self) -> None:
        norm = self._net.memories.norm(dim=-1, keepdim=True)
        self._net.memories.div_(torch.where(norm > 0, norm, 1.0))

    def _keep_best(
        self, losses: list[float], living: NDArray[np.int64], measured: tuple[Tensor, Tensor]
    ) -> None:
        better = [
            at
            for at, trainee in enumerate(self._trainees)
            if trainee.run.is_best(losses[at], int(living[at]))
        ]
        if better:
            for best, now in zip(self._best, measured, strict=True):
                best[better] = now[better]
            if self._learned is not None:
                self._learned.keep()

    def _reseed(self, wins: NDArray[Any], badness: Tensor) -> None:
        """Put memories that no row falls to on badly represented rows."""
        for at, trainee in enumerate(self._trainees):
            empty = np.flatnonzero(wins[at] <= 0)
            if not len(empty) or not trainee.run.reseeding:
                continue
            worst = np.ascontiguousarray(badness[at].cpu().numpy(), dtype=np.float32)
            picks = trainee.run.draw_reseeds(worst, len(empty))
            index = torch.from_numpy(picks).to(self._device)
            rows = self._rows.values[index]
            if self._rows.missing is not None:
                rows = torch.where(self._rows.missing[index], self._fill, rows)
            moved = torch.from_numpy(empty[: len(picks)]).to(self._device)
            self._net.memories[at, moved] = rows
            self._net.log_weights[at, moved] = 0.0
            for adam in (self._adam, self._weight_adam):
                adam.first[at, moved] = adam.second[at, moved] = 0.0
            if self._net.cosine:
                self._to_sphere()

    # --- runs that come and go --------------------------------------------------------------------

    def _stacked(self, arrays: list[NDArray[np.float32]]) -> Tensor:
        return torch.from_numpy(np.stack(arrays)).to(self._device)

    def _numbers(self, values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=self._device)

    def _let_go(self) -> None:
        """Complete the records of runs that are done, and go on with the others."""
        staying = [at for at, trainee in enumerate(self._trainees) if not trainee.run.done]
        if len(staying) == len(self._trainees):
            return
        for at, trainee in enumerate(self._trainees):
            if trainee.run.done:
                self._records[trainee.place] = self._finish(at, trainee)
        self._trainees = [self._trainees[at] for at in staying]
        net = self._net
        self._net = net._replace(
            memories=net.memories[staying],
            log_weights=net.log_weights[staying],
            beta=net.beta[staying],
            factor=net.factor[staying],
        )
        self._costs = Costs(*(cost[staying] for cost in self._costs))
        self._best = self._best[0][staying], self._best[1][staying]
        for adam in (self._adam, self._weight_adam):
            adam.first, adam.second = adam.first[staying], adam.second[staying]

    def _finish(self, at: int, trainee: Trainee) -> _native.Record:
        net, adam, weight_adam = self._net, self._adam, self._weight_adam
        last = _array(net.memories[at]), _array(net.log_weights[at])
        best = _array(self._best[0][at]), _array(self._best[1][at])
        keep_last = trainee.plan.keep_last
        energy: tuple[NDArray[np.float32], ...] = ()
        if self._learned is not None:
            energy = self._learned.state(keep_last=keep_last)
        return trainee.run.finish(
            *(last if keep_last else best),
            *last,
            _array(torch.stack([adam.first[at], adam.second[at]])),
            _array(torch.stack([weight_adam.first[at], weight_adam.second[at]])[..., 0]),
            trainee.steps,
            *energy,
        )


def _last(trainee: Trainee) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the memories and log-weights that training goes on from."""
    if trainee.plan.earlier is None:
        return trainee.plan.network.memories, trainee.plan.network.log_weights
    return trainee.plan.earlier.last_memories, trainee.plan.earlier.last_log_weights


def _array(values: Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(values.cpu().numpy().copy())


class LearnedEnergy:
    """The parameters of an energy that are learned with the memories of a single run."""

    def __init__(self, energy: Energy, best: Tensor, moments: Tensor) -> None:
        self._parameters = learned_parameters(energy)
        self._best, self._measured = best, best
        self._adam = Adam(moments[0][None, None], moments[1][None, None])

    @classmethod
    def of(cls, energy: Energy, plan: _native.Plan) -> LearnedEnergy | None:
        """Begin where a plan does; None: there is nothing to learn."""
        parameters = learned_parameters(energy)
        if not parameters:
            return None
        now = parameters_to_vector(parameters).detach()
        best, last, moments = plan.energy, plan.energy, plan.energy_moments
        if plan.earlier is not None:
            earlier = plan.earlier
            best, last, moments = earlier.energy, earlier.last_energy, earlier.energy_moments
        if len(last):
            set_learned_values(energy, last)
        found = torch.tensor(best).to(now) if len(best) else now
        start = now.new_zeros(2, len(now))
        if moments.size:
            start = torch.tensor(moments).to(now)
        return cls(energy, found, start)

    def measure(self) -> None:
        """Note the parameters whose loss an epoch measures."""
        self._measured = parameters_to_vector(self._parameters).detach().clone()

    def keep(self) -> None:
        """Note that those were the best so far."""
        self._best = self._measured

    def step(self, gradient: Tensor, rates: tuple[Tensor, Tensor]) -> None:
        """Take a step down the gradient."""
        values = parameters_to_vector(self._parameters).detach().clone()
        self._adam.step(values[None, None], gradient[None, None], rates)
        vector_to_parameters(values, self._parameters)

    def state(self, *, keep_last: bool) -> tuple[NDArray[np.float32], ...]:
        """Return the parameters that were found, the last ones, and the moments of the latter."""
        last = _array(parameters_to_vector(self._parameters).detach())
        moments = torch.stack([self._adam.first[0, 0], self._adam.second[0, 0]])
        return last if keep_last else _array(self._best), last, _array(moments)
