"""Clusters of any shape: assemblies of memories."""

import copy
import dataclasses
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

import amclust
from amclust import ClAM, ClAMSearch
from amclust._assemblies import Overlap, merge_tree
from amclust._network import Network
from amclust._recipe import Recipe


@pytest.fixture(scope="module")
def moons():
    return make_moons(400, noise=0.05, random_state=0)


@pytest.fixture(scope="module")
def model(moons):
    return ClAM(2, n_memories=50, random_state=0).fit(moons[0])


# --- what is found --------------------------------------------------------------------------------


make_rings = partial(make_circles, factor=0.5)


@pytest.mark.parametrize("n_memories", [40, "auto"])
@pytest.mark.parametrize("make", [make_moons, make_rings])
def test_shapes_that_are_not_round_are_found(make, n_memories):
    X, classes = make(400, noise=0.04, random_state=1)
    model = ClAM(2, n_memories=n_memories, random_state=0).fit(X)
    assert adjusted_rand_score(classes, model.labels_) == 1.0
    new, of_new = make(400, noise=0.04, random_state=2)
    assert adjusted_rand_score(of_new, model.predict(new)) > 0.98


def test_round_clusters_keep_one_memory_each():
    X, _ = make_blobs(400, centers=4, random_state=1)
    model = ClAM(4, n_memories="auto", scale=None, random_state=0).fit(X)
    assert len(model.memories_) == 4
    assert_array_equal(model.memory_labels_, np.arange(4))
    evidence = model.shape_evidence_
    assert_array_equal(evidence["kind"], ["round", "cut", "clouds"])
    assert_array_equal(evidence["n_memories"], [4, 80, 80])
    assert_array_equal(evidence["chosen"], [True, False, False])
    assert evidence["likelihood"].argmax() == 0


def make_stretched(n_samples, random_state):
    """Draw clouds side by side that touch: a cut would go through a long one."""
    _, _, centers = make_blobs(random_state=181, return_centers=True)
    X, classes = make_blobs(n_samples, centers=centers, random_state=random_state)
    return X @ [[0.6, -0.6], [-0.4, 0.8]], classes


def test_clouds_that_touch_are_told_apart():
    X, classes = make_stretched(500, random_state=0)
    model = ClAM(3, n_memories="auto", random_state=0).fit(X)
    evidence = model.shape_evidence_
    assert evidence["kind"][evidence["chosen"]] == ["clouds"]
    assert adjusted_rand_score(classes, model.labels_) > 0.98
    new, of_new = make_stretched(500, random_state=1)
    assert adjusted_rand_score(of_new, model.predict(new)) > 0.97
    assert_array_equal(model.labels_, model.predict(X))


def test_clouds_need_rows_for_their_covariances():
    X, _ = make_blobs(300, n_features=20, centers=4, random_state=0)
    model = ClAM(4, n_memories="auto", random_state=0).fit(X)
    assert_array_equal(model.shape_evidence_["kind"], ["round", "cut"])
    assert np.isnan(model.shape_evidence_["likelihood"]).all()


def test_scaled_weights_change_no_clouds():
    X, _ = make_stretched(300, random_state=0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=300)
    one, other = (
        ClAM(3, n_memories="auto", random_state=0).fit(X, sample_weight=factor * weights)
        for factor in (1.0, 0.125)
    )
    assert one.shape_evidence_["kind"][one.shape_evidence_["chosen"]] == ["clouds"]
    assert_allclose(one.shape_evidence_["likelihood"], other.shape_evidence_["likelihood"])
    assert_array_equal(one.labels_, other.labels_)


