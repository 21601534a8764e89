"""Networks with given memories: basins, attractor dynamics, and collective attraction."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from amclust import ClAM
from benchmarks.data import FloatArray
from benchmarks.framework.running import Unfinished
from paper.records import Case, Run
from paper.settings import Settings

Place = tuple[float, float]
# Memories, and a point among them.
Drawing = tuple[tuple[Place, ...], Place]


MEMORIES = {
    "three-memories": ((0.2, 0.35), (0.55, 0.4), (0.75, 0.8)),
    "five-memories": ((0.2, 0.25), (0.45, 0.45), (0.8, 0.2), (0.3, 0.8), (0.75, 0.7)),
}
_BETAS = (0.001, 0.1, 1.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0, 100.0)
# Of the basins: the paper's, as many steps as one step of size 1 would go.
_BASIN_STEPS = {"n_steps": 10, "step_size": 0.1}
_RESOLUTION = 300

# The drawing of the attractor dynamics, in units of its grid over ten.
_DYNAMICS: Drawing = (((0.35, 0.55), (1.15, 0.35), (2.45, 0.75)), (0.8, 1.5))
_DYNAMICS_BETA = 5.0
_DYNAMICS_STEPS = {"n_steps": 20, "step_size": 0.25}

# The drawings of collective attraction. In the third as drawn, the point never falls to the first
# memory, the farthest; with the other two moved apart, so that they cancel better, it does.
CASES: dict[str, Drawing] = {
    "case-1": (((1.0, 0.5), (4.0, 0.5)), (2.1, 0.5)),
    "case-2": (((1.0, 0.5), (4.0, 0.5), (4.5, 0.5)), (2.1, 0.5)),
    "case-3": (((1.0, 0.5), (2.75, 0.9), (2.75, 0.1)), (2.1, 0.5)),
    "case-3-apart": (((1.0, 0.5), (2.2, 1.4), (2.2, -0.4)), (2.1, 0.5)),
}
_CASE_BETAS = tuple(np.geomspace(0.01, 100.0, 81).round(5).tolist())
# Long enough for the dynamics to settle.
_CASE_STEPS = {"n_steps": 1000, "step_size": 0.1}


def runs(settings: Settings) -> Iterator[Run]:
    yield from (Run("networks", name, "basins", "given") for name in MEMORIES)
    yield Run("networks", "three-and-a-point", "dynamics", "given")
    yield from (Run("networks", name, "attraction", "given") for name in CASES)


def definition(run: Run, settings: Settings) -> dict[str, Any]:
    if run.method == "basins":
        asked = {"memories": MEMORIES[run.set], "betas": _BETAS, **_BASIN_STEPS}
        return {**asked, "resolution": _RESOLUTION}
    if run.method == "dynamics":
        (memories, point), betas, steps = _DYNAMICS, (_DYNAMICS_BETA,), _DYNAMICS_STEPS
    else:
        (memories, point), betas, steps = CASES[run.set], _CASE_BETAS, _CASE_STEPS
    return {"memories": memories, "point": point, "betas": betas, **steps}


def perform(case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
    asked = case.definition
    memories, models = np.array(asked["memories"]), given_networks(asked)
    if case.key.method == "basins":
        return _basins(models, asked["resolution"])
    follow = _dynamics if case.key.method == "dynamics" else _attraction
    return follow(models, memories, np.array(asked["point"]))


def _basins(models: list[ClAM], resolution: int) -> dict[str, Any]:
    """Measure the part of the square that falls to another memory than the nearest."""
    side = (np.arange(resolution) + 0.5) / resolution
    points = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    elsewhere, basins = [], []
    for model in models:
        labels = model.predict(points)
        elsewhere.append(float(np.mean(labels != model.transform(points).argmin(axis=1))))
        basins.append(int(np.unique(labels).size))
    return {"elsewhere": elsewhere, "basins": basins}


def _dynamics(models: list[ClAM], memories: FloatArray, point: FloatArray) -> dict[str, Any]:
    """Follow the point at one temperature, step by step."""
    end, path = models[0].recall(point[None], return_trajectory=True)
    distances = np.linalg.norm(memories - end[0], axis=1)
    return {
        "path": path[:, 0].round(5).tolist(),
        "falls_to": int(distances.argmin()),
        "distance": round(float(distances.min()), 4),
    }


def _attraction(models: list[ClAM], memories: FloatArray, point: FloatArray) -> dict[str, Any]:
    """Follow the point at every temperature: which memory does it end at, and how near?"""
    ends = [model.recall(point[None])[0] for model in models]
    distances = np.linalg.norm(np.array(ends)[:, None] - memories, axis=2)
    return {
        "nearest": int(np.linalg.norm(memories - point, axis=1).argmin()),
        "falls_to": distances.argmin(axis=1).tolist(),
        "distance": distances.min(axis=1).round(4).tolist(),
    }


def given_networks(asked: dict[str, Any]) -> list[ClAM]:
    memories, steps = np.array(asked["memories"]), (asked["n_steps"], asked["step_size"])
    return [given_network(memories, beta, *steps) for beta in asked["betas"]]


def given_network(
    memories: FloatArray, beta: float, n_steps: int = 10, step_size: float = 0.1
) -> ClAM:
    """Give a network with these memories: fitted to them, with steps too small to move them."""
    dynamics = {"beta": beta, "n_steps": n_steps, "step_size": step_size}
    still = {"init": memories, "max_epochs": 1, "learning_rate": 1e-12, "min_lr": 0.0}
    fixed = {"objective": "reconstruction", "scale": None, "n_jobs": 1, "random_state": 0}
    model = ClAM(len(memories), **dynamics, **still, **fixed)
    with warnings.catch_warnings():
        # There is nothing to converge.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(memories)
