"""A fit interrupted half way, and exceptions of the progress callback."""

import gc
import os
import signal
import threading
import time
import warnings
from functools import partial

import numpy as np
import pytest
from native import plan_of, rows_of
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs

from amclust import ClAM, _native


def table():
    return make_blobs(60, 3, centers=3, random_state=0)[0]


def interrupt_after(seconds):
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    return timer


ENDLESS = {"max_epochs": 10**8, "early_stopping": False}


@pytest.mark.parametrize("n_init", [1, 4])
@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("verbose", [0, 2])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(verbose, fitted, n_init, capfd):
    X = make_blobs(500, 6, centers=4, random_state=0)[0]
    model = ClAM(3, n_init=2, random_state=0, n_jobs=2)
    if fitted:
        model.fit(table())
    before = dict(vars(model))
    model.set_params(n_init=n_init, verbose=verbose, **ENDLESS)
    start = time.monotonic()
    timer = interrupt_after(0.25)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
    finally:
        timer.cancel()
    assert time.monotonic() - start < 10  # "within a second", on a busy machine too
    model.set_params(**{name: before[name] for name in model.get_params()})
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)
    if fitted:
        assert_array_equal(model.predict(table()), model.labels_)
    else:
        model.fit(table())  # nothing is broken


def test_an_estimate_of_the_number_of_clusters_is_interrupted():
    rows = np.random.default_rng(0).normal(size=(1500, 16)).astype(np.float32)
    start = time.monotonic()
    timer = interrupt_after(0.1)
    try:
        with pytest.raises(KeyboardInterrupt):  # the whole would take minutes
            _native.estimate_n_clusters(rows, range(1, 500), _native.NClustersSettings(), 0, 2)
    finally:
        timer.cancel()
    assert time.monotonic() - start < 5


def train_endlessly(progress, n=40):
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    plan = plan_of(X[:3], max_epochs=10**8)
    return _native.train(rows_of(X), None, None, [plan], 1, progress)


def test_an_interrupt_arrives_while_progress_is_reported():
    calls = []
    gc.collect()  # or the interrupt may arrive in what cleans up after other tests, and be lost
    timer = interrupt_after(0.2)
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            train_endlessly(lambda *event: calls.append(event))
    finally:
        timer.cancel()
    assert caught.value.__cause__ is None
    assert calls


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_exception_of_the_progress_callback_ends_the_training(error):
    calls = []

    def progress(run, epoch, loss):
        calls.append((run, epoch, loss))
        if epoch == 3:
            raise error("enough")

    with pytest.raises(error, match="enough"):
        train_endlessly(progress)
    assert [call[:2] for call in calls] == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert all(isinstance(call[2], float) for call in calls)


def test_progress_reports_every_epoch():
    X = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    plans = [plan_of(X[:3], max_epochs=20, seed=seed) for seed in (1, 2)]
    calls = []
    for _ in range(20):  # the last ones are easily lost
        calls.clear()
        records = _native.train(
            rows_of(X), None, None, plans, 2, lambda *event: calls.append(event)
        )
        assert sorted(call[:2] for call in calls) == [(r, e) for r in (0, 1) for e in range(20)]
        assert all(records[run].loss_curve[epoch] == loss for run, epoch, loss in calls)


def noise(n, d, missing=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def answering(X, method, **given):
    model = ClAM(3, n_init=1, max_epochs=1, random_state=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[:300])
    return lambda: getattr(model.network_, method)(X, n_jobs=1, **given)


LONG = {
    "k-means++": lambda: partial(ClAM(4000, n_init=1, n_jobs=2).fit, noise(60_000, 6)),
    "trees": lambda: partial(ClAM(3, init="ward", n_init=4000).fit, noise(900, 4)),
    "mahalanobis": lambda: partial(ClAM(3, metric="mahalanobis").fit, noise(8_000, 200)),
    "missing values": lambda: partial(ClAM(3).fit, noise(8_000, 100, 0.2)),
    "statistics": lambda: lambda: [ClAM(3, n_init=1).fit(noise(60_000, 60)) for _ in range(99)],
    "complete": lambda: answering(noise(40_000, 120, 0.2), "complete", return_std=True),
    "silhouettes": lambda: answering(noise(30_000, 60), "silhouette_values", max_rows=30_000),
    "number of memories": lambda: partial(ClAM(3, n_memories=1500).fit, noise(20_000, 10)),
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.filterwarnings("ignore")
def test_ctrl_c_is_heard_wherever_the_core_is(name):
    call, sent = LONG[name](), []

    def interrupt():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, interrupt)
    timer.daemon = True
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        timer.cancel()
    assert time.monotonic() - sent[0] < 5  # a tenth of a second, on a machine that is free
