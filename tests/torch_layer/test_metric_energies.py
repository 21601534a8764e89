"""`ClAM(metric=...)` with the energies of `amclust.torch`, by name and of one's own."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from numpy.testing import assert_allclose, assert_array_equal
from plans import make_plan, training_set
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import amclust
from amclust import ClAM, ClAMSearch
from amclust._metrics import METRICS, NATIVE_METRICS
from amclust._network import Want
from amclust._objectives import OBJECTIVES, Objective, register_objective
from amclust.backends import torch as torch_backend
from amclust.torch import functional as F
from amclust.torch import register_torch_objective
from amclust.torch._training import _objectives, train
from amclust.torch.energies import (
    Cosine,
    Energy,
    Epanechnikov,
    Euclidean,
    Mahalanobis,
    Manhattan,
    Weighted,
    find_energy,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

OTHERS = [name for name in METRICS if name not in NATIVE_METRICS]
X, TRUTH = make_blobs(120, 3, centers=3, cluster_std=0.7, center_box=(-6, 6), random_state=1)
X += 8  # for directions: not around zero
INCOMPLETE = X.copy()
INCOMPLETE[::4, 1] = np.nan


class Power(Energy):
    """An energy of one's own: absolute differences to the power of 3/2."""

    degree = 1.5

    def distance(self, a, b):
        return ((a - b).square() + 1e-6).pow(0.75).sum(-1)


not_native = pytest.mark.parametrize("metric", [*OTHERS, Mahalanobis(3), Power()], ids=str)


def make(metric, n_clusters=3, **settings):
    few = {"n_init": 2, "max_epochs": 12, "random_state": 0, "backend": "torch"}
    return ClAM(n_clusters, metric=metric, **few | settings)


# --- fits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_each_name_finds_the_clusters(metric):
    model = make(metric).fit(X)
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.9
    assert_array_equal(model.predict(X), model.labels_)
    assert model.network_.geometry.metric == metric
    assert model.beta_ > 0
    assert model.score(X) == pytest.approx(model.silhouette_)
    if metric in NATIVE_METRICS:
        assert model.network_.energy_function is None
        assert_array_equal(make(metric, backend="native").fit(X).labels_, model.labels_)


@pytest.mark.parametrize("objective", ["completion", "reconstruction", "silhouette"])
@pytest.mark.parametrize("batch_size", [1024, 50])
def test_autograd_goes_the_way_of_the_closed_form(objective, batch_size):
    class Plain(Euclidean):  # the same, but not known to be
        pass

    settings = {"objective": objective, "batch_size": batch_size, "max_epochs": 3}
    if objective == "reconstruction":  # with "auto" the core goes by exact steps
        settings["beta"] = 5.0
    fast = make("euclidean", **settings).fit(X)
    slow = make(Plain(), **settings).fit(X)
    assert slow.beta_ == pytest.approx(fast.beta_, rel=1e-4)
    assert_allclose(slow.loss_curve_, fast.loss_curve_, rtol=5e-3, atol=1e-4)
    assert_allclose(slow.cluster_centers_, fast.cluster_centers_, atol=2e-2)


def test_a_cosine_energy_is_the_cosine_metric():
    by_name, own = make("cosine").fit(X), make(Weighted(Cosine(), 3, learn=False)).fit(X)
    assert own.network_.geometry.spherical
    assert own.beta_ == pytest.approx(by_name.beta_, rel=1e-2)
    assert_allclose(np.linalg.norm(own.cluster_centers_, axis=1), 1, rtol=1e-5)
    assert_array_equal(own.labels_, by_name.labels_)
    for method in ("transform", "energy", "entropy", "recall", "predict_proba"):
        answers = [getattr(model, method)(X) for model in (own, by_name)]
        assert_allclose(*answers, rtol=1e-2, atol=1e-3, err_msg=method)
    assert_allclose(own.complete(INCOMPLETE), by_name.complete(INCOMPLETE), rtol=1e-2)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_of_given_directions_the_lengths_do_not_count(backend):
    first = X[[0, 1, 5]]
    models = [make("cosine", init=s * first, backend=backend).fit(X) for s in (1, 100)]
    assert models[0].beta_ == pytest.approx(models[1].beta_, rel=1e-4)
    assert adjusted_rand_score(TRUTH, models[0].labels_) > 0.9


def test_a_learned_metric_is_learned_and_the_given_one_stays():
    noise = np.random.default_rng(0).normal(size=(len(X), 2)) * 3
    given = Mahalanobis(5)
    model = make(given, max_epochs=30).fit(np.hstack([X, noise]))
    learned = model.network_.energy_function
    assert_array_equal(given.factor.detach(), torch.eye(5))
    assert not torch.allclose(learned.factor, given.factor)
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.9
    lengths = learned.factor.detach().norm(dim=1)
    assert lengths[:3].min() > lengths[3:].max()  # noise counts less