def test_clouds_keep_the_invariants(tmp_path):
    X, _ = make_stretched(300, random_state=0)
    X = np.concatenate([X, X[:20]])
    order = np.random.default_rng(0).permutation(len(X))
    one, threads, shuffled, thin = (
        ClAM(3, n_memories="auto", random_state=0, n_jobs=n).fit(rows)
        for n, rows in ((1, X), (3, X), (1, X[order]), (1, sparse.csr_array(X)))
    )
    assert one.shape_evidence_["kind"][one.shape_evidence_["chosen"]] == ["clouds"]
    assert_array_equal(one.memories_, threads.memories_)
    assert_array_equal(one.labels_, threads.labels_)
    assert_array_equal(one.labels_[order], shuffled.labels_)
    assert_array_equal(one.labels_[:20], one.labels_[-20:])
    assert adjusted_rand_score(one.labels_, thin.labels_) == 1.0
    one.save(tmp_path / "clouds.amc")
    loaded = amclust.load(tmp_path / "clouds.amc")
    assert_array_equal(loaded.predict(X), one.labels_)
    assert_array_equal(loaded.shape_evidence_["kind"], one.shape_evidence_["kind"])
    more, _ = make_stretched(200, random_state=1)
    assert len(one.partial_fit(more).memories_) == len(loaded.memories_)


@pytest.mark.parametrize("change", ["missing", "cosine"])
def test_clouds_are_not_asked_where_they_mean_nothing(change):
    X, _ = make_stretched(300, random_state=0)
    if change == "missing":
        X[::7, 0] = np.nan
    metric = "cosine" if change == "cosine" else "euclidean"
    model = ClAM(3, n_memories="auto", metric=metric, random_state=0).fit(X + 0.1)
    assert "clouds" not in model.shape_evidence_["kind"]


def test_rows_between_clusters_do_not_join_them():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, size=(2, 150))
    lines = [np.c_[row, 0.1 * rng.normal(size=150) + 2 * i] for i, row in enumerate(x)]
    noise = rng.uniform((0, -1), (10, 3), size=(40, 2))
    X = np.concatenate([*lines, noise])
    model = ClAM(2, n_memories="auto", scale=None, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 150), model.labels_[:300]) > 0.98


@pytest.mark.parametrize("n_noise", [0, 10, 30])
def test_outliers_are_no_clusters_of_their_own(n_noise):
    rng = np.random.default_rng(n_noise)
    X = rng.normal(size=(600, 10))
    if n_noise:
        X = np.c_[make_moons(600, noise=0.05, random_state=0)[0], rng.normal(size=(600, n_noise))]
    model = ClAM(2, n_memories="auto", random_state=0).fit(X)
    assert np.bincount(model.labels_).min() > 100


@pytest.mark.parametrize("n_memories", [50, "auto"])
def test_the_number_of_pieces_is_seen(moons, n_memories):
    assert ClAM("auto", n_memories=n_memories, random_state=0).fit(moons[0]).n_clusters_ == 2
    rings, _ = make_circles(400, noise=0.04, factor=0.5, random_state=0)
    assert ClAM("auto", n_memories=n_memories, random_state=0).fit(rings).n_clusters_ == 2


def test_one_cloud_has_no_pieces():
    X = np.random.default_rng(0).normal(size=(400, 3))
    assert ClAM("auto", n_memories=60, random_state=0).fit(X).n_clusters_ == 1


# --- what the network answers ---------------------------------------------------------------------


def test_all_answers_are_by_cluster(model, moons):
    X, _ = moons
    assert_array_equal(model.labels_, model.predict(X))
    assert model.memories_.shape == (50, 2)
    assert model.cluster_centers_.shape == (2, 2)
    parts = model.predict_proba(X)
    assert parts.shape == (400, 2)
    assert_allclose(parts.sum(axis=1), 1.0, rtol=1e-5)
    assert model.predict_proba(X, top=1).shape == (400, 2)
    assert model.entropy(X).max() <= np.log(2) + 1e-6
    distances = model.transform(X)
    scaled = (X[:, None] - model.memories_) / X.std(axis=0)
    by_memory = np.sqrt((scaled**2).sum(axis=2))
    nearest = [by_memory[:, model.memory_labels_ == c].min(axis=1) for c in (0, 1)]
    assert_allclose(distances, np.stack(nearest, axis=1), rtol=1e-3, atol=1e-5)
    assert model.energy(X).shape == (400,)
    assert model.recall(X).shape == X.shape
    assert len(model.get_feature_names_out()) == 2
    assert 0 < model.silhouette_ < 0.5


