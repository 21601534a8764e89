"""Labels of any method: numbers of clusters, or their names, and noise."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of rows that are in no cluster.
NOISE_COLOUR = "0.6"


def as_labels(labels: Any) -> NDArray[Any]:
    """Return labels as an array that can be sorted: integers, or else anything."""
    labels = np.asarray(labels)
    if labels.ndim != 1:
        msg = f"labels must have one dimension, got an array of shape {labels.shape}."
        raise ValueError(msg)
    if labels.dtype.kind == "O":
        return labels.astype(int if all(isinstance(a, Integral) for a in labels) else str)
    return labels


def noise_mark(count: int, left_out: bool = False) -> Any:
    """Return what a legend shows for noise, and how many rows it is; 0: a region without rows."""
    from matplotlib.patches import Patch

    rows = f": {count:,} {'row' if count == 1 else 'rows'}" if count else ""
    return Patch(color=NOISE_COLOUR, label=f"noise{rows}{' left out' if left_out else ''}")


def is_noise(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows are in no cluster: those with a negative integer."""
    return labels < 0 if labels.dtype.kind == "i" else np.zeros(len(labels), bool)


def n_clusters(memories: NDArray[Any], memory_labels: NDArray[Any] | None) -> int:
    """Return how many clusters memories make."""
    return len(memories) if memory_labels is None else int(memory_labels.max()) + 1
