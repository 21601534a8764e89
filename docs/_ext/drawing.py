"""What the pictures share: colours for both backgrounds, and a network to look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from numpy.typing import NDArray
from pictures import INK
from sklearn.datasets import make_blobs

from amclust import ClAM

# Okabe and Ito's colours, which colour-blind people can tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442")
CENTRES = np.array([[-4.2, 0.4], [-0.6, 2.3], [0.3, -2.2], [3.2, 1.6], [5.2, -1.6]])


def canvas(width: float, height: float) -> Figure:
    """Make a figure of this size, in inches, that can be drawn and measured without a window."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def rows(seed: int = 4) -> NDArray[np.float64]:
    """Draw clusters of different size and spread in the plane."""
    X, _ = make_blobs(
        [60, 90, 70, 50, 60],
        centers=CENTRES,
        cluster_std=[0.9, 0.7, 0.8, 0.55, 0.8],
        random_state=seed,
    )
    return X


def fitted(**parameters: Any) -> ClAM:
    """Fit a network to the rows, in the units of the plane."""
    defaults = {"n_clusters": 5, "scale": None, "random_state": 0, "n_jobs": 1}
    return ClAM(**{**defaults, **parameters}).fit(rows())


def colours_of(model: ClAM) -> NDArray[np.str_]:
    """Give every memory its colour, from left to right, whatever its index."""
    ranks = np.argsort(np.argsort(model.cluster_centers_[:, 0]))
    return np.array(COLOURS)[ranks]


def grid(
    resolution: int = 260, extent: tuple[float, ...] = (-7, 8, -4.6, 4.9)
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Give the coordinates of a fine grid, and its points as rows."""
    xs = np.linspace(extent[0], extent[1], resolution)
    ys = np.linspace(extent[2], extent[3], int(resolution * 0.65))
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    return xs, ys, points


def draw_basins(axes: Any, model: ClAM, background: str, *, strength: float = 0.35) -> None:
    """Colour the plane by the memory that a point is carried to; nearest memory dashed."""
    xs, ys, points = grid()
    shape = (len(ys), len(xs))
    basins = model.predict(points).reshape(shape)
    palette = np.array([to_rgba(c, strength) for c in colours_of(model)])
    axes.imshow(
        palette[basins], extent=(xs[0], xs[-1], ys[0], ys[-1]), origin="lower", aspect="auto"
    )
    nearest = model.transform(points).argmin(axis=1).reshape(shape)
    for memory in range(model.n_clusters_):
        axes.contour(
            xs,
            ys,
            nearest == memory,
            [0.5],
            colors=INK[background],
            linewidths=0.9,
            linestyles="dashed",
            alpha=0.7,
        )


def draw_memories(axes: Any, model: ClAM, background: str, size: float = 90) -> None:
    """Draw the memories as dots with a rim."""
    axes.scatter(
        *model.cluster_centers_.T,
        s=size,
        c=colours_of(model),
        edgecolors=INK[background],
        linewidths=1.6,
        zorder=5,
    )


def draw_paths(axes: Any, model: ClAM, starts: Any, background: str, **style: Any) -> None:
    """Draw the way of points to their memories."""
    _, trajectory = model.recall(np.asarray(starts, float), return_trajectory=True)
    labels = model.predict(np.asarray(starts, float))
    for path, label in zip(trajectory.transpose(1, 0, 2), labels, strict=True):
        axes.plot(*path.T, color=colours_of(model)[label], marker="o", markersize=2.2, **style)
        axes.plot(*path[0], "o", color=INK[background], markersize=4)


def bare(axes: Any) -> None:
    """Leave out ticks and spines."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