def test_centres_are_the_means_of_their_rows_as_memories_have_them(model, moons):
    X, _ = moons
    for cluster in (0, 1):
        mean = X[model.labels_ == cluster].mean(axis=0)
        assert_allclose(model.cluster_centers_[cluster], mean, atol=0.05)


def test_plain_models_have_their_memories_as_centres(moons):
    model = ClAM(3, random_state=0).fit(moons[0])
    assert_array_equal(model.memories_, model.cluster_centers_)
    assert_array_equal(model.memory_labels_, [0, 1, 2])
    assert not hasattr(model, "shape_evidence_")
    assert not hasattr(model, "merge_tree_")


def test_a_model_is_saved_with_its_assembly(model, moons, tmp_path):
    X, _ = moons
    model.save(tmp_path / "moons.amc")
    loaded = amclust.load(tmp_path / "moons.amc")
    assert_array_equal(loaded.predict(X), model.labels_)
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    assert_array_equal(loaded.memory_labels_, model.memory_labels_)
    assert_array_equal(loaded.merge_tree_, model.merge_tree_)
    for column in model.shape_evidence_.columns:
        assert_array_equal(loaded.shape_evidence_[column], model.shape_evidence_[column])
    assert_array_equal(loaded.shape_evidence_.eigenvalues, model.shape_evidence_.eigenvalues)
    more = make_moons(200, noise=0.05, random_state=3)[0]
    again = copy.deepcopy(model).partial_fit(more)
    assert_array_equal(loaded.partial_fit(more).memories_, again.memories_)


def test_partial_fit_carries_the_assembly(moons):
    X, classes = moons
    model = ClAM(2, n_memories=50, random_state=0)
    for seed in range(4):
        model.partial_fit(make_moons(300, noise=0.05, random_state=seed)[0])
    assert len(model.memories_) == 50
    assert adjusted_rand_score(classes, model.predict(X)) > 0.98
    model.n_memories = 40
    with pytest.raises(ValueError, match="n_memories=40 cannot change .* had 50"):
        model.partial_fit(X)


def test_another_fit_forgets_the_shape(moons):
    model = ClAM(2, n_memories=30, random_state=0).fit(moons[0])
    model.set_params(n_memories=None).fit(moons[0])
    assert not hasattr(model, "shape_evidence_")
    assert len(model.memories_) == 2


# --- invariants -----------------------------------------------------------------------------------


def test_threads_change_nothing(moons):
    found = [ClAM(2, n_memories="auto", random_state=0, n_jobs=n).fit(moons[0]) for n in (1, 2, 3)]
    for other in found[1:]:
        assert_array_equal(other.memories_, found[0].memories_)
        assert_array_equal(other.labels_, found[0].labels_)
        assert_array_equal(other.shape_evidence_.eigenvalues, found[0].shape_evidence_.eigenvalues)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_the_order_of_rows_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    X, _ = make_moons(150, noise=0.08, random_state=seed)
    X = np.concatenate([X, X[:20]])
    order = rng.permutation(len(X))
    one, other = (ClAM(2, n_memories=25, random_state=0).fit(rows) for rows in (X, X[order]))
    assert_array_equal(one.labels_[order], other.labels_)
    assert_array_equal(one.labels_[:20], one.labels_[-20:])


def test_weights_are_copies(moons):
    X, _ = moons
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    weighted = ClAM(2, n_memories=40, random_state=0).fit(X, sample_weight=weights)
    copied = ClAM(2, n_memories=40, random_state=0).fit(np.repeat(X, weights, axis=0))
    assert adjusted_rand_score(weighted.labels_, copied.predict(X)) == 1.0
    assert_allclose(weighted.memories_, copied.memories_, rtol=1e-4, atol=1e-5)


# --- other rows -----------------------------------------------------------------------------------


