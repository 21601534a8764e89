"""Learning from pieces."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM, _native


def stream(n=3000, d=5, k=4, holes=0.0, std=1.0):
    X, y = make_blobs(n, d, centers=k, cluster_std=std, random_state=1)
    if holes:
        X[:, 1:][np.random.default_rng(1).random((n, d - 1)) < holes] = np.nan
    return X, y


def in_pieces(model, X, size=250, passes=1, **more):
    for _ in range(passes):
        for start in range(0, X.shape[0], size):
            model.partial_fit(X[start : start + size], **more)
    return model


def make(**settings):
    return ClAM(4, **({"n_init": 3, "random_state": 0} | settings))


@pytest.mark.parametrize("objective", ["auto", "silhouette", "completion", "reconstruction"])
@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_pieces_seen_often_enough_agree_with_fit(holes, objective):
    X, y = stream(holes=holes)
    model = in_pieces(make(objective=objective), X, passes=3)
    fitted = make(objective=objective).fit(X)
    assert adjusted_rand_score(fitted.labels_, model.predict(X)) > (0.85 if holes else 0.98)
    assert adjusted_rand_score(y, model.predict(X)) > (0.85 if holes else 0.98)


@pytest.mark.parametrize("metric", ["cosine", "mahalanobis"])
def test_pieces_in_other_metrics(metric):
    X, y = stream()
    model = in_pieces(make(metric=metric), X, passes=2)
    assert adjusted_rand_score(y, model.predict(X)) > 0.85
    if metric == "cosine":
        np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, rtol=1e-5)


def test_pieces_may_be_sparse():
    X, _ = stream()
    X[np.abs(X) < 2] = 0.0
    dense = in_pieces(make(), X)
    thin = in_pieces(make(), sparse.csr_matrix(X))
    # Where gradients are rounding only, Adam makes steps of it; the clusters are the same.
    assert_array_equal(dense.predict(X), thin.predict(X))
    assert_allclose(dense.cluster_centers_, thin.cluster_centers_, atol=0.5)


def test_it_continues_from_where_it_stands():
    X, _ = stream()
    model = make().partial_fit(X[:500])
    steps, beta = [model.optimizer_state_.steps], model.beta_
    centers = [model.cluster_centers_]
    for start in (500, 1000):
        model.partial_fit(X[start : start + 500])
        steps.append(model.optimizer_state_.steps)
        centers.append(model.cluster_centers_)
        assert model.beta_ == beta
    assert steps == [1, 2, 3]
    for before, after in itertools.pairwise(centers):
        assert 0 < np.abs(after - before).max() < 0.25 * np.ptp(X)


def test_after_fit_learning_goes_on_from_the_memories_found():
    X, y = stream()
    model = make().fit(X)
    found, seed = model.cluster_centers_, model.runs_["seed"][model.runs_["chosen"]]
    model.partial_fit(X[:300])
    assert 0 < np.abs(model.cluster_centers_ - found).max() < 0.1 * np.ptp(X)
    assert model.runs_["seed"] == seed
    in_pieces(model, X)
    assert adjusted_rand_score(y, model.predict(X)) > 0.98


def test_it_follows_a_drift():
    X, _ = stream()
    model = make().fit(X)
    before = model.cluster_centers_.mean(axis=0)
    in_pieces(model, X + 3.0, passes=4)
    moved = model.cluster_centers_.mean(axis=0) - before
    assert (moved > 1.5).all()


def test_it_settles():
    X, _ = stream(std=3.0)
    model = in_pieces(make(), X, size=300)
    early = model.cluster_centers_
    model.partial_fit(X[:300])
    first_step = np.abs(model.cluster_centers_ - early).max()
    in_pieces(model, X, size=300, passes=10)
    late = model.cluster_centers_
    model.partial_fit(X[:300])
    assert np.abs(model.cluster_centers_ - late).max() < first_step


def test_labels_are_those_of_the_last_piece():
    X, _ = stream()
    model = make().partial_fit(X[:400]).partial_fit(X[400:650])
    assert_array_equal(model.labels_, model.predict(X[400:650]))


def test_a_call_goes_once_through_its_rows():
    n = _native.EPOCH_ROWS + 4000
    X, _ = stream(n, d=2)
    model = make(batch_size=1000).partial_fit(X)
    assert model.optimizer_state_.steps == -(-n // 1000)


def test_later_pieces_may_lack_what_the_first_had():
    X, _ = stream()
    model = make().partial_fit(X[:500])
    piece = X[500:520].copy()
    piece[:, 3] = np.nan
    model.partial_fit(piece)
    model.partial_fit(X[600:601])
    assert np.isfinite(model.cluster_centers_).all()


def test_the_same_pieces_give_the_same_bits():
    X, _ = stream(holes=0.1)
    one, other = (in_pieces(make(n_jobs=jobs), X) for jobs in (1, 3))
    assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_weights_count():
    X, _ = stream()
    weight = np.ones(500)
    weight[X[:500, 0] > 0] = 0.0
    model = make().partial_fit(X[:500], sample_weight=weight)
    alone = make().partial_fit(X[:500][weight > 0])
    assert_array_equal(model.cluster_centers_, alone.cluster_centers_)


def test_learned_weights_go_on():
    X, _ = stream(std=4.0)
    model = in_pieces(make(weights="learn"), X[:1000])
    assert model.weights_.mean() == pytest.approx(1.0)
    assert np.ptp(model.weights_) > 1e-3


def test_the_first_piece_needs_enough_distinct_rows():
    X, _ = stream()
    model = make()
    with pytest.raises(ValueError, match="n_clusters=4.*distinct rows.*3"):
        model.partial_fit(X[:3])
    assert not hasattr(model, "cluster_centers_")
    model.partial_fit(X[:100])
    model.partial_fit(X[:2])  # later ones do not


def test_a_piece_that_fails_changes_nothing():
    X, _ = stream()
    model = make().partial_fit(X[:500])
    before = dict(vars(model))
    bad = X[:10].copy()
    bad[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in row 3, column 2"):
        model.partial_fit(bad)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
