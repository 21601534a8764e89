"""What is said about a row does not depend on the rows that are asked about beside it."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs

from amclust import ClAM

ANSWERS = ("labels", "memberships", "distances", "energy", "entropy", "recall", "complete")


def rows_of(kind, n_features, dtype):
    rng = np.random.default_rng(0)
    X = make_blobs(500, centers=6, n_features=n_features, random_state=1)[0].astype(dtype)
    if kind == "missing":  # some rows lack many values, others few: both ways of filling are gone
        lost = rng.random(X.shape) < rng.choice([0.1, 0.6], size=(len(X), 1))
        lost[:, 0] = False
        X[lost] = np.nan
    if kind == "sparse":
        X = np.where(rng.random((500, 20 * n_features)) < 0.05, 1.0, 0.0).astype(dtype)
        X[:, 0] = 1.0
        X = sparse.csr_array(X * rng.random(X.shape).astype(dtype))
    return X


def in_blocks(ask, X):
    cuts = [0, 1, 1, 8, 19, 130, 131, 300, X.shape[0]]
    parts = [ask(X[a:b]) for a, b in itertools.pairwise(cuts) if b > a]
    dense = [part.toarray() if sparse.issparse(part) else part for part in parts]
    return np.concatenate(dense)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of few epochs
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_features", [3, 12, 40])
@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("dense", "euclidean"),
        ("dense", "mahalanobis"),
        ("missing", "euclidean"),
        ("missing", "cosine"),
        ("sparse", "euclidean"),
        ("sparse", "cosine"),
    ],
)
def test_answers_are_the_same_in_any_blocks(kind, metric, n_features, dtype):
    X = rows_of(kind, n_features, dtype)
    scale = None if kind == "sparse" and metric == "euclidean" else "standard"
    model = ClAM(6, metric=metric, scale=scale, n_init=1, max_epochs=5, random_state=0)
    network = model.fit(X).network_
    for name in ANSWERS:
        ask = getattr(network, name)
        whole = ask(X)
        whole = whole.toarray() if sparse.issparse(whole) else whole
        assert_array_equal(in_blocks(ask, X), whole, err_msg=name)
