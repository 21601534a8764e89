"""Workers that die, users who lose patience, clients that go away: the same bits, or an error."""

import os
import signal
import threading
from functools import partial

import numpy as np
import pytest
from dask.utils import key_split
from dask_rows import (
    as_array,
    assert_same,
    assert_same_fit,
    blobs,
    local,
    on_dask,
    wait_until,
)
from distributed import Client, Future, get_worker
from distributed.client import FutureCancelledError
from distributed.diagnostics.plugin import SchedulerPlugin
from dying import die_once, task_names, wait_long

from amclust.dask import _answers, _backend, _source

ROWS = np.empty((0, 3))
LENGTHS = (200, 0, 1, 199, 200)
ENDLESS = {"max_epochs": 10**8, "early_stopping": False}
PHASES = {
    "statistics": (_source, "summarise"),
    "drawing": (_source, "take"),
    "restarts": (_backend, "train_one"),
    "labelling": (_answers, "label"),
}


def clam_tasks(client):
    return [key for key in client.run_on_scheduler(task_names) if "clam-" in key]


def assert_nothing_left(client):
    """No task of a fit is left, and every worker takes others."""
    wait_until(lambda: not clam_tasks(client))
    for worker in client.scheduler_info()["workers"]:
        assert client.submit(os.getpid, workers=[worker], pure=False).result(timeout=60)


@pytest.mark.parametrize("phase", PHASES)
def test_a_worker_that_dies_changes_no_bit(phase, client, tmp_path, monkeypatch):
    X, marker = blobs(missing=0.1), tmp_path / "died"
    rows = as_array(X, LENGTHS).map_blocks(np.array).persist()
    expected = local(max_epochs=200).fit(X)
    module, name = PHASES[phase]
    monkeypatch.setattr(module, name, partial(die_once, str(marker), getattr(module, name)))
    model = on_dask(max_epochs=200).fit(rows)
    assert marker.exists() == (phase != "labelling")
    assert_same(model, expected, rows, X)
    assert marker.exists()
    wait_until(lambda: len(client.nthreads()) == 2)


# --- interrupts -----------------------------------------------------------------------------------


def after(marker, function, *given):
    """Call a function when a file is there."""

    def wait():
        wait_until(marker.exists)
        function(*given)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def endless_training(marker, monkeypatch):
    """Let a restart say by a file that it has begun."""
    monkeypatch.setattr(_backend, "train_one", partial(say_and_train, str(marker)))
    return as_array(blobs(), LENGTHS)


def say_and_train(marker, *given):
    with open(marker, "w"):
        return _backend.train_one(*given)


def assert_as_before(model, before):
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


