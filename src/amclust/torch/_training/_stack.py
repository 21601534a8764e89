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
from amclust.torch._training._adjoint import Networks
from amclust.torch._training._objectives import OBJECTIVES, Costs, Evaluation
from amclust.torch._training._run import Run
from amclust.torch._training._schedule import Adam, Rates
from amclust.torch._training._stream import Epoch, Rows, Stream

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
# Entries of the rows in one batch of a stack, and of rows gathered ahead.
MOST_STACKED, MOST_AHEAD = 2**24, 2**22
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
        most = max(1, MOST_STACKED // (min(s["batch_size"], n_rows) * n_features))
        for at in range(0, len(group), most):
            yield group[at : at + most]


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
        moments, weight_moments = (
            self._records("moments"),
            self._records("weight_moments")[..., None],
        )
        self._adam = Adam(moments[:, 0].contiguous(), moments[:, 1].contiguous())
        self._weight_adam = Adam(weight_moments[:, 0], weight_moments[:, 1])

    @torch.no_grad()
    def train(self, progress: Progress | None) -> None:
        """Train all runs to their ends."""
        self._let_go()
        while self._runs:
            epoch = self._stream.epoch(self._epoch, [run.seed for run in self._runs])
            # The memories whose loss an epoch measures: those before its only step, or those
            # after its many.
            measured = self._net.memories, self._net.log_weights
            if len(epoch.sizes) == 1:
                measured = self._net.memories.clone(), self._net.log_weights.clone()
            losses, wins, badness = self._train_epoch(epoch)
            self._keep_best(losses, (wins > 0).sum(axis=1), measured)
            if progress is not None:
                for run, loss in zip(self._runs, losses, strict=True):
                    progress(run.place, self._epoch, loss)
            self._reseed(epoch, wins, badness)
            for run, loss in zip(self._runs, losses, strict=True):
                run.record["converged"] = run.schedule.after_epoch(loss)
            self._epoch += 1
            self._let_go()

    # --- one epoch --------------------------------------------------------------------------------

    def _train_epoch(self, epoch: Epoch) -> tuple[list[float], NDArray[np.float32], Tensor]:
        """Return the runs' losses, the weight of what fell to each memory, and rows' badness."""
        n_batches, n_runs, size = epoch.ids.shape
        rates = Rates(
            [run.schedule.learning_rate for run in self._runs],
            [run.record["steps"] for run in self._runs],
            n_batches,
            self._device,
        )
        ahead = max(1, MOST_AHEAD // (n_runs * size * self._rows.values.shape[1]))
        weights: list[Tensor] = []
        losses: list[Tensor] = []
        winners: list[Tensor] = []
        badness: list[Tensor] = []
        for part in epoch.parts(ahead):
            batches = self._objective.prepare(part)
            weights.append(batches.weight)
            for at in range(len(part.sizes)):
                found = batches.evaluate(at, self._net, self._costs)
                self._step(found, rates[len(losses)])
                losses.append(found.loss)
                winners.append(found.winner)
                badness.append(found.badness)
        for run in self._runs:
            run.record["steps"] += n_batches
        wins = torch.zeros_like(self._net.log_weights).scatter_add_(
            1,
            torch.stack(winners, dim=1).flatten(1),
            torch.cat(weights).transpose(0, 1).flatten(1),
        )
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
            if run.note_epoch(loss, int(alive))
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