def test_values_may_be_missing(moons):
    X, classes = moons
    holes = X.copy()
    rng = np.random.default_rng(0)
    holes[rng.random(400) < 0.1, rng.integers(2)] = np.nan
    model = ClAM(2, n_memories=50, random_state=0).fit(holes)
    assert_array_equal(model.labels_, model.predict(holes))
    assert adjusted_rand_score(classes, model.labels_) > 0.75
    assert not np.isnan(model.complete(holes)).any()


def test_directions_and_sparse_rows():
    rng = np.random.default_rng(0)
    # Two arcs on the sphere, which cross no other.
    turn = rng.uniform(0, np.pi, size=(2, 200))
    X = np.concatenate(
        [
            np.c_[np.cos(turn[0]), np.sin(turn[0]), np.full(200, 0.05)],
            np.c_[np.cos(turn[1]), np.sin(turn[1]), np.full(200, 1.2)],
        ]
    )
    X = normalize(X + 0.01 * rng.normal(size=X.shape))
    classes = np.repeat([0, 1], 200)
    dense = ClAM(2, n_memories=40, metric="cosine", random_state=0).fit(X)
    assert adjusted_rand_score(classes, dense.labels_) == 1.0
    assert_allclose(np.linalg.norm(dense.cluster_centers_, axis=1), 1.0, rtol=1e-5)
    found = ClAM(2, n_memories=40, metric="cosine", random_state=0).fit(sparse.csr_array(X))
    assert_array_equal(found.labels_, dense.labels_)


def test_more_rows_than_the_graph_has(monkeypatch, moons):
    for name, value in {"MEMORY_ROWS": 8, "GRAPH_ROWS": 5, "MAX_ALL_ROWS": 200}.items():
        monkeypatch.setattr(f"amclust._assemblies.{name}", value)
    X, classes = moons
    weights = np.random.default_rng(0).uniform(0.5, 2, size=400)
    model = ClAM(2, n_memories=40, random_state=0).fit(X, sample_weight=weights)
    assert adjusted_rand_score(classes, model.labels_) == 1.0


def test_torch_trains_memories_too(moons):
    pytest.importorskip("torch")
    X, classes = moons
    model = ClAM(2, n_memories=40, backend="torch", n_init=1, max_epochs=60, random_state=0)
    assert adjusted_rand_score(classes, model.fit(X).labels_) > 0.9


def test_pieces_stay_whole_where_they_are_more_than_clusters():
    turns = 2 * np.pi * np.arange(10) / 10
    pieces = np.repeat(np.arange(10), 40)
    centres = 100 * np.c_[np.cos(turns), np.sin(turns)]
    X = centres[pieces] + np.random.default_rng(2).normal(size=(400, 2))
    for seed in range(3):
        labels = ClAM(3, n_memories=60, random_state=seed).fit(X).labels_
        assert all(len(np.unique(labels[pieces == piece])) == 1 for piece in range(10))
    assert ClAM(range(2, 5), n_memories=60, random_state=0).fit(X).n_clusters_ == 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_memories", [10, "auto"])
def test_equal_directions_are_no_trouble(n_memories):
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(10, 3))
    X = directions[rng.integers(0, 10, 300)] * rng.uniform(1, 5, (300, 1))
    labels = ClAM(2, n_memories=n_memories, metric="cosine", random_state=0).fit(X).labels_
    assert len(np.unique(labels)) == 2
    narrow = np.array([1.0, 0, 0]) + 1e-3 * rng.normal(size=(300, 3))
    ClAM(2, n_memories=30, metric="cosine", random_state=0).fit(narrow)


def test_noise_is_counted_nowhere():
    pytest.importorskip("torch")
    far = np.random.default_rng(1).uniform(-30, 30, (20, 2))
    X = np.concatenate([make_moons(200, noise=0.05, random_state=0)[0], far])
    few = {"backend": "torch", "n_init": 1, "max_epochs": 10, "random_state": 0}
    model = ClAM(2, n_memories=20, metric="epanechnikov", beta=20.0, **few).fit(X)
    assert (model.labels_ < 0).any()
    weights = np.ones(len(X))
    model.partial_fit(X, sample_weight=weights)
    assert np.isfinite(model.cluster_centers_).all()


