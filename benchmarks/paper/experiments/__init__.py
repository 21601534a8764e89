"""The parts of the evaluation: one file each."""

from __future__ import annotations

from benchmarks.paper.experiments.base import Experiment
from benchmarks.paper.experiments.partitions import PARTITIONS

# In the order in which they are run.
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (PARTITIONS,)}
