"""The fitted model as a value: it is frozen, public, and says what the estimator says."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from native import network_of, plan_of, rows_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs

from amclust import ClAM, Geometry, Network, _native
from amclust._metrics import METRICS, NATIVE_METRICS
from amclust._objectives import OBJECTIVES
from amclust._rows import TableRows
from amclust._silhouettes import sample_rows

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
        (model.optimizer_state_, "steps"),
        (model.recipe, "anchor"),
    ):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, 0.0)


def test_arrays_cannot_be_written_to():
    network = fitted().network_
    for array in (network.memories, network.log_weights, network.assembly, network.geometry.scale):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_what_is_set_after_the_fit_does_not_change_it():
    model = fitted()
    before = model.predict_proba(X), model.recall(X)
    model.set_params(n_steps=1, step_size=1.0, metric="cosine", beta=1e-3)
    assert_array_equal(model.predict_proba(X), before[0])
    assert_array_equal(model.recall(X), before[1])


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
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


def test_frames_are_checked_by_their_names():
    pd = pytest.importorskip("pandas")
    frame = load_iris(as_frame=True).data
    network = fitted(frame).network_
    assert_array_equal(network.labels(frame), network.labels(frame.to_numpy()))
    with pytest.raises(ValueError, match="columns of the fit, .*in this order"):
        network.labels(frame[frame.columns[::-1]])
    absent = frame.astype("Float64")
    absent.iloc[0, 0] = pd.NA
    assert network.labels(absent).shape == (150,)
    masked = np.ma.masked_greater(X, 6.5)
    model = fitted()
    assert_array_equal(model.network_.labels(masked), model.predict(masked))
    with pytest.raises(ValueError, match="real numbers"):
        model.network_.labels(X + 1j)


def test_bad_arguments_are_named():
    network = fitted().network_
    with pytest.raises(ValueError, match="n_jobs must be .*got 0"):
        network.labels(X, n_jobs=0)
    with pytest.raises(ValueError, match="sample_weight"):
        network.silhouette(X, sample_weight=[1.0, 2.0])
    for wrong in ({"beta": -1.0}, {"n_steps": 0}):
        with pytest.raises(ValueError, match="beta must be positive and n_steps at least 1"):
            dataclasses.replace(network, **wrong)
    assert dataclasses.replace(network, assembly=[0, 0, 1]).labels(X).dtype == np.int32


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


@pytest.mark.parametrize("assembly", [[0, 1], [0, 2, 2], [1, 1, 1], [-1, 0, 1]])
def test_an_assembly_that_is_none_is_refused(assembly):
    with pytest.raises(ValueError, match="assembly must have a cluster for each of 3 memories"):
        dataclasses.replace(fitted().network_, assembly=np.array(assembly, dtype=np.int32))


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


def test_partitions_may_have_any_numbers():
    network = fitted().network_
    labels = network.labels(X)
    one, other = network.silhouettes(X, [labels, 2**30 - labels.astype(int)])
    assert one == pytest.approx(other)
    for wrong in (labels, [np.tile(labels, 2)], [labels + 0.5]):
        with pytest.raises(ValueError, match="partitions must be whole numbers of shape"):
            network.silhouettes(X, wrong)


def test_clusters_that_the_sample_misses_are_there():
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(15_000, 2)), 1)
    rows[:7_000] += 10
    missed = np.setdiff1d(np.arange(len(rows)), sample_rows(len(rows)))[:3]
    rows[missed] += 100  # one cluster of three rows, none of them in the sample
    start = [[0.0, 0.0], [10.0, 10.0], [110.0, 110.0]]
    model = ClAM(3, init=start, objective="reconstruction", batch_size=20_000, random_state=0)
    model.fit(rows)
    assert len(np.unique(model.labels_)) == 3
    assert not np.isin(model.labels_[missed[0]], model.labels_[sample_rows(len(rows))])
    assert model.runs_["living_clusters"][0] == 3


def test_rows_without_weight_have_no_say_in_the_objective():
    rows = np.vstack([X, [[np.nan, 1.0, 1.0, 1.0]]])
    weights = np.append(np.ones(len(X)), 0.0)
    model = ClAM(3, n_init=2, random_state=0).fit(rows, sample_weight=weights)
    assert model.optimizer_state_.objective == "silhouette"
    assert_array_equal(model.cluster_centers_, fitted().cluster_centers_)


def test_whole_numbers_are_points():
    geometry = fitted(metric="mahalanobis").network_.geometry
    whole = X.astype(int)
    assert_array_equal(geometry.to_core(whole), geometry.to_core(whole.astype(float)))


# --- the boundary ---------------------------------------------------------------------------------


def test_the_descriptions_are_those_of_the_core():
    native = [name for name, objective in OBJECTIVES.items() if objective.native]
    assert sorted(native) == sorted(_native.objective_names())
    plain = [name for name in NATIVE_METRICS if not METRICS[name].whitens]
    assert sorted(plain) == sorted(_native.energy_names())


def strided(values):
    return np.repeat(values, 2)[::2]


def test_sparse_rows_may_lie_anywhere():
    rows = sparse.csr_matrix(np.where(X > 2, X, 0.0))
    odd = rows.copy()
    odd.data, odd.indices = strided(rows.data), strided(rows.indices)
    assert_array_equal(fitted(odd).labels_, fitted(rows).labels_)


@pytest.mark.parametrize(
    ("part", "value"), [("indptr", 10**6), ("indptr", -1), ("indices", 4), ("indices", -1)]
)
def test_damaged_sparse_rows_are_refused(part, value):
    rows = sparse.csr_matrix(np.where(X > 2, X, 0.0))
    getattr(rows, part)[3] = value
    rows.has_canonical_format = True
    with pytest.raises(ValueError, match="damaged"):
        TableRows(rows).read()


def test_what_does_not_fit_is_refused_by_the_core():
    rows = rows_of(X.astype(np.float32))
    directions = rows_of(X.astype(np.float32), "cosine")
    plan, fill = plan_of(X[:2]), np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="another energy"):
        _native.train(directions, None, None, [plan], 1, None)
    with pytest.raises(ValueError, match="another energy"):
        _native.infer(plan.network, directions, fill, _native.Want.LABELS)
    with pytest.raises(ValueError, match="does not fit"):
        _native.Run(plan, 0, None)
    with pytest.raises(ValueError, match="nothing to seed"):
        _native.seed(rows, np.zeros(0, np.int64), None, 2, ["ward"], [0], 0, fill, 1)
    for wrong in ({"n_steps": -5}, {"beta": float("nan")}):
        with pytest.raises(ValueError, match="does not fit"):
            network_of(X[:2], **wrong)
    with pytest.raises(ValueError, match="does not fit"):
        network_of(np.zeros((0, 4)))
    assert _native.load_rows(_native.dense_rows(X), None).shape == X.shape
