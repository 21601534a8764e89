"""
=====================
Basins of attraction
=====================

A memory attracts what lies in its basin. How basins are shaped depends on the inverse temperature
β: where it is large, a row falls to its nearest memory and basins are the cells of the memories
(dashed); where it is small, memories attract together, and a row may fall to one that is not the
nearest.
"""

# %%
# Two temperatures
# ----------------

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine, make_blobs

from amclust import ClAM
from amclust.plotting import BasinsDisplay

X, _ = make_blobs(300, centers=5, cluster_std=1.5, random_state=3)

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, beta in zip(axes, (10, 1), strict=True):
    model = ClAM(5, beta=beta, objective="completion", random_state=0).fit(X)
    BasinsDisplay.from_estimator(model, X, ax=ax)
    ax.set_title(f"β = {beta}")

# %%
# More than two features
# ----------------------
# The wines have thirteen. By default, basins are cut along the plane on which the rows vary most;
# two chosen features show them in their own units.

wine = load_wine(as_frame=True).data
model = ClAM(3, random_state=0).fit(wine)
display = BasinsDisplay.from_estimator(model, wine)

# %%
# Rows are coloured by the cluster they belong to in all thirteen features. On this plane the other
# eleven are at their means, so the colour of a dot can differ from the one it lies on.

display = BasinsDisplay.from_estimator(model, wine, features=("flavanoids", "color_intensity"))
plt.show()