def test_an_energy_may_have_another_type():
    model = make(Mahalanobis(3).double()).fit(X)
    assert_array_equal(model.labels_, make(Mahalanobis(3)).fit(X).labels_)


def test_weights_are_learned_by_the_energy():
    model = make("weighted", init=X[[0, 1, 2]]).fit(X)
    assert model.network_.energy_function.log_weights.abs().max() > 0
    assert_array_equal(model.weights_, np.ones(3))


def test_given_and_recorded_memories():
    model = make("manhattan", init=X[[0, 1, 2]], record_epochs=[0, 3]).fit(X)
    assert_allclose(model.recorded_memories_[0], X[[0, 1, 2]], rtol=1e-4)
    again = make(Mahalanobis(3)).fit(X)
    paused = make(Mahalanobis(3), record_epochs=[2, 5]).fit(X)
    assert_array_equal(paused.cluster_centers_, again.cluster_centers_)


@not_native
def test_missing_values(metric):
    rows = INCOMPLETE
    for objective in ("silhouette", "completion"):
        if metric == "kernel" and objective == "completion":
            continue  # slow
        model = make(metric, objective=objective, max_epochs=6).fit(rows)
        kept = model.labels_ >= 0
        assert adjusted_rand_score(TRUTH[kept], model.labels_[kept]) > 0.8
        completed = model.complete(rows)
        assert np.isfinite(completed).all()
        assert_array_equal(completed[~np.isnan(rows)], rows[~np.isnan(rows)])


def test_partial_fit_goes_on():
    for metric in ("manhattan", "weighted", Mahalanobis(3)):
        model = make(metric)
        order = np.random.default_rng(0).permutation(len(X))
        for part in np.split(order, 4):
            model.partial_fit(X[part])
        assert model.optimizer_state_.steps == 4
        assert adjusted_rand_score(TRUTH, model.predict(X)) > 0.9
    before = model.network_.energy_function.factor.detach().clone()
    assert np.abs(model.optimizer_state_.energy_moments).max() > 0
    model.partial_fit(X)
    after = model.network_.energy_function.factor.detach()
    assert 0 < (after - before).abs().max() < 0.2
    with pytest.raises(ValueError, match="Mahalanobis.*cannot change"):
        model.set_params(metric=Mahalanobis(3)).partial_fit(X)


def test_a_search_takes_an_energy():
    space = {"beta_factor": [0.5, 1.0]}
    settings = {"n_init": 2, "max_epochs": 8, "min_epochs": 2, "budget": 24, "random_state": 0}
    for metric in ("manhattan", Mahalanobis(3)):
        estimator = ClAM(metric=metric, backend="torch")
        search = ClAMSearch(3, estimator=estimator, space=space, **settings).fit(X)
        assert adjusted_rand_score(TRUTH, search.labels_) > 0.9
        assert len(search.rungs_) > 1
        assert_array_equal(search.predict(X), search.labels_)


def test_the_number_of_clusters_can_be_left_to_the_data():
    assert make("manhattan", "auto").fit(X).n_clusters_ == 3


# --- noise ----------------------------------------------------------------------------------------


def test_rows_out_of_reach_are_noise():
    rows = np.vstack([X, [[60.0, 60.0, 60.0], [-60.0, 60.0, -60.0]]])
    model = make("epanechnikov", scale=None).fit(X)
    labels = model.predict(rows)
    assert_array_equal(labels[-2:], [-1, -1])
    assert_array_equal(model.labels_, labels[:-2])
    inside = labels >= 0
    assert adjusted_rand_score(TRUTH[inside[:-2]], labels[inside]) > 0.9
    assert_array_equal(model.predict_proba(rows[-2:]), np.zeros((2, 3)))
    assert np.isinf(model.energy(rows[-2:])).all()
    assert_allclose(model.recall(rows[-2:]), rows[-2:], rtol=1e-5)
    # Silhouettes are of the others.
    values = model.network_.silhouette_values(rows)
    assert_array_equal(np.isnan(values), ~inside)
    assert model.score(rows) == pytest.approx(values[inside].mean(), abs=1e-4)
    assert model.runs_["living_clusters"].max() == 3
    asked = model.network_.read(amclust._rows.TableRows(rows))
    counts = model.network_.infer(asked, Want.COUNTS).counts
    assert_array_equal(counts, np.bincount(labels[inside], minlength=3))
    nothing = model.network_.silhouettes(rows, np.full((1, len(rows)), -1))
    assert np.isnan(nothing).all()
    assert np.isnan(model.network_.silhouette_values(rows, np.full(len(rows), -1))).all()


