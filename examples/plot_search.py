"""
=====================
What a search found
=====================

:class:`~amclust.ClAMSearch` tries many configurations under a stated budget.
:class:`~amclust.plotting.SearchDisplay` shows the best silhouette against one parameter, with a
line for each value of another one.
"""

# %%
# Temperature and steps
# ---------------------
# If β is too small, all memories attract together and clusters become empty: such runs do not
# count, however well they score, and are crossed. k-means has as many restarts as there are runs
# behind a point, and the same scaling.

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from amclust import ClAMSearch
from amclust.plotting import SearchDisplay

X = load_wine().data
space = {
    "objective": ["completion"],
    "beta": [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1],
    "n_steps": [2, 5, 10],
}
search = ClAMSearch(3, space=space, n_init=4, max_epochs=60, random_state=0).fit(X)
display = SearchDisplay.from_estimator(search, X)

# %%
# Numbers of clusters
# -------------------
# Any other searched parameter can be on the axis, or make the lines.

space = {"objective": ["completion", "silhouette"]}
search = ClAMSearch(range(2, 7), space=space, n_init=4, max_epochs=60, random_state=0).fit(X)
display = SearchDisplay.from_estimator(search, X, x="n_clusters", group_by="objective")
plt.show()
