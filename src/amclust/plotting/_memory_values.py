"""Which memories are drawn, and in which units."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._estimator import ClAM
from amclust._geometry import Geometry

# A departure that cannot be told from none, in units of the scaled columns.
NEGLIGIBLE = 1e-6


def recorded_memories(model: ClAM, epochs: Any) -> tuple[NDArray[Any], Any]:
    """Return memories, and the epochs they are of where these are wanted."""
    if epochs is None or epochs is False:
        return np.asarray(model.cluster_centers_), None
    if not hasattr(model, "recorded_memories_"):
        msg = (
            "epochs needs memories that were recorded during training: fit "
            "ClAM(record_epochs=[0, 1, 2, 5, 10, ...])."
        )
        raise ValueError(msg)
    recorded = model.recorded_epochs_
    if epochs is True:
        return model.recorded_memories_, list(recorded.tolist())
    wanted = np.asarray(epochs)
    missing = np.setdiff1d(wanted, recorded)
    if wanted.ndim != 1 or not len(wanted) or len(missing):
        msg = (
            f"epochs must be some of the recorded ones, which are {recorded.tolist()}, got "
            f"{wanted.tolist()}."
        )
        raise ValueError(msg)
    return model.recorded_memories_[np.searchsorted(recorded, wanted)], list(wanted.tolist())


def chosen_clusters(clusters: Any, k: int) -> list[int]:
    """Return the numbers of the memories to draw."""
    if clusters is None:
        return list(range(k))
    which = np.asarray(clusters)
    allowed = which.ndim == 1 and which.size and which.dtype.kind in "iu"
    if not allowed or which.min() < 0 or which.max() >= k:
        msg = f"clusters must be whole numbers from 0 to {k - 1}, got {clusters!r}."
        raise ValueError(msg)
    return [int(m) for m in which]


def check_image_shape(image_shape: Any, d: int) -> tuple[int, int] | None:
    """Return height and width of images of d pixels."""
    if image_shape is None:
        return None
    try:
        height, width = (int(length) for length in image_shape)
    except (TypeError, ValueError):
        height, width = 0, 0
    if height < 1 or height * width != d:
        msg = f"image_shape must be (height, width) of {d} pixels in all, got {image_shape!r}."
        raise ValueError(msg)
    return height, width


def departures(geometry: Geometry, memories: NDArray[Any]) -> NDArray[Any]:
    """Return how memories depart from the mean of the rows, without what is rounding only."""
    mean, factors = geometry.center, geometry.column_scale
    departing = memories - mean
    rounding = NEGLIGIBLE + 4 * np.finfo(geometry.dtype).eps * np.abs(mean * factors)
    return np.where(np.abs(departing * factors) > rounding, departing, 0.0)
