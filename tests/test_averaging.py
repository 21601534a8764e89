"""The mean of memories over some more steps, which a fit ends with."""

import dataclasses

import numpy as np
import pytest
from native import plan_of, rows_of
from sklearn.datasets import make_blobs

from amclust import ClAM, _native
from amclust._recipe import Recipe


def blobs(n_samples=9000):
    return make_blobs(n_samples, n_features=4, centers=3, cluster_std=2.5, random_state=1)[0]


@pytest.mark.parametrize("objective", ["silhouette", "completion"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_a_mean_is_that_of_the_memories_after_each_step(objective, metric):
    X = blobs(300)
    start = X[:3] / np.linalg.norm(X[:3], axis=1, keepdims=True)
    given = {"objective": objective, "metric": metric, "learn_weights": True, "max_epochs": 4}
    steps = []
    for epochs in range(1, 5):  # of one step each
        plan = plan_of(start, **given | {"max_epochs": epochs}, keep=_native.Keep.LAST)
        (record,) = _native.train(rows_of(X, metric=metric), None, None, [plan], 1)
        steps.append((record.memories, record.log_weights))
    plan = plan_of(start, **given, keep=_native.Keep.MEAN)
    (record,) = _native.train(rows_of(X, metric=metric), None, None, [plan], 1)
    mean, log_weights = (np.mean(values, axis=0) for values in zip(*steps, strict=True))
    if metric == "cosine":
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(record.memories, mean, atol=1e-6)
    np.testing.assert_allclose(record.log_weights, log_weights, atol=1e-6)
    np.testing.assert_array_equal(record.last_memories, steps[-1][0])


def test_a_mean_is_taken_in_one_go():
    plan = plan_of(blobs(300)[:3], max_epochs=4, keep=_native.Keep.MEAN, pause_at=2)
    with pytest.raises(ValueError, match="mean of memories"):
        _native.train(rows_of(blobs(300)), None, None, [plan], 1)


class Unaveraged(ClAM):
    recipe = dataclasses.replace(Recipe(), averaged_batches=10**9)


def scatter_over_seeds(kind, X):
    """Return how far memories of restarts from the same start are from their mean."""
    found = [
        kind(3, init=X[[0, 1, 2]], random_state=seed).fit(X).cluster_centers_ for seed in range(4)
    ]
    return np.std([np.sort(centers, axis=0) for centers in found], axis=0).mean()


def test_the_seed_says_less_of_where_memories_end():
    X = blobs()
    assert scatter_over_seeds(ClAM, X) < 0.5 * scatter_over_seeds(Unaveraged, X)


def test_few_rows_are_no_surer_than_a_batch():
    X = blobs(8 * 1024 - 1)
    np.testing.assert_array_equal(
        ClAM(3, random_state=0).fit(X).memories_, Unaveraged(3, random_state=0).fit(X).memories_
    )


def test_the_partition_is_about_as_good():
    X = blobs()
    plain = Unaveraged(3, random_state=0).fit(X).silhouette_
    assert ClAM(3, random_state=0).fit(X).silhouette_ >= plain - 1e-3 * abs(plain)
