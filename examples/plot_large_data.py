"""
A table in chunks
=================

``partial_fit`` learns from one chunk of a table after the other, as they come from a file or a
stream. Here it is compared with ``fit`` on the whole table, which would not be possible in earnest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM

X, _ = make_blobs(60_000, n_features=8, centers=8, cluster_std=5, random_state=1)
whole = ClAM(8, n_init=1, random_state=0).fit(X)

# %%
# Memories settle: after each chunk, how far did they move, and how much do the labels of a sample
# agree with those of the fit on everything?

sample = X[::50]
model = ClAM(8, random_state=0)
moves, agreement, before = [], [], None
for chunk in np.array_split(X, 120):
    model.partial_fit(chunk)
    if before is not None:
        moves.append(np.linalg.norm(model.cluster_centers_ - before, axis=1).mean())
    before = model.cluster_centers_
    agreement.append(adjusted_rand_score(whole.predict(sample), model.predict(sample)))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.plot(range(2, 121), moves, color="#0072B2")
left.set(xlabel="chunk", ylabel="mean move of a memory", yscale="log")
right.plot(range(1, 121), agreement, color="#D55E00")
right.set(xlabel="chunk", ylabel="agreement with fit (ARI)", ylim=(0, 1.02))
print(f"agreement after the last chunk: {agreement[-1]:.3f}")
