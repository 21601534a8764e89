"""Running what is missing: one run after the other, or a few at a time."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.machine import describe_machine
from benchmarks.quality.results import describe_environment
from paper import sets
from paper.experiments import EXPERIMENTS
from paper.experiments.base import Unfinished
from paper.runs import Record, Records, Run
from paper.settings import Settings


def missing(runs: Iterable[Run], settings: Settings) -> list[Run]:
    """Give the runs that have no record, or one with another definition or of other data."""
    records = Records(settings.folder)
    return [run for run in runs if not _is_done(records, run, settings)]


class Failure(NamedTuple):
    """A run that could not be made, and why."""

    run: Run
    reason: str


def execute(runs: Sequence[Run], settings: Settings, jobs: int) -> Iterator[Record | Failure]:
    """Make the runs and keep their records; those that are timed come last and alone.

    Parameters
    ----------
    runs : sequence of Run
        What to do.
    settings : Settings
        How much.
    jobs : int
        How many runs at a time, each in one thread.

    Yields
    ------
    Record or Failure
        What was done, when it is on disk. A run that fails leaves the others alone.
    """
    shared = [run for run in runs if not EXPERIMENTS[run.experiment].alone]
    if jobs == 1:
        yield from (_attempt(run, settings) for run in shared)
    else:
        tasks = (delayed(_attempt)(run, settings) for run in shared)
        yield from Parallel(jobs, return_as="generator_unordered")(tasks)
    yield from (_attempt(run, settings) for run in runs if EXPERIMENTS[run.experiment].alone)


def perform(run: Run, settings: Settings) -> Record:
    """Make one run, from where an interrupted one stopped, and keep its record."""
    experiment = EXPERIMENTS[run.experiment]
    records, definition = Records(settings.folder), _definition(run, settings)
    data = sets.fingerprint(run.set, settings.data_dir)
    unfinished = Unfinished(records.unfinished(run, definition), data)
    with threadpool_limits(None if experiment.alone else 1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = experiment.perform(run, settings, unfinished)
    seconds, budget = unfinished.seconds, settings.budget
    record = Record(run, definition, _environment(), seconds, results, budget, data)
    records.put(record)
    return record


def _is_done(records: Records, run: Run, settings: Settings) -> bool:
    record = records.get(run)
    if record is None or not record.is_of(_definition(run, settings)):
        return False
    if record.data is None:
        return True
    # Without the data at hand there is nothing to compare with, nor to run anew.
    return sets.fingerprint(run.set, settings.data_dir) in (None, record.data)


def _attempt(run: Run, settings: Settings) -> Record | Failure:
    try:
        return perform(run, settings)
    except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        return Failure(run, f"{type(error).__name__}: {error}")


def _definition(run: Run, settings: Settings) -> dict[str, Any]:
    return EXPERIMENTS[run.experiment].definition(run, settings)


@cache
def _environment() -> dict[str, Any]:
    versions = describe_machine().versions
    environment = describe_environment()
    return {**environment, "versions": {**environment["versions"], "torch": versions["torch"]}}
