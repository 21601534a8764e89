"""Moons by one memory each, the graph of a hundred memories, and the basins of their assemblies."""

import numpy as np
from drawing import COLOURS, INK, bare, canvas
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from sklearn.datasets import make_moons

from amclust import ClAM

EXTENT = (-1.3, 2.3, -0.85, 1.35)


def shared(X, memories, n_nearest=3):
    """Return how many rows each two memories share."""
    distances = ((X[:, None] - memories) ** 2).sum(axis=-1)
    width = np.sort(distances, axis=1)[:, [n_nearest]]
    shares = np.where(distances < width, np.exp(-4 * distances / width), 0)
    shares /= shares.sum(axis=1, keepdims=True)
    return shares.T @ shares


def draw_plane(axes, model, colours):
    """Colour the plane by clusters."""
    xs, ys = np.linspace(*EXTENT[:2], 360), np.linspace(*EXTENT[2:], 220)
    points = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    palette = np.array([to_rgba(colour, 0.3) for colour in colours])
    basins = palette[model.predict(points)].reshape(len(ys), len(xs), 4)
    axes.imshow(basins, extent=EXTENT, origin="lower", aspect="auto")


def draw(background):
    X, _ = make_moons(1000, noise=0.06, random_state=0)
    figure = canvas(10.5, 3.4)
    panels = figure.subplots(1, 3)
    titles = ("One memory a cluster", "A hundred memories that share rows", "Two assemblies")
    for axes, title, n_memories in zip(panels, titles, (None, 100, 100), strict=True):
        model = ClAM(2, n_memories=n_memories, scale=None, n_jobs=1, random_state=0).fit(X)
        order = np.argsort(np.argsort(model.cluster_centers_[:, 0]))
        colours = np.array(COLOURS)[order]
        if axes is panels[1]:
            graph = np.triu(shared(X, model.memories_), 1)
            pairs = np.argwhere(graph > 0.05)
            widths = 4 * graph[tuple(pairs.T)] / graph.max()
            lines = LineCollection(
                model.memories_[pairs], linewidths=widths, colors=INK[background]
            )
            axes.add_collection(lines)
        else:
            draw_plane(axes, model, colours)
        axes.scatter(*X.T, s=3, c=INK[background], linewidths=0, alpha=0.4)
        axes.scatter(
            *model.memories_.T,
            s=80 if n_memories is None else 16,
            c=colours[model.memory_labels_] if axes is not panels[1] else INK[background],
            edgecolors=INK[background],
            linewidths=1.4 if n_memories is None else 0.6,
            zorder=5,
        )
        axes.set(xlim=EXTENT[:2], ylim=EXTENT[2:], title=title)
        bare(axes)
    return figure
