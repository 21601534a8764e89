"""Networks with given memories: basins, attractor dynamics, and collective attraction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from paper.experiments.base import Unfinished
from paper.networks import (
    BETAS,
    CASES,
    DYNAMICS,
    DYNAMICS_BETA,
    DYNAMICS_STEP_SIZE,
    DYNAMICS_STEPS,
    LONG,
    MEMORIES,
    N_STEPS,
    SMALL_STEP,
    STEP_SIZE,
    given_network,
    unit_grid,
)
from paper.runs import Run
from paper.settings import Settings

_RESOLUTION = 300
_CASE_BETAS = tuple(np.geomspace(0.01, 100.0, 81).round(5).tolist())


class Networks:
    """A run is one set of memories at all its temperatures."""

    name = "networks"
    alone = False
    methods = ("basins", "dynamics", "attraction")
    protocols = ("given",)

    def runs(self, settings: Settings) -> Iterator[Run]:
        yield from (Run(self.name, name, "basins", "given") for name in MEMORIES)
        yield Run(self.name, "three-and-a-point", "dynamics", "given")
        yield from (Run(self.name, name, "attraction", "given") for name in CASES)

    def definition(self, run: Run, settings: Settings) -> dict[str, Any]:
        if run.method == "basins":
            steps = {"n_steps": N_STEPS, "step_size": STEP_SIZE, "resolution": _RESOLUTION}
            return {"memories": MEMORIES[run.set], "betas": BETAS, **steps}
        if run.method == "dynamics":
            memories, point = DYNAMICS
            steps = {"n_steps": DYNAMICS_STEPS, "step_size": DYNAMICS_STEP_SIZE}
            return {"memories": memories, "point": point, "betas": [DYNAMICS_BETA], **steps}
        memories, point = CASES[run.set]
        steps = {"n_steps": LONG, "step_size": SMALL_STEP}
        return {"memories": memories, "point": point, "betas": _CASE_BETAS, **steps}

    def perform(self, run: Run, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
        if run.method == "basins":
            return _basins(run.set)
        return _dynamics() if run.method == "dynamics" else _attraction(run.set)

    def expected_seconds(self, run: Run, settings: Settings) -> float:
        return 1.0


def _basins(name: str) -> dict[str, Any]:
    """Measure the part of the square that falls to another memory than the nearest."""
    points = unit_grid(_RESOLUTION)
    elsewhere, basins = [], []
    for beta in BETAS:
        model = given_network(np.array(MEMORIES[name]), beta)
        labels = model.predict(points)
        elsewhere.append(float(np.mean(labels != model.transform(points).argmin(axis=1))))
        basins.append(int(np.unique(labels).size))
    return {"elsewhere": elsewhere, "basins": basins}


def _dynamics() -> dict[str, Any]:
    """Follow one point, step by step."""
    memories, point = (np.array(part) for part in DYNAMICS)
    model = given_network(memories, DYNAMICS_BETA, DYNAMICS_STEPS, DYNAMICS_STEP_SIZE)
    end, path = model.recall(point[None], return_trajectory=True)
    distances = np.linalg.norm(memories - end[0], axis=1)
    return {
        "path": path[:, 0].round(5).tolist(),
        "falls_to": int(distances.argmin()),
        "distance": round(float(distances.min()), 4),
    }


def _attraction(name: str) -> dict[str, Any]:
    """Follow the point at every temperature: which memory does it end at, and how near?"""
    memories, point = (np.array(part) for part in CASES[name])
    ends = [
        given_network(memories, beta, LONG, SMALL_STEP).recall(point[None])[0]
        for beta in _CASE_BETAS
    ]
    distances = np.linalg.norm(np.array(ends)[:, None] - memories, axis=2)
    return {
        "nearest": int(np.linalg.norm(memories - point, axis=1).argmin()),
        "falls_to": distances.argmin(axis=1).tolist(),
        "distance": distances.min(axis=1).round(4).tolist(),
    }


NETWORKS = Networks()