@pytest.mark.filterwarnings("ignore:X is not persisted")
@pytest.mark.parametrize("phase", ["statistics", "restarts"])
@pytest.mark.parametrize("verbose", [0, 1])
def test_an_interrupted_fit_leaves_no_tasks(verbose, phase, client, tmp_path, monkeypatch):
    marker = tmp_path / "begun"
    model = on_dask(**ENDLESS, verbose=verbose)
    if phase == "restarts":
        rows = endless_training(marker, monkeypatch)
    else:
        rows = as_array(blobs(), (300, 300)).map_blocks(wait_long, marker=str(marker), meta=ROWS)
    before = dict(vars(model))
    thread = after(marker, os.kill, os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    thread.join()
    assert_as_before(model, before)
    wait_until(lambda: not clam_tasks(client))
    marker.unlink()
    assert_nothing_left(client)


def test_a_client_that_is_closed_ends_its_fit(client, tmp_path, monkeypatch):
    marker = tmp_path / "begun"
    rows = endless_training(marker, monkeypatch)
    with Client(client.cluster, set_as_default=False) as other:
        model = on_dask(**ENDLESS, client=other)
        before = dict(vars(model))
        thread = after(marker, other.close)
        with pytest.raises(FutureCancelledError):
            model.fit(rows)
        thread.join()
    assert_as_before(model, before)
    assert_nothing_left(client)


def test_a_fit_whose_tasks_are_cancelled_ends(client, tmp_path, monkeypatch):
    marker = tmp_path / "begun"
    rows = endless_training(marker, monkeypatch)

    def cancel():
        client.cancel([Future(key, client) for key in list(client.futures)], force=True)

    thread = after(marker, cancel)
    with pytest.raises(FutureCancelledError):
        on_dask(**ENDLESS, client=client).fit(rows)
    thread.join()
    assert_nothing_left(client)


def test_two_fits_at_once_do_not_disturb_each_other(client):
    tables = [blobs(seed=seed) for seed in (1, 2)]
    models = [on_dask(client=client) for _ in tables]
    blocks = [as_array(X, LENGTHS) for X in tables]
    threads = [
        threading.Thread(target=model.fit, args=(rows,))
        for model, rows in zip(models, blocks, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model, rows, X in zip(models, blocks, tables, strict=True):
        assert_same(model, local().fit(X), rows, X)
    assert_nothing_left(client)


def test_a_fit_that_is_interrupted_leaves_another_alone(client, tmp_path, monkeypatch):
    marker, X = tmp_path / "begun", blobs()
    expected = local().fit(X)
    model = on_dask(client=client)
    thread = threading.Thread(target=model.fit, args=(as_array(X, LENGTHS),))
    rows = endless_training(marker, monkeypatch)
    after(marker, os.kill, os.getpid(), signal.SIGINT)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        on_dask(**ENDLESS, client=client, n_init=1).fit(rows)
    thread.join()
    assert_same(model, expected, as_array(X, LENGTHS), X)


# --- graphs ---------------------------------------------------------------------------------------


class Seen(SchedulerPlugin):
    """Keeps the keys of all tasks that workers were given."""

    name = "seen"

    def __init__(self):
        self.keys = set()

    def transition(self, key, start, finish, *given, **named):
        if finish == "processing":  # those of earlier fits may still be let go of
            self.keys.add(str(key))


def seen_keys(dask_scheduler):
    return sorted(dask_scheduler.plugins["seen"].keys)


def seen_names(client, function):
    """Return the names of the tasks that a scheduler has while a function runs, with numbers."""
    client.register_plugin(Seen())
    try:
        function()
        names = [key_split(key) for key in client.run_on_scheduler(seen_keys)]
    finally:
        client.unregister_scheduler_plugin("seen")
    return {name: names.count(name) for name in set(names) if name.startswith("clam-")}


@pytest.mark.parametrize("n_blocks", [5, 40])
def test_tasks_are_as_many_as_blocks(n_blocks, client):
    rows = as_array(blobs(), (600 // n_blocks,) * n_blocks).persist()

    def fit():
        on_dask(n_init=3).fit(rows).labels_.compute()

    names = seen_names(client, fit)
    assert set(names) == {
        "clam-statistics",
        "clam-draw",
        "clam-restart",
        "clam-label",
        "clam-network",
    }
    assert names["clam-restart"] == 3
    assert names["clam-network"] == 1
    assert n_blocks <= names["clam-statistics"] <= 1.1 * n_blocks + 2
    assert n_blocks <= names["clam-draw"] <= n_blocks + 5
    assert names["clam-label"] == n_blocks


def train_and_say_where(folder, *given):
    (folder / get_worker().address.rpartition(":")[2]).touch()
    return _backend.train_one(*given)


def test_restarts_are_shared_by_the_workers(client, tmp_path, monkeypatch):
    X = blobs()
    expected = local(n_init=4).fit(X)
    monkeypatch.setattr(_backend, "train_one", partial(train_and_say_where, tmp_path))
    model = on_dask(n_init=4).fit(as_array(X, LENGTHS))
    assert len(list(tmp_path.iterdir())) == 2
    assert_same_fit(model, expected)
