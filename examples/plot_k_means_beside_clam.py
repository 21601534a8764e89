"""
ClAM beside k-means
===================

Both are given the same rows and ten restarts. Where clusters are round and of the same size they
find the same. Where one cluster is large and spread out, k-means cuts it, since that lowers the sum
of squares.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM

COLOURS = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7"])

# %%
# Two tables in the plane: one easy, one with clusters of different size and spread.

easy = make_blobs(400, centers=4, cluster_std=0.8, random_state=3)
uneven = make_blobs(
    [500, 60, 40],
    centers=[[0, 0], [6.5, 3], [6.5, -3]],
    cluster_std=[2.1, 0.6, 0.5],
    random_state=0,
)

# %%
# Columns share their units here, so neither method scales them.

figure, panels = plt.subplots(2, 2, figsize=(8, 6), layout="constrained")
for row, (X, y) in zip(panels, (easy, uneven), strict=True):
    k = len(np.unique(y))
    k_means = KMeans(k, n_init=10, random_state=0).fit(X)
    clam = ClAM(k, scale=None, random_state=0).fit(X)
    for axes, model in zip(row, (k_means, clam), strict=True):
        order = np.argsort(np.argsort(model.cluster_centers_[:, 1]))  # colours from below to above
        axes.scatter(*X.T, c=COLOURS[order[model.labels_]], s=6)
        axes.plot(*model.cluster_centers_.T, "o", color="white", markeredgecolor="black")
        agreement = adjusted_rand_score(y, model.labels_)
        axes.set_title(f"{type(model).__name__}: agreement (ARI) {agreement:.2f}")
        axes.set(xticks=[], yticks=[])

# %%
# A made example proves nothing about your data. The quality benchmark compares both on tables with
# classes, the sets on which ClAM does worse among them.
