"""`contamination`: rows that belong nowhere, which are marked and do not pull memories."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, f1_score

import amclust
from amclust import ClAM, ClAMSearch
from amclust._distant import find_outermost
from amclust._recipe import Recipe
from amclust._trimming import find_scales
from amclust._warnings import EmptyRowsWarning

CENTRES = np.array([[-6.0, -6, 0], [-6, 6, 0], [6, -6, 0], [6, 6, 4]])
K, SHARE = 4, 0.1


def noisy_blobs(n=360, share=SHARE, seed=0):
    """Blobs of spreads 1 : 2, noise in a wider box, and which rows are noise (label -1)."""
    rng = np.random.default_rng(seed)
    X, y = make_blobs(n, centers=CENTRES, cluster_std=[0.4, 0.5, 0.6, 0.8], random_state=seed)
    noise = rng.uniform(-11, 11, (round(share / (1 - share) * n), 3))
    X, y = np.vstack([X, noise]), np.append(y, np.full(len(noise), -1))
    order = rng.permutation(len(X))
    return X[order], y[order]


def make(k=K, **settings):
    return ClAM(k, **({"contamination": SHARE, "n_init": 2, "random_state": 0} | settings))


def found_well(y, labels, f1=0.8, ari=0.95):
    inliers = y >= 0
    return (
        f1_score(~inliers, labels < 0) >= f1
        and adjusted_rand_score(y[inliers], labels[inliers]) >= ari
    )


VARIANTS = {
    "default": {},
    "silhouette": {"objective": "silhouette"},
    "completion": {"objective": "completion", "n_init": 5, "random_state": 4},
    "mahalanobis": {"metric": "mahalanobis"},
    "not scaled": {"scale": None},
    "small batches": {"batch_size": 64},
    "random starts": {"init": "random", "n_init": 4},
    "learned weights": {"weights": "learn"},
    "assemblies": {"n_memories": 24},
}


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_as_many_rows_as_were_said_are_marked_and_new_rows_like_them(settings, tmp_path):
    X, y = noisy_blobs()
    model = make(**settings).fit(X)
    assert np.count_nonzero(model.labels_ < 0) == round(SHARE * len(X))
    assert_array_equal(model.predict(X), model.labels_)
    assert found_well(y, model.labels_, f1=0.7, ari=0.75)
    assert model.score(X) == model.silhouette_
    assert model.n_clusters_ == K
    model.save(tmp_path / "model.amc")
    assert_array_equal(amclust.load(tmp_path / "model.amc").predict(X), model.labels_)
    assert (model.predict([[-100.0, 100.0, 100.0], [0.0, 50.0, 0.0]]) == -1).all()


@pytest.mark.parametrize("weights", [None, "given"])
def test_nothing_changes_without(weights):
    X, _ = noisy_blobs()
    weights = None if weights is None else np.random.default_rng(0).integers(0, 4, len(X))
    plain = ClAM(K, n_init=2, random_state=0).fit(X, sample_weight=weights)
    for contamination in (None, 0.0):
        same = make(contamination=contamination).fit(X, sample_weight=weights)
        assert same.network_.max_energy is None
        assert_array_equal(same.memories_, plain.memories_)
        assert_array_equal(same.runs_, plain.runs_)
    assert plain.labels_.min() == 0


def test_rows_that_are_marked_do_not_matter():
    X, y = noisy_blobs()
    far = np.where((y < 0)[:, None], X * 1000, X)
    near, distant = make().fit(X), make().fit(far)
    assert found_well(y, distant.labels_, f1=1.0, ari=1.0)
    kept = distant.labels_ >= 0
    alone = make(contamination=None).fit(X[kept])
    assert_allclose(distant.cluster_centers_.std(axis=0), alone.cluster_centers_.std(axis=0))
    assert adjusted_rand_score(near.labels_[y >= 0], alone.predict(X[y >= 0])) > 0.95


@pytest.mark.parametrize("settings", [{}, {"objective": "completion"}, {"metric": "mahalanobis"}])
def test_rows_that_lack_values_are_no_nearer(settings):
    X, y = noisy_blobs()
    X = np.hstack([X, X[:, ::-1] + np.random.default_rng(1).normal(0, 0.3, X.shape)])
    X[np.random.default_rng(2).random(X.shape) < 0.25] = np.nan
    labels = make(**settings).fit(X).labels_
    assert found_well(y, labels, f1=0.7, ari=0.85)
    partly = np.isnan(X).any(axis=1)
    share, truth = (labels[partly] < 0).mean(), (y[partly] < 0).mean()
    assert abs(share - truth) < 0.05


def test_the_energy_of_a_row_that_lacks_values_is_that_of_a_whole_one():
    X, _ = noisy_blobs()
    network = make().fit(X).network_
    (center,) = network.centers[:1]
    # Two of three columns, each as far away as all three of a whole row.
    whole, partly = center + network.geometry.column_scale**-1, center.copy()
    partly += network.geometry.column_scale**-1
    partly[0] = np.nan
    _, heights = network.heights(network.read(network._table(np.array([whole, partly]))))
    assert_allclose(heights[1], heights[0], rtol=1e-2)  # memberships differ


def test_a_row_of_weight_two_is_two_rows():
    X, _ = noisy_blobs()
    copies = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = make().fit(X, sample_weight=copies)
    repeated = make().fit(np.repeat(X, copies, axis=0))
    marked = copies[weighted.labels_ < 0].sum()
    assert abs(marked - SHARE * copies.sum()) <= copies.max() / 2
    assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=0.05)


def test_the_number_of_clusters_is_not_that_of_outliers_too():
    X, y = noisy_blobs(n=720, share=0.1)
    model = make("auto").fit(X)
    assert model.n_clusters_ == K
    assert found_well(y, model.labels_)


def test_directions_and_sparse_rows():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(0, 0.1, (330, 12)))
    y = np.append(rng.integers(0, 3, 300), np.full(30, -1))
    for row, label in enumerate(y):
        X[row, 4 * label : 4 * label + 4] += 1.0 if label >= 0 else 0.0
        if label < 0:
            X[row] = rng.random(12) ** 3
    X[X < 0.05] = 0.0
    dense = make(3, metric="cosine", contamination=1 / 11).fit(X)
    assert np.count_nonzero(dense.labels_ < 0) == 30
    assert found_well(y, dense.labels_)
    thin = make(3, metric="cosine", contamination=1 / 11).fit(sparse.csr_array(X))
    assert_array_equal(thin.labels_, dense.labels_)


class Drawing(ClAM):
    recipe = Recipe(max_drawn_rows=400, min_drawn_rows=200, drawn_rows_per_memory=10)


@pytest.mark.parametrize("objective", ["auto", "reconstruction"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_share_is_that_of_all_rows_where_some_are_drawn(objective, weighted):
    X, y = noisy_blobs(n=1800)
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if weighted else None
    model = Drawing(K, contamination=SHARE, objective=objective, n_init=2, random_state=0)
    model.fit(X, sample_weight=weights)
    counts = np.ones(len(X)) if weights is None else weights
    marked = counts[model.labels_ < 0].sum()
    assert abs(marked - SHARE * counts.sum()) <= counts.max() / 2
    assert_array_equal(model.predict(X), model.labels_)
    assert found_well(y, model.labels_)


def test_rows_in_parts():
    X, y = noisy_blobs(n=900)
    model = make()
    for part in np.array_split(np.arange(len(X)), 4):
        model.partial_fit(X[part])
        assert len(model.labels_) == len(part)
    assert found_well(y, model.predict(X))


def test_a_search_marks_rows_too():
    X, y = noisy_blobs()
    search = ClAMSearch(
        K, space={"n_steps": [5, 10]}, budget=None, estimator=ClAM(contamination=SHARE), n_init=2,
        max_epochs=20, random_state=0,
    ).fit(X)  # fmt: skip
    assert np.count_nonzero(search.labels_ < 0) == round(SHARE * len(X))
    assert_array_equal(search.predict(X), search.labels_)
    assert found_well(y, search.labels_)


@pytest.mark.parametrize("value", [0.5, -0.1, 1, "auto", np.nan])
def test_bad_shares_are_named(value):
    with pytest.raises(ValueError, match="The 'contamination' parameter of ClAM") as error:
        make(contamination=value).fit(noisy_blobs()[0])
    assert repr(value) in str(error.value)
    assert "[0.0, 0.5)" in str(error.value)


# --- which rows are the highest -------------------------------------------------------------------


def test_of_equal_heights_the_last_rows_go_first():
    heights = np.array([1.0, 3.0, 3.0, 0.0, 3.0])
    found = find_outermost(heights, np.ones(5), 0.4)
    assert_array_equal(np.flatnonzero(found.outside), [2, 4])
    assert found.threshold == 3.0
    found = find_outermost(heights, np.ones(5), 0.6)
    assert_array_equal(np.flatnonzero(found.outside), [1, 2, 4])
    assert 1.0 < found.threshold < 3.0


def test_no_row_is_marked_of_a_share_that_is_less_than_one():
    found = find_outermost(np.array([1.0, np.inf]), np.ones(2), 0.2)
    assert not found.outside.any()
    assert found.threshold == np.inf
    found = find_outermost(np.array([1.0, np.inf]), np.ones(2), 0.4)
    assert_array_equal(found.outside, [False, True])
    assert found.threshold == 1.0


@pytest.mark.parametrize("share", [0.05, 0.2, 0.4])
def test_as_near_to_the_share_of_weight_as_may_be(share):
    rng = np.random.default_rng(0)
    heights, weights = rng.random(200), rng.integers(0, 5, 200).astype(float)
    found = find_outermost(heights, weights, share)
    assert_array_equal(found.outside, heights > found.threshold)
    gap = abs(weights[found.outside].sum() - share * weights.sum())
    assert gap <= weights.max() / 2


def test_sizes_have_limits_without_the_outliers():
    X, y = noisy_blobs()
    model = make(size_min=85, size_max=95).fit(X)
    assert np.count_nonzero(model.labels_ == -1) == 40
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=K)
    assert 85 <= sizes.min() <= sizes.max() <= 95
    assert found_well(y, model.labels_)
    assert np.mean(model.predict(X) == model.labels_) > 0.95


def test_limits_of_size_need_all_rows_to_be_looked_at():
    class Few(ClAM):
        recipe = dataclasses.replace(
            Recipe(), max_drawn_rows=99, min_drawn_rows=99, drawn_rows_per_memory=9
        )

    X, _ = noisy_blobs()
    with pytest.raises(ValueError, match=r"contamination=0.1 goes with size_max=300 where a fit"):
        Few(K, contamination=0.1, size_max=300, batch_size=50).fit(X)


@pytest.mark.parametrize("levels", [3, 7])
def test_a_row_without_any_value_is_no_outlier(levels):
    """A category is a sum of its levels, which is rounded."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    names = np.array([f"level {at}" for at in range(levels)])
    frame = pd.DataFrame({"kind": rng.choice(names, 60), "size": rng.normal(size=60)})
    frame["other"] = rng.choice(names[:3], 60)
    empty = pd.DataFrame({"kind": [None], "size": [np.nan], "other": [None]})
    model = make(2).fit(frame)
    with pytest.warns(EmptyRowsWarning):
        assert model.predict(empty)[0] >= 0


def test_a_cluster_of_noise_does_not_make_its_rows_near():
    """A cluster may spread one and a half times as much as all do, and no more counts."""
    X, _ = noisy_blobs()
    network = make().fit(X).network_
    memories = np.repeat(np.arange(K, dtype=np.int32), 100)
    heights = np.repeat([1.0, 1.0, 1.0, 100.0], 100)
    scales = find_scales(network, memories, heights, np.ones(len(heights)))
    overall = heights.mean()
    assert_allclose(scales, (np.array([1, 1, 1, 1.5 * overall]) + overall) / 2)


def test_what_is_left_is_reconstructed_in_units_of_all():
    X, _ = noisy_blobs()
    model = make().fit(X)
    assert_array_equal(model.memories_, make(objective="reconstruction").fit(X).memories_)
    kept = X[model.labels_ >= 0]
    everything = np.clip(X, kept.min(axis=0), kept.max(axis=0)).std(axis=0)
    scale = model.network_.geometry.column_scale
    assert_allclose(scale * everything, 1.0, rtol=0.02)
    assert not np.allclose(scale * kept.std(axis=0), 1.0, rtol=0.05)
