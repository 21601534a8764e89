"""Short ways to the native core for tests: core units are original units."""

import numpy as np

from amclust import _native
from amclust._native import Want


def rows_of(X, metric="euclidean"):
    d = X.shape[1]
    has_missing = bool(np.isnan(X).any())
    return _native.dense_rows(X).in_units(metric, np.zeros(d), np.ones(d, np.float32), has_missing)


def network_of(
    memories, *, beta=0.5, step_size=0.3, n_steps=4, log_weights=None, metric="euclidean"
):
    memories = np.ascontiguousarray(memories, dtype=np.float32)
    log_weights = np.zeros(len(memories)) if log_weights is None else log_weights
    weights = np.ascontiguousarray(log_weights, dtype=np.float32)
    return _native.Network(memories, weights, metric, beta, step_size, n_steps)


SCHEDULE = {
    "learning_rate": 0.1,
    "lr_factor": 0.8,
    "min_lr": 1e-5,
    "tol": 1e-3,
    "max_epochs": 5,
    "patience": 5,
    "early_stopping": False,
}
OBJECTIVE = {"name": "completion", "seed": 1, "mask_prob": 0.2, "anchor": 0.3, "tie": 0.3}
PLAN = {
    "batch_size": 1024,
    "learn_weights": False,
    "reseed": False,
    "keep": _native.Keep.BEST,
    "whole_epochs": False,
}


def plan_of(memories, objective="completion", fill=None, **changes):
    """Return a plan; changes may be those of the plan, its network, objective or schedule."""
    names = ("beta", "step_size", "n_steps", "log_weights", "metric")
    network = {name: changes.pop(name) for name in names if name in changes}
    plan = _native.Plan(network_of(memories, **network))
    d = np.shape(memories)[1]
    plan.objective.fill = np.zeros(d, np.float32) if fill is None else np.float32(fill)
    plan.objective.name = objective
    for part, values in ((plan.objective, OBJECTIVE), (plan.schedule, SCHEDULE), (plan, PLAN)):
        for name, value in values.items():
            if name != "name":
                setattr(part, name, changes.pop(name, value))
    for name, value in changes.items():
        setattr(plan, name, value)
    return plan


def infer(
    X,
    memories,
    *want,
    beta,
    step_size=0.3,
    n_steps=10,
    log_weights=None,
    fill=None,
    metric="euclidean",
    threads=1,
):
    """Return what is wanted, as a tuple if it is more than one thing."""
    d = np.shape(memories)[1]
    network = network_of(
        memories,
        beta=beta,
        step_size=step_size,
        n_steps=n_steps,
        log_weights=log_weights,
        metric=metric,
    )
    asked = Want(0)
    for name in want:
        asked |= Want[name.upper()]
    found = _native.infer(
        network,
        rows_of(np.ascontiguousarray(X), metric),
        np.zeros(d, np.float32) if fill is None else np.float32(fill),
        asked,
        threads=threads,
    )
    results = tuple(getattr(found, name) for name in want)
    return results if len(want) > 1 else results[0]
