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
from numpy.testing import assert_allclose, assert_array_equal
from plans import make_plan, train_natively, training_set
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from amclust import ClAM, ClAMSearch, _native
from amclust.torch import functional as F
from amclust.torch._training import _objectives, _stack, train
from amclust.torch._training._adjoint import Networks, recall
from amclust.torch.energies import Cosine, Euclidean
from benchmarks.data import make_documents

CPU = torch.device("cpu")
OBJECTIVES = ["completion", "reconstruction", "silhouette"]


def table(n=90, d=5, missing=0.0, seed=0):
    X = make_blobs(n, d, centers=4, cluster_std=2.0, center_box=(-4, 4), random_state=seed)[0]
    X = X.astype(np.float32)
    X[:, 1:][np.random.default_rng(seed).random((n, d - 1)) < missing] = np.nan
    return X


def make_plans(X, n_runs=3, k=4, metric="euclidean", **changes):
    """Return plans that differ in all that a stack lets differ."""
    rng = np.random.default_rng(5)
    whole, shape = np.nan_to_num(X), (2, k, X.shape[1])
    return [
        make_plan(
            whole[rng.choice(len(X), k, replace=False)],
            metric,
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


def assert_same(X, plans, metric="euclidean", rows=None, weights=None, tol=1e-4):
    """Train in both ways, compare the whole records and return the native ones."""
    data = training_set(X, metric, rows, weights)
    native = train_natively(data, plans)
    stacked = train(data, plans, CPU)
    for ours, theirs in zip(stacked, native, strict=True):
        counts, *numbers = ours.__getstate__()
        # Sizes, epochs, living clusters, re-seedings, schedule, steps and place among the rows.
        assert_array_equal(counts, theirs.__getstate__()[0])
        for mine, other in zip(numbers, theirs.__getstate__()[1:], strict=True):
            assert_allclose(mine, other, rtol=tol, atol=tol)
    return native


# --- the same as the native core ------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["complete", "missing"])
@pytest.mark.parametrize("batch_size", [1000, 16])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_training_agrees_with_the_native_core(objective, metric, batch_size, missing):
    X = table(missing=missing)
    for k in (4, 6):  # fewer and more than columns
        plans = make_plans(X, k=k, metric=metric, objective=objective, batch_size=batch_size)
        assert_same(X, plans, metric)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_weights_of_rows_and_memories_agree(objective, metric):
    X = table()
    rng = np.random.default_rng(1)
    rows = np.sort(rng.choice(90, 70, replace=False))
    weights = rng.uniform(0.2, 3.0, 70).astype(np.float32)
    given = np.log([0.5, 2.0, 1.0, 1.5]).astype(np.float32)
    for changes in ({"learn_weights": True}, {"log_weights": given}):
        plans = make_plans(X, metric=metric, objective=objective, batch_size=16, **changes)
        (record, *_) = assert_same(X, plans, metric, rows, weights)
        learned = not np.allclose(record.last_log_weights, changes.get("log_weights", 0.0))
        assert learned == ("learn_weights" in changes)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_empty_clusters_begin_anew_on_the_same_rows(objective, metric):
    X = table(missing=0.1) + (9 if metric == "cosine" else 0)
    settings = {"max_epochs": 1, "batch_size": 45, "beta": 0.3, "reseed": True}
    plans = make_plans(X, k=6, metric=metric, objective=objective, **settings)
    for plan in plans:
        start = plan.network
        memories = start.memories  # nothing is near these
        memories[4:] = [[-20, -20, -20, -20, -20], [-25, -20, -20, -20, 0]]
        plan.network = _native.Network(
            memories, start.log_weights, metric, start.beta, start.step_size, start.n_steps
        )
    records = assert_same(X, plans, metric)
    assert min(record.reseeded for record in records) >= 2


def test_the_schedule_and_the_stop_agree():
    X = table()
    settings = {"early_stopping": True, "patience": 2, "batch_size": 16, "learning_rate": 0.05}
    plans = make_plans(X, max_epochs=30, **settings)
    for plan, tol in zip(plans, (1.0, 0.05, 1e-3), strict=True):
        plan.schedule.tol = tol
    records = assert_same(X, plans)
    lengths = [record.n_epochs for record in records]
    assert records[0].converged
    assert len(set(lengths)) > 1  # runs leave the stack one after the other


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_new_adam_agrees_for_a_while(objective):
    X = table()
    new = {"moments": None, "learning_rate": 0.01, "batch_size": 32, "max_epochs": 3}
    assert_same(X, make_plans(X, objective=objective, **new), tol=2e-3)


def test_a_learning_rate_of_next_to_nothing_moves_nothing():
    X = table()
    plans = make_plans(X, learning_rate=1e-300, min_lr=0.0)
    for record in train(training_set(X), plans, CPU):
        assert_array_equal(record.memories, record.last_memories)
        assert np.isfinite(record.last_memories).all()


@pytest.mark.parametrize("whole_epochs", [False, True])
def test_an_epoch_may_be_a_part_of_the_rows(monkeypatch, whole_epochs):
    X = np.random.default_rng(0).normal(size=(_native.EPOCH_ROWS + 900, 2)).astype(np.float32)
    plans = make_plans(X, 2, k=3, batch_size=500, max_epochs=3, whole_epochs=whole_epochs)
    monkeypatch.setattr(_stack, "MAX_AHEAD", 10_000)  # an epoch in several parts
    (record, _) = assert_same(X, plans)
    number_of_pass, place = record.__getstate__()[0][10:12]
    assert number_of_pass == 2
    assert (place == len(X)) == whole_epochs


@pytest.mark.parametrize("objective", ["completion", "reconstruction"])
def test_memory_is_bounded_without_a_trace(monkeypatch, objective):
    X = table()
    plans = make_plans(X, 5, objective=objective, batch_size=32, learning_rate=0.05)
    before = train(training_set(X), plans, CPU)
    monkeypatch.setattr(_stack, "MAX_STACKED", 2 * 32 * X.shape[1])
    states = 9 * 2 * X.shape[1] * plans[0].network.n_steps
    monkeypatch.setattr(_objectives, "MAX_STATES", states)
    after = train(training_set(X), plans, CPU)
    for one, other in zip(before, after, strict=True):
        assert_allclose(one.last_memories, other.last_memories, rtol=1e-4, atol=1e-4)


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
    plans = [make_plans(X, 1, k=k, **change)[0] for change in changes for k in (2, 4)]
    assert_same(X, plans)


@pytest.mark.parametrize("batch_size", [1000, 16])
def test_a_paused_run_goes_on_as_if_it_had_not_stopped(batch_size):
    X = table()
    plans = make_plans(X, objective="completion", batch_size=batch_size, learn_weights=True)
    through = train(training_set(X), plans, CPU)
    for plan in plans:
        plan.pause_at = 2
    paused = assert_same(X, plans)
    for plan, record in zip(plans, paused, strict=True):
        plan.pause_at, plan.earlier = 10**6, record
    resumed = assert_same(X, plans)
    for one, other in zip(through, resumed, strict=True):
        assert_allclose(one.loss_curve, other.loss_curve, rtol=1e-4)
        assert other.n_epochs == 5


def test_a_converged_run_is_returned_as_it_is():
    X = table()
    (plan,) = make_plans(X, 1, early_stopping=True, tol=1.0, max_epochs=300, patience=1)
    (record,) = train(training_set(X), [plan], CPU)
    assert record.converged
    plan.earlier = record
    (again,) = assert_same(X, [plan])
    assert_array_equal(again.memories, record.memories)


def test_progress_reports_every_epoch_of_every_run():
    X = table()
    plans = make_plans(X)
    calls = []
    records = train(training_set(X), plans, CPU, lambda *event: calls.append(event))
    assert sorted(call[:2] for call in calls) == [(r, e) for r in range(3) for e in range(5)]
    assert all(records[run].loss_curve[epoch] == loss for run, epoch, loss in calls)


def test_rows_are_loaded_in_core_units():
    X = table(missing=0.3).astype(np.float64)
    rows = _native.dense_rows(X)
    scaled = rows.in_units("euclidean", np.arange(5.0), np.full(5, 0.5, np.float32), True)
    some = np.array([7, 3, 7])
    assert scaled.energy == "euclidean"
    assert_allclose(_native.load_rows(scaled, some), (X[some] - np.arange(5)) / 2, rtol=1e-6)
    assert _native.load_rows(scaled, None).shape == X.shape
    directions = rows.in_units("cosine", np.zeros(5), np.ones(5, np.float32), True)
    assert directions.energy == "cosine"
    assert_allclose(np.nanmean(_native.load_rows(directions, None) ** 2, axis=1), 1 / 5, rtol=1e-5)


@pytest.mark.parametrize("batch_size", [6, 4])
def test_an_epoch_takes_every_row_once(batch_size):
    (plan,) = make_plans(table(), 1, batch_size=batch_size)
    run = _native.Run(plan, 6, None)
    rows = run.next_epoch()
    taken = np.concatenate([ids[:n] for ids, n in zip(rows.ids, rows.sizes, strict=True)])
    assert sorted(taken) == list(range(6))
    if batch_size == 6:
        assert_array_equal(rows.ids[0], np.arange(6))
    with pytest.raises(ValueError, match="badness has the wrong size"):
        run.draw_reseeds(np.zeros((1, 5), np.float32), 1)


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
        net = Networks(memories, log_weights, beta, factor, 0.4, 3, cosine, energy)
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
        {"objective": "reconstruction", "beta": 2.0},
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
    native, stacked = fitted_twice(table(missing=0.2))
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
    assert native.optimizer_state_.steps == stacked.optimizer_state_.steps > 4
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
    assert "restart 1 of 1, epoch 1, loss" in capsys.readouterr().err


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


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("scale", ["standard", None])
def test_wide_sparse_rows_are_trained_by_their_entries(metric, scale, monkeypatch):
    rows = make_documents(600, 900, 4, seed=2).tfidf
    read = _native.load_rows

    def few(rows, indices):
        assert indices is not None
        assert len(indices) < 10
        return read(rows, indices)

    monkeypatch.setattr(_native, "load_rows", few)
    settings = {"metric": metric, "n_init": 2, "max_epochs": 5, "random_state": 0}
    if metric == "euclidean":
        settings["scale"] = scale
    with pytest.warns(ConvergenceWarning):  # so few epochs
        native, torch_ = (
            ClAM(4, **settings, backend=backend).fit(rows) for backend in ("native", "torch")
        )
    assert_allclose(torch_.loss_curve_, native.loss_curve_, rtol=1e-4)
    assert np.mean(torch_.labels_ == native.labels_) > 0.99
    assert_array_equal(torch_.predict(rows), torch_.labels_)
