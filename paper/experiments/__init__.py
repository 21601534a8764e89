"""The parts of the evaluation: a module each.

A module lists its ``runs``; its ``definition`` says everything that is chosen about one, as plain
values; ``perform`` makes a run from that, and gives what was found as plain values.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from benchmarks.framework.running import Unfinished
from paper import sets
from paper.experiments import checks, curves, memories, networks, partitions, timings, toys
from paper.methods import METHODS, PROTOCOL_METHODS
from paper.records import Case, Run
from paper.settings import Settings


class _Module(Protocol):
    def runs(self, settings: Settings) -> Iterator[Run]: ...
    def definition(self, run: Run, settings: Settings) -> dict[str, Any]: ...
    def perform(self, case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]: ...


class Experiment(NamedTuple):
    """A part of the evaluation: its module, and what its runs have as methods and protocols."""

    module: _Module
    methods: tuple[str, ...]
    protocols: tuple[str, ...]


EXPERIMENTS = {
    "partitions": Experiment(partitions, tuple(METHODS), tuple(PROTOCOL_METHODS)),
    "timings": Experiment(timings, ("all",), ("paper",)),
    "toys": Experiment(toys, tuple(toys.TOY_METHODS), ("toy",)),
    "networks": Experiment(networks, ("basins", "dynamics", "attraction"), ("given",)),
    "curves": Experiment(curves, tuple(curves.CURVES), ("paper",)),
    "memories": Experiment(memories, ("entropy", "evolution"), ("paper",)),
    "checks": Experiment(checks, tuple(checks.CHECKS), ("check",)),
}


def case_of(run: Run, settings: Settings) -> Case:
    """Say what is to be measured for a run: all that is chosen about it, and its data."""
    definition = EXPERIMENTS[run.experiment].module.definition(run, settings)
    if settings.quick:
        definition["budget"] = settings.budget
    return Case(run, definition, sets.fingerprint(run.set, settings.data_dir))


def perform(case: Case, unfinished: Unfinished, settings: Settings) -> dict[str, Any]:
    return EXPERIMENTS[case.key.experiment].module.perform(case, settings, unfinished)


def is_alone(case: Case) -> bool:
    """Whether a case must have the machine for itself, because it is timed."""
    return case.key.experiment == "timings"
