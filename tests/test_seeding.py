"""Initial memories: the ways to find them, and who takes which."""

import numpy as np
import pytest
from native import rows_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM, _native
from amclust._recipe import Recipe

RECIPE = Recipe()
methods = RECIPE.seeding_methods
INITS = ["auto", "ward", "k-means++", "random"]


def blobs(n=300, d=4, k=5, std=0.5, seed=0):
    """Clusters of unequal sizes."""
    sizes = np.linspace(1, 3, k)
    sizes = (n * sizes / sizes.sum()).astype(int)
    rng = np.random.default_rng(seed)
    centers = 10 * np.eye(max(k, d))[:k, :d] + 10 * rng.integers(0, 3, (k, d))
    return make_blobs(sizes, d, centers=centers, cluster_std=std, random_state=seed)


def make(k=5, **settings):
    return ClAM(k, **({"n_init": 2, "random_state": 0} | settings))


def seed(X, k, methods, *, seeds=None, weights=None, metric="euclidean", threads=1):
    seeds = list(range(len(methods))) if seeds is None else seeds
    fill = np.zeros(X.shape[1], np.float32)
    return _native.seed(rows_of(X, metric), None, weights, k, methods, seeds, 0, fill, threads)


# --- turns ----------------------------------------------------------------------------------------


def test_restarts_take_turns():
    turns = ["ward", "k-means++", "ward", "k-means++", "ward"]
    assert methods("auto", 5, 8) == turns
    assert methods("auto", 1, 8) == ["ward"]
    assert methods("auto", 2, RECIPE.max_tree_clusters) == turns[:2]
    assert RECIPE.max_tree_clusters == 512
    assert methods("auto", 3, 513) == ["k-means++"] * 3


@pytest.mark.parametrize("init", ["ward", "k-means++", "random"])
def test_a_given_way_is_that_of_all_restarts(init):
    assert methods(init, 3, 8) == [init] * 3
    assert methods(init, 2, 1000) == [init] * 2


@pytest.mark.filterwarnings("ignore:.*max_epochs=3")
def test_turns_are_taken_in_a_fit():
    X = np.random.default_rng(0).normal(size=(300, 4))
    settings = {"n_init": 4, "max_epochs": 3}
    auto, trees, plain = (
        make(init=init, **settings).fit(X).runs_ for init in ("auto", "ward", "k-means++")
    )
    for column in ("beta", "loss", "silhouette"):
        assert_array_equal(auto[column][::2], trees[column][::2])
        assert_array_equal(auto[column][1::2], plain[column][1::2])
        assert (trees[column] != plain[column]).all()


# --- a fit ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_init", [1, 6])
@pytest.mark.parametrize("init", INITS)
def test_every_way_leads_to_a_fit(init, n_init):
    X, y = blobs()
    model = make(init=init, n_init=n_init).fit(X)
    assert model.runs_.shape == (n_init,)
    if init in ("auto", "ward") or n_init > 1:
        assert adjusted_rand_score(y, model.labels_) == 1.0


FORMS = {
    "holes": {"objective": "silhouette"},
    "sparse": {},
    "cosine": {"metric": "cosine"},
    "mahalanobis": {"metric": "mahalanobis"},
    "weights": {},
    "float32": {},
}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("k", [3, 8])
def test_trees_of_rows_at_equal_distances_end(form, k):
    X = np.array([(i, j) for i in range(24) for j in range(24)], dtype=float)
    model = ClAM(k, init="ward", n_init=1, random_state=0).fit(form(X))
    assert len(np.unique(model.labels_)) == k


def test_sparse_rows_far_from_zero_stay_distinct():
    X = np.array([[0.0], [100.0], [100.05], [50.0]])
    for init in ("ward", "k-means++", "random"):
        model = ClAM(4, init=init, n_init=1, scale=None, random_state=0).fit(sparse.csr_array(X))
        assert len(np.unique(model.labels_)) == 4


