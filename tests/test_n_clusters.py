"""The number of clusters, estimated."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.preprocessing import scale

from amclust import ClAM, _native
from amclust._n_clusters import _principal, candidate_numbers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def quick(n_clusters="auto", **settings):
    """Return an estimator whose estimate is as always, and whose fit is short."""
    short = {"scale": None, "n_init": 1, "max_epochs": 2, "random_state": 0}
    return ClAM(n_clusters, **(short | settings))


def blobs(k=4, n=300, d=5, seed=1):
    return make_blobs(n, d, centers=k, random_state=seed)[0]


def separated(k, d, seed=0):
    """Return normal clusters of unequal size and spread, at least eight deviations apart."""
    rng = np.random.default_rng(seed)
    corners = np.stack(np.unravel_index(np.arange(k), (4,) * min(d, 4)), axis=1)
    centers = 12.0 * np.tile(corners, -(-d // corners.shape[1]))[:, :d]
    sizes, spreads = rng.integers(25, 75, k), rng.uniform(0.5, 1.5, k)
    parts = [rng.normal(c, s, (n, d)) for c, s, n in zip(centers, spreads, sizes, strict=True)]
    return rng.permutation(np.concatenate(parts))


def assert_same_evidence(one, other):
    for name in ("n_clusters", "votes", "chosen"):
        assert_array_equal(one[name], other[name])
    # One of thousands of draws may fall to the next row where the last bit of a value differs.
    for name in ("silhouette", "reference", "adjusted"):
        np.testing.assert_allclose(one[name], other[name], atol=2e-3)


# --- the estimate ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "d"), [(2, 2), (3, 64), (6, 8), (11, 16)])
def test_separated_clusters_are_counted(k, d):
    assert quick().fit(separated(k, d)).n_clusters_ == k


@pytest.mark.parametrize("draw", ["normal", "uniform", "heavy"])
def test_one_cloud_is_one_cluster(draw):
    rng = np.random.default_rng(0)
    shape = (300, 4)
    X = {
        "normal": rng.normal(size=shape) @ rng.normal(size=(4, 4)),
        "uniform": rng.uniform(size=shape),
        "heavy": rng.standard_t(5, shape),
    }[draw]
    model = quick().fit(X)
    assert model.n_clusters_ == 1
    assert not model.labels_.any()
    assert quick(range(2, 6)).fit(X).n_clusters_ in range(2, 6)


@pytest.mark.parametrize(("load", "near"), [(load_iris, {2, 3, 4}), (load_wine, {2, 3, 4})])
def test_classes_of_known_tables(load, near):
    assert quick().fit(scale(load().data)).n_clusters_ in near


def test_outliers_are_no_cluster():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[0] = 100.0
    assert quick().fit(X).n_clusters_ == 1


def test_copies_of_rows_do_not_count():
    X = blobs()
    model, again = quick().fit(X), quick().fit(np.concatenate([X, X, X[:50]]))
    assert_same_evidence(model.n_clusters_evidence_, again.n_clusters_evidence_)
    weighted = quick().fit(X, sample_weight=np.arange(1, len(X) + 1))
    assert_same_evidence(model.n_clusters_evidence_, weighted.n_clusters_evidence_)
    rounded = np.round(np.random.default_rng(0).normal(size=(500, 1)) * 2)
    assert quick().fit(rounded).n_clusters_ == 1


def test_a_handful_of_distinct_rows_are_clusters_when_they_repeat():
    rows = np.array([[0.0, 0.0], [10.0, 10.0], [0.0, 5.0]])
    assert quick().fit(np.repeat(rows, 20, axis=0)).n_clusters_ == 3
    assert quick().fit(rows).n_clusters_ == 1
    assert quick().fit(np.ones((10, 2))).n_clusters_ == 1


def test_rows_of_weight_zero_do_not_count():
    X = separated(5, 3)
    weight = (X[:, -1] < 18).astype(float)  # without two of the clusters
    assert quick().fit(X, sample_weight=weight).n_clusters_ == 3
    assert quick().fit(X).n_clusters_ == 5


def test_neither_order_nor_place_nor_unit_counts():
    X = blobs()
    expected = quick().fit(X).n_clusters_evidence_
    order = np.random.default_rng(0).permutation(len(X))
    for moved in (X[order], X + 8.0, X * 4.0):
        found = quick().fit(moved).n_clusters_evidence_
        assert_array_equal(found["votes"], expected["votes"])
        np.testing.assert_allclose(found["adjusted"], expected["adjusted"], atol=2e-3)


def test_missing_values():
    X = separated(5, 8)
    X[:, 1:][np.random.default_rng(0).random((len(X), 7)) < 0.05] = np.nan
    assert abs(quick().fit(X).n_clusters_ - 5) <= 1  # filled values may look like one more cluster


def test_other_metrics_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 12))[rng.integers(0, 6, 300)] + 0.2 * rng.normal(size=(300, 12))
    assert quick(metric="mahalanobis").fit(X).n_clusters_ == 6
    X *= rng.uniform(0.5, 5, (300, 1))
    dense, thin = quick(metric="cosine").fit(X), quick(metric="cosine").fit(sparse.csr_matrix(X))
    assert dense.n_clusters_ == 6
    assert_same_evidence(dense.n_clusters_evidence_, thin.n_clusters_evidence_)


def test_more_features_than_rows():
    X = blobs(3, n=60, d=200)
    assert quick().fit(X).n_clusters_ == 3
    turned = _principal(X.astype(np.float32))
    spread = np.linalg.norm(X - X.mean(axis=0)) / np.sqrt(len(X))
    ratios = np.linalg.norm(turned[0] - turned[1:], axis=1) / np.linalg.norm(X[0] - X[1:], axis=1)
    np.testing.assert_allclose(ratios, 1 / spread, rtol=1e-3)  # distances are kept


def test_many_rows_are_sampled():
    rng = np.random.default_rng(0)
    X = np.repeat(separated(7, 3), 60, axis=0)
    assert quick().fit(X + 0.1 * rng.normal(size=X.shape)).n_clusters_ == 7


# --- what the estimator makes of it ---------------------------------------------------------------


def test_evidence():
    model = quick(range(1, 9)).fit(blobs())
    evidence = model.n_clusters_evidence_
    assert_array_equal(evidence["n_clusters"], np.arange(1, 9))
    assert_array_equal(evidence["n_clusters"][evidence["chosen"]], [model.n_clusters_])
    assert evidence["votes"].argmax() == model.n_clusters_ - 1 == 3
    several = evidence[1:]
    expected = (several["silhouette"] - several["reference"]) / (1 - several["reference"])
    np.testing.assert_allclose(several["adjusted"], expected)
    assert evidence["adjusted"][0] == _native.NClustersSettings().one_cluster
    assert np.isnan(evidence["silhouette"][0])


def test_only_the_given_numbers_are_chosen_from():
    model = quick([7, 2, 9, 2]).fit(blobs(4))
    assert_array_equal(model.n_clusters_evidence_["n_clusters"], [2, 7, 9])
    assert model.n_clusters_ in (2, 7, 9)
    assert quick(np.array([3, 4, 5])).fit(blobs(4)).n_clusters_ == 4
    few = quick(range(2, 100)).fit(blobs(2, n=12))
    assert few.n_clusters_evidence_["n_clusters"].max() <= 12


def test_the_fit_is_that_of_the_number():
    X = blobs()
    model, given = ClAM("auto", random_state=3).fit(X), ClAM(4, random_state=3).fit(X)
    assert model.n_clusters_ == given.n_clusters_ == 4
    assert_array_equal(model.cluster_centers_, given.cluster_centers_)
    assert_array_equal(model.get_feature_names_out(), ["clam0", "clam1", "clam2", "clam3"])
    assert model.n_clusters == "auto"


def test_it_is_reproducible():
    X = scale(load_wine().data)
    first, again = quick().fit(X), quick(n_jobs=1).fit(X)
    for name in first.n_clusters_evidence_.dtype.names:
        assert_array_equal(first.n_clusters_evidence_[name], again.n_clusters_evidence_[name])


def test_evidence_of_an_earlier_fit_does_not_stay():
    model = quick().fit(blobs())
    model.set_params(n_clusters=3).fit(blobs())
    assert model.n_clusters_ == 3
    assert not hasattr(model, "n_clusters_evidence_")


def test_pieces_estimate_once():
    X = blobs(4, n=600)
    model = quick().partial_fit(X[:300])
    assert model.n_clusters_ == 4
    evidence = model.n_clusters_evidence_
    model.partial_fit(X[300:400]).partial_fit(X[400:])
    assert model.n_clusters_ == len(model.cluster_centers_) == 4
    assert model.n_clusters_evidence_ is evidence
    quick().fit(X).partial_fit(X[:50])


def test_progress_names_the_number(capfd):
    quick(verbose=1).fit(blobs())
    assert "4 clusters" in capfd.readouterr().err


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "n_clusters", ["many", 0, 2.5, [3], range(4, 5), [2, 2], [2, 3.0], [0, 2], [True, 2], [[2, 3]]]
)
def test_bad_numbers_are_refused(n_clusters):
    with pytest.raises(ValueError, match="n_clusters.*'auto'"):
        ClAM(n_clusters).fit(blobs())


@pytest.mark.parametrize("settings", [{"init": np.zeros((4, 5))}, {"weights": [1, 2, 3]}])
def test_arrays_that_fix_the_number_are_refused(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name} cannot be an array with n_clusters='auto'"):
        ClAM("auto", **settings).fit(blobs())


def test_the_silhouette_objective_needs_two():
    cloud = np.random.default_rng(0).normal(size=(200, 3))
    assert quick(objective="silhouette").fit(cloud).n_clusters_ >= 2
    with pytest.raises(ValueError, match="at least 2"):
        ClAM(range(1, 4), objective="silhouette").fit(cloud)


def test_more_clusters_than_rows_are_refused():
    with pytest.raises(ValueError, match="at most the number of distinct rows"):
        ClAM(range(20, 30)).fit(blobs(2, n=10))


# --- parts ----------------------------------------------------------------------------------------


def test_partitions_are_whole_and_settled():
    rows = blobs(5, n=200).astype(np.float32)
    found = _native.merged_partitions(rows, [2, 5, 9], _native.NClustersSettings(), 0)
    assert found.shape == (3, 200)
    for labels, k in zip(found, (2, 5, 9), strict=True):
        assert_array_equal(np.unique(labels), np.arange(k))
        centers = np.stack([rows[labels == m].mean(axis=0) for m in range(k)])
        squares = np.square(rows[:, None] - centers).sum(axis=2)
        assert np.mean(squares.argmin(axis=1) == labels) > 0.97  # 20 rounds are not always enough


def test_coinciding_rows_have_fewer_partitions():
    rows = np.repeat(np.eye(3, dtype=np.float32), 10, axis=0)
    found = _native.merged_partitions(rows, [2, 3, 4], _native.NClustersSettings(), 0)
    assert_array_equal([len(np.unique(labels)) for labels in found], [2, 3, 1])
    assert_array_equal(found[2], -1)


def test_threads_change_nothing():
    rows = _principal(blobs(4).astype(np.float32))
    one, three = (
        _native.estimate_n_clusters(rows, range(1, 9), _native.NClustersSettings(), 7, threads)
        for threads in (1, 3)
    )
    assert one.n_clusters == three.n_clusters == 4
    for name in ("silhouette", "reference", "adjusted", "votes"):
        assert_array_equal(getattr(one, name), getattr(three, name))


def test_settings_count():
    rows = _principal(blobs(4).astype(np.float32))
    settings = _native.NClustersSettings()
    settings.min_resamples = settings.max_resamples = 3
    settings.one_cluster = 2.0  # more than any silhouette
    found = _native.estimate_n_clusters(rows, [1, 4], settings, 7, 1)
    assert_array_equal(found.votes, [3, 0])
    assert found.n_clusters == 1


@pytest.mark.parametrize("numbers", [[], [0, 2], [3, 2], [2, 2]])
def test_the_core_refuses_numbers_that_do_not_ascend(numbers):
    with pytest.raises(ValueError, match="numbers"):
        _native.estimate_n_clusters(
            np.zeros((9, 2), np.float32), numbers, _native.NClustersSettings(), 0, 1
        )


def test_candidates():
    assert candidate_numbers(np.int64(3), "auto") is None
    assert candidate_numbers("auto", "auto") == list(range(1, 21))
    assert candidate_numbers("auto", "silhouette") == list(range(2, 21))
    assert clone(ClAM(range(2, 5))).n_clusters == range(2, 5)
