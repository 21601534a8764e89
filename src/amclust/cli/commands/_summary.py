"""A fitted model in a few lines, for people and for machines."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from amclust._estimator import ClAM
from amclust.cli.commands._console import count, say, say_table

MAX_CLUSTERS_SHOWN = 30


class Description(TypedDict):
    """The numbers of a fitted model; these keys are part of the interface."""

    n_clusters: int
    n_features: int
    sizes: NDArray[np.int64] | None  # None: not counted
    silhouette: float
    loss: float
    beta: float
    epochs: int
    restarts: int


def cluster_sizes(labels: Any, n_clusters: int) -> NDArray[np.int64]:
    """Return the number of rows of every cluster; noise (-1) is in none."""
    labels = np.asarray(labels, dtype=np.int64)
    return np.bincount(labels[labels >= 0], minlength=n_clusters)


def describe(model: ClAM, sizes: NDArray[np.int64] | None) -> Description:
    """Return the numbers of a fitted model."""
    return {
        "n_clusters": model.n_clusters_,
        "n_features": model.n_features_in_,
        "sizes": sizes,
        "silhouette": model.silhouette_,
        "loss": model.loss_,
        "beta": model.beta_,
        "epochs": model.n_iter_,
        "restarts": len(model.runs_),
    }


def say_quality(model: ClAM) -> None:
    """Print what was found, in one line."""
    how = f"best of {len(model.runs_)} restarts" if len(model.runs_) > 1 else "one run"
    found = f"{count(model.n_clusters_, 'cluster')}, {how}"
    if not np.isnan(model.silhouette_):
        found = f"{count(model.n_clusters_, 'cluster')}, silhouette {model.silhouette_:.4f} ({how})"
    say(found)


def say_sizes(sizes: NDArray[np.int64]) -> None:
    """Print the sizes of clusters."""
    total = max(1, int(sizes.sum()))
    shown = sizes[:MAX_CLUSTERS_SHOWN]
    rows = [[str(m), f"{size:,}", f"{size / total:.0%}"] for m, size in enumerate(shown)]
    say_table(["cluster", "rows", "share"], rows)
    if len(sizes) > len(shown):
        say(f"... and {len(sizes) - len(shown):,} more")
