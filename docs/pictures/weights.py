"""Basins with equal weights, and with a memory that has more."""

import numpy as np
from drawing import INK, bare, draw_basins, draw_memories, fitted, rows
from matplotlib.figure import Figure


def draw(background):
    figure = Figure(figsize=(9.2, 3.2), layout="constrained")
    start = fitted(beta=0.5, objective="silhouette").cluster_centers_
    strong = int(np.argmin(np.linalg.norm(start - [0.3, -2.2], axis=1)))
    for axes, weight in zip(figure.subplots(1, 2), (1.0, 30.0), strict=True):
        weights = np.ones(5)
        weights[strong] = weight
        model = fitted(
            beta=0.5, objective="silhouette", init=start, weights=weights, n_steps=30, step_size=0.3
        )
        draw_basins(axes, model, background)
        axes.scatter(*rows().T, s=5, c=INK[background], linewidths=0, alpha=0.5)
        draw_memories(axes, model, background, size=70)
        axes.set_title("equal weights" if weight == 1 else f"one memory with weight {weight:g}")
        bare(axes)
    return figure
