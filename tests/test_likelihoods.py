"""Memories of tables with categories by likelihood."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM, load
from amclust._geometry import SHARPNESS
from amclust._likelihoods import _balanced


def made(n=400, seed=0, missing=0.1, levels=4, share=0.7, count=4):
    """Three clusters that overlap: two numbers and five categories, of which one is constant."""
    rng = np.random.default_rng(seed)
    clusters = rng.integers(3, size=n)
    columns = {
        "a": clusters + rng.normal(size=n),
        "b": 100 * (clusters == 1) + 80 * rng.normal(size=n),
    }
    for at in range(count):
        shares = np.full((3, levels), (1 - share) / (levels - 1))
        shares[np.arange(3), rng.permutation(levels)[:3]] = share
        codes = np.array([rng.choice(levels, p=shares[cluster]) for cluster in clusters])
        columns[f"c{at}"] = pd.Categorical.from_codes(codes, list("uvwxyz")[-levels:])
    frame = pd.DataFrame(columns)
    frame = frame.mask(rng.random(frame.shape) < missing)
    return frame.assign(c4=pd.Categorical(["same"] * n)), clusters


FRAME, CLUSTERS = made()


@pytest.fixture(scope="module")
def model():
    return ClAM(3, random_state=0).fit(FRAME)


def test_squares_say_what_logarithms_say():
    shares = np.random.default_rng(0).dirichlet(np.full(6, 0.3), size=5)
    logs = np.log(shares + 1e-6)
    blocks = _balanced(logs / SHARPNESS)
    squares = ((np.eye(6)[:, None] - blocks) ** 2).sum(axis=2)  # (levels, memories)
    said = -squares * SHARPNESS / 2
    assert_allclose(said - said[:, :1], (logs - logs[0]).T, atol=1e-9)


def test_memories_find_clusters_that_squares_do_not(model):
    frame, clusters = made(800, levels=6, share=0.5, count=8)
    objectives = ("auto", "silhouette")
    models = [ClAM(3, objective=one, random_state=0).fit(frame) for one in objectives]
    found = [adjusted_rand_score(clusters, one.labels_) for one in models]
    assert found[0] > max(found[1] + 0.02, 0.6)


def test_rows_keep_their_labels_and_centres_are_shares(model, tmp_path):
    assert_array_equal(model.predict(FRAME), model.labels_)
    layout = model.network_.geometry.categories
    for column in layout.categorical:
        block = layout.block(int(column))
        shares = model.cluster_centers_[:, block]
        assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
        levels = layout.levels[column]
        for cluster, own in enumerate(shares):
            values = FRAME.iloc[:, column][model.labels_ == cluster].dropna()
            assert_allclose(own, [(values == level).mean() for level in levels], atol=0.15)
    path = tmp_path / "model.amc"
    model.save(path)
    again = load(path)
    assert_array_equal(again.predict(FRAME), model.labels_)
    assert_array_equal(again.cluster_centers_, model.cluster_centers_)


def test_probabilities_are_those_of_the_mixture():
    frame, _ = made(2000, seed=1, missing=0.0)
    model = ClAM(3, random_state=0).fit(frame)
    sure = model.predict_proba(frame).max(axis=1)
    sizes = np.sort(np.bincount(model.labels_))
    assert sizes[0] > 300
    # Rows overlap: some are in doubt, which a low temperature would hide.
    assert np.mean(sure < 0.9) > 0.02


def test_order_and_copies_of_rows_do_not_matter(model):
    order = np.random.default_rng(1).permutation(len(FRAME))
    turned = ClAM(3, random_state=0).fit(FRAME.iloc[order])
    assert adjusted_rand_score(turned.labels_, model.labels_[order]) > 0.99
    twice = ClAM(3, random_state=0).fit(pd.concat([FRAME, FRAME]))
    weighted = ClAM(3, random_state=0).fit(FRAME, sample_weight=np.full(len(FRAME), 2.0))
    assert adjusted_rand_score(twice.labels_[: len(FRAME)], weighted.labels_) > 0.99


def test_threads_do_not_matter(model):
    several = ClAM(3, random_state=0, n_jobs=2).fit(FRAME)
    assert_array_equal(several.memories_, model.memories_)


def test_a_category_of_weight_0_says_nothing():
    frame, _ = made(missing=0.0)
    other = frame.assign(c0=frame["c0"].to_numpy()[::-1])
    weights = {name: float(name != "c0") for name in frame}
    found = [
        ClAM(3, feature_weights=weights, random_state=0).fit(one).labels_ for one in (frame, other)
    ]
    assert adjusted_rand_score(*found) > 0.99


def test_what_says_otherwise_leaves_squares_alone(model):
    assert model.network_.geometry.log_levels
    for given in ({"objective": "reconstruction"}, {"size_min": 50}, {"beta": 1.0}):
        other = ClAM(3, random_state=0, **given).fit(FRAME)
        assert not other.network_.geometry.log_levels


def test_learning_goes_on_from_it(model):
    again = ClAM(3, random_state=0).fit(FRAME).partial_fit(FRAME.iloc[:200])
    assert np.mean(again.predict(FRAME) == model.labels_) > 0.97


@pytest.mark.parametrize(("parts", "kept"), [(1, 0.99), (8, 0.98)])
def test_the_same_rows_again_change_nothing(model, parts, kept):
    again = ClAM(3, random_state=0).fit(FRAME)
    for _ in range(6):
        for rows in np.array_split(np.arange(len(FRAME)), parts):
            again.partial_fit(FRAME.iloc[rows])
    spread = np.ones(again.memories_.shape[1])
    spread[:2] = FRAME[["a", "b"]].std()
    gaps = (again.cluster_centers_ - model.cluster_centers_) / spread
    assert_allclose(gaps, 0.0, atol=0.05)
    assert np.mean(again.predict(FRAME) == model.labels_) > kept
    assert_allclose(again.network_.sizes.sum(), 7 * len(FRAME), rtol=1e-6)


def test_learning_goes_on_to_what_all_rows_say():
    frame, _ = made(1600, seed=3)
    whole = ClAM(3, random_state=0).fit(frame)
    grown = ClAM(3, random_state=0).fit(frame.iloc[:400])
    first = adjusted_rand_score(grown.predict(frame), whole.labels_)
    for start in range(400, 1600, 200):
        grown.partial_fit(frame.iloc[start : start + 200])
    assert adjusted_rand_score(grown.predict(frame), whole.labels_) > max(first, 0.8)


def test_recalled_rows_have_shares_of_levels(model):
    states, trajectory = model.recall(FRAME, return_trajectory=True)
    layout = model.network_.geometry.categories
    for column in layout.categorical:
        block = layout.block(int(column))
        assert (trajectory[..., block] >= 0).all()
        assert_allclose(trajectory[..., block].sum(axis=-1), 1.0, rtol=1e-5)
        own = model.cluster_centers_[model.labels_][:, block]
        near = np.abs(states[:, block] - own).max(axis=1)
        assert np.median(near) < 0.05
    again = model.network_.geometry.centers(model.network_.memories[None])
    assert_allclose(again[0], model.cluster_centers_, rtol=1e-5)


@pytest.mark.torch
def test_layers_recall_as_networks_do(model):
    torch = pytest.importorskip("torch")
    rows = model.network_.features(FRAME)
    states = model.network_.to_torch()(torch.tensor(rows)).detach().numpy()
    assert_allclose(states, model.recall(FRAME), atol=1e-3)


def test_recorded_memories_are_in_units_of_training():
    recorded = ClAM(3, record_epochs=range(201), random_state=0).fit(FRAME)
    assert recorded.network_.geometry.log_levels
    plain = ClAM(3, objective="silhouette", record_epochs=range(201), random_state=0).fit(FRAME)
    assert_array_equal(recorded.recorded_memories_, plain.recorded_memories_)
    last = recorded.recorded_memories_[-1]
    gaps = np.abs(last[:, None, :2] - recorded.memories_[None, :, :2])
    spread = FRAME[["a", "b"]].std().to_numpy()
    assert ((gaps / spread).max(axis=2).min(axis=1) < 0.5).all()
