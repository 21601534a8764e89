"""What the figures show, as plain data; report.js draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from amclust._plane import Plane
from amclust._voronoi import voronoi_segments
from amclust.report._clusters import Profiles
from amclust.report._html import shorten
from amclust.report._numbers import number
from amclust.report._subject import Subject

# Points of the grid of basins in each direction; fewer where a point has many features.
FINEST_GRID, COARSEST_GRID, GRID_CELLS = 220, 48, 40_000_000
# With more clusters, what distinguishes each is not told of rows: the page has to stay small.
FEW_CLUSTERS = 200
FINEST_GRID_OF_MANY = 120
VALUES_IN_HOVER = 3
INFINITE = "∞"
LONGEST_IN_HOVER = 32
ENTROPY_BINS = 30
# Up and down in a plane whose second axis means nothing: steps that never fall together.
JITTER, GOLDEN_RATIO = 0.12, 0.6180339887


class Projection(TypedDict):
    """The drawn rows in the plane, and what is told of each: one entry per row."""

    x: list[float]
    y: list[float]
    cluster: list[int]  # -1 for noise
    row: list[str]
    energy: list[str]
    entropy: list[str]
    features: list[list[str]]  # per cluster: the names of what is told of its rows
    values: list[list[str]]


class Points(TypedDict):
    """Points in the plane."""

    x: list[float]
    y: list[float]


class Basins(TypedDict):
    """To which memory every point of a grid falls, and where the nearest memory changes."""

    x: list[float]
    y: list[float]
    labels: list[list[int]]
    memories: Points
    borders: list[list[float]]  # x, y, x, y; none where they are not straight


class Knife(TypedDict):
    """The silhouettes of a cluster's drawn rows, and the places of these among the drawn rows."""

    cluster: int
    values: list[float]
    rows: list[int]


class Histogram(TypedDict):
    """How many rows lie between two edges."""

    counts: list[int]
    edges: list[float]


class PageData(TypedDict):
    """All that report.js draws."""

    colours: dict[str, Sequence[str]]  # light and dark
    clusters: int
    numbered: bool  # whether there is room for the numbers of the memories
    axes: list[str]
    principal: bool  # whether the axes are principal components
    projection: Projection
    basins: Basins
    knives: list[Knife] | None
    silhouette: float | None
    entropy: Histogram | None


def rounded(values: NDArray[Any], digits: int = 4) -> list[Any]:
    """Return numbers as plain floats with so many digits of their range, to keep the page small."""
    values = np.asarray(values, dtype=np.float64)
    extent = float(np.max(np.abs(values), initial=0.0))
    if not extent:
        return values.tolist()
    decimals = digits - 1 - int(np.floor(np.log10(extent)))
    return np.round(values, decimals).tolist()


def silhouettes(subject: Subject) -> NDArray[np.float64]:
    """Return the silhouettes of the sampled rows, by the distances of the model; NaN for noise."""
    rows, labels = subject.rows[subject.sample], subject.labels[subject.sample]
    return subject.network.silhouette_values(
        rows, labels, max_rows=len(rows), n_jobs=subject.n_jobs
    )


def plane_of(subject: Subject) -> Plane:
    """Return the plane in which rows are shown."""
    return Plane.of(subject.network, subject.rows[subject.sample], n_jobs=subject.n_jobs)


def axis_titles(subject: Subject, plane: Plane) -> list[str]:
    """Name the axes: by the columns of the table where it has one or two."""
    names = plane.labels if subject.rows.shape[1] > 2 else [*subject.names, ""][:2]
    return [shorten(text) for text in names]


def projection(subject: Subject, profiles: Profiles, plane: Plane) -> Projection:
    """Return the drawn rows in the plane, with what is told of each when one points at it."""
    rows, points = subject.sample[subject.drawn], plane.rows[subject.drawn].copy()
    if subject.rows.shape[1] == 1:  # a line of dots would hide how many there are
        points[:, 1] = JITTER * (np.arange(len(points)) * GOLDEN_RATIO % 1 - 0.5)
    few = subject.n_clusters <= FEW_CLUSTERS
    told: list[list[int]] = [
        [departure.column for departure in profiles.of_cluster(m)[:VALUES_IN_HOVER]] if few else []
        for m in range(subject.n_clusters)
    ]
    formats = profiles.table_formats
    values = [
        [formats[j](float(subject.rows[i, j])) for j in told[subject.labels[i]]]
        if subject.clustered[i]
        else []
        for i in rows
    ]
    return {
        "x": rounded(points[:, 0]),
        "y": rounded(points[:, 1]),
        "cluster": subject.labels[rows].tolist(),
        "row": [shorten(subject.row_name(int(i)), LONGEST_IN_HOVER) for i in rows],
        "energy": [
            INFINITE if np.isinf(value) else number(value) for value in subject.energy[rows]
        ],
        "entropy": [number(value, 2) for value in subject.entropy[rows]],
        "features": [[shorten(subject.names[j], LONGEST_IN_HOVER) for j in of] for of in told],
        "values": values,
    }


def basins(subject: Subject, plane: Plane) -> Basins:
    """Return to which memory every point of the plane falls, and which memory is nearest."""
    cells = GRID_CELLS // subject.rows.shape[1]
    finest = FINEST_GRID if subject.n_clusters <= FEW_CLUSTERS else FINEST_GRID_OF_MANY
    resolution = int(np.clip(np.sqrt(cells), COARSEST_GRID, finest))
    xs, ys = plane.ranges(resolution, margin=0.08)
    borders = voronoi_segments(plane, xs, ys).reshape(-1, 4)
    return {
        "x": rounded(xs, 5),
        "y": rounded(ys, 5),
        "labels": plane.ask(subject.network.labels, xs, ys).tolist(),
        "memories": {"x": rounded(plane.memories[:, 0]), "y": rounded(plane.memories[:, 1])},
        "borders": [rounded(ends) for ends in borders],
    }


def knives(subject: Subject, values: NDArray[np.float64]) -> list[Knife]:
    """Return the silhouettes of the drawn rows cluster by cluster, the largest first.

    ``rows`` are places among the drawn rows.
    """
    values = values[subject.drawn]
    labels = subject.labels[subject.sample[subject.drawn]]
    order = np.argsort(-values, kind="stable")
    members = [(int(m), order[labels[order] == m]) for m in np.unique(labels[labels >= 0])]
    return [
        {"cluster": m, "values": rounded(values[rows], 3), "rows": rows.tolist()}
        for m, rows in members
    ]


def entropy_histogram(subject: Subject) -> Histogram:
    """Return how many rows have which entropy of their memberships, without noise."""
    largest = np.log(subject.n_clusters)
    counts, edges = np.histogram(
        np.clip(subject.entropy[subject.clustered], 0, largest),
        bins=ENTROPY_BINS,
        range=(0, largest),
    )
    return {"counts": counts.tolist(), "edges": rounded(edges, 6)}
