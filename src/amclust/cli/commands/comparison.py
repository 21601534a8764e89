"""ClAM beside k-means: the same restarts, the same rule of choice, the same scaling."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    silhouette_score,
)

from amclust._k_means import k_means_restarts
from amclust.cli.commands import console

if TYPE_CHECKING:
    from amclust._estimator import ClAM

# Sets that come with scikit-learn, and how their columns are scaled: pixels share their units.
BUNDLED: dict[str, tuple[Callable[..., Any], str | None]] = {
    "iris": (datasets.load_iris, "standard"),
    "wine": (datasets.load_wine, "standard"),
    "breast_cancer": (datasets.load_breast_cancer, "standard"),
    "digits": (datasets.load_digits, None),
}
# Silhouettes take the square of it.
MAX_ROWS_SCORED = 10_000


@dataclass(frozen=True)
class Outcome:
    """How one method did."""

    method: str
    silhouette: float
    nmi: float | None
    ari: float | None
    seconds: float


def best_k_means(X: NDArray[Any], n_clusters: Any, restarts: int, seed: Any) -> NDArray[np.int32]:
    """Return the labels of the restart with the best silhouette: the rule that ClAM uses too."""
    labelings = [run.labels_ for run in k_means_restarts(X, n_clusters, restarts, seed)]
    best: NDArray[np.int32] = max(labelings, key=lambda labels: silhouette_of(X, labels))
    return best


def silhouette_of(X: NDArray[Any], labels: NDArray[Any]) -> float:
    """Return the silhouette, on a fixed sample of many rows; -1 for a single cluster."""
    if len(X) > MAX_ROWS_SCORED:
        rows = np.random.default_rng(0).choice(len(X), MAX_ROWS_SCORED, replace=False)
        X, labels = X[rows], labels[rows]
    if not 1 < len(np.unique(labels)) < len(X):
        return -1.0
    return float(silhouette_score(X, labels))


def compare(
    model: ClAM, X: Any, scaled: NDArray[Any], truth: NDArray[Any] | None, repeats: int = 1
) -> list[Outcome]:
    """Run k-means and ClAM in turns, so that a busy machine is busy for both; score their labels.

    ClAM gets `X`; k-means gets the rows as ClAM scales them, and both are scored on these.
    """
    methods: dict[str, Callable[[], NDArray[Any]]] = {
        "k-means": lambda: best_k_means(scaled, model.n_clusters, model.n_init, model.random_state),
        "ClAM": lambda: model.fit(X).labels_,
    }
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    labels: dict[str, NDArray[Any]] = {}
    for _ in range(repeats):
        for name, labels_of in methods.items():
            start = time.perf_counter()
            labels[name] = labels_of()
            seconds[name].append(time.perf_counter() - start)
    return [
        Outcome(
            name,
            silhouette_of(scaled, labels[name]),
            None if truth is None else float(normalized_mutual_info_score(truth, labels[name])),
            None if truth is None else float(adjusted_rand_score(truth, labels[name])),
            float(np.median(seconds[name])),
        )
        for name in methods
    ]


def say_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Print how the methods did, as a table."""
    scored = outcomes[0].nmi is not None
    header = ["method", "silhouette", *(["NMI", "ARI"] if scored else []), "seconds"]
    rows = [
        [
            o.method,
            f"{o.silhouette:.4f}",
            *([f"{o.nmi:.3f}", f"{o.ari:.3f}"] if scored else []),
            f"{o.seconds:.2f}" if o.seconds >= 1 else f"{o.seconds:.3f}",
        ]
        for o in outcomes
    ]
    console.say_table(header, rows)
