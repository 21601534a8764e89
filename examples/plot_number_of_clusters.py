"""
How many clusters?
==================

``n_clusters="auto"`` lets resamples of the rows vote for a number. What they saw is kept, so that
one can look at it instead of believing it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_blobs

from amclust import ClAM

# %%
# Three tables: clusters that are apart, one cloud without clusters, and the wines, which are of
# three kinds.

CORNERS = np.array([[1, 0], [-1, 0], [0.5, 1], [-0.5, 1], [0.5, -1], [-0.5, -1]])
apart, _ = make_blobs(500, centers=3 * CORNERS, cluster_std=0.7, random_state=0)
cloud, _ = make_blobs(500, centers=1, n_features=4, random_state=0)
tables = {"six clusters": apart, "one cloud": cloud, "wine": load_wine().data}

figure, panels = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained", sharey=True)
for axes, (name, X) in zip(panels, tables.items(), strict=True):
    model = ClAM("auto", random_state=0).fit(X)
    evidence = model.n_clusters_evidence_
    axes.bar(evidence["n_clusters"], evidence["adjusted"], color="#0072B2", alpha=0.35)
    chosen = evidence[evidence["chosen"]]
    axes.bar(chosen["n_clusters"], chosen["adjusted"], color="#D55E00")
    axes.set(title=f"{name}: {model.n_clusters_}", xlabel="number of clusters")
    print(name, "votes:", {int(e["n_clusters"]): int(e["votes"]) for e in evidence if e["votes"]})
panels[0].set_ylabel("adjusted silhouette")

# %%
# The silhouette is adjusted for chance: 0 is what rows without clusters reach. More than one
# cluster is only believed above the level shown for 1. Where clusters overlap, the bars are nearly
# equal and the vote is a guess.
