"""The energy of three memories on a line, for three temperatures."""

import numpy as np
from drawing import COLOURS, INK
from matplotlib.figure import Figure

from amclust import ClAM

MEMORIES = np.array([[-2.2], [-0.6], [2.0]])
BETAS = (0.3, 1.0, 8.0)


def draw(background):
    figure = Figure(figsize=(9.2, 2.9), layout="constrained")
    line = np.linspace(-3.6, 3.6, 500)[:, None]
    # Rows that sit on three places: the memories are learned to be there.
    X = np.repeat(MEMORIES, 20, axis=0) + np.tile(np.linspace(-0.15, 0.15, 20), 3)[:, None]
    for axes, beta in zip(figure.subplots(1, 3, sharey=True), BETAS, strict=True):
        model = ClAM(3, beta=beta, scale=None, n_jobs=1, random_state=0).fit(X)
        label = model.predict(line)
        energy = model.energy(line)
        order = np.argsort(np.argsort(model.cluster_centers_[:, 0]))
        for memory in range(3):
            at = label == memory
            colour = COLOURS[order[memory]]
            axes.plot(np.where(at, line[:, 0], np.nan), energy, color=colour, linewidth=3)
            place = model.cluster_centers_[memory]
            axes.plot(
                place,
                model.energy(place[None]),
                "o",
                color=colour,
                markeredgecolor=INK[background],
                markersize=8,
            )
        axes.set(title=f"β = {beta:g}", xlabel="row", ylim=(-3, 3.2))
    figure.axes[0].set_ylabel("energy")
    return figure
