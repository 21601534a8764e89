"""Many clusters: none is lost, and reconstruction is a better k-means."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

import amclust
from amclust import ClAM, _native
from amclust._recipe import Recipe

# Fits are cut short where their convergence is not the subject.
pytestmark = pytest.mark.filterwarnings("ignore:.* were still improving")


def grid_of_blobs(k=40, n=4000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, k, n)
    return rng.uniform(size=(k, d))[classes] + 0.04 * rng.normal(size=(n, d)), classes


def make(n_clusters, **settings):
    return ClAM(n_clusters, **{"n_init": 1, "random_state": 0} | settings)


# --- no empty clusters ----------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["auto", "reconstruction"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(("n", "d", "k"), [(60, 2, 45), (300, 3, 100), (3000, 2, 70)])
def test_no_cluster_is_empty(objective, metric, n, d, k):
    X = np.random.default_rng(n).normal(size=(n, d))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".* were still improving")
        model = make(k, objective=objective, metric=metric, max_epochs=20).fit(X)
    assert len(np.unique(model.labels_)) == k
    assert_array_equal(model.predict(X), model.labels_)
    assert model.runs_["living_clusters"].tolist() == [k]


def test_as_many_clusters_as_distinct_rows():
    X = np.repeat(np.arange(12.0).reshape(6, 2), 3, axis=0)
    for objective in ("auto", "reconstruction"):
        labels = make(6, objective=objective).fit(X).labels_
        assert adjusted_rand_score(labels, np.repeat(np.arange(6), 3)) == 1


def test_copies_of_a_row_lose_no_cluster():
    rng = np.random.default_rng(0)
    X = np.vstack([np.zeros((50, 2)), rng.normal(size=(50, 2))])
    start = np.vstack([X[:2], X.mean(axis=0)])
    model = make(3, objective="completion", init=start, max_epochs=1, learning_rate=1e-9).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert model.beta_ < 1e4  # no colder than it takes


def test_round_clusters_are_found():
    X, classes = make_blobs(6000, centers=40, n_features=8, cluster_std=2.0, random_state=0)
    model = make(40).fit(X)
    peer = KMeans(40, n_init=1, random_state=0).fit(X)
    assert adjusted_rand_score(classes, model.labels_) > 0.98
    assert adjusted_rand_score(classes, peer.labels_) < 0.97  # two clusters in one, one in two
    assert silhouette_score(X, model.labels_) > silhouette_score(X, peer.labels_)


def test_threads_give_the_same_bits():
    X, _ = grid_of_blobs(n=9000)
    for settings in ({}, {"objective": "reconstruction"}, {"n_init": 3}):
        few, many = (make(40, n_jobs=n, max_epochs=6, **settings) for n in (1, 3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            few.fit(X)
            many.fit(X)
        assert_array_equal(few.cluster_centers_, many.cluster_centers_)
        assert_array_equal(few.labels_, many.labels_)


# --- the silhouette with the memories nearby ------------------------------------------------------


def evaluate(X, memories, metric, neighbours, weights=None, beta=60.0):
    n, d = X.shape
    rows = _native.dense_rows(X).in_units(metric, np.zeros(d), np.ones(d, np.float32), False)
    k = len(memories)
    network = _native.Network(memories, np.zeros(k, np.float32), metric, beta, 0.5, 10)
    plan = _native.Plan(network)
    plan.batch_size, plan.schedule.patience = n, 1
    plan.objective.name = "silhouette"
    plan.objective.fill = np.zeros(d, np.float32)
    plan.objective.anchor, plan.objective.tie = 0.3, 0.7
    plan.objective.neighbours = neighbours
    return _native.evaluate(rows, np.arange(n), weights, plan, None, 2)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_memories_nearby_are_all_memories(metric, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).astype(np.float32)
    weights = rng.uniform(0.5, 2, 400).astype(np.float32) if weighted else None
    memories = X[:20] / np.linalg.norm(X[:20], axis=1, keepdims=True)
    dense, nearby = (evaluate(X, memories, metric, n, weights, beta=3.0) for n in (0, 20))
    assert nearby.loss == pytest.approx(dense.loss, rel=1e-5)
    scale = np.abs(dense.by_memories).max()
    assert_allclose(nearby.by_memories, dense.by_memories, atol=1e-5 * scale)
    assert_allclose(nearby.by_log_weights, dense.by_log_weights, atol=1e-5 * scale)
    assert_allclose(nearby.wins, dense.wins, rtol=1e-6)


def test_few_memories_nearby_are_enough_where_memberships_are_sharp():
    X, _ = grid_of_blobs(n=2000)
    X = np.ascontiguousarray(X, dtype=np.float32)
    memories = KMeans(40, n_init=1, random_state=0).fit(X).cluster_centers_.astype(np.float32)
    dense, nearby = (evaluate(X, memories, "euclidean", n, beta=2000.0) for n in (0, 8))
    assert nearby.loss == pytest.approx(dense.loss, rel=1e-3)
    scale = np.abs(dense.by_memories).max()
    assert_allclose(nearby.by_memories, dense.by_memories, atol=0.02 * scale)


def test_soft_memberships_meet_all_memories():
    recipe = Recipe()
    assert recipe.met_memories(100, beta=24.0, median_gap=1.0) > 0
    assert recipe.met_memories(100, beta=1.0, median_gap=1.0) == 0
    assert recipe.met_memories(10, beta=24.0, median_gap=1.0) == 0


# --- reconstruction -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [5, 30, 150])
def test_reconstruction_is_a_better_k_means(k):
    X, _ = grid_of_blobs(k=60)
    ours = [
        make(k, objective="reconstruction", random_state=s, scale=None).fit(X) for s in range(3)
    ]
    peers = [KMeans(k, n_init=1, random_state=s).fit(X).inertia_ for s in range(3)]
    assert np.mean([model.inertia_ for model in ours]) <= np.mean(peers) * (1 + 1e-6)
    model = ours[0]
    squares = model.transform(X).min(axis=1) ** 2
    assert model.inertia_ == pytest.approx(squares.sum(), rel=1e-4)
    assert np.mean(model.labels_ == model.transform(X).argmin(axis=1)) > 0.999
    assert_allclose(model.loss_, model.loss_curve_[-1])


def test_restarts_of_exact_steps_are_compared_by_their_loss():
    X = np.random.default_rng(0).random((800, 2))
    many = make(10, objective="reconstruction", n_init=6).fit(X)
    assert many.runs_["chosen"].argmax() == many.runs_["loss"].argmin()


def test_inertia_is_weighted_scaled_and_kept(tmp_path):
    X, _ = make_blobs(300, centers=6, n_features=3, random_state=0)
    X = X * [1, 10, 0.1]
    weight = np.random.default_rng(0).integers(1, 4, 300)
    model = make(6, objective="reconstruction").fit(X, sample_weight=weight)
    expected = (weight * model.transform(X).min(axis=1) ** 2).sum()
    assert model.inertia_ == pytest.approx(expected, rel=1e-4)
    model.save(tmp_path / "model.amc")
    assert amclust.load(tmp_path / "model.amc").inertia_ == model.inertia_
    assert_allclose(
        model.cluster_centers_,
        make(6, objective="reconstruction").fit(np.repeat(X, weight, axis=0)).cluster_centers_,
        rtol=1e-5,
        atol=1e-5,
    )


@pytest.mark.parametrize("other", ["silhouette", "beta", "cosine", "missing"])
def test_inertia_is_only_there_where_it_means_something(other):
    X, _ = make_blobs(200, centers=3, random_state=0)
    model = make(3, objective="reconstruction").fit(X)
    assert hasattr(model, "inertia_")
    if other == "missing":
        X[::9, 1] = np.nan
    settings = {
        "silhouette": {"objective": "silhouette"},
        "beta": {"beta": 3.0},
        "cosine": {"metric": "cosine"},
    }
    assert not hasattr(model.set_params(**settings.get(other, {})).fit(X), "inertia_")


def test_sparse_rows_and_missing_values_have_exact_steps():
    rng = np.random.default_rng(0)
    X = rng.random((400, 30)) * (rng.random((400, 30)) < 0.2)
    X[:, 0] += 1
    dense = make(20, objective="reconstruction", metric="cosine").fit(X)
    thin = make(20, objective="reconstruction", metric="cosine").fit(sparse.csr_array(X))
    assert adjusted_rand_score(dense.labels_, thin.labels_) > 0.9
    blobs, classes = make_blobs(600, centers=5, n_features=6, cluster_std=0.5, random_state=3)
    blobs[rng.random(blobs.shape) < 0.1] = np.nan
    blobs[:, 0] = np.nan_to_num(blobs[:, 0])
    model = make(5, objective="reconstruction", n_init=5).fit(blobs)
    assert adjusted_rand_score(classes, model.labels_) > 0.8


def test_recorded_epochs_change_nothing_of_exact_steps():
    X, _ = grid_of_blobs(k=20, n=900)
    plain = make(20, objective="reconstruction").fit(X)
    model = make(20, objective="reconstruction", record_epochs=[0, 1, 2]).fit(X)
    assert_array_equal(model.cluster_centers_, plain.cluster_centers_)
    assert model.recorded_memories_.shape[1:] == (20, 3)


def test_learning_goes_on_after_exact_steps():
    X, _ = grid_of_blobs(k=10, n=900)
    model = make(10, objective="reconstruction").fit(X)
    before = adjusted_rand_score(model.labels_, model.partial_fit(X).predict(X))
    assert before > 0.9
    assert not hasattr(model, "inertia_")


# --- parameters -----------------------------------------------------------------------------------


def test_batches_suit_the_number_of_clusters():
    sizes = [Recipe().batch_size("auto", k) for k in (2, 8, 16, 128, 256, 1000)]
    assert sizes == [1024, 1024, 2048, 16_384, 16_384, 64_000]
    assert Recipe().batch_size(77, 1000) == 77


def test_a_batch_that_is_too_small_is_said():
    X, _ = grid_of_blobs(n=2000)
    settings = {"batch_size": 64, "max_epochs": 2}
    with pytest.warns(UserWarning, match="batch_size=64 has 1.6 rows per cluster") as caught:
        make(40, **settings).fit(X)
    assert "batch_size='auto' (5120 here, so all rows)" in str(caught[0].message)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.filterwarnings("ignore", ".* were still improving")
        make(40, objective="completion", **settings).fit(X)


def test_trees_are_for_few_clusters():
    X = np.random.default_rng(0).normal(size=(1200, 2))
    with pytest.raises(
        ValueError, match=r"init='ward' .* at most 512 .*n_clusters=513.*k-means\+\+"
    ):
        make(513, init="ward").fit(X)


# --- memberships ----------------------------------------------------------------------------------


@pytest.mark.parametrize("top", [1, 3, 100])
def test_largest_memberships(top):
    X, _ = grid_of_blobs(n=500)
    model = make(40, beta=20.0, max_epochs=3).fit(X)
    dense, thin = model.predict_proba(X), model.predict_proba(X, top=top)
    assert isinstance(thin, sparse.csr_array)
    assert thin.shape == dense.shape
    assert thin.dtype == dense.dtype
    kept = thin.toarray()
    counts = np.minimum(top, (dense > 0).sum(axis=1))
    assert_array_equal((kept > 0).sum(axis=1), counts)
    assert_array_equal(kept[kept > 0], dense[kept > 0])
    lost = np.where(kept > 0, 0, dense).max(axis=1)
    least = np.where(kept > 0, kept, np.inf).min(axis=1)
    assert (lost <= least).all()


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "all"])
def test_how_many_memberships_must_be_a_number(top):
    X, _ = make_blobs(50, centers=2, random_state=0)
    with pytest.raises(ValueError, match="top must be an int of at least 1, or None"):
        make(2).fit(X).predict_proba(X, top=top)


@pytest.mark.parametrize("objective", ["silhouette", "reconstruction"])
@pytest.mark.parametrize("scale", ["standard", "robust", None])
@pytest.mark.parametrize("value", [1e4, 1e7])
def test_an_extreme_value_leaves_the_other_rows_their_digits(objective, scale, value):
    X = np.random.default_rng(0).random((600, 3))
    X[0] = value
    model = ClAM(30, objective=objective, scale=scale, n_init=1, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 30
    squares = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)[1:]
    assert np.mean(squares.argmin(axis=1) == model.labels_[1:]) > 0.99
    assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(3))
def test_many_distinct_rows_have_clusters_of_their_own(seed):
    X = np.repeat(np.random.default_rng(0).random((100, 3)), 5, axis=0)
    labels = ClAM(100, scale=None, n_init=1, random_state=seed).fit_predict(X)
    assert len(np.unique(labels)) == 100
