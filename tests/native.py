"""Short ways to the native core for tests: the core's units are the table's own."""

import numpy as np

from amclust import _native


def dataset(X, metric="euclidean"):
    data = _native.dense_dataset(X)
    data.has_missing = bool(np.isnan(X).any())
    d = X.shape[1]
    data.set_units(metric, np.zeros(d), np.ones(d, np.float32))
    return data


def run_settings(memories, **changes):
    """Return settings of a run as `_native.train` and `_native.evaluate` take them."""
    d = np.shape(memories)[1]
    settings = {
        "objective": "completion",
        "seed": 1,
        "mask_prob": 0.2,
        "fill": np.zeros(d, np.float32),
        "anchor": 0.3,
        "tie": 0.3,
        "beta": 0.5,
        "step_size": 0.3,
        "n_steps": 4,
        "memories": np.ascontiguousarray(memories, dtype=np.float32),
        "log_weights": None,
        "learn_weights": False,
        "batch_size": 1024,
        "max_epochs": 5,
        "patience": 5,
        "learning_rate": 0.1,
        "lr_factor": 0.8,
        "min_lr": 1e-5,
        "tol": 1e-3,
        "early_stopping": False,
        "reseed": False,
        "keep_last": False,
        "whole_epochs": False,
    }
    return settings | changes


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
    k, d = np.shape(memories)
    found = _native.infer(
        dataset(np.ascontiguousarray(X), metric),
        None,
        np.zeros(d, np.float32) if fill is None else np.float32(fill),
        np.ascontiguousarray(memories, dtype=np.float32),
        np.zeros(k, np.float32) if log_weights is None else np.float32(log_weights),
        beta,
        step_size,
        n_steps,
        list(want),
        threads,
    )
    results = tuple(found[name] for name in want)
    return results if len(want) > 1 else results[0]