def test_balls_have_twice_the_scatter_as_radius():
    model = make("epanechnikov", scale=None, init=X[[0, 1, 2]], max_epochs=1).fit(X)
    squares = ((X[:, None] - X[[0, 1, 2]]) ** 2).sum(-1).min(1)
    assert model.beta_ == pytest.approx(0.25 / squares.mean(), rel=1e-3)


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [*OTHERS, Mahalanobis(3)], ids=str)
def test_answers_are_those_of_the_functions(metric, monkeypatch):
    model = make(metric).fit(X)
    network = model.network_
    monkeypatch.setattr(torch_backend, "MAX_CELLS", 512 * 3 * 50)  # in several blocks
    energy, memories = network.energy_function, torch.tensor(network.memories)
    x = torch.from_numpy(network.geometry.to_core(X))
    given = {"energy": energy, "log_weights": torch.tensor(network.log_weights)}
    unit = network.geometry.distance_unit
    with torch.no_grad():
        p = F.memberships(x, memories, network.beta, **given).numpy()
        e = F.energy(x, memories, network.beta, **given).numpy() * unit
        d = energy.distances(x, memories).clamp(min=0).numpy()
        state = F.recall(x, memories, network.beta, **given).numpy()
    assert_allclose(model.predict_proba(X), p, atol=1e-4)
    assert_allclose(model.energy(X), e, rtol=1e-3, atol=1e-4)
    expected = np.sqrt(d) * network.geometry.length if energy.degree == 2 else d * unit
    assert_allclose(model.transform(X), expected, rtol=1e-3, atol=1e-3)
    assert_allclose(network.geometry.to_core(model.recall(X)), state, atol=1e-3)
    states, trajectory = model.recall(X, return_trajectory=True)
    assert trajectory.shape == (11, *X.shape)
    assert_array_equal(trajectory[-1], states)
    assert (model.entropy(X) >= -1e-6).all()


def test_beta_and_distances_are_in_original_units():
    small, large = (make("manhattan", scale=None).fit(rows) for rows in (X, 1000 * X))
    assert large.beta_ == pytest.approx(small.beta_ / 1000, rel=1e-3)
    assert_allclose(large.transform(1000 * X), 1000 * small.transform(X), rtol=1e-2, atol=20)
    given = make("manhattan", beta=small.beta_, scale=None).fit(X)
    assert given.beta_ == pytest.approx(small.beta_)
    assert_array_equal(given.labels_, small.labels_)
    wide, wider = (make("kernel", scale=None).fit(rows) for rows in (X, 1000 * X))
    assert wider.beta_ == pytest.approx(wide.beta_, rel=1e-3)


# --- copies and files -----------------------------------------------------------------------------


@not_native
def test_copies_are_the_same_model(metric):
    model = make(metric).fit(X)
    assert repr(model)
    for twin in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert_array_equal(twin.energy(X), model.energy(X))
        twin.partial_fit(X[:60])
    again = clone(model).fit(X)
    for learned in ("labels_", "cluster_centers_", "loss_curve_"):
        assert_array_equal(getattr(again, learned), getattr(model, learned))
    assert_array_equal(again.energy(X), model.energy(X))


@pytest.mark.parametrize("metric", OTHERS)
def test_a_named_energy_is_saved_by_name(metric, tmp_path):
    model = make(metric).fit(X)
    model.save(tmp_path / "model.amc")
    loaded = amclust.load(tmp_path / "model.amc")
    assert loaded.metric == metric
    assert_array_equal(loaded.energy(X), model.energy(X))
    assert_array_equal(loaded.labels_, model.labels_)
    for one in (model, loaded):
        one.partial_fit(X[:60])
    assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    assert_array_equal(loaded.energy(X), model.energy(X))


def test_an_energy_of_ones_own_is_not_saved(tmp_path):
    model = make(Power()).fit(X)
    with pytest.raises(ValueError, match=r"Power.*cannot be saved.*Pickle the model.*'kernel'"):
        model.save(tmp_path / "model.amc")
    assert not list(tmp_path.iterdir())


def test_a_record_keeps_what_was_learned():
    data = training_set(X.astype(np.float32), Mahalanobis(3))
    plan = make_plan(X[[0, 1, 5]] + 0.5, objective="silhouette", beta=0.1, max_epochs=4)
    (whole,) = train(data, [plan], torch.device("cpu"))
    plan.pause_at = 2
    (half,) = train(data, [plan], torch.device("cpu"))
    plan.pause_at, plan.earlier = 4, pickle.loads(pickle.dumps(half))
    (resumed,) = train(data, [plan], torch.device("cpu"))
    assert resumed.last_energy.shape == (9,)
    assert resumed.energy_moments.shape == (2, 9)
    for mine, other in zip(resumed.__getstate__(), whole.__getstate__(), strict=True):
        assert_array_equal(mine, other)


