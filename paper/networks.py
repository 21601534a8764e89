"""Networks with given memories, and the pictures' configurations of them."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from amclust import ClAM
from benchmarks.data import FloatArray

Place = tuple[float, float]
# Memories, and a point among them.
Drawing = tuple[tuple[Place, ...], Place]

BETAS = (0.001, 0.1, 1.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0, 100.0)
MEMORIES = {
    "three-memories": ((0.2, 0.35), (0.55, 0.4), (0.75, 0.8)),
    "five-memories": ((0.2, 0.25), (0.45, 0.45), (0.8, 0.2), (0.3, 0.8), (0.75, 0.7)),
}
# Of the basins: the paper's, as many steps as one step of size 1 would go.
N_STEPS, STEP_SIZE = 10, 0.1

# The drawings of collective attraction: memories, and a point among them. In the third as drawn,
# the point never falls to the first memory, which is the farthest; with the other two moved apart,
# so that they cancel better, it does.
CASES: dict[str, Drawing] = {
    "case-1": (((1.0, 0.5), (4.0, 0.5)), (2.1, 0.5)),
    "case-2": (((1.0, 0.5), (4.0, 0.5), (4.5, 0.5)), (2.1, 0.5)),
    "case-3": (((1.0, 0.5), (2.75, 0.9), (2.75, 0.1)), (2.1, 0.5)),
    "case-3-apart": (((1.0, 0.5), (2.2, 1.4), (2.2, -0.4)), (2.1, 0.5)),
}
# The drawing of the attractor dynamics, in units of its grid over ten: memories, and a point.
DYNAMICS: Drawing = (((0.35, 0.55), (1.15, 0.35), (2.45, 0.75)), (0.8, 1.5))
DYNAMICS_BETA, DYNAMICS_STEPS, DYNAMICS_STEP_SIZE = 5.0, 20, 0.25

# Long enough for the dynamics to settle.
LONG, SMALL_STEP = 1000, 0.1


def given_network(
    memories: FloatArray, beta: float, n_steps: int = N_STEPS, step_size: float = STEP_SIZE
) -> ClAM:
    """Give a network with these memories: fitted to them, with steps too small to move them."""
    memories = np.asarray(memories, dtype=np.float64)
    model = ClAM(
        len(memories),
        objective="reconstruction",
        beta=beta,
        n_steps=n_steps,
        step_size=step_size,
        scale=None,
        init=memories,
        max_epochs=1,
        learning_rate=1e-12,
        min_lr=0.0,
        n_jobs=1,
        random_state=0,
    )
    with warnings.catch_warnings():
        # There is nothing to converge.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(memories)


def unit_grid(resolution: int) -> FloatArray:
    """Give the points of a grid over the unit square."""
    side = (np.arange(resolution) + 0.5) / resolution
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
