"""Which memory is nearest, in a plane: the exact borders, as segments of lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from amclust._plane import Plane, without_names

# Borders take time with the cube of the clusters, and more could not be told apart.
MOST_CLUSTERS = 256

Box = tuple[float, float, float, float]  # x from, x to, y from, y to


def voronoi_edges(plane: Plane, box: Box) -> NDArray[np.float64]:
    """Return the borders between nearest memories inside a box: x, y, x, y of every segment.

    Over an affine plane the square distances to all memories have the same quadratic part (for
    "cosine": products with a memory are linear), so that who is nearest is decided by one affine
    function a memory, and borders are straight.
    """
    x0, x1, y0, y1 = box
    constants, slopes = _affine_distances(plane, np.array([[x0, y0], [x1, y0], [x0, y1]]))
    if len(constants) > MOST_CLUSTERS:
        return np.empty((0, 4))
    unit = lower_envelope_edges(constants, slopes)
    return unit * [x1 - x0, y1 - y0, x1 - x0, y1 - y0] + [x0, y0, x0, y0]


def _affine_distances(
    plane: Plane, corners: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what decides who is nearest, as functions of the unit square: constants, slopes."""
    rows = plane.lift(corners)
    distances = np.asarray(without_names(plane.model).transform(rows), dtype=np.float64)
    if plane.model._metric == "cosine":
        values = (distances - 1) * np.linalg.norm(rows, axis=1)[:, None]
    else:
        values = distances**2
    values -= values[:, :1]
    return values[0], np.stack([values[1] - values[0], values[2] - values[0]], axis=1)


def lower_envelope_edges(
    constants: NDArray[np.float64], slopes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return where two of the functions ``constants + slopes @ u`` are least together.

    In the unit square; one row a segment, x, y, x, y.
    """
    # The sides of the square are four more constraints of the same form: at most 0.
    side_constants = np.array([0.0, -1.0, 0.0, -1.0])
    side_slopes = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    found = []
    for i in range(len(constants) - 1):
        normals = slopes[i] - slopes[i + 1 :]
        squares = np.sum(normals**2, axis=1)
        real = squares > 1e-18
        normals, squares = normals[real], squares[real]
        others = np.arange(i + 1, len(constants))[real]
        levels = constants[i] - constants[others]
        points = -levels[:, None] * normals / squares[:, None]
        along = np.stack([-normals[:, 1], normals[:, 0]], axis=1) / np.sqrt(squares)[:, None]
        a = np.concatenate([constants[i] - constants, side_constants])
        b = np.concatenate([slopes[i] - slopes, side_slopes])
        offsets, rates = a + points @ b.T, along @ b.T  # offset + t * rate <= 0
        # The two that meet are level along their border.
        each = np.arange(len(others))
        offsets[each, others] = rates[each, others] = 0.0
        tiny = 1e-12 * (1 + np.abs(a).max())
        level = np.abs(rates) <= tiny
        at = np.divide(-offsets, rates, out=np.zeros_like(rates), where=~level)
        last = np.where(~level & (rates > 0), at, np.inf).min(axis=1)
        first = np.where(~level & (rates < 0), at, -np.inf).max(axis=1)
        kept = (first < last) & ~(level & (offsets > tiny)).any(axis=1)
        ends = [points[kept] + t[kept, None] * along[kept] for t in (first, last)]
        found.append(np.hstack(ends))
    return np.concatenate(found) if found else np.empty((0, 4))