def test_random_sparse_starts_are_rows():
    rng = np.random.default_rng(0)
    X = (rng.random((300, 2_000)) < 0.01).astype(float)
    settings = {"init": "random", "n_init": 1, "scale": None, "record_epochs": [0]}
    model = ClAM(3, **settings, random_state=0).fit(sparse.csr_array(X))
    starts = model.recorded_memories_[0]
    assert_allclose(np.abs(starts[:, None] - X).sum(axis=2).min(axis=1), 0.0, atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_trees_take_every_form_of_rows(form):
    X, y = blobs()
    weight = None
    if form == "holes":
        X[:, 1:][np.random.default_rng(0).random((len(X), 3)) < 0.1] = np.nan
    elif form == "sparse":
        X = sparse.csr_matrix(np.where(np.abs(X) < 3, 0.0, X))
    elif form == "weights":
        weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    elif form == "float32":
        X = X.astype(np.float32)
    settings = {"init": "ward", **FORMS[form]}
    model = make(**settings, n_jobs=1).fit(X, sample_weight=weight)
    assert adjusted_rand_score(y, model.labels_) > (0.9 if form in ("holes", "cosine") else 0.99)
    other = make(**settings, n_jobs=3).fit(X, sample_weight=weight)
    assert_array_equal(model.cluster_centers_, other.cluster_centers_)
    assert_array_equal(model.runs_, other.runs_)


@pytest.mark.parametrize("k", [2, 3])
def test_few_rows_are_enough(k):
    X = np.array([[0.0, 1.0], [4.0, 4.0], [9.0, 9.0]])
    model = make(k, init="ward").fit(X)
    assert len(np.unique(model.labels_)) == k


# --- the core -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "k"), [(60, 2), (300, 5), (3000, 12), (6000, 4)])
def test_trees_find_the_centres_of_separated_clusters(n, k, weighted):
    X, y = blobs(n, 6, k)
    X = X.astype(np.float32)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else np.ones(len(X))
    weights = weights.astype(np.float32)
    found = seed(X, k, ["ward"] * 3, weights=weights if weighted else None)
    means = np.stack([np.average(X[y == m], axis=0, weights=weights[y == m]) for m in range(k)])
    for seeding in found:
        far = np.linalg.norm(seeding.memories[:, None] - means, axis=-1)
        assert_array_equal(np.sort(far.argmin(axis=1)), np.arange(k))
        # Above 4,096 rows a part of them stands for all.
        assert far.min(axis=1).max() < (1e-3 if n <= 4096 else 0.2)
        nearest = far.argmin(axis=1)
        squares = ((X - seeding.memories[np.argsort(nearest)][y]) ** 2).sum(axis=1)
        expected = np.average(squares, weights=weights)
        assert seeding.mean_square == pytest.approx(expected, rel=1e-3 if n <= 4096 else 0.1)
        assert seeding.distinct == k


def test_seedings_differ_from_each_other():
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    found = seed(X, 6, ["ward"] * 4)
    assert len({np.sort(s.memories, axis=0).tobytes() for s in found}) == 4


def test_a_seed_decides_whatever_else_is_seeded():
    X = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    methods = ["ward", "k-means++", "random", "ward"]
    together = seed(X, 6, methods, seeds=[5, 6, 7, 8])
    for threads in (2, 3):
        for one, other in zip(
            together, seed(X, 6, methods, seeds=[5, 6, 7, 8], threads=threads), strict=True
        ):
            assert_array_equal(one.memories, other.memories)
    for index, method in enumerate(methods):
        (alone,) = seed(X, 6, [method], seeds=[5 + index])
        assert_array_equal(alone.memories, together[index].memories)


def test_trees_count_weights():
    X = np.repeat([0.0, 1.0, 2.2], 10) + 0.01 * np.random.default_rng(0).normal(size=30)
    X = X[:, None].astype(np.float32)
    weights = np.repeat([100.0, 100.0, 1.0], 10).astype(np.float32)
    (plain,), (weighted,) = seed(X, 2, ["ward"]), seed(X, 2, ["ward"], weights=weights)
    assert_allclose(np.sort(plain.memories[:, 0]), [0.5, 2.2], atol=0.02)
    # It costs less to merge a heavy cluster with a light one than with a nearer heavy one.
    assert_allclose(np.sort(weighted.memories[:, 0]), [0.0, 1.012], atol=0.02)


def test_where_a_tree_has_too_few_distinct_rows_others_are_found():
    X = np.zeros((4000, 2), np.float32)
    X[::2, 0] = 1.0
    X[1234] = 7.0  # a tree of a quarter of the rows is not likely to see it
    seeds = list(range(8))
    trees, plain = (seed(X, 3, [way] * 8, seeds=seeds) for way in ("ward", "k-means++"))
    pairs = [(one.memories, other.memories) for one, other in zip(trees, plain, strict=True)]
    assert any(np.array_equal(one, other) for one, other in pairs)
    for seeding in trees:
        assert_allclose(np.unique(seeding.memories, axis=0), [[0, 0], [1, 0], [7, 7]])


def test_cosine_trees_are_of_directions():
    X, y = blobs(300, 6, 4)
    length = np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))
    (found,) = seed((length * X).astype(np.float32), 4, ["ward"], metric="cosine")
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    means = np.stack([unit[y == m].mean(axis=0) for m in range(4)])
    far = np.linalg.norm(found.memories[:, None] - means, axis=-1)
    assert_array_equal(np.sort(far.argmin(axis=1)), np.arange(4))
    assert far.min(axis=1).max() < 1e-3


def test_unknown_ways_are_named():
    X = np.eye(3, dtype=np.float32)
    with pytest.raises(ValueError, match="unknown seeding: tree"):
        seed(X, 2, ["ward", "tree"])
    with pytest.raises(ValueError, match="methods and seeds must be as many"):
        seed(X, 2, ["ward"], seeds=[1, 2])
