"""
============================
Energy and paths down to it
============================

The memories make an energy landscape,

.. math:: E(v) = -\\tfrac{1}{\\beta} \\log \\sum_\\mu \\exp(-\\beta \\|\\rho_\\mu - v\\|^2),

with a hollow around every memory. The dynamics carries a row downhill, and the memory at which it
arrives is its cluster.
"""

# %%
# The landscape
# -------------

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from amclust import ClAM
from amclust.plotting import EnergyDisplay, TrajectoryDisplay

X, _ = make_blobs(300, centers=5, cluster_std=1.2, random_state=8)
model = ClAM(5, random_state=0).fit(X)
display = EnergyDisplay.from_estimator(model, X, kind="surface")

# %%
# Paths
# -----
# Dots are the states after every step. Steps are long where the landscape is steep.

display = EnergyDisplay.from_estimator(model, X)
paths = TrajectoryDisplay.from_estimator(model, X, ax=display.ax_, n_points=30)

# %%
# The energy of a row says how typical it is: rows far from all memories have the highest.

display = EnergyDisplay.from_estimator(model, X)
unusual = X[model.energy(X).argsort()[-5:]]
paths = TrajectoryDisplay.from_estimator(model, X, points=unusual, ax=display.ax_)
plt.show()
