"""Where the nearest memory changes, on a plane: straight lines, found exactly.

A squared distance to a memory is a square that all memories share plus something linear, and so is
the cosine of an angle but for a factor: on any plane the nearest memory has the largest of k linear
functions, and the lines where two of them are equal bound its cell. That is so of the core's
metrics; the cells of others are no polygons, and have no borders here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from amclust._plane import Plane

Floats = NDArray[np.float64]

# Neighbours are cells that touch on a grid of so many points in each direction.
RESOLUTION = 250


def voronoi_segments(plane: Plane, xs: Floats, ys: Floats) -> Floats:
    """Return the borders between the cells of the memories, within a frame.

    Those between memories of the same cluster are left out.

    Parameters
    ----------
    plane : Plane
        Where to look; distances are those of its network, in all features.

    xs, ys : ndarrays
        Coordinates of a grid; only their ends count.

    Returns
    -------
    segments : ndarray of shape (n_segments, 2, 2)
        Ends of straight lines: segment, end, coordinate. None for a metric that the core does not
        have.
    """
    if not plane.network.geometry.is_native:
        return np.empty((0, 2, 2))
    corner = np.array([xs[0], ys[0]])
    size = np.array([xs[-1] - xs[0], ys[-1] - ys[0]])
    level, slope = _linear_functions(plane, corner, size)
    cluster = plane.network.assembly
    found = [
        _border(level, slope, first, second)
        for first, second in _neighbours(level, slope)
        if cluster[first] != cluster[second]
    ]
    segments = np.array([ends for ends in found if ends is not None])
    return corner + segments.reshape(-1, 2, 2) * size


def _linear_functions(plane: Plane, corner: Floats, size: Floats) -> tuple[Floats, Floats]:
    """Return a level and a slope per memory, in coordinates in which the frame is a unit square."""
    network = plane.network
    corners = plane.lift(corner + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]) * size)
    states = network.geometry.to_core_exactly(corners)
    memories = network.memories.astype(np.float64)
    values = 2 * states @ memories.T
    if not network.geometry.spherical:
        values = values - np.sum(memories**2, axis=1)
    return values[0], (values[1:] - values[0]).T


def _neighbours(level: Floats, slope: Floats) -> list[tuple[int, int]]:
    line = np.linspace(0, 1, RESOLUTION)
    cells = np.stack(
        [(level + slope[:, 0] * x + line[:, None] * slope[:, 1]).argmax(1) for x in line]
    )
    touching = [
        np.stack([cells[:-1].ravel(), cells[1:].ravel()]),
        np.stack([cells[:, :-1].ravel(), cells[:, 1:].ravel()]),
    ]
    pairs = np.sort(np.concatenate(touching, axis=1), axis=0)
    pairs = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)
    return [(int(first), int(second)) for first, second in pairs.T]


def _border(level: Floats, slope: Floats, first: int, second: int) -> Floats | None:
    """Return the ends of the line on which two functions are equal, and above all others."""
    rise, step = slope[first] - slope[second], level[first] - level[second]
    steepness = np.linalg.norm(rise)
    if steepness == 0:
        return None
    foot = -step * rise / steepness**2
    along = np.array([-rise[1], rise[0]]) / steepness
    # What has to be positive on it: the lead over the other functions, the way to the frame.
    others = np.delete(np.arange(len(level)), [first, second])
    leads = slope[first] - slope[others]
    sides = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    inward = np.concatenate([leads, sides])
    start = np.concatenate(
        [level[first] - level[others] + leads @ foot, sides @ foot + [0, 0, 1, 1]]
    )
    speed = inward @ along
    if (start[speed == 0] < 0).any():
        return None
    crossing = -start / np.where(speed == 0, 1.0, speed)
    low = crossing[speed > 0].max(initial=-np.inf)
    high = crossing[speed < 0].min(initial=np.inf)
    return foot + np.array([[low], [high]]) * along if low < high else None
