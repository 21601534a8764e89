"""
================================
How good a partition is
================================

Four pictures to look at after a fit: how well each row fits its cluster, how large the clusters
are, how sharply rows belong to them, and whether training has come to rest.
"""

# %%
# Silhouettes
# -----------
# A blade is a cluster, its edge the sorted silhouettes of its rows. Any other partition can be
# drawn in the same distances: here k-means, with as many restarts, on equally scaled columns.

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from amclust import ClAM
from amclust.plotting import EntropyDisplay, LossCurveDisplay, SilhouetteDisplay, SizesDisplay

X = load_wine(as_frame=True).data
model = ClAM(4, random_state=0).fit(X)
k_means = KMeans(4, n_init=10, random_state=0).fit(scale(X))

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, layout="constrained")
SilhouetteDisplay.from_estimator(model, X, ax=axes[0])
SilhouetteDisplay.from_estimator(model, X, labels=k_means.labels_, ax=axes[1])
for ax, name in zip(axes, ("ClAM", "k-means"), strict=True):
    ax.set_title(name, loc="left")

# %%
# Sizes
# -----
# A silhouette can be bought by splitting off a few rows: look at the sizes too.

display = SizesDisplay.from_estimator(model)

# %%
# Entropy
# -------
# At 0 the nearest memory decides alone. Rows to the right lie between clusters.

display = EntropyDisplay.from_estimator(model, X)

# %%
# Loss
# ----
# The dot is the epoch whose memories were kept.

display = LossCurveDisplay.from_estimator(model)
plt.show()
