"""Training in torch against the native core, from the same memories, masks and order.

A new Adam turns every gradient into a step of about the learning rate, those too that are nothing
but rounding, so that in time two instruction sets of the native core go apart as well. Runs that
are compared closely therefore begin with moments, with which small gradients make small steps.
"""

import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from native import dataset, run_settings
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from amclust import ClAM, ClAMSearch, _native
from amclust.torch import functional as F
from amclust.torch._training import _objectives, _stack, train
from amclust.torch._training._adjoint import Networks, recall
from amclust.torch.energies import Cosine, Euclidean

CPU = torch.device("cpu")
OBJECTIVES = ["completion", "reconstruction", "silhouette"]
EXACT = (
    "best_epoch",
    "best_living",
    "reseeded",
    "converged",
    "improving",
    "steps",
    "waited",
    "plateaus",
    "pass",
    "place",
)


def table(n=90, d=5, holes=0.0, seed=0):
    X = make_blobs(n, d, centers=4, cluster_std=2.0, center_box=(-4, 4), random_state=seed)[0]
    X = X.astype(np.float32)
    X[:, 1:][np.random.default_rng(seed).random((n, d - 1)) < holes] = np.nan
    return X


def make_runs(X, n_runs=3, k=4, **changes):
    """Return runs that differ in all that a stack lets differ."""
    rng = np.random.default_rng(5)
    whole, shape = np.nan_to_num(X), (2, k, X.shape[1])
    return [
        run_settings(
            whole[rng.choice(len(X), k, replace=False)],
            **{
                "seed": 7 + i,
                "beta": 0.05 * (1 + i),
                "anchor": 0.1 * i,
                "tie": 0.05 * (1 + i),
                "learning_rate": 0.1 * (1 + i),
                "moments": 0.1 + 0.1 * rng.random(shape, np.float32),
                "weight_moments": np.full((2, k), 0.1, np.float32),
                "steps": 500 + i,
                "fill": np.linspace(-1, 1, X.shape[1], dtype=np.float32),
            }
            | changes,
        )
        for i in range(n_runs)
    ]


def assert_same(X, runs, metric="euclidean", rows=None, weights=None, tol=1e-4):
    """Train in both ways, compare the whole records and return the native ones."""
    data = dataset(X, metric)
    native = _native.train(data, rows, weights, runs, 1, None)
    stacked = train(data, rows, weights, runs, CPU)
    for ours, theirs in zip(stacked, native, strict=True):
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert type(ours[name]) is type(value), name
            if name in EXACT:
                assert ours[name] == value, name
            else:
                assert_allclose(ours[name], value, rtol=tol, atol=tol, err_msg=name)
                assert np.asarray(ours[name]).dtype == np.asarray(value).dtype, name
    return native


# --- the same as the native core ------------------------------------------------------------------


@pytest.mark.parametrize("holes", [0.0, 0.2], ids=["complete", "holes"])
@pytest.mark.parametrize("batch_size", [1000, 16])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_training_agrees_with_the_native_core(objective, metric, batch_size, holes):
    X = table(holes=holes)
    for k in (4, 6):  # fewer and more than columns
        assert_same(X, make_runs(X, k=k, objective=objective, batch_size=batch_size), metric)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_weights_of_rows_and_memories_agree(objective, metric):
    X = table()
    rng = np.random.default_rng(1)
    rows = np.sort(rng.choice(90, 70, replace=False))
    weights = rng.uniform(0.2, 3.0, 70).astype(np.float32)
    given = np.log([0.5, 2.0, 1.0, 1.5]).astype(np.float32)
    for changes in ({"learn_weights": True}, {"log_weights": given}):
        runs = make_runs(X, objective=objective, batch_size=16, **changes)
        (record, *_) = assert_same(X, runs, metric, rows, weights)
        learned = not np.allclose(record["last_log_weights"], changes.get("log_weights", 0.0))
        assert learned == ("learn_weights" in changes)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_dead_memories_begin_anew_on_the_same_rows(objective, metric):
    X = table(holes=0.1) + (9 if metric == "cosine" else 0)
    settings = {"max_epochs": 1, "batch_size": 45, "beta": 0.3, "reseed": True}
    runs = make_runs(X, k=6, objective=objective, **settings)
    for run in runs:  # nothing is near these
        run["memories"][4:] = [[-20, -20, -20, -20, -20], [-25, -20, -20, -20, 0]]
    records = assert_same(X, runs, metric)
    assert min(record["reseeded"] for record in records) >= 2


