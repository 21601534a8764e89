"""The parts of the evaluation: one file each."""

from __future__ import annotations

from benchmarks.paper.experiments.base import Experiment
from benchmarks.paper.experiments.checks import CHECKS_EXPERIMENT
from benchmarks.paper.experiments.curves import CURVES_EXPERIMENT
from benchmarks.paper.experiments.memories import MEMORIES_EXPERIMENT
from benchmarks.paper.experiments.networks import NETWORKS
from benchmarks.paper.experiments.partitions import PARTITIONS
from benchmarks.paper.experiments.timings import TIMINGS
from benchmarks.paper.experiments.toys import TOYS_EXPERIMENT

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        PARTITIONS,
        TIMINGS,
        TOYS_EXPERIMENT,
        NETWORKS,
        CURVES_EXPERIMENT,
        MEMORIES_EXPERIMENT,
        CHECKS_EXPERIMENT,
    )
}