def test_large_tables_of_few_distinct_rows():
    X = np.random.default_rng(0).integers(0, 5, (17_000, 2)).astype(float)
    model = ClAM(2, n_memories="auto", n_init=1, random_state=0).fit(X)
    assert len(np.unique(model.labels_)) == 2


def test_scaled_weights_change_nothing():
    X, _ = make_moons(90, noise=0.2, random_state=4)
    models = [
        ClAM(2, n_memories="auto", n_init=2, random_state=0).fit(X, sample_weight=np.full(90, w))
        for w in (1.0, 100.0)
    ]
    assert_array_equal(models[0].labels_, models[1].labels_)


def test_sizes_are_those_of_all_rows(monkeypatch, moons):
    for name, value in {"MEMORY_ROWS": 4, "GRAPH_ROWS": 3, "MAX_ALL_ROWS": 100}.items():
        monkeypatch.setattr(f"amclust._assemblies.{name}", value)
    model = ClAM(2, n_memories=30, random_state=0).fit(moons[0])
    assert model.network_.sizes.sum() == pytest.approx(400)
    assert model.partial_fit(moons[0]).network_.sizes.sum() == pytest.approx(800)
    with pytest.raises(ValueError, match="n_memories=None cannot change .* had 30"):
        model.set_params(n_memories=None).partial_fit(moons[0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_given_batch_size_is_for_the_memories_too(moons):
    few = {"objective": "completion", "max_epochs": 2, "n_init": 1, "random_state": 0}
    small, large = (
        ClAM(2, n_memories=20, batch_size=size, **few).fit(moons[0]) for size in (32, 400)
    )
    assert not np.array_equal(small.memories_, large.memories_)


# --- the graph ------------------------------------------------------------------------------------


def overlap_of(shares):
    shares = sparse.csr_array(np.asarray(shares, dtype=float))
    n = shares.shape[0]
    nearest = np.asarray(shares.argmax(axis=1)).ravel()
    sizes = np.asarray(shares.sum(axis=0)).ravel()
    return Overlap(np.arange(n), np.ones(n), nearest, shares, sizes)


def test_cuts_are_the_rows_that_clusters_share():
    overlap = overlap_of([[1, 0], [0.5, 0.5], [0, 1], [0, 1]])
    # One row of four is half of each; by hand: 1 - (1.5**2 / 1.5 + ...) / ...
    labels = np.array([0, 0, 1, 1], np.int32)
    by_hand = 1 - np.mean([(1.5**2 / 1.5 + 0.5**2 / 2.5) / 2, (2**2 / 2.5) / 2])
    assert overlap.cut(labels, 2) == pytest.approx(by_hand)
    assert overlap.cut(np.zeros(4, np.int32), 1) == 0.0
    assert overlap.cut(np.zeros(4, np.int32), 2) == 0.5  # a cluster without rows
    assert overlap.cut(np.full(4, -1, np.int32), 2) == 1.0


def test_clusters_join_first_that_share_most():
    shares = np.repeat([[1, 0, 0], [0.6, 0.4, 0], [0, 1, 0], [0, 0, 1]], 5, axis=0)
    shares[-1] = [0, 0.1, 0.9]
    tree = merge_tree(overlap_of(shares), np.repeat([0, 0, 1, 2], 5).astype(np.int32), 3)
    assert is_valid_linkage(tree)
    assert_array_equal(tree[:, :2], [[0, 1], [3, 2]])
    assert tree[0, 2] < tree[1, 2] <= 1.0


def test_the_tree_of_a_model_is_one_of_scipy(moons):
    model = ClAM(5, n_memories=60, random_state=0).fit(moons[0])
    assert model.merge_tree_.shape == (4, 4)
    assert is_valid_linkage(model.merge_tree_)


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_memories": 2}, "n_memories=2 must be at least n_clusters=3"),
        ({"n_memories": 1000}, "n_memories=1000 must be at most the number of distinct rows"),
        ({"n_memories": 20, "init": np.zeros((3, 2))}, "init must have .* n_memories=20"),
        ({"n_memories": 20, "weights": [1, 1, 1]}, "weights must have .* n_memories=20"),
        ({"n_memories": "auto", "init": np.zeros((3, 2))}, "init cannot be an array with n_memo"),
        ({"n_memories": "many"}, "'n_memories' parameter of ClAM must be"),
        ({"n_memories": 600, "init": "ward"}, "init='ward' .* got n_memories=600"),
        ({"n_memories": 0}, "'n_memories' parameter of ClAM must be"),
        ({"n_memories": 2.5}, "'n_memories' parameter of ClAM must be"),
    ],
)
def test_bad_numbers_of_memories_are_refused(moons, parameters, words):
    with pytest.raises(ValueError, match=words):
        ClAM(3, **parameters).fit(moons[0])


