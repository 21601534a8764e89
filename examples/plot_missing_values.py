"""
==============
Missing values
==============

A value that is missing is a coordinate that the network fills in: rows with missing values are
fitted, labelled and completed as they are, without an imputer.
"""

# %%
# Clusters of rows with missing values
# ------------------------------------
# A fifth of the values of the wine data is taken away. Rows are drawn where the model completes
# them to.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from amclust.plotting import BasinsDisplay, SilhouetteDisplay

whole, kinds = load_wine(return_X_y=True, as_frame=True)
missing = np.random.default_rng(0).random(whole.shape) < 0.2
X = whole.mask(missing)

model = ClAM(3, random_state=0).fit(X)
display = BasinsDisplay.from_estimator(model, X)
print(f"agreement with the kinds of wine (ARI): {adjusted_rand_score(kinds, model.labels_):.2f}")

# %%
# Two rows are compared by the features that both have, in the silhouette as in training.

display = SilhouetteDisplay.from_estimator(model, X)

# %%
# The values that were taken away
# -------------------------------
# What the network completes is nearer to them than the means of the columns are.

spread = whole.std().to_numpy()
means = SimpleImputer().fit_transform(X)


def error(completed):
    """Return the root mean square error of completed values, in standard deviations."""
    return np.sqrt(np.mean(((np.asarray(completed) - whole) / spread).to_numpy()[missing] ** 2))


print(f"error of the means: {error(means):.2f}, of ClAM: {error(model.complete(X)):.2f}")

# %%
# For one column, the flavanoids:

column = whole.columns.get_loc("flavanoids")
hidden = missing[:, column]
figure, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
ax.scatter(whole.loc[hidden, "flavanoids"], model.complete(X).loc[hidden, "flavanoids"])
ax.set(xlabel="true", ylabel="completed", title="flavanoids")
line = ax.axline((2, 2), slope=1, color="black", linestyle="--")
plt.show()
