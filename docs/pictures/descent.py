"""The way of some points to their memories, and the energy on the way."""

import numpy as np
from drawing import bare, colours_of, draw_basins, draw_memories, draw_paths, fitted
from matplotlib.figure import Figure

STARTS = np.array([(-6.3, -3.6), (-5.8, 4.0), (-2.6, -4.0), (1.15, 0.35), (2.3, 4.3), (7.2, 3.3)])


def draw(background):
    model = fitted(beta=0.25, objective="silhouette", n_steps=25, step_size=0.3)
    figure = Figure(figsize=(9.2, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1))
    draw_basins(left, model, background, strength=0.25)
    draw_paths(left, model, STARTS, background, linewidth=1.8)
    draw_memories(left, model, background)
    bare(left)
    _, trajectory = model.recall(STARTS, return_trajectory=True)
    energy = model.energy(trajectory.reshape(-1, 2)).reshape(len(trajectory), -1)
    for path, label in zip(energy.T, model.predict(STARTS), strict=True):
        right.plot(path, color=colours_of(model)[label], marker="o", markersize=3, linewidth=1.5)
    right.set(xlabel="step", ylabel="energy")
    return figure
