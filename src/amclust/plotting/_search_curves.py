"""What a search found, as curves: the best silhouette at each value of its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._k_means import k_means_restarts
from amclust._plane import completed
from amclust._search import ClAMSearch
from amclust._validation import validate_rows

Curves = dict[Any, tuple[NDArray[Any], NDArray[Any]]]

# Columns of a search's results that are not parameters.
OUTCOMES = (
    *("run", "config", "seed", "rung", "epochs", "loss", "silhouette", "living_clusters"),
    *("largest_share", "converged", "chosen"),
)
# What is looked for, in this order, where the user does not say.
AXIS_ORDER = ("beta", "beta_factor", "learning_rate", "n_clusters", "n_steps")
GROUP_ORDER = ("n_steps", "n_clusters", "objective")


def choose_parameters(
    table: dict[str, NDArray[Any]], x: str, group_by: str | None
) -> tuple[str, str | None]:
    """Return the parameter along the axis, and the one that makes lines; "auto" is decided here."""
    searched = [name for name in table if name not in OUTCOMES]
    for argument, name in (("x", x), ("group_by", group_by)):
        if name not in (None, "auto", *searched):
            msg = f"{argument}={name!r} was not searched; these were: {', '.join(searched)}."
            raise ValueError(msg)
    if x == group_by != "auto":
        msg = f"x and group_by must be different parameters, got {x!r} for both."
        raise ValueError(msg)
    # A beta that was not searched itself follows from the data, and is another in every run.
    followed = "beta_factor" in searched or not _is_searched_beta(table)
    varied = [
        name
        for name in searched
        if len(_distinct(table[name])) > 1 and not (name == "beta" and followed)
    ]
    if x == "auto":
        order = [name for name in (*AXIS_ORDER, *varied) if name in varied and name != group_by]
        x = next(iter(order), "beta")
    if group_by == "auto":
        order = [name for name in (*GROUP_ORDER, *varied) if name in varied and name != x]
        few = [name for name in order if len(_distinct(table[name])) <= 12]
        group_by = next(iter(few), None)
    return x, group_by


def _is_searched_beta(table: dict[str, NDArray[Any]]) -> bool:
    """Whether all runs of a configuration have the same beta: then it was given."""
    first = {int(c): b for c, b in zip(table["config"], table["beta"], strict=True)}
    return all(first[int(c)] == b for c, b in zip(table["config"], table["beta"], strict=True))


def _distinct(values: NDArray[Any]) -> list[Any]:
    """Return the values that occur: numbers in their order, anything else by name."""
    plain = list(dict.fromkeys(values.tolist()))
    known = [value for value in plain if value == value]  # a NaN is not what it is
    if all(isinstance(value, int | float) for value in known):
        return sorted(known)
    return sorted(known, key=str)


def best_silhouettes(
    table: dict[str, NDArray[Any]], among: NDArray[np.bool_], x: str, group_by: str | None
) -> tuple[Curves, int]:
    """Return the best silhouettes, and the largest number of runs behind one."""
    columns = {name: np.array(table[name].tolist(), dtype=object) for name in {x, group_by or x}}
    groups = [None] if group_by is None else _distinct(table[group_by])
    curves: Curves = {}
    most = 1
    for group in groups:
        inside = np.ones(len(among), bool) if group_by is None else columns[group_by] == group
        values, best = [], []
        for value in _distinct(table[x][inside]):
            here = inside & (columns[x] == value)
            most = max(most, len(np.unique(table["run"][here])))
            scores = table["silhouette"][here & among]
            values.append(value)
            best.append(np.nanmax(scores) if np.isfinite(scores).any() else np.nan)
        curves[group] = np.array(values, dtype=object), np.array(best, dtype=float)
    return curves, most


def k_means_silhouettes(
    search: ClAMSearch, X: Any, numbers: list[int], restarts: int
) -> dict[int, float]:
    """Return the best silhouette of k-means for each number of clusters."""
    model = search.best_estimator_
    network, X = model.network_, validate_rows(model, X)
    rows = network.geometry.measured(completed(network, X, model.n_jobs))
    best = {}
    for k in numbers:
        partitions = [run.labels_ for run in k_means_restarts(rows, k, restarts, 0)]
        best[k] = float(network.silhouettes(X, partitions, n_jobs=model.n_jobs).max())
    return best
