"""
Clusters of any shape
=====================

Six made tables in the plane and twelve clusterers, ten of them scikit-learn's. Tables and
parameters are those of `its comparison
<https://scikit-learn.org/stable/auto_examples/cluster/plot_cluster_comparison.html>`_. A panel has
the time of the fit in it.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    Birch,
    MeanShift,
    MiniBatchKMeans,
    SpectralClustering,
    estimate_bandwidth,
)
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler

from amclust import ClAM

COLOURS = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442"])
NOISE = "#222222"

# %%
# The tables. The last has no clusters; methods that are told a number of them cut it nevertheless.

n, seed = 500, 30
blobs = make_blobs(n, random_state=170)[0]
tables = {
    "circles": make_circles(n, factor=0.5, noise=0.05, random_state=seed)[0],
    "moons": make_moons(n, noise=0.05, random_state=seed)[0],
    "varied": make_blobs(n, cluster_std=[1.0, 2.5, 0.5], random_state=170)[0],
    "aniso": blobs @ [[0.6, -0.6], [-0.4, 0.8]],
    "blobs": make_blobs(n, random_state=seed)[0],
    "no structure": np.random.RandomState(seed).rand(n, 2),
}
tables = {name: StandardScaler().fit_transform(X) for name, X in tables.items()}

# %%
# The methods. The first four find the number of clusters themselves, by parameters that
# scikit-learn's example has set for each table. The others are told it.

defaults = {"k": 3, "eps": 0.3, "quantile": 0.3, "neighbors": 3, "xi": 0.05, "smallest": 0.1}
special = {
    "circles": {"k": 2, "quantile": 0.2, "xi": 0.08},
    "moons": {"k": 2, "xi": 0.1},
    "varied": {"eps": 0.18, "neighbors": 2, "xi": 0.01, "smallest": 0.2},
    "aniso": {"eps": 0.15, "neighbors": 2, "xi": 0.1, "smallest": 0.2},
}


def methods(X, *, k, eps, quantile, neighbors, xi, smallest):
    near = kneighbors_graph(X, neighbors, include_self=False)
    near = 0.5 * (near + near.T)
    width = estimate_bandwidth(X, quantile=quantile)
    return {
        "MeanShift": MeanShift(bandwidth=width, bin_seeding=True),
        "DBSCAN": DBSCAN(eps=eps),
        "HDBSCAN": HDBSCAN(
            min_samples=3, min_cluster_size=15, allow_single_cluster=True, copy=True
        ),
        "OPTICS": OPTICS(min_samples=7, xi=xi, min_cluster_size=smallest),
        "MiniBatch\nKMeans": MiniBatchKMeans(k, random_state=42),
        "Spectral\nClustering": SpectralClustering(
            k, eigen_solver="arpack", affinity="nearest_neighbors", random_state=42
        ),
        "Ward": AgglomerativeClustering(k, linkage="ward", connectivity=near),
        "Average\nlinkage": AgglomerativeClustering(
            k, linkage="average", metric="cityblock", connectivity=near
        ),
        "BIRCH": Birch(n_clusters=k),
        "Gaussian\nMixture": GaussianMixture(k, random_state=42),
        "ClAM": ClAM(k, random_state=42),
        'ClAM,\nn_memories\n="auto"': ClAM(k, n_memories="auto", random_state=42),
    }


# %%
# Noise is black. Colours go by the leftmost row of a cluster.


def colours(X, labels):
    names, firsts = np.unique(labels[np.argsort(X[:, 0])], return_index=True)
    firsts[names < 0] = len(X)  # noise is last
    ranks = np.argsort(np.argsort(firsts))[np.searchsorted(names, labels)]
    return np.where(labels < 0, NOISE, COLOURS[ranks % len(COLOURS)])


figure, panels = plt.subplots(6, 12, figsize=(15, 9), layout="constrained")
for row, (name, X) in zip(panels, tables.items(), strict=True):
    row[0].set_ylabel(name)
    low, high = X[:, 1].min(), X[:, 1].max()
    found = methods(X, **{**defaults, **special.get(name, {})})
    for axes, (title, method) in zip(row, found.items(), strict=True):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # graphs that are in several pieces
            labels = method.fit_predict(X)
        seconds = f"{time.perf_counter() - start:.2f} s"
        axes.scatter(*X.T, s=3, c=colours(X, labels), linewidths=0)
        axes.set(xticks=[], yticks=[], ylim=(1.25 * low - 0.25 * high, 1.05 * high - 0.05 * low))
        axes.text(0.97, 0.03, seconds, transform=axes.transAxes, ha="right", fontsize=8)
        if row[0] is panels[0, 0]:
            axes.set_title(title, fontsize=9)

# %%
# One memory a cluster cuts through circles and moons. With ``n_memories="auto"`` these are
# assemblies of memories, and so are the stripes and the clusters of different spread. The blobs
# have a memory each: assemblies would cut through nearly as many rows there.
#
# Six pictures prove nothing about your data; the stripes were found because they do not touch.