def test_the_schedule_and_the_stop_agree():
    X = table()
    settings = {"early_stopping": True, "patience": 2, "batch_size": 16, "learning_rate": 0.05}
    runs = make_runs(X, max_epochs=30, **settings)
    for run, tol in zip(runs, (1.0, 0.05, 1e-3), strict=True):
        run["tol"] = tol
    records = assert_same(X, runs)
    lengths = [len(record["loss_curve"]) for record in records]
    assert records[0]["converged"]
    assert len(set(lengths)) > 1  # runs leave the stack one after the other


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_new_adam_agrees_for_a_while(objective):
    X = table()
    new = {"moments": None, "learning_rate": 0.01, "batch_size": 32, "max_epochs": 3}
    assert_same(X, make_runs(X, objective=objective, **new), tol=2e-3)


def test_a_learning_rate_of_next_to_nothing_moves_nothing():
    X = table()
    runs = make_runs(X, learning_rate=1e-300, min_lr=0.0)
    for record in train(dataset(X), None, None, runs, CPU):
        assert_array_equal(record["memories"], record["last_memories"])
        assert np.isfinite(record["last_memories"]).all()


@pytest.mark.parametrize("whole_epochs", [False, True])
def test_an_epoch_may_be_a_part_of_the_rows(monkeypatch, whole_epochs):
    X = np.random.default_rng(0).normal(size=(_native.EPOCH_ROWS + 900, 2)).astype(np.float32)
    runs = make_runs(X, 2, k=3, batch_size=500, max_epochs=3, whole_epochs=whole_epochs)
    monkeypatch.setattr(_stack, "MOST_AHEAD", 10_000)  # an epoch in several parts
    (record, _) = assert_same(X, runs)
    assert record["pass"] == 2
    assert (record["place"] == len(X)) == whole_epochs


@pytest.mark.parametrize("objective", ["completion", "reconstruction"])
def test_memory_is_bounded_without_a_trace(monkeypatch, objective):
    X = table()
    runs = make_runs(X, 5, objective=objective, batch_size=32, learning_rate=0.05)
    before = train(dataset(X), None, None, runs, CPU)
    monkeypatch.setattr(_stack, "MOST_STACKED", 2 * 32 * X.shape[1])
    monkeypatch.setattr(_objectives, "MOST_STATES", 9 * 2 * X.shape[1] * runs[0]["n_steps"])
    after = train(dataset(X), None, None, runs, CPU)
    for one, other in zip(before, after, strict=True):
        assert_allclose(one["last_memories"], other["last_memories"], rtol=1e-4, atol=1e-4)


def test_runs_of_different_kinds_are_trained_in_their_own_stacks():
    X = table()
    changes = [
        {"objective": "completion", "n_steps": 2},
        {"objective": "completion", "mask_prob": 0.5},
        {"objective": "silhouette"},
        {"objective": "completion", "step_size": 0.9, "batch_size": 16},
        {"objective": "completion", "fill": np.ones(5, np.float32)},
        {"objective": "reconstruction", "learn_weights": True},
    ]
    runs = [make_runs(X, 1, k=k, **change)[0] for change in changes for k in (2, 4)]
    assert_same(X, runs)


@pytest.mark.parametrize("batch_size", [1000, 16])
def test_a_paused_run_goes_on_as_if_it_had_not_stopped(batch_size):
    X = table()
    runs = make_runs(X, objective="completion", batch_size=batch_size, learn_weights=True)
    through = train(dataset(X), None, None, runs, CPU)
    for run in runs:
        run["pause_at"] = 2
    paused = assert_same(X, runs)
    for run, record in zip(runs, paused, strict=True):
        run.update(pause_at=10**6, earlier=record)
    resumed = assert_same(X, runs)
    for one, other in zip(through, resumed, strict=True):
        assert_allclose(one["loss_curve"], other["loss_curve"], rtol=1e-4)
        assert len(other["loss_curve"]) == 5


