import numpy as np
import pandas as pd
import pytest
from report_pages import Page
from sklearn.datasets import load_iris, load_wine

from amclust import ClAM


@pytest.fixture(scope="module")
def iris():
    return load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def iris_model(iris):
    return ClAM(n_clusters=3, n_init=4, random_state=0).fit(iris)


@pytest.fixture(scope="module")
def iris_page(iris, iris_model, tmp_path_factory):
    return Page(iris_model, iris, tmp_path_factory.mktemp("iris"), title="Iris", source="iris.csv")


@pytest.fixture(scope="module")
def wine():
    """Wine with a tenth of the values missing."""
    X = load_wine(as_frame=True).data
    return X.mask(np.random.default_rng(0).random(X.shape) < 0.1)


@pytest.fixture(scope="module")
def wine_model(wine):
    return ClAM(n_clusters=3, n_init=3, random_state=0).fit(wine)


@pytest.fixture(scope="module")
def wine_page(wine, wine_model, tmp_path_factory):
    ids = [f"bottle {i}" for i in range(len(wine))]
    return Page(wine_model, wine, tmp_path_factory.mktemp("wine"), ids=ids)


@pytest.fixture
def page_of(tmp_path):
    """Fit a model, report on its rows and read the page."""

    def make(X, n_clusters=2, *, report=None, **parameters):
        defaults = {"n_init": 2, "random_state": 0}
        model = ClAM(n_clusters, **{**defaults, **parameters}).fit(X)
        return Page(model, X, tmp_path, **(report or {}))

    return make


@pytest.fixture
def two_groups():
    """60 rows in two groups that only differ in the columns "far" and, less so, "near"."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], [20, 40])
    return pd.DataFrame(
        {
            "noise": rng.normal(size=60),
            "near": rng.normal(size=60) + 4 * group,
            "far": 1000 * (rng.normal(size=60) / 5 + 4 * group),
            "same": np.full(60, 7.0),
        }
    )
