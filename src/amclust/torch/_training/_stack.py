"""Training in torch: runs of one kind are one stacked tensor program.

Rows, schedule, re-seeding and record of every run are the core's (`_native.Run`), so from the same
memories training goes the same way as there, up to rounding. Only what is needed once an epoch
leaves the device.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from amclust import _native
from amclust.backends.base import Progress, TrainingSet
from amclust.torch._training._adam import Learned, Rates
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


class Start(NamedTuple):
    """Where a run begins that has no earlier training, whose record would have the same."""

    memories: NDArray[np.float32]
    last_memories: NDArray[np.float32]
    log_weights: NDArray[np.float32]
    last_log_weights: NDArray[np.float32]
    energy: NDArray[np.float32]
    last_energy: NDArray[np.float32]
    moments: NDArray[np.float32]
    weight_moments: NDArray[np.float32]
    energy_moments: NDArray[np.float32]
    steps: int


def _start(plan: _native.Plan) -> Start | _native.Record:
    """Return where a run begins, or what it goes on from."""
    if plan.earlier is not None:
        return plan.earlier
    memories, log_weights, energy = plan.network.memories, plan.network.log_weights, plan.energy
    values = memories, memories, log_weights, log_weights, energy, energy
    return Start(*values, plan.moments, plan.weight_moments, plan.energy_moments, plan.steps)


def train(
    data: TrainingSet,
    plans: Sequence[_native.Plan],
    device: torch.device,
    progress: Progress | None = None,
) -> list[_native.Record]:
    """Train runs of any configurations on the same rows, stacked where they fit together."""
    rows = Rows.load(data, device)
    n_rows, n_features = data.n_rows, rows.n_features
    trainees = [
        Trainee(place, plan, _native.Run(plan, n_rows, data.weights), _start(plan).steps)
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
            plan.measure_first,
            objective.name,
            objective.mask_prob,
            objective.fill.tobytes(),
            network.step_size,
            network.n_steps,
            network.memories.shape,
            plan.batch_size,
            plan.learn_weights,
            plan.whole_epochs,
            plan.keep,
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
        self._learn_weights, self._takes_mean = plan.learn_weights, plan.keep == _native.Keep.MEAN
        self._fill = torch.from_numpy(plan.objective.fill).to(self._device)
        kind = batches_of(plan.objective.name, energy, sparse=rows.are_sparse)
        self._batches = partial(kind, rows, plan)
        self._records: dict[int, _native.Record] = {}
        starts = [_start(trainee.plan) for trainee in trainees]
        self._memories = Learned(
            self._stacked([start.last_memories for start in starts]),
            self._stacked([start.memories for start in starts]),
            self._stacked([start.moments for start in starts]),
        )
        self._log_weights = Learned(
            self._stacked([start.last_log_weights for start in starts])[..., None],
            self._stacked([start.log_weights for start in starts])[..., None],
            self._stacked([start.weight_moments for start in starts])[..., None],
        )
        self._learned = [self._memories, self._log_weights]
        energy = energy.to(self._device)
        if parameters := learned_parameters(energy):  # then this is the only run
            self._learned.append(_learned_energy(energy, parameters, plan))
        self._net = Networks(
            self._memories.values,
            self._log_weights.values[..., 0],
            beta := self._numbers([t.plan.network.beta for t in trainees]),
            (beta if cosine else 2 * beta)[:, None, None],
            network.step_size,
            network.n_steps,
            cosine,
            energy,
        )
        self._costs = Costs(
            self._numbers([t.plan.objective.anchor for t in trainees]),
            self._numbers([t.plan.objective.tie for t in trainees]),
        )
        if cosine and trainees[0].run.epoch == 0:
            self._to_sphere()
            self._memories.best = self._memories.values.clone()

    @torch.no_grad()
    def train(self, progress: Progress | None) -> dict[int, _native.Record]:
        """Train all runs to their ends; return their records by place."""
        self._let_go()
        while self._trainees:
            runs = [trainee.run for trainee in self._trainees]
            seeds = [trainee.plan.objective.seed for trainee in self._trainees]
            epoch = Epoch.of(runs[0].epoch, seeds, [run.next_epoch() for run in runs])
            # The values whose loss an epoch measures: those before its only step, or those after
            # its many.
            single = len(epoch.sizes) == 1
            for learned in self._learned:
                learned.measured = learned.values.clone() if single else learned.values
            losses, wins, badness = self._train_epoch(epoch)
            self._keep_best(losses, (wins > 0).sum(axis=1))
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
        ahead = max(1, MAX_AHEAD // (n_runs * size * self._rows.n_features))
        weights: list[Tensor] = []
        losses: list[Tensor] = []
        winners: list[Tensor] = []
        badness: list[Tensor] = []
        measures = self._trainees[0].run.measures  # of runs in a stack, all or none
        for part in epoch.parts(ahead):
            batches = self._batches(part)
            weights.append(batches.weight)
            for at in range(len(part.sizes)):
                found = batches.evaluate(at, self._net, self._costs)
                if not measures:
                    self._step(found, rates[len(losses)])
                losses.append(found.loss)
                winners.append(found.winner)
                badness.append(found.badness)
        for trainee in self._trainees:
            trainee.steps += 0 if measures else n_batches
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
        self._memories.step(gradient, rates)
        if self._learn_weights:
            self._log_weights.step(evaluation.by_log_weights[..., None], rates)
        if evaluation.by_energy is not None:
            self._learned[-1].step(evaluation.by_energy[None, :, None], rates)
        if net.cosine:
            self._to_sphere()
        if self._takes_mean:
            for learned in self._learned:
                learned.add()

    def _to_sphere(self) -> None:
        norm = self._net.memories.norm(dim=-1, keepdim=True)
        self._net.memories.div_(torch.where(norm > 0, norm, 1.0))

    def _keep_best(self, losses: list[float], living: NDArray[np.int64]) -> None:
        better = [
            at
            for at, trainee in enumerate(self._trainees)
            if trainee.run.is_best(losses[at], int(living[at]))
        ]
        if better:
            for learned in self._learned:
                learned.best[better] = learned.measured[better]

    def _reseed(self, wins: NDArray[Any], badness: Tensor) -> None:
        """Put memories that no row falls to on badly represented rows."""
        for at, trainee in enumerate(self._trainees):
            empty = np.flatnonzero(wins[at] <= 0)
            if not len(empty) or not trainee.run.reseeding:
                continue
            worst = np.ascontiguousarray(badness[at].cpu().numpy(), dtype=np.float32)
            picks = trainee.run.draw_reseeds(worst, len(empty))
            rows = self._rows.take(picks, self._fill)
            moved = torch.from_numpy(empty[: len(picks)]).to(self._device)
            self._memories.replace(at, moved, rows)
            self._log_weights.replace(at, moved, 0.0)
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
        for learned in self._learned:
            learned.stay(staying)
        net = self._net
        self._net = net._replace(
            memories=self._memories.values,
            log_weights=self._log_weights.values[..., 0],
            beta=net.beta[staying],
            factor=net.factor[staying],
        )
        self._costs = Costs(*(cost[staying] for cost in self._costs))

    def _finish(self, at: int, trainee: Trainee) -> _native.Record:
        memories, *others = (learned.record(at, trainee.plan.keep) for learned in self._learned)
        log_weights, *energy = ([values[..., 0] for values in arrays] for arrays in others)
        return trainee.run.finish(
            memories[0],
            log_weights[0],
            memories[1],
            log_weights[1],
            memories[2],
            log_weights[2],
            trainee.steps,
            *(array for arrays in energy for array in arrays),
        )


def _learned_energy(energy: Energy, parameters: list[nn.Parameter], plan: _native.Plan) -> Learned:
    """Return the parameters of an energy, where a plan begins with them; they follow its values."""
    start = _start(plan)
    if len(start.last_energy):
        set_learned_values(energy, start.last_energy)
    values = parameters_to_vector(parameters).detach().clone()
    best, moments = values.clone(), values.new_zeros(2, len(values))
    if len(start.energy):
        best = torch.tensor(start.energy).to(values)
    if start.energy_moments.size:
        moments = torch.tensor(start.energy_moments).to(values)
    vector_to_parameters(values, parameters)
    return Learned(values[None, :, None], best[None, :, None], moments[None, ..., None])
