"""A fitted model in a few lines, for people and for machines."""

from __future__ import annotations

from typing import Any

import numpy as np

from amclust._commands._console import count, say, say_table

MOST_CLUSTERS_SHOWN = 30


def cluster_sizes(labels: Any, n_clusters: int) -> Any:
    """Return the number of rows of every cluster."""
    return np.bincount(labels, minlength=n_clusters)


def describe(model: Any, sizes: Any) -> dict[str, Any]:
    """Return the numbers of a fitted model; these keys are part of the interface."""
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


def say_quality(model: Any) -> None:
    """Print what was found, in one line."""
    how = f"best of {len(model.runs_)} restarts" if len(model.runs_) > 1 else "one run"
    found = f"{count(model.n_clusters_, 'cluster')}, {how}"
    if not np.isnan(model.silhouette_):
        found = f"{count(model.n_clusters_, 'cluster')}, silhouette {model.silhouette_:.4f} ({how})"
    say(found)


def say_sizes(sizes: Any) -> None:
    """Print the sizes of clusters."""
    total = max(1, int(sizes.sum()))
    shown = sizes[:MOST_CLUSTERS_SHOWN]
    rows = [[str(m), f"{size:,}", f"{size / total:.0%}"] for m, size in enumerate(shown)]
    say_table(["cluster", "rows", "share"], rows)
    if len(sizes) > len(shown):
        say(f"... and {len(sizes) - len(shown):,} more")
