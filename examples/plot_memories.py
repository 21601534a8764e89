"""
==========================
Memories and how they grow
==========================

A memory is a row like those it stands for, so it can be looked at like one: as an image where
features are pixels, as a profile where they are columns of a table.
"""

# %%
# Images
# ------
# Pixels share their units, hence ``scale=None``. Colours are signed: red is more ink than in the
# mean of all digits, blue is less.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_wine

from amclust import ClAM
from amclust.plotting import MemoriesDisplay

X = load_digits().data
model = ClAM(10, scale=None, n_init=3, random_state=0).fit(X)
display = MemoriesDisplay.from_estimator(model, image_shape=(8, 8))

# %%
# Evolution
# ---------
# ``record_epochs`` keeps the memories after chosen epochs, of which each has a column here; 0 is
# before the first. These memories start as random rows, and are trained to complete digits of which
# a part is hidden.

model = ClAM(
    10,
    objective="completion",
    scale=None,
    init="random",
    n_init=3,
    record_epochs=[0, 1, 2, 5, 10, 20],
    random_state=0,
).fit(X)
display = MemoriesDisplay.from_estimator(model, image_shape=(8, 8), epochs=True)

# %%
# Profiles
# --------
# Columns of a table have units of their own: profiles are in those of the scaled columns, so 1 is a
# standard deviation above the mean.

wine = load_wine(as_frame=True).data
model = ClAM(3, random_state=0).fit(wine)
display = MemoriesDisplay.from_estimator(model)
plt.show()
