"""Training in torch: runs of one kind are one stacked tensor program.

From the same memories, masks and order it goes the same way as the native core
(``_core/trainer.cpp``), up to rounding. Only what is needed once an epoch leaves the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust import _native
from amclust.torch._adjoint import Networks
from amclust.torch._schedule import Adam, Rates, Schedule
from amclust.torch._stacked import OBJECTIVES, Costs, Evaluation
from amclust.torch._stream import Epoch, Rows, Stream

Progress = Callable[[int, int, float], None]

# What must be equal for runs to be stacked.
SHARED = (
    "objective",
    "mask_prob",
    "step_size",
    "n_steps",
    "batch_size",
    "learn_weights",
    "whole_epochs",
)
# Entries of the states that one stack keeps for its gradient, and of rows gathered ahead.
MOST_STATES, MOST_GATHERED = 2**25, 2**22
# Of so many rows next to each other the worst is a candidate for memories that begin anew.
CANDIDATE_GROUP = 8


def train(
    data: _native.Dataset,
    rows: NDArray[np.int64] | None,
    weights: NDArray[np.float32] | None,
    runs: list[dict[str, Any]],
    device: torch.device,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Train runs of any configurations on the same rows; takes and gives what the core does."""
    loaded = Rows.load(data, rows, weights, device)
    started = [Run(place, settings) for place, settings in enumerate(runs)]
    for stacked in _stacks(started, *loaded.values.shape):
        Stack(loaded, stacked, cosine=data.metric == "cosine").train(progress)
    return [run.record for run in started]


