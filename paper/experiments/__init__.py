"""The parts of the evaluation: one file each."""

from __future__ import annotations

from typing import Any

from benchmarks.framework import Unfinished
from paper import sets
from paper.experiments.base import Experiment
from paper.experiments.checks import Checks
from paper.experiments.curves import Curves
from paper.experiments.memories import Memories
from paper.experiments.networks import Networks
from paper.experiments.partitions import Partitions
from paper.experiments.timings import Timings
from paper.experiments.toys import Toys
from paper.records import Case, Run
from paper.settings import Settings

_ALL = (Partitions(), Timings(), Toys(), Networks(), Curves(), Memories(), Checks())
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}


def case_of(run: Run, settings: Settings) -> Case:
    """Say what is to be measured for a run: all that is chosen about it, and its data."""
    definition = EXPERIMENTS[run.experiment].definition(run, settings)
    if settings.quick:
        definition["budget"] = settings.budget
    return Case(run, definition, sets.fingerprint(run.set, settings.data_dir))


def perform(case: Case, unfinished: Unfinished, settings: Settings) -> dict[str, Any]:
    """Make the run of a case."""
    return EXPERIMENTS[case.key.experiment].perform(case.key, settings, unfinished)


def is_alone(case: Case) -> bool:
    """Whether a case must have the machine for itself."""
    return EXPERIMENTS[case.key.experiment].alone
