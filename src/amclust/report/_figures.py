"""What the figures show, as plain data; templates/report.js draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from amclust._colours import DARK, LIGHT
from amclust._plane import Plane
from amclust._voronoi import voronoi_segments
from amclust.report._facts import Facts
from amclust.report._numbers import number, shorten
from amclust.report._subject import Subject

# Points of the grid of basins in each direction; fewer where a point has many features.
FINEST_GRID, COARSEST_GRID, GRID_CELLS = 220, 48, 40_000_000
# With more clusters, what distinguishes each is not told of rows: the page has to stay small.
FEW_CLUSTERS, FINEST_GRID_OF_MANY = 200, 120
# On a map there is room for the numbers of so many memories.
MAX_NUMBERED = 60
VALUES_IN_HOVER, LONGEST_IN_HOVER = 3, 32
ENTROPY_BINS = 30
# Up and down in a plane whose second axis means nothing: steps that never fall together.
JITTER, GOLDEN_RATIO = 0.12, 0.6180339887


class Points(TypedDict):
    """Points in the plane."""

    x: list[float]
    y: list[float]


class Projection(Points):
    """The drawn rows in the plane, and what is told of each: one entry per row."""

    cluster: list[int]  # -1 for noise
    row: list[str]
    energy: list[str]
    entropy: list[str]
    features: list[list[str]]  # per cluster: the names of what is told of its rows
    values: list[list[str]]


class Memories(Points):
    """The memories in the plane."""

    cluster: list[int]


class Basins(Points):
    """To which memory every point of a grid falls, and where the nearest memory changes."""

    labels: list[list[int]]
    noise: bool  # whether some points are out of reach of all memories
    memories: Memories
    borders: list[list[float]]  # x, y, x, y; none where they are not straight


class Knife(TypedDict):
    """The silhouettes of a cluster's drawn rows, the largest first."""

    cluster: int
    values: list[float]
    rows: list[int]  # places among the drawn rows


class Histogram(TypedDict):
    """How many rows lie between two edges."""

    counts: list[int]
    edges: list[float]


class Figures(TypedDict):
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


def figures_of(facts: Facts) -> Figures:
    """Return the data of all figures; None for those that would be empty."""
    subject, judged = facts.subject, len(facts.silhouettes) > 0
    n_columns = len(subject.names)
    plane = Plane.of(subject.network, subject.rows[subject.sample], n_jobs=subject.model.n_jobs)
    axes = plane.labels if n_columns > 2 else [*subject.names, ""][:2]
    undecidable = subject.n_clusters == 1 or not subject.clustered.any()
    return {
        "colours": {"light": LIGHT, "dark": DARK},
        "clusters": subject.n_clusters,
        "numbered": subject.network.n_memories <= MAX_NUMBERED,
        "axes": [shorten(text) for text in axes],
        "principal": n_columns > 2 and bool(np.ptp(plane.rows, axis=0).any()),
        "projection": _projection(facts, plane),
        "basins": _basins(subject, plane),
        "knives": _knives(subject) if judged else None,
        "silhouette": round(float(facts.silhouettes.mean()), 4) if judged else None,
        "entropy": None if undecidable else _entropy_histogram(subject),
    }


def _projection(facts: Facts, plane: Plane) -> Projection:
    """Return the drawn rows in the plane, with what is told of each when one points at it."""
    subject, formats = facts.subject, facts.subject.columns.formats
    rows, points = subject.sample[subject.drawn], plane.rows[subject.drawn].copy()
    if subject.rows.shape[1] == 1:  # a line of dots would hide how many there are
        points[:, 1] = JITTER * (np.arange(len(points)) * GOLDEN_RATIO % 1 - 0.5)
    told: list[list[int]] = [[] for _ in range(subject.n_clusters)]
    if subject.n_clusters <= FEW_CLUSTERS:
        for m, columns in enumerate(told):
            first = facts.profiles.of_cluster(m)[:VALUES_IN_HOVER]
            columns.extend(departure.column for departure in first)
    return {
        "x": _rounded(points[:, 0]),
        "y": _rounded(points[:, 1]),
        "cluster": subject.labels[rows].tolist(),
        "row": [shorten(subject.row_name(i), LONGEST_IN_HOVER) for i in rows],
        "energy": ["∞" if np.isinf(value) else number(value) for value in subject.energy[rows]],
        "entropy": [number(value, 2) for value in subject.entropy[rows]],
        "features": [[shorten(subject.names[j], LONGEST_IN_HOVER) for j in of] for of in told],
        "values": [
            [formats[j](subject.cells[i, j]) for j in told[subject.labels[i]]]
            if subject.clustered[i]
            else []
            for i in rows
        ],
    }


def _basins(subject: Subject, plane: Plane) -> Basins:
    """Return to which memory every point of the plane falls, and which memory is nearest."""
    cells = GRID_CELLS // subject.rows.shape[1]
    finest = FINEST_GRID if subject.n_clusters <= FEW_CLUSTERS else FINEST_GRID_OF_MANY
    xs, ys = plane.ranges(int(np.clip(np.sqrt(cells), COARSEST_GRID, finest)), margin=0.08)
    labels = plane.ask(subject.network.labels, xs, ys)
    borders = voronoi_segments(plane, xs, ys).reshape(-1, 4)
    return {
        "x": _rounded(xs, 5),
        "y": _rounded(ys, 5),
        "labels": labels.tolist(),
        "noise": bool((labels < 0).any()),
        "memories": {
            "x": _rounded(plane.memories[:, 0]),
            "y": _rounded(plane.memories[:, 1]),
            "cluster": subject.network.assembly.tolist(),
        },
        "borders": [_rounded(ends) for ends in borders],
    }


def _knives(subject: Subject) -> list[Knife]:
    """Return the silhouettes of the drawn rows cluster by cluster."""
    values = subject.silhouettes[subject.drawn]
    labels = subject.labels[subject.sample[subject.drawn]]
    order = np.argsort(-values, kind="stable")
    order = order[~np.isnan(values[order])]  # without noise, and rows without any value
    members = {int(m): order[labels[order] == m] for m in np.unique(labels[order])}
    return [
        {"cluster": m, "values": _rounded(values[rows], 3), "rows": rows.tolist()}
        for m, rows in members.items()
    ]


def _entropy_histogram(subject: Subject) -> Histogram:
    """Return how many rows have which entropy of their memberships, without noise."""
    largest = np.log(subject.n_clusters)
    entropy = np.clip(subject.entropy[subject.clustered], 0, largest)
    counts, edges = np.histogram(entropy, bins=ENTROPY_BINS, range=(0, largest))
    return {"counts": counts.tolist(), "edges": _rounded(edges, 6)}


def _rounded(values: NDArray[Any], digits: int = 4) -> list[Any]:
    """Return numbers as plain floats with so many digits of their range, to keep the page small."""
    values = np.asarray(values, dtype=np.float64)
    extent = float(np.max(np.abs(values), initial=0.0))
    if not extent:
        return values.tolist()
    return np.round(values, digits - 1 - int(np.floor(np.log10(extent)))).tolist()