def _stacks(runs: list[Run], n_rows: int, n_features: int) -> Iterator[list[Run]]:
    """Group runs that can be stacked, as many as memory allows."""
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        s = run.settings
        key = (
            *(s[name] for name in SHARED),
            s["memories"].shape,
            s["fill"].tobytes(),
            *(run.record[name] for name in ("pass", "place")),
            len(run.curve),
        )
        groups.setdefault(key, []).append(run)
    for group in groups.values():
        s = group[0].settings
        states = 2 * min(s["batch_size"], n_rows) * n_features * (s["n_steps"] + 1)
        most = max(1, MOST_STATES // states)
        for at in range(0, len(group), most):
            yield group[at : at + most]


class Run:
    """One run: what it is to do, and its record so far."""

    def __init__(self, place: int, settings: dict[str, Any]) -> None:
        self.place, self.settings = place, settings
        self.seed = int(settings["seed"])
        self.record: dict[str, Any] = dict(settings["earlier"]) if "earlier" in settings else {}
        if not self.record:
            self.record = _new_record(settings)
        self.curve = list(self.record["loss_curve"])
        self.schedule: Schedule

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to train."""
        end = min(self.settings["max_epochs"], self.settings.get("pause_at", np.inf))
        return bool(self.record["converged"]) or len(self.curve) >= end

    def begin(self, steps_per_epoch: int) -> None:
        """Take up the schedule."""
        r = self.record
        self.schedule = Schedule(
            self.settings,
            steps_per_epoch,
            r["learning_rate"],
            r["schedule_best"],
            r["waited"],
            r["plateaus"],
        )

    def is_best(self, loss: float, living: int) -> bool:
        """Note an epoch, and tell whether its memories are the best so far."""
        r = self.record
        self.curve.append(loss)
        if living < r["best_living"] or (living == r["best_living"] and not loss < r["loss"]):
            return False
        r.update(best_living=living, loss=loss, best_epoch=len(self.curve) - 1)
        return True

    def finish(self, arrays: dict[str, NDArray[Any]], stream: dict[str, int]) -> None:
        """Complete the record with where the run stands."""
        s = self.schedule
        self.record.update(
            arrays | stream,
            loss_curve=np.array(self.curve, dtype=np.float64),
            improving=not self.record["converged"] and s.plateaus == 0,
            learning_rate=s.learning_rate,
            schedule_best=s.best,
            waited=s.waited,
            plateaus=s.plateaus,
        )


def _new_record(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a run before its first epoch."""
    memories = settings["memories"]
    k, d = memories.shape
    log_weights, moments = settings.get("log_weights"), settings.get("moments")
    log_weights = np.zeros(k, np.float32) if log_weights is None else log_weights
    continued = moments is not None
    return {
        "memories": memories,
        "log_weights": log_weights,
        "last_memories": memories,
        "last_log_weights": log_weights,
        "moments": moments if continued else np.zeros((2, k, d), np.float32),
        "weight_moments": settings["weight_moments"] if continued else np.zeros((2, k), np.float32),
        "steps": int(settings["steps"]) if continued else 0,
        "loss_curve": np.zeros(0),
        "loss": 0.0,
        "best_epoch": 0,
        "best_living": -1,
        "reseeded": 0,
        "converged": False,
        "learning_rate": settings["learning_rate"],
        "schedule_best": np.inf,
        "waited": 0,
        "plateaus": 0,
        "pass": 0,
        "place": 0,
    }


class Stack:
    """Runs that differ only in seed, temperature, weights of the loss's parts and schedule."""

    def __init__(self, rows: Rows, runs: list[Run], *, cosine: bool) -> None:
        self._rows, self._runs, self._device = rows, runs, rows.values.device
        settings, record = runs[0].settings, runs[0].record
        self._learn_weights: bool = settings["learn_weights"]
        self._fill = torch.from_numpy(settings["fill"]).to(self._device)
        self._objective = OBJECTIVES[settings["objective"]](rows, settings)
        self._epoch = len(runs[0].curve)
        self._stream = Stream(
            len(rows.values),
            settings["batch_size"],
            whole_epochs=settings["whole_epochs"],
            pass_=record["pass"],
            place=record["place"],
        )
        for run in runs:
            run.begin(self._stream.n_batches)

        self._net = Networks(
            self._records("last_memories"),
            self._records("last_log_weights"),
            beta := self._numbers("beta"),
            (beta if cosine else 2 * beta)[:, None, None],
            settings["step_size"],
            settings["n_steps"],
            cosine,
        )
        self._costs = Costs(self._numbers("anchor"), self._numbers("tie"))
        self._best = self._records("memories"), self._records("log_weights")
        if cosine and self._epoch == 0:
            self._to_sphere()
            self._best = self._net.memories.clone(), self._best[1]
        moments, weight_moments = self._records("moments"), self._records("weight_moments")
        self._adam = Adam(*moments.unbind(1))
        self._weight_adam = Adam(*weight_moments[..., None].unbind(1))

    @torch.no_grad()
    def train(self, progress: Progress | None) -> None:
        """Train all runs to their ends."""
        self._let_go()
        while self._runs:
            epoch = self._stream.epoch(self._epoch, [run.seed for run in self._runs])
            single = len(epoch.sizes) == 1
            # The memories whose loss an epoch measures: those before its only step, or those
            # after its many.
            measured = self._net.memories.clone(), self._net.log_weights.clone()
            losses, wins, badness = self._train_epoch(epoch)
            if not single:
                measured = self._net.memories, self._net.log_weights
            self._keep_best(losses, (wins > 0).sum(axis=1), measured)
            if progress is not None:
                for run, loss in zip(self._runs, losses, strict=True):
                    progress(run.place, self._epoch, loss)
            if badness is not None:
                self._reseed(epoch, wins, badness)
            for run, loss in zip(self._runs, losses, strict=True):
                run.record["converged"] = run.schedule.after_epoch(loss)
            self._epoch += 1
            self._let_go()

    # --- one epoch --------------------------------------------------------------------------------

    def _train_epoch(self, epoch: Epoch) -> tuple[list[float], NDArray[Any], Tensor | None]:
        """Return the runs' losses, the weight of what fell to each memory, and rows' badness."""
        n_batches, n_runs, size = epoch.ids.shape
        rates = Rates(
            [run.schedule.learning_rate for run in self._runs],
            [run.record["steps"] for run in self._runs],
            n_batches,
            self._device,
        )
        ahead = max(1, MOST_GATHERED // (n_runs * size * self._rows.values.shape[1]))
        found: list[Evaluation] = []
        weights = []
        for part in epoch.parts(ahead):
            batches = self._objective.prepare(part)
            weights.append(batches.weight)
            for at in range(len(part.sizes)):
                evaluation = batches.evaluate(at, self._net, self._costs)
                self._step(evaluation, rates[len(found)])
                found.append(evaluation)
        for run in self._runs:
            run.record["steps"] += n_batches
        losses = torch.stack([f.loss for f in found]).cpu().double().mean(0)
        winners = torch.stack([f.winner for f in found], dim=1).flatten(1)
        wins = self._net.log_weights.new_zeros(self._net.log_weights.shape).scatter_add_(
            1, winners, torch.cat(weights).transpose(0, 1).flatten(1)
        )
        badness = None
        if any(run.schedule.is_reseeding(self._epoch) for run in self._runs):
            badness = torch.stack([f.badness for f in found], dim=1)
        return losses.tolist(), wins.cpu().numpy(), badness

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
            for at, (run, loss, alive) in enumerate(zip(self._runs, losses, living, strict=True))
            if run.is_best(loss, int(alive))
        ]
        if better:
            for best, now in zip(self._best, measured, strict=True):
                best[better] = now[better]

    def _reseed(self, epoch: Epoch, wins: NDArray[Any], badness: Tensor) -> None:
        """Put memories that no row falls to on badly represented rows."""
        for at, run in enumerate(self._runs):
            dead = np.flatnonzero(wins[at] <= 0)
            if not len(dead) or not run.schedule.is_reseeding(self._epoch):
                continue
            worst, ids = _candidates(badness[at].cpu().numpy(), epoch.ids[:, at], epoch.valid[:, 0])
            picks = _native.draw_reseeds(run.seed, self._epoch, worst, len(dead))
            index = torch.from_numpy(ids[picks]).to(self._device)
            rows = self._rows.values[index]
            if self._rows.missing is not None:
                rows = torch.where(self._rows.missing[index], self._fill, rows)
            moved = torch.from_numpy(dead[: len(picks)]).to(self._device)
            self._net.memories[at, moved] = rows
            self._net.log_weights[at, moved] = 0.0
            for adam in (self._adam, self._weight_adam):
                adam.first[at, moved] = adam.second[at, moved] = 0.0
            if self._net.cosine:
                self._to_sphere()
            run.record["reseeded"] += len(picks)

    # --- runs that come and go --------------------------------------------------------------------

    def _records(self, name: str) -> Tensor:
        values = np.stack([run.record[name] for run in self._runs]).astype(np.float32)
        return torch.from_numpy(values).to(self._device)

    def _numbers(self, name: str) -> Tensor:
        values = [run.settings[name] for run in self._runs]
        return torch.tensor(values, dtype=torch.float32, device=self._device)

    def _let_go(self) -> None:
        """Complete the records of runs that are done, and go on with the others."""
        staying = [at for at, run in enumerate(self._runs) if not run.is_done]
        if len(staying) == len(self._runs):
            return
        for at, run in enumerate(self._runs):
            if run.is_done:
                self._finish(at, run)
        self._runs = [self._runs[at] for at in staying]
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

    def _finish(self, at: int, run: Run) -> None:
        net, adam, weight_adam = self._net, self._adam, self._weight_adam
        last = net.memories[at], net.log_weights[at]
        best = self._best[0][at], self._best[1][at]
        memories, log_weights = last if run.settings["keep_last"] else best
        arrays = {
            "memories": memories,
            "log_weights": log_weights,
            "last_memories": last[0],
            "last_log_weights": last[1],
            "moments": torch.stack([adam.first[at], adam.second[at]]),
            "weight_moments": torch.stack([weight_adam.first[at], weight_adam.second[at]])[..., 0],
        }
        run.finish(
            {name: values.cpu().numpy().copy() for name, values in arrays.items()},
            {"pass": self._stream.pass_, "place": self._stream.place},
        )


def _candidates(
    badness: NDArray[np.float32], ids: NDArray[np.int64], valid: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the worst row of every group of a batch: its badness and its place among the rows."""
    n_batches, size = ids.shape
    padded = -(-size // CANDIDATE_GROUP) * CANDIDATE_GROUP
    grouped = np.full((n_batches, padded), -np.inf, np.float32)
    grouped[:, :size] = np.where(valid, badness, -np.inf)
    grouped = grouped.reshape(n_batches, -1, CANDIDATE_GROUP)
    place = grouped.argmax(-1) + np.arange(0, padded, CANDIDATE_GROUP)
    worst = grouped.max(-1)
    exists = worst > -np.inf
    batch = np.nonzero(exists)[0]
    return worst[exists], ids[batch, place[exists]]