# --- objectives of one's own ----------------------------------------------------------------------


@pytest.fixture
def spread(monkeypatch):
    """Register an objective: the mean distance of a row to the memories, by its memberships."""
    monkeypatch.setattr(_objectives, "OBJECTIVES", dict(_objectives.OBJECTIVES))
    for name in list(OBJECTIVES):
        monkeypatch.setitem(OBJECTIVES, name, OBJECTIVES[name])
    register_objective(Objective("spread", "the mean distance to the memories"))

    @register_torch_objective("spread")
    def spread_loss(x, memories, beta, *, energy, log_weights, missing, sample_weight, settings):
        assert settings.draw_hidden().shape == x.shape
        assert settings.n_steps == 10
        p = energy.memberships(x, memories, beta, log_weights)
        losses = (p * energy.distances(x, memories)).sum(-1)
        return (losses * sample_weight).sum(-1) / sample_weight.sum(-1)

    yield spread_loss
    del OBJECTIVES["spread"]


@pytest.mark.parametrize(
    "metric", ["euclidean", "cosine", "manhattan", Mahalanobis(3, learn=False)], ids=str
)
def test_an_objective_of_ones_own_is_trained(spread, metric):
    model = make(metric, objective="spread", init=X[[0, 1, 5]], max_epochs=30).fit(X)
    assert adjusted_rand_score(TRUTH, model.labels_) > 0.9
    assert model.loss_curve_[-1] < model.loss_curve_[0]


def test_the_core_does_not_have_an_objective_of_ones_own(spread):
    with pytest.raises(ValueError, match=r"'spread' is not in the compiled core.*backend='torch'"):
        make("euclidean", objective="spread", backend="native").fit(X)


def test_an_objective_without_a_torch_function(spread):
    del _objectives.OBJECTIVES["spread"]
    with pytest.raises(ValueError, match=r"'spread' has no torch function: .*'silhouette'"):
        make("euclidean", objective="spread").fit(X)
    with pytest.raises(ValueError, match="'silhouette' already"):
        register_torch_objective("silhouette", spread)


def test_a_loss_of_the_wrong_shape(spread):
    _objectives.OBJECTIVES["spread"] = lambda x, memories, beta, **settings: memories.sum()
    with pytest.raises(ValueError, match=r"one loss per run, of shape \(2,\), got \(\)"):
        make("manhattan", objective="spread").fit(X)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [*OTHERS, Manhattan()], ids=str)
def test_the_core_has_three_metrics(metric):
    message = "one of 'euclidean', 'cosine', 'mahalanobis' with .*needs backend='torch'"
    with pytest.raises(ValueError, match=message):
        make(metric, backend="native").fit(X)
    with pytest.raises(ValueError, match=message):
        make(metric, backend="native").partial_fit(X)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_an_unknown_metric_lists_all(backend):
    names = ".*".join(METRICS)
    with pytest.raises(ValueError, match=f"'metric' parameter.*{names}.*Got 'chebyshev'"):
        make("chebyshev", backend=backend).fit(X)
    with pytest.raises(ValueError, match="'metric' parameter of ClAM must be.*attraction.*Got 3"):
        make(3, backend=backend).fit(X)


def test_an_energy_for_rows_of_another_size():
    with pytest.raises(ValueError, match="Mahalanobis.* is for 4 features, but X has 3 column"):
        make(Mahalanobis(4)).fit(X)
    with pytest.raises(ValueError, match="has 5 weights.*3"):
        make(Weighted(Epanechnikov(), 5)).fit(X)


def test_names_of_energies():
    assert isinstance(find_energy("weighted", n_memories=3), Weighted)
    assert find_energy("mahalanobis", dim=4).dim == 4
    kernel = find_energy("kernel", dim=4)
    assert kernel.gamma == 0.25
    assert_array_equal(kernel.frequencies, find_energy("kernel", dim=4).frequencies)
    assert set(METRICS) == set(amclust.torch.energies.ENERGY_NAMES)
    for name in METRICS:
        energy = find_energy(name, dim=4, n_memories=3)
        assert (energy.degree, energy.spherical) == (METRICS[name].degree, METRICS[name].spherical)
    with pytest.raises(ValueError, match="'kernel' needs dim"):
        find_energy("kernel")
    with pytest.raises(ValueError, match="one of.*'kernel'.*got 'chebyshev'"):
        find_energy("chebyshev")
