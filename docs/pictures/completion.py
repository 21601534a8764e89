"""A row with a missing coordinate: it may move along a line, and runs downhill on it."""

import dataclasses

import numpy as np
from drawing import INK, bare, colours_of, draw_basins, draw_memories, fitted
from matplotlib.figure import Figure

KNOWN = (-4.6, 0.9, 5.9)


def draw(background):
    model = fitted(beta=0.5, objective="silhouette", n_steps=30, step_size=0.3)
    # As with objective="completion": nothing but the dynamics completes.
    geometry = dataclasses.replace(model.network_.geometry, completion=None)
    network = dataclasses.replace(model.network_, geometry=geometry)
    figure = Figure(figsize=(9.2, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    draw_basins(left, model, background, strength=0.25)
    draw_memories(left, model, background)
    heights = np.linspace(-4.6, 4.9, 300)
    for x in KNOWN:
        row = np.array([[x, np.nan]])
        completed = network.complete(row)
        colour = colours_of(model)[network.labels(row)[0]]
        left.axvline(x, color=INK[background], linewidth=1, linestyle="dotted")
        left.plot(*completed[0], "*", color=colour, markersize=17, markeredgecolor=INK[background])
        energy = model.energy(np.column_stack([np.full_like(heights, x), heights]))
        right.plot(heights, energy, color=colour, linewidth=2)
        right.plot(
            completed[0, 1],
            model.energy(completed),
            "*",
            color=colour,
            markersize=15,
            markeredgecolor=INK[background],
        )
    left.set(xlabel="known", ylabel="missing")
    bare(left)
    right.set(xlabel="missing coordinate", ylabel="energy")
    return figure
