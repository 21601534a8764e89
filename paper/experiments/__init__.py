"""The parts of the evaluation: one file each."""

from __future__ import annotations

from paper.experiments.base import Experiment
from paper.experiments.checks import CHECKS_EXPERIMENT
from paper.experiments.curves import CURVES_EXPERIMENT
from paper.experiments.memories import MEMORIES_EXPERIMENT
from paper.experiments.networks import NETWORKS
from paper.experiments.partitions import PARTITIONS
from paper.experiments.timings import TIMINGS
from paper.experiments.toys import TOYS_EXPERIMENT

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
