"""Models to draw, fitted once, and axes that go away again."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from plotted_models import fitted
from sklearn.datasets import load_iris, make_blobs

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Leave no figure behind, whatever a test draws."""
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def iris():
    """A data frame of four columns."""
    return fitted(load_iris(as_frame=True).data, record_epochs=[0, 1, 5, 20])


@pytest.fixture(scope="session")
def holes():
    """The same with a tenth of the values missing."""
    frame = load_iris(as_frame=True).data
    return fitted(frame.mask(np.random.default_rng(0).random(frame.shape) < 0.1))


@pytest.fixture(scope="session")
def flat():
    """Five clouds in the plane, and a temperature at which memories attract together."""
    X, _ = make_blobs(150, centers=5, cluster_std=1.5, random_state=3)
    return fitted(X, 5, beta=1.0, objective="completion")


@pytest.fixture(scope="session")
def many():
    """More clusters than there are colours."""
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    X = (grid[:, None] + np.random.default_rng(0).normal(0, 0.1, (25, 6, 2))).reshape(-1, 2)
    return fitted(X, 25, init=grid, max_epochs=2)


@pytest.fixture(scope="session")
def one():
    """A single cluster."""
    return fitted(np.random.default_rng(0).normal(size=(40, 2)), 1)


@pytest.fixture(scope="session", params=["iris", "holes", "cosine", "mahalanobis", "column"])
def any_model(request):
    """A model of every kind that displays have to take."""
    X = load_iris().data
    if request.param == "cosine":
        return fitted(X, metric="cosine")
    if request.param == "mahalanobis":
        return fitted(X, metric="mahalanobis")
    if request.param == "column":
        return fitted(X[:, 2:3])
    return request.getfixturevalue(request.param)
