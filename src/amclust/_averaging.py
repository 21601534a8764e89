"""The mean of memories over some more steps of training: with less of the noise of batches.

Where batches are parts of the rows, every step leaves memories where its batch drew them, however
many rows there are. What they scatter around comes nearer to the truth with every row more.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from amclust import _native
from amclust._judging import judge_runs
from amclust._options import Options
from amclust._recipe import Recipe
from amclust._runs import TrainedRun
from amclust.backends import Backend, TrainingSet


def averaged(
    data: TrainingSet, run: TrainedRun, options: Options, backend: Backend, recipe: Recipe
) -> TrainedRun:
    """Return a run that goes on from its last memories and takes their mean.

    The run itself, where there is nothing to gain: it has not settled, has settled after a given
    number of epochs, sees much of the rows in every step, or its partition is better by more than
    the tolerance.
    """
    settled = run.record.converged and not run.plan.schedule.enough_epochs
    if not settled or data.n_rows < recipe.averaged_batches * run.plan.batch_size:
        return run
    (record,) = backend.train(data, [_plan(run, recipe)], None)
    found = dataclasses.replace(run, mean=record)
    judge_runs(data, [found])
    least = run.silhouette - options.tol * abs(run.silhouette)
    return found if found.n_nonempty >= run.n_nonempty and found.silhouette >= least else run


def _plan(run: TrainedRun, recipe: Recipe) -> _native.Plan:
    plan, record, start = run.plan.copy(), run.record, run.plan.network
    plan.network = _native.Network(
        record.last_memories,
        record.last_log_weights,
        start.energy,
        start.beta,
        start.step_size,
        start.n_steps,
    )
    plan.energy = record.last_energy
    plan.resume(record.moments, record.weight_moments, record.steps, record.energy_moments)
    plan.earlier = None
    # Other batches than those of the run.
    plan.objective.seed = int(np.uint64(plan.objective.seed) + np.uint64(record.steps))
    plan.reseed, plan.measure_first, plan.keep = False, False, _native.Keep.MEAN
    schedule = plan.schedule
    schedule.max_epochs = plan.pause_at = min(recipe.averaged_epochs, record.n_epochs)
    schedule.patience, schedule.early_stopping = schedule.max_epochs, False
    schedule.learning_rate *= recipe.averaged_rate
    return plan
