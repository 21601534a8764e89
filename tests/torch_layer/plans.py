"""Short ways to plans and training sets for tests: core units are those of the table."""

import numpy as np

from amclust import _native
from amclust._geometry import Geometry
from amclust._rows import TableRows
from amclust._silhouettes import Judged
from amclust.backends import TrainingSet
from amclust.backends.native import NativeBackend

OF_NETWORK = {"beta": 0.5, "step_size": 0.3, "n_steps": 4, "log_weights": None}
OF_OBJECTIVE = {
    "name": "completion",
    "seed": 1,
    "mask_prob": 0.2,
    "fill": None,
    "anchor": 0.3,
    "tie": 0.3,
}
OF_SCHEDULE = {
    "max_epochs": 5,
    "patience": 5,
    "learning_rate": 0.1,
    "lr_factor": 0.8,
    "min_lr": 1e-5,
    "tol": 1e-3,
    "early_stopping": False,
}
OF_PLAN = {
    "learn_weights": False,
    "batch_size": 1024,
    "reseed": False,
    "keep": _native.Keep.BEST,
    "whole_epochs": False,
}


def training_set(X, metric="euclidean", rows=None, weights=None):
    d = X.shape[1]
    ones, fill = np.ones(d, np.float32), np.zeros(d, np.float32)
    geometry = Geometry(metric, X.dtype.name, np.zeros(d), ones, fill, 1.0)
    held = _native.dense_rows(X).in_units(
        geometry.energy, geometry.offset, geometry.scale, bool(np.isnan(X).any())
    )
    judged = Judged(np.arange(len(X)), np.ones(len(X), np.float32), False)
    table = TableRows(X)
    return TrainingSet(
        table=table,
        rows=held,
        geometry=geometry,
        indices=rows,
        weights=weights,
        counts=weights,
        judged=judged,
        has_missing=bool(np.isnan(X).any()),
        threads=1,
        is_sample=False,
        total_weight=len(X),
        ranges=(fill, fill),
    )


def make_plan(memories, energy="euclidean", **changes):
    """Return a plan; `moments`, `weight_moments` and `steps` are of training it goes on from."""
    given = OF_NETWORK | OF_OBJECTIVE | OF_SCHEDULE | OF_PLAN
    resumed = {name: changes.pop(name, None) for name in ("moments", "weight_moments", "steps")}
    if "objective" in changes:
        changes["name"] = changes.pop("objective")
    assert set(changes) <= set(given), changes
    given |= changes
    k, d = np.shape(memories)
    log_weights = given["log_weights"]
    network = _native.Network(
        np.ascontiguousarray(memories, dtype=np.float32),
        np.zeros(k, np.float32) if log_weights is None else log_weights,
        energy,
        given["beta"],
        given["step_size"],
        given["n_steps"],
    )
    plan = _native.Plan(network)
    if given["fill"] is None:
        given["fill"] = np.zeros(d, np.float32)
    for part, names in (
        (plan.objective, OF_OBJECTIVE),
        (plan.schedule, OF_SCHEDULE),
        (plan, OF_PLAN),
    ):
        for name in names:
            setattr(part, name, given[name])
    if resumed["moments"] is not None:
        plan.resume(resumed["moments"], resumed["weight_moments"], resumed["steps"])
    return plan


def train_natively(data, plans):
    return NativeBackend().train(data, plans, None)
