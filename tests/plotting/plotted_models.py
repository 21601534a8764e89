"""Small models to draw."""

import warnings
from types import SimpleNamespace

from sklearn.exceptions import ConvergenceWarning

from amclust import ClAM


def fitted(X, n_clusters=3, **params):
    """Return a model and its rows."""
    params = {"n_init": 1, "max_epochs": 30, "random_state": 0} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SimpleNamespace(model=ClAM(n_clusters, **params).fit(X), X=X)