def test_too_many_memories_are_warned_of(moons):
    with pytest.warns(UserWarning, match="n_memories=150 have 400 distinct rows, fewer than 3"):
        ClAM(2, n_memories=150, random_state=0).fit(moons[0])


def test_a_report_tells_of_assemblies(model, moons, tmp_path):
    pytest.importorskip("jinja2")
    page = model.report(moons[0], tmp_path / "moons.html").read_text()
    assert "made of 50 memories" in " ".join(page.split())
    assert "with the 50 memories" in page
    assert "Every cluster has a memory" not in page


def test_missing_values_of_directions():
    rng = np.random.default_rng(0)
    X = np.hstack([make_moons(200, noise=0.06, random_state=0)[0] + 3] * 2)
    holes = rng.random(X.shape) < 0.1
    holes[holes.all(axis=1)] = False
    X[holes] = np.nan
    model = ClAM(2, n_memories=40, metric="cosine", random_state=0).fit(X)
    assert_array_equal(model.labels_, model.predict(X))


def test_two_rows_are_round():
    model = ClAM(2, n_memories="auto").fit([[0.0], [1.0]])
    assert_array_equal(np.sort(model.labels_), [0, 1])
    assert len(model.memories_) == 2
    assert len(model.shape_evidence_) == 1


def test_two_memories_of_one_cluster_cannot_be_told():
    with pytest.raises(
        ValueError, match="n_memories=3 must be more than 3, .* same as n_clusters=2"
    ):
        ClAM(2, n_memories=3).fit(np.arange(10.0)[:, None])


@pytest.mark.parametrize("n_clusters", [1, "auto"])
def test_one_memory_is_one_cluster_or_none_of_its_business(n_clusters, moons):
    model = ClAM(n_clusters, n_memories=1, random_state=0).fit(moons[0])
    assert len(model.memories_) == model.n_clusters_


def test_as_many_memories_as_clusters_are_the_clusters():
    X, _ = make_blobs(200, centers=5, random_state=0)
    model = ClAM(5, n_memories=5, random_state=0).fit(X)
    assert_array_equal(np.sort(model.memory_labels_), np.arange(5))


def test_a_search_is_for_round_clusters(moons):
    with pytest.raises(ValueError, match="estimator must have n_memories=None"):
        ClAMSearch(2, estimator=ClAM(n_memories="auto")).fit(moons[0])


def test_networks_refuse_sizes_that_do_not_fit(model):
    network: Network = model.network_
    with pytest.raises(ValueError, match="sizes must be 50 finite numbers"):
        dataclasses.replace(network, sizes=np.ones(3))


def test_memories_are_few_where_rows_are():
    recipe = Recipe()
    assert recipe.n_memories(2, 10_000) == 100
    assert recipe.n_memories(50, 10_000) == 400
    assert recipe.n_memories(2, 100) == 20
    assert recipe.n_memories(7, 59) is None
