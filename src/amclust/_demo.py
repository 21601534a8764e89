"""The demo: digits, with ClAM and with k-means."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import (
    adjusted_rand_score,
    normalized_mutual_info_score,
    silhouette_score,
)

from amclust._clam import ClAM


class Outcome(NamedTuple):
    """One line of the table."""

    method: str
    silhouette: float
    nmi: float
    ari: float
    seconds: float


def best_k_means(X: NDArray[Any], n_clusters: int, restarts: int, seed: int) -> NDArray[np.int32]:
    """Return the labels of the restart with the best silhouette: the rule that ClAM uses too."""
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=restarts)
    labelings = (KMeans(n_clusters, n_init=1, random_state=int(s)).fit(X).labels_ for s in seeds)
    best: NDArray[np.int32] = max(labelings, key=lambda labels: silhouette_score(X, labels))
    return best


def measure(
    method: str, X: NDArray[Any], y: NDArray[Any], labels_of: Callable[[], NDArray[Any]]
) -> Outcome:
    """Time a clustering and score it."""
    start = time.perf_counter()
    labels = labels_of()
    seconds = time.perf_counter() - start
    return Outcome(
        method,
        float(silhouette_score(X, labels)),
        float(normalized_mutual_info_score(y, labels)),
        float(adjusted_rand_score(y, labels)),
        seconds,
    )


def draw_memories(
    memories: NDArray[Any], titles: list[str], shape: tuple[int, int], path: Path
) -> None:
    """Draw memories as images, side by side; the file appears whole or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.1 * len(memories), 1.5), layout="constrained")
    FigureCanvasAgg(figure)
    for index, (memory, title) in enumerate(zip(memories, titles, strict=True)):
        axes = figure.add_subplot(1, len(memories), index + 1)
        axes.imshow(memory.reshape(shape), cmap="gray_r", vmin=0, vmax=max(16.0, memory.max()))
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()
    handle, name = tempfile.mkstemp(suffix=path.suffix or ".png", dir=path.parent)
    os.close(handle)
    try:
        figure.savefig(name, dpi=150, format=(path.suffix or ".png")[1:])
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def run_demo(restarts: int, seed: int, output: Path) -> None:
    """Cluster the digits both ways, print the table, draw the memories."""
    if not output.parent.is_dir():
        msg = f"--output {output}: there is no folder {output.parent}"
        raise FileNotFoundError(msg)
    if find_spec("matplotlib") is None:
        msg = 'drawing the memories needs matplotlib: pip install "amclust[plot]"'
        raise ImportError(msg)
    X, y = load_digits(return_X_y=True)
    k = len(np.unique(y))
    # All columns are pixels: they share their units, and so need no scaling.
    model = ClAM(n_clusters=k, scale=None, n_init=restarts, random_state=seed)
    print(f"scikit-learn's digits: {X.shape[0]} rows, {X.shape[1]} features, {k} clusters")
    print(f"{restarts} restarts each, the best silhouette is kept\n")
    print(f"{'method':<10}{'silhouette':>12}{'NMI':>8}{'ARI':>8}{'seconds':>10}")
    for outcome in (
        measure("k-means", X, y, lambda: best_k_means(X, k, restarts, seed)),
        measure("ClAM", X, y, lambda: model.fit(X).labels_),
    ):
        print(
            f"{outcome.method:<10}{outcome.silhouette:>12.4f}{outcome.nmi:>8.3f}"
            f"{outcome.ari:>8.3f}{outcome.seconds:>10.2f}"
        )
    digits = np.array([np.bincount(y[model.labels_ == m]).argmax() for m in range(k)])
    order = np.argsort(digits)
    titles = [f"mostly {digit}" for digit in digits[order]]
    draw_memories(model.cluster_centers_[order], titles, (8, 8), output)
    print(f"\nthe memories, by the digit that most of their rows show: {output}")
