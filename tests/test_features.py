"""What tells clusters apart, and memories as sparse matrices."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

import amclust
from amclust import ClAM, ClAMSearch, TopFeatures, _network

# Words of three topics, and words of all texts.
TOPICS = [["ball", "goal", "team"], ["bread", "oven", "salt"], ["moon", "orbit", "star"]]
COMMON = ["many", "people", "today"]
WORDS = np.array(sorted(sum(TOPICS, COMMON)))
FAST = {"n_init": 2, "random_state": 0, "n_jobs": 1}


def counts(seed=0, per_topic=20):
    """Give counts of words in texts, some of each topic."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((3 * per_topic, len(WORDS)))
    for row, topic in enumerate(np.repeat([0, 1, 2], per_topic)):
        drawn = rng.choice(TOPICS[topic] + COMMON, 12, p=[0.3, 0.2, 0.1, 0.2, 0.1, 0.1])
        np.add.at(rows[row], np.searchsorted(WORDS, drawn), 1)
    return rows


@pytest.fixture(scope="module")
def model():
    return ClAM(3, scale=None, **FAST).fit(counts())


def topics_of(top):
    return sorted(top.names)


# --- top features ---------------------------------------------------------------------------------


def test_words_of_a_topic_tell_its_cluster_in_the_order_of_their_weights(model):
    top = model.top_features(3, feature_names=WORDS)
    assert topics_of(top) == TOPICS
    for features in top:
        assert [f.score for f in features] == sorted((f.score for f in features), reverse=True)


@pytest.mark.parametrize("parameters", [{}, {"scale": None}, {"metric": "cosine"}])
@pytest.mark.parametrize("two_sided", [False, True])
def test_scores_are_differences_from_the_mean_by_size_in_scaled_units(parameters, two_sided):
    X = counts()[:50]  # topics of unequal size
    model = ClAM(3, **parameters, **FAST).fit(X)
    centers, sizes = model.cluster_centers_, np.bincount(model.labels_)
    mean = sizes @ centers / sizes.sum()
    spread = X.std(axis=0) if not parameters else 1.0
    scores = (centers - mean) / spread
    for m, features in enumerate(model.top_features(4, two_sided=two_sided)):
        ranked = np.argsort(-(np.abs(scores[m]) if two_sided else scores[m]), kind="stable")[:4]
        assert [f.column for f in features] == ranked.tolist()
        np.testing.assert_allclose([f.score for f in features], scores[m, ranked], rtol=1e-5)
        np.testing.assert_allclose([f.weight for f in features], centers[m, ranked], rtol=1e-6)
        np.testing.assert_allclose([f.mean for f in features], mean[ranked], rtol=1e-5)


def test_the_mean_of_the_other_clusters_gives_the_same_order(model):
    centers, sizes = model.cluster_centers_, np.bincount(model.labels_)
    for m, features in enumerate(model.top_features(3)):
        others = np.arange(3) != m
        mean = sizes[others] @ centers[others] / sizes[others].sum()
        expected = np.argsort(mean - centers[m], kind="stable")[:3]
        assert [f.column for f in features] == expected.tolist()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_order_of_rows_does_not_matter(metric):
    X = counts()
    order = np.random.default_rng(1).permutation(len(X))
    found = [ClAM(3, scale=None, metric=metric, **FAST).fit(Z) for Z in (X, X[order])]
    one, other = (topics_of(m.top_features(3, feature_names=WORDS)) for m in found)
    assert one == other == TOPICS
    words = counts(seed=2)
    labels = found[0].labels_
    found[1].labels_ = labels[order]
    found[1].n_clusters_ = found[0].n_clusters_
    one, other = (m.top_features(5, X=Z) for m, Z in zip(found, (words, words[order]), strict=True))
    assert one.names == other.names


def test_columns_may_be_in_any_order(model):
    order = np.random.default_rng(1).permutation(len(WORDS))
    permuted = ClAM(3, scale=None, **FAST).fit(counts()[:, order])
    top = permuted.top_features(3, feature_names=WORDS[order])
    assert topics_of(top) == topics_of(model.top_features(3, feature_names=WORDS))


def test_ties_go_by_column():
    X = np.repeat([[1.0, 0, 1, 0, 1], [0, 1, 0, 1, 0]], 5, axis=0)
    top = ClAM(2, scale=None, **FAST).fit(X).top_features(2)
    assert topics_of(top) == [["x0", "x2"], ["x1", "x3"]]
    assert topics_of(ClAM(2, **FAST).fit(X).top_features(9)) == [["x0", "x2", "x4"], ["x1", "x3"]]


@pytest.mark.parametrize("scale", [None, "standard"])
def test_what_is_the_same_everywhere_tells_nothing(scale):
    X = np.hstack([counts(), np.full((60, 1), 1e6), np.full((60, 1), 0.1)])
    model = ClAM(3, scale=scale, **FAST).fit(X)
    for top in (model.top_features(20, two_sided=True), model.top_features(20, X=X)):
        columns = {f.column for features in top for f in features}
        assert columns
        assert columns <= set(range(12))


