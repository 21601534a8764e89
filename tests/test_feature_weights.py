"""`feature_weights`: what columns weigh in distances."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import amclust
from amclust import ClAM

NAMES = ["size", "hue", "noise", "age"]


def blobs(n=240):
    X, y = make_blobs(n, 4, centers=3, random_state=0)
    X[:, 2] = np.random.default_rng(0).normal(5, 3, n)
    return X, y


def make(**settings):
    return ClAM(3, **({"n_init": 2, "random_state": 0} | settings))


@pytest.mark.parametrize("scale", ["standard", "robust", None])
def test_squared_differences_are_multiplied(scale):
    X, _ = blobs()
    weights = np.array([1.0, 4.0, 0.25, 2.0])
    model = make(scale=scale, feature_weights=weights).fit(X)
    spread = {"standard": X.std(axis=0), None: np.ones(4)}.get(scale)
    if spread is None:
        low, high = np.percentile(X, [25, 75], axis=0, method="inverted_cdf")
        spread = (high - low) / 1.3489795
        X = np.clip(X, model.network_.geometry.limits.low, model.network_.geometry.limits.high)
    squares = (weights * ((X[:, None] - model.cluster_centers_) / spread) ** 2).sum(axis=-1)
    assert_allclose(model.transform(X), np.sqrt(squares), rtol=1e-3)


@pytest.mark.parametrize("objective", ["auto", "reconstruction", "completion"])
def test_only_ratios_matter_to_the_partition_and_ones_change_nothing(objective):
    X, _ = blobs()
    plain = make(objective=objective).fit(X)
    ones = make(objective=objective, feature_weights=np.ones(4)).fit(X)
    assert_array_equal(ones.cluster_centers_, plain.cluster_centers_)
    named = make(objective=objective, feature_weights={"age": 2.0}).fit(
        pd.DataFrame(X, columns=NAMES)
    )
    doubled = make(objective=objective, feature_weights=[4, 4, 4, 8]).fit(X)
    assert_allclose(named.cluster_centers_, doubled.cluster_centers_, rtol=1e-4)
    assert_array_equal(named.labels_, doubled.labels_)


@pytest.mark.parametrize(
    "settings", [{}, {"n_memories": 20}, {"metric": "cosine"}, {"scale": None}]
)
def test_a_column_of_weight_0_is_left_out(settings, tmp_path):
    X, _ = blobs()
    weights = [1, 2, 0, 1]
    model = make(feature_weights=weights, **settings).fit(X)
    wild = X.copy()
    wild[:, 2] = np.random.default_rng(1).standard_cauchy(len(X)) * 1e6
    other = make(feature_weights=weights, **settings).fit(wild)
    assert_array_equal(other.labels_, model.labels_)
    assert_array_equal(model.predict(wild), model.labels_)
    assert_array_equal(other.cluster_centers_[:, [0, 1, 3]], model.cluster_centers_[:, [0, 1, 3]])
    means = [X[model.labels_ == cluster, 2].mean() for cluster in range(3)]
    assert_allclose(model.cluster_centers_[:, 2], means, rtol=5e-2)  # of assemblies: of memories
    assert np.isfinite(model.memories_).all()
    without = make(feature_weights=[1, 2, 1], **settings).fit(X[:, [0, 1, 3]])
    assert adjusted_rand_score(without.labels_, model.labels_) == 1.0
    model.save(tmp_path / "model.amc")
    loaded = amclust.load(tmp_path / "model.amc")
    assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    assert_array_equal(loaded.predict(X), model.labels_)


@pytest.mark.parametrize("objective", ["auto", "completion"])
def test_a_column_of_weight_0_is_completed(objective):
    X, y = blobs()
    X[:, 2] = 100.0 * y + np.random.default_rng(0).normal(0, 1, len(y))
    seen = X.copy()
    gaps = np.random.default_rng(0).random(X.shape) < [0, 0, 0.2, 0.05]
    seen[gaps] = np.nan
    model = make(feature_weights=[1, 1, 0, 1], objective=objective).fit(seen)
    completed = model.complete(seen)
    assert_array_equal(completed[~gaps], X[~gaps])
    errors = np.abs(completed - X)[gaps[:, 2], 2]
    assert np.median(errors) < 10


def test_directions_are_weighted_before_they_have_unit_length():
    X = np.abs(blobs()[0])
    weights = np.array([1.0, 9.0, 0.25, 1.0])
    model = make(metric="cosine", feature_weights=weights).fit(X)
    same = make(metric="cosine").fit(X * np.sqrt(weights))
    assert_array_equal(model.labels_, same.labels_)
    assert_allclose(model.transform(X), same.transform(X * np.sqrt(weights)), atol=1e-5)
    thin = make(metric="cosine", feature_weights=weights).fit(sparse.csr_array(X))
    assert_array_equal(thin.labels_, model.labels_)


def test_weights_by_name_are_kept_in_a_file(tmp_path):
    frame = pd.DataFrame(blobs()[0], columns=NAMES)
    model = make(feature_weights={"hue": 0.5, "noise": 0}).fit(frame)
    model.save(tmp_path / "model.amc")
    loaded = amclust.load(tmp_path / "model.amc")
    assert loaded.feature_weights == {"hue": 0.5, "noise": 0}
    assert_array_equal(loaded.partial_fit(frame).memories_, model.partial_fit(frame).memories_)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2, 3], ["4 numbers", "(3,)"]),
        ([1, 2, 3, -1], ["at least 0", "-1.0", "'age'"]),
        ([1, np.nan, 3, 1], ["finite", "nan", "'hue'"]),
        (np.zeros(4), ["positive", "only zeros"]),
        ({"weight": 2}, ["'weight'", "'size', 'hue'"]),
        ({"hue": "much"}, ["feature_weights['hue']", "numbers"]),
    ],
)
def test_bad_weights_are_named(weights, words):
    with pytest.raises(ValueError, match="feature_weights") as error:
        make(feature_weights=weights).fit(pd.DataFrame(blobs()[0], columns=NAMES))
    for word in words:
        assert word in str(error.value)


def test_names_need_columns_with_names():
    with pytest.raises(ValueError, match="have no names"):
        make(feature_weights={"hue": 2}).fit(blobs()[0])


def test_whitening_undoes_weights():
    with pytest.raises(ValueError, match="feature_weights .* metric='mahalanobis'"):
        make(feature_weights=[1, 2, 1, 1], metric="mahalanobis").fit(blobs()[0])
