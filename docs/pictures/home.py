"""Basins shaded by their energy, rows, and the way of some points: the home page's picture."""

import numpy as np
from drawing import INK, bare, colours_of, draw_memories, draw_paths, fitted, grid, rows
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

STARTS = [
    (-8.1, -3.4),
    (-6.9, 3.6),
    (-2.9, -3.9),
    (1.15, 0.35),
    (2.3, 4.2),
    (7.9, 3.3),
    (2.75, -0.55),
]
EXTENT = (-9.2, 10.2, -4.6, 4.8)


def draw(background):
    model = fitted(beta=0.25, objective="silhouette", n_steps=25, step_size=0.3)
    figure = Figure(figsize=(9.6, 4.65))
    axes = figure.add_axes((0, 0, 1, 1))
    xs, ys, points = grid(420, EXTENT)
    shape = (len(ys), len(xs))
    energy = model.energy(points).reshape(shape)
    depth = 1 - (energy - energy.min()) / np.ptp(energy)
    basins = model.predict(points).reshape(shape)
    colours = np.array([to_rgb(c) for c in colours_of(model)])[basins]
    strength = (0.10 + 0.55 * depth**6)[..., None]
    axes.imshow(np.concatenate([colours, strength], axis=-1), extent=EXTENT, origin="lower")
    levels = np.quantile(energy, np.linspace(0.01, 0.97, 17))
    axes.contour(xs, ys, energy, levels, colors=INK[background], linewidths=0.5, alpha=0.35)
    X = rows()
    axes.scatter(*X.T, s=8, c=INK[background], linewidths=0, alpha=0.6)
    draw_paths(axes, model, STARTS, background, linewidth=2)
    draw_memories(axes, model, background, size=130)
    bare(axes)
    axes.set(xlim=EXTENT[:2], ylim=EXTENT[2:])
    return figure