def test_a_converged_run_is_returned_as_it_is():
    X = table()
    (run,) = make_runs(X, 1, early_stopping=True, tol=1.0, max_epochs=300, patience=1)
    (record,) = train(dataset(X), None, None, [run], CPU)
    assert record["converged"]
    (again,) = assert_same(X, [run | {"earlier": record}])
    assert_array_equal(again["memories"], record["memories"])


def test_progress_reports_every_epoch_of_every_run():
    X = table()
    runs = make_runs(X)
    calls = []
    records = train(dataset(X), None, None, runs, CPU, lambda *event: calls.append(event))
    assert sorted(call[:2] for call in calls) == [(r, e) for r in range(3) for e in range(5)]
    assert all(records[run]["loss_curve"][epoch] == loss for run, epoch, loss in calls)


def test_rows_are_loaded_in_the_units_of_the_core():
    X = table(holes=0.3).astype(np.float64)
    data = _native.dense_dataset(X)
    data.has_missing = True
    data.set_units("euclidean", np.arange(5.0), np.full(5, 0.5, np.float32))
    rows = np.array([7, 3, 7])
    assert data.metric == "euclidean"
    assert_allclose(_native.load_rows(data, rows), (X[rows] - np.arange(5)) / 2, rtol=1e-6)
    assert _native.load_rows(data, None).shape == X.shape
    data.set_units("cosine", np.zeros(5), np.ones(5, np.float32))
    assert data.metric == "cosine"
    assert_allclose(np.nanmean(_native.load_rows(data, None) ** 2, axis=1), 1 / 5, rtol=1e-5)


def test_places_beyond_the_rows_are_refused():
    assert sorted(_native.draw_order(0, 0, 6, 0, 6)) == list(range(6))
    for first, count in ((-1, 2), (0, 7), (5, 2), (0, -1)):
        with pytest.raises(IndexError, match="out of range"):
            _native.draw_order(0, 0, 6, first, count)


# --- the gradient written by hand -----------------------------------------------------------------


@pytest.mark.parametrize("free", [False, True], ids=["some held", "free"])
@pytest.mark.parametrize("cosine", [False, True], ids=["euclidean", "cosine"])
def test_the_gradient_is_that_of_autograd(cosine, free):
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    energy = Cosine() if cosine else Euclidean()
    x, memories = energy.place(draw(3, 6, 4)), energy.place(draw(3, 5, 4)).requires_grad_()
    log_weights = draw(3, 5).requires_grad_()
    beta = torch.tensor([0.3, 1.0, 2.0], dtype=torch.float64)
    hidden = None if free else draw(3, 6, 4) > 0
    state = F.recall(
        x,
        memories,
        beta,
        hidden=hidden,
        fill=0.2,
        n_steps=3,
        step_size=0.4,
        energy=energy,
        log_weights=log_weights,
    )
    by_state = draw(3, 6, 4)
    wanted = torch.autograd.grad(state, (memories, log_weights), by_state)

    factor = (beta if cosine else 2 * beta)[:, None, None]
    with torch.no_grad():
        net = Networks(memories, log_weights, beta, factor, 0.4, 3, cosine)
        start = x if hidden is None else torch.where(hidden, 0.2, x)
        amount = 0.4 if hidden is None else 0.4 * hidden.mT.double()
        trajectory = recall(net, start.mT, amount)
        by_memories, by_log_weights = trajectory.gradient(by_state.mT)
        if cosine:  # autograd goes through the normalisation
            by_memories -= (by_memories * memories).sum(-1, keepdim=True) * memories
    torch.testing.assert_close(trajectory.states[-1].mT, state)
    torch.testing.assert_close(by_memories, wanted[0])
    torch.testing.assert_close(by_log_weights, wanted[1])


# --- the estimator --------------------------------------------------------------------------------

SHORT = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make(**settings):
    few = {"n_init": 3, "random_state": 0, "max_epochs": 4, "learning_rate": 0.01}
    return ClAM(4, **(few | settings))


def fitted_twice(X, sample_weight=None, **settings):
    models = [make(backend=name, **settings) for name in ("native", "torch")]
    for model in models:
        model.fit(X, sample_weight=sample_weight)
    return models