def test_words_that_a_cluster_lacks_are_told_only_on_request(model):
    for features in model.top_features(12, feature_names=WORDS):
        assert all(f.score > 0 and f.weight > f.mean for f in features)
    signs = {
        np.sign(f.score) for features in model.top_features(12, two_sided=True) for f in features
    }
    assert signs == {-1, 1}


def test_one_cluster_is_told_from_nothing():
    top = ClAM(1, **FAST).fit(counts()).top_features()
    assert top.names == [[]]
    assert str(top) == "0: "


def test_sparse_rows_are_told_as_dense_ones(model):
    same = ClAM(3, scale=None, **FAST).fit(sparse.csr_array(counts()))
    assert same.top_features(3).names == model.top_features(3).names


def test_missing_values_do_not_hide_what_tells_a_cluster():
    X = counts(per_topic=40)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    model = ClAM(3, scale=None, **FAST).fit(X)
    assert topics_of(model.top_features(3, feature_names=WORDS)) == TOPICS
    assert topics_of(model.top_features(3, X=X, feature_names=WORDS)) == TOPICS


def test_names_are_those_of_a_frame():
    pandas = pytest.importorskip("pandas")
    model = ClAM(3, scale=None, **FAST).fit(pandas.DataFrame(counts(), columns=WORDS))
    assert topics_of(model.top_features(3)) == TOPICS
    other = [f"the word {name}" for name in WORDS]
    names = {name for names in model.top_features(3, feature_names=other).names for name in names}
    assert names < set(other)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_other_columns_of_the_same_rows_tell_the_clusters(package, model):
    frames = pytest.importorskip(package)
    words = frames.DataFrame(
        counts(), **{"columns" if package == "pandas" else "schema": WORDS.tolist()}
    )
    embedded = counts() @ np.random.default_rng(0).normal(size=(12, 30))
    found = ClAM(3, scale=None, **FAST).fit(embedded)
    assert topics_of(found.top_features(3, X=words)) == TOPICS


def test_other_columns_sparse_or_dense_complete_or_not_are_means_of_rows(model):
    X = counts(seed=5)
    X[::7, 3] = np.nan
    dense, csr = (model.top_features(4, X=Z, two_sided=True) for Z in (X, sparse.csr_matrix(X)))
    assert dense.names == csr.names
    means = np.array([np.nanmean(X[model.labels_ == m], axis=0) for m in range(3)])
    for m, features in enumerate(dense):
        columns = [f.column for f in features]
        np.testing.assert_allclose([f.weight for f in features], means[m, columns])
        np.testing.assert_allclose([f.mean for f in features], np.nanmean(X, axis=0)[columns])
        np.testing.assert_allclose([f.weight for f in csr[m]], means[m, columns])


def test_noise_is_in_no_cluster(model):
    noisy = amclust.ClAM(3, scale=None, **FAST).fit(counts())
    noisy.labels_ = np.where(np.arange(60) < 2, -1, noisy.labels_)
    X = counts()
    X[:2] = 1000.0
    assert topics_of(noisy.top_features(3, X=X, feature_names=WORDS)) == TOPICS
    assert topics_of(noisy.top_features(3, feature_names=WORDS)) == TOPICS
    noisy.labels_ = np.full(60, -1)
    assert topics_of(noisy.top_features(3, feature_names=WORDS)) == TOPICS
    assert noisy.top_features(3, X=X).names == [[], [], []]


def test_a_cluster_of_several_memories_has_their_mean(model):
    network = replace(model.network_, assembly=np.array([0, 0, 1]))
    centers = model.cluster_centers_
    centers = np.array([centers[:2].mean(axis=0), centers[2]])
    top = network.top_features(4, sizes=[30, 10])
    mean = np.array([0.75, 0.25]) @ centers
    assert len(top) == 2
    for m, features in enumerate(top):
        np.testing.assert_allclose(
            [f.weight - f.mean for f in features], np.sort(centers[m] - mean)[:-5:-1], rtol=1e-5
        )


def test_a_search_and_a_loaded_model_tell_the_same(model, tmp_path):
    model.save(tmp_path / "m.amc")
    assert amclust.load(tmp_path / "m.amc").top_features(3) == model.top_features(3)
    search = ClAMSearch(3, estimator=ClAM(scale=None), space={"n_steps": [10]}, budget=None, **FAST)
    search.fit(counts())
    assert topics_of(search.top_features(3, feature_names=WORDS)) == TOPICS
    assert search.sparse_centers().shape == (3, 12)


def test_whitened_rows_are_told_in_original_units():
    X = counts() + np.random.default_rng(0).normal(size=(60, 12)) / 10
    model = ClAM(3, metric="mahalanobis", **FAST).fit(X)
    for m, features in enumerate(model.top_features(3)):
        weights = model.cluster_centers_[m, [f.column for f in features]]
        np.testing.assert_allclose([f.weight for f in features], weights, rtol=1e-5)


