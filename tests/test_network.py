"""The fitted model as a value: it is frozen, public, and says what the estimator says."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs

from amclust import ClAM, Geometry, Network

X = load_iris().data
MISSING = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)


def fitted(rows=X, **settings):
    return ClAM(3, **({"n_init": 2, "random_state": 0} | settings)).fit(rows)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
@pytest.mark.parametrize("rows", [X, MISSING, X.astype(np.float32), sparse.csr_matrix(X)])
def test_the_estimator_says_what_its_network_says(metric, rows):
    if metric == "mahalanobis" and (sparse.issparse(rows) or np.isnan(rows).any()):
        pytest.skip("this metric takes complete dense rows")
    model = fitted(rows, metric=metric)
    network = model.network_
    assert isinstance(network, Network)
    assert isinstance(network.geometry, Geometry)
    pairs = [
        (network.labels, model.predict),
        (network.memberships, model.predict_proba),
        (network.distances, model.transform),
        (network.energy, model.energy),
        (network.entropy, model.entropy),
        (network.recall, model.recall),
    ]
    for one, other in pairs:
        assert_array_equal(one(rows), other(rows))
        assert one(rows).dtype == other(rows).dtype
    completed = network.complete(rows), model.complete(rows)
    assert_array_equal(*(c.toarray() if sparse.issparse(c) else c for c in completed))
    labels, energy, entropy = network.answers(rows)
    assert_array_equal(labels, model.predict(rows))
    assert_allclose(energy, model.energy(rows), rtol=1e-6)
    assert_allclose(entropy, model.entropy(rows), rtol=1e-6, atol=1e-12)
    assert_array_equal(network.centers, model.cluster_centers_)
    assert_allclose(network.weights, model.weights_)


def test_values_do_not_change():
    model = fitted()
    for value, name in (
        (model.network_, "beta"),
        (model.network_.geometry, "offset"),
        (model.optimizer_state, "steps"),
        (model.recipe, "anchor"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, 0.0)


def test_what_is_set_after_the_fit_does_not_change_it():
    model = fitted()
    before = model.predict_proba(X), model.recall(X)
    model.set_params(n_steps=1, step_size=1.0, metric="cosine", beta=1e-3)
    assert_array_equal(model.predict_proba(X), before[0])
    assert_array_equal(model.recall(X), before[1])


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))]
)
def test_a_copy_says_the_same(copied):
    network = fitted(MISSING).network_
    assert_array_equal(copied(network).memberships(MISSING), network.memberships(MISSING))


def test_rows_that_do_not_fit_are_refused():
    network = fitted().network_
    with pytest.raises(ValueError, match=r"4 columns, got an array of shape \(150, 3\)"):
        network.labels(X[:, :3])
    with pytest.raises(ValueError, match="infinity in row 0, column 1"):
        network.labels([[1.0, np.inf, 1.0, 1.0]])
    assert_array_equal(network.labels(X.tolist()), network.labels(X))


def test_points_come_back_from_the_core():
    for metric in ("euclidean", "mahalanobis"):
        geometry = fitted(metric=metric).network_.geometry
        assert_allclose(geometry.from_core(geometry.to_core(X)), X, atol=1e-5)
    geometry = fitted(metric="cosine").network_.geometry
    assert_allclose(np.linalg.norm(geometry.measured(X), axis=1), 1.0, rtol=1e-6)
    assert np.isnan(fitted(MISSING).network_.geometry.measured(MISSING)[np.isnan(MISSING)]).all()


# --- assemblies -----------------------------------------------------------------------------------


def test_an_assembly_of_memories_is_one_cluster():
    plain = fitted().network_
    assembly = np.array([0, 1, 1], dtype=np.int32)
    network = dataclasses.replace(plain, assembly=assembly)
    assert (network.n_memories, network.n_clusters) == (3, 2)
    assert_array_equal(network.labels(X), assembly[plain.labels(X)])
    parts = plain.memberships(X)
    assert_allclose(
        network.memberships(X), np.column_stack([parts[:, 0], parts[:, 1:].sum(1)]), atol=1e-6
    )
    far = plain.distances(X)
    assert_array_equal(network.distances(X), np.column_stack([far[:, 0], far[:, 1:].min(1)]))
    assert_allclose(network.energy(X), plain.energy(X))
    assert (network.entropy(X) <= np.log(2) + 1e-6).all()
    assert network.silhouette(X) == pytest.approx(
        network.silhouettes(X, [assembly[plain.labels(X)]])[0]
    )


# --- one silhouette -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*max_epochs=3")
@pytest.mark.parametrize("n", [300, 5_000, 10_001, 23_000])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_silhouette_of_a_fit_is_its_score(n, weighted):
    rows, _ = make_blobs(n, 3, centers=3, cluster_std=2.0, random_state=0)
    weights = np.random.default_rng(0).integers(0, 3, n) if weighted else None
    model = ClAM(3, n_init=2, max_epochs=3, random_state=0).fit(rows, sample_weight=weights)
    assert model.silhouette_ == model.score(rows, sample_weight=weights)
    order = np.random.default_rng(1).permutation(n)
    if n <= 10_000:  # all rows count: neither their order nor copies matter, to the last bit
        moved = None if weights is None else weights[order]
        assert model.silhouette_ == model.score(rows[order], sample_weight=moved)


def test_rows_given_twice_count_as_two():
    model = fitted()
    twice = np.vstack([X, X])
    assert model.score(twice) == model.score(X, sample_weight=np.full(len(X), 2.0))