@SHORT
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "completion", "mask_value": "max", "batch_size": 32},
        {"objective": "reconstruction", "metric": "mahalanobis"},
        {"metric": "cosine"},
        {"weights": "learn"},
        {"weights": [1.0, 2.0, 3.0, 4.0], "objective": "completion"},
    ],
)
def test_fit_agrees_with_the_native_core(settings):
    X = table().astype(np.float64)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    native, stacked = fitted_twice(X, weight, **settings)
    assert_array_equal(native.labels_, stacked.labels_)
    for name in ("cluster_centers_", "weights_", "loss_curve_", "silhouette_"):
        assert_allclose(getattr(stacked, name), getattr(native, name), rtol=2e-3, atol=2e-3)
    for name in ("seed", "living_clusters", "n_iter", "converged", "chosen"):
        assert_array_equal(stacked.runs_[name], native.runs_[name])
    assert_array_equal(stacked.predict(X), stacked.labels_)


@SHORT
def test_missing_values_and_sparse_rows_agree():
    native, stacked = fitted_twice(table(holes=0.2))
    assert_array_equal(native.labels_, stacked.labels_)
    X = table()
    X[X < 0] = 0
    native, stacked = fitted_twice(sparse.csr_matrix(X))
    assert_array_equal(native.labels_, stacked.labels_)
    assert_array_equal(stacked.labels_, make(backend="torch").fit(X).labels_)


def test_partial_fit_agrees():
    X = table(400)
    models = [ClAM(4, random_state=0, batch_size=64, backend=b) for b in ("native", "torch")]
    for start in range(0, 400, 100):
        for model in models:
            model.partial_fit(X[start : start + 100])
    native, stacked = models
    assert native._steps == stacked._steps > 4
    assert_allclose(stacked.cluster_centers_, native.cluster_centers_, rtol=1e-3, atol=1e-3)


def test_a_search_agrees():
    X = table()
    space = {"beta_factor": [0.5, 1.0], "n_steps": [2, 4], "mask_value": ["mean", "min"]}
    searches = [
        ClAMSearch(
            [3, 4],
            estimator=ClAM(objective="completion", backend=backend),
            space=space,
            n_init=2,
            max_epochs=8,
            min_epochs=2,
            budget=160,
            random_state=0,
        ).fit(X)
        for backend in ("native", "torch")
    ]
    native, stacked = (search.results_dict_ for search in searches)
    assert len(searches[0].rungs_) > 1
    for name in ("run", "rung", "epochs", "chosen"):
        assert_array_equal(stacked[name], native[name])
    assert_allclose(stacked["loss"], native["loss"], rtol=1e-3)
    assert_array_equal(*(search.labels_ for search in searches))


@SHORT
@parametrize_with_checks([ClAM(2, backend="torch", n_init=2, max_epochs=5)])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@SHORT
def test_torch_leaves_no_trace_in_the_estimator():
    X = table()
    state = torch.random.get_rng_state()
    model = make(backend="torch", device="cpu").fit(X)
    assert_array_equal(torch.random.get_rng_state(), state)
    params = model.get_params()
    assert (params["backend"], params["device"]) == ("torch", "cpu")
    assert clone(model).get_params() == params
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.labels_)
    again = clone(model).fit(X)
    assert_array_equal(again.cluster_centers_, model.cluster_centers_)
    assert_array_equal(make(backend="torch", device=CPU).fit_predict(X), again.labels_)


def test_an_interrupted_fit_leaves_the_estimator_unfitted():
    model = make(backend="torch", max_epochs=10**8, early_stopping=False)
    before = dict(vars(model))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(table())
    finally:
        timer.cancel()
    assert vars(model) == before


@SHORT
def test_verbose_shows_the_epochs(capsys):
    make(backend="torch", verbose=2, n_init=1).fit(table())
    assert "run 1 of 1, epoch 1, loss" in capsys.readouterr().err


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", ["cuda:99", "mps:7", "gpu", 3.5, "meta"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(ValueError, match=f"(?s)device.*cpu.*got {device!r}"):
        make(backend="torch", device=device).fit(table())


def test_the_native_core_has_no_device():
    with pytest.raises(ValueError, match="device='cpu' needs backend='torch'"):
        make(device="cpu").fit(table())


def test_an_unknown_backend_is_refused():
    with pytest.raises(ValueError, match="'backend' parameter.*'native'.*'jax'"):
        make(backend="jax").fit(table())


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r'backend=.torch.*pip install "amclust\[torch\]"'):
        make(backend="torch").fit(table())