def test_the_result_is_a_sequence_and_a_frame(model):
    top = model.top_features(2, feature_names=WORDS)
    assert isinstance(top, TopFeatures)
    assert len(top) == 3
    assert list(top) == [top[0], top[1], top[2]]
    assert top[0][0]._fields == ("name", "weight", "mean", "score", "column")
    assert str(top).splitlines()[1] == f"1: {', '.join(top.names[1])}"
    pytest.importorskip("pandas")
    frame = top.to_pandas()
    assert frame["cluster"].tolist() == [0, 0, 1, 1, 2, 2]
    assert frame["name"].tolist() == [name for names in top.names for name in names]
    assert frame.iloc[0].tolist() == [0, *top[0][0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be an int of at least 1, got 0"),
        ({"n": True}, "n must be an int of at least 1, got True"),
        ({"n": 2.0}, "n must be an int of at least 1, got 2.0"),
        (
            {"feature_names": ["a"]},
            "feature_names must be None or 12 strings, one per column, got 1",
        ),
        ({"feature_names": "abcdefghijkl"}, "12 strings, one per column, got 'abcdefghijkl'"),
        ({"feature_names": 12}, "12 strings, one per column, got 12"),
        ({"feature_names": dict.fromkeys(WORDS, 0)}, "in their order, got a dict, which has anot"),
        ({"feature_names": set(WORDS)}, "in their order, got a set, which has another"),
        ({"feature_names": range(12)}, r"got 0 \(int\) at place 0"),
        ({"feature_names": [*"abcdefghijk", None]}, r"got None \(NoneType\) at place 11"),
        ({"X": np.ones((59, 2))}, "X must have the rows of the last fit, 60 of them, got 59"),
        ({"X": np.ones((60, 2)), "feature_names": WORDS}, "2 strings, one per column, got 12"),
        ({"X": np.full((60, 2), np.inf)}, "infinity"),
    ],
)
def test_wrong_arguments_are_named(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.top_features(**arguments)


@pytest.mark.parametrize("sizes", [[1, 2], [1, 2, -1], [1, 2, np.nan]])
def test_wrong_sizes_are_named(model, sizes):
    with pytest.raises(ValueError, match="sizes must be None or 3 numbers of at least 0"):
        model.network_.top_features(sizes=sizes)


@pytest.mark.parametrize("method", ["top_features", "sparse_centers"])
def test_only_a_fitted_model_has_memories(method):
    with pytest.raises(NotFittedError):
        getattr(ClAM(), method)()


# --- sparse centres -------------------------------------------------------------------------------


def wide(dtype=np.float64):
    """Give sparse rows of three topics that share no column, and columns that no row has."""
    rng = np.random.default_rng(0)
    rows = sparse.lil_array((90, 400), dtype=dtype)
    for i in range(90):
        columns = 100 * (i % 3) + rng.choice(40, 8, replace=False)
        rows[[i], columns] = rng.random(8) + 0.1
    return sparse.csr_array(rows)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "parameters",
    [{"scale": None}, {"objective": "reconstruction"}, {"metric": "cosine"}],
    ids=["unscaled", "exact", "cosine"],
)
def test_sparse_centers_have_no_columns_that_a_cluster_lacks(parameters, dtype):
    X = wide(dtype)
    model = ClAM(3, init=X[:3].toarray(), **{**FAST, **parameters}).fit(X)
    centers = model.sparse_centers()
    assert isinstance(centers, sparse.csr_array)
    assert centers.dtype == model.cluster_centers_.dtype == dtype
    assert centers.has_sorted_indices
    dense = centers.toarray()
    np.testing.assert_allclose(dense, model.cluster_centers_, atol=1e-6)
    kept = dense != 0
    np.testing.assert_array_equal(dense[kept], model.cluster_centers_[kept])
    never = X.sum(axis=0) == 0
    assert (dense[:, never] == 0).all()
    if "objective" in parameters:  # memories are means of rows
        for m in range(3):
            present = X[model.labels_ == m].sum(axis=0) > 0
            np.testing.assert_array_equal(kept[m], present)


def test_small_weights_are_left_out_on_request(model):
    centers = model.cluster_centers_
    found = model.sparse_centers(min_weight=0.5).toarray()
    np.testing.assert_array_equal(found, np.where(np.abs(centers) >= 0.5, centers, 0))
    assert model.sparse_centers(min_weight=100).nnz == 0


def test_many_memories_are_made_sparse_a_part_at_a_time(model, monkeypatch):
    whole = model.sparse_centers()
    monkeypatch.setattr(_network, "MAX_CENTER_VALUES", 1)
    np.testing.assert_array_equal(model.sparse_centers().toarray(), whole.toarray())


@pytest.mark.parametrize("value", [-1, np.inf, np.nan, "0.1", None, True])
def test_a_wrong_min_weight_is_named(model, value):
    with pytest.raises(ValueError, match="min_weight must be a finite number of at least 0, got"):
        model.sparse_centers(value)


def test_after_few_more_rows_all_clusters_are_still_told():
    X, _ = make_blobs(60, centers=2, n_features=3, random_state=0)
    model = ClAM(2, random_state=0).partial_fit(X).partial_fit(X[:1])
    assert all(model.top_features(2, two_sided=True).names)
