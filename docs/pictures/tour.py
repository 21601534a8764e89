"""The basins of the tour's table with missing values."""

import numpy as np
from drawing import canvas
from sklearn.datasets import load_wine

from amclust import ClAM
from amclust.plotting import BasinsDisplay


def draw(background):
    wine = load_wine(as_frame=True).data
    X = wine.mask(np.random.default_rng(0).random(wine.shape) < 0.125)
    figure = canvas(7, 4.4)
    model = ClAM(n_clusters=3, n_jobs=1, random_state=0).fit(X)
    BasinsDisplay.from_estimator(model, X, ax=figure.subplots())
    return figure
