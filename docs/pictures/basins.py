"""Basins of the same rows at four temperatures; the borders of the nearest memory dashed."""

import numpy as np
from drawing import INK, bare, draw_basins, draw_memories, fitted, grid, rows
from matplotlib.figure import Figure

BETAS = (0.15, 0.25, 0.5, "auto")


def draw(background):
    figure = Figure(figsize=(9.2, 6.2), layout="constrained")
    for axes, beta in zip(figure.subplots(2, 2).flat, BETAS, strict=True):
        model = fitted(beta=beta, objective="silhouette", n_steps=30, step_size=0.3)
        draw_basins(axes, model, background)
        axes.scatter(*rows().T, s=5, c=INK[background], linewidths=0, alpha=0.5)
        draw_memories(axes, model, background, size=70)
        _, _, points = grid()
        other = np.mean(model.predict(points) != model.transform(points).argmin(axis=1))
        name = f"β = {model.beta_:.2g}" + (" (auto)" if beta == "auto" else "")
        axes.set_title(f"{name}: {other:.1%} of the plane goes elsewhere")
        bare(axes)
    return figure
