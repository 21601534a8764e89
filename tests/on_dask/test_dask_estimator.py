"""ClAM on Dask as an estimator: copies, files, streams and searches."""

import copy
import pickle
import threading

import dask
import numpy as np
import pandas as pd
import pytest
from dask.sizeof import sizeof
from dask_rows import (
    FEW,
    MANY,
    Local,
    OnDask,
    as_array,
    as_blocks,
    as_frame,
    as_pandas,
    assert_same_fit,
    assert_same_records,
    blobs,
    computed,
    cut,
    local,
    on_dask,
    some_weights,
)
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.base import clone

import amclust
import amclust.dask
from amclust import ClAMSearch

LENGTHS = (50, 0, 40, 30)
MANY_LENGTHS = (200, 0, 150, 250)


# --- parameters -----------------------------------------------------------------------------------


def test_clones_have_the_same_client(client):
    model = on_dask(client=client, beta=2.0, init=np.zeros((4, 3)))
    cloned = clone(model)
    assert type(cloned) is OnDask
    assert cloned.client is client
    assert cloned.beta == 2.0
    assert cloned.init is not model.init
    assert_array_equal(cloned.init, model.init)
    assert cloned.set_params(client=None).client is None
    assert model.get_params()["client"] is client
    assert copy.copy(model).client is client


def test_parameters_are_those_of_the_local_estimator():
    model, plain = amclust.dask.ClAM(), amclust.ClAM()
    assert model.get_params() == plain.get_params() | {"client": None}
    assert model.set_params(n_clusters=3, scale=None).scale is None
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        model.set_params(nothing=1)


def test_only_changed_parameters_are_shown():
    assert repr(amclust.dask.ClAM(3, beta=2.0)) == "ClAM(beta=2.0, n_clusters=3)"
    assert "client" in repr(amclust.dask.ClAM(client="somewhere"))


def test_a_pickle_has_no_client(client):
    X = blobs(FEW)
    model = on_dask(client=client).fit(X)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.client is None
    assert model.client is client
    assert_array_equal(loaded.predict(X), model.predict(X))
    assert pickle.loads(pickle.dumps(on_dask(client=client))).client is None


def test_a_fitted_model_with_lazy_labels_is_pickled():
    X = blobs(FEW)
    model = on_dask().fit(as_array(X, LENGTHS))
    loaded = pickle.loads(pickle.dumps(model))
    assert_array_equal(loaded.labels_.compute(), model.labels_.compute())


# --- rows in memory -------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [as_array, as_frame, as_blocks])
def test_no_container_is_made_of_what_is_lazy(make):
    X = blobs(120)
    model = on_dask(n_init=1).fit(make(X, LENGTHS))
    rows = make(X, LENGTHS)
    expected = type(model.transform(rows))
    with config_context(transform_output="pandas"):
        assert type(model.transform(rows)) is expected
        local_rows = as_pandas(X) if make is as_frame else X
        assert isinstance(model.transform(local_rows), pd.DataFrame)


@pytest.mark.parametrize("framed", [False, True])
def test_rows_in_memory_go_the_local_way(framed):
    X = as_pandas(blobs(missing=0.1)) if framed else blobs(missing=0.1)
    weights = some_weights()
    expected = local().fit(X, sample_weight=weights)
    model = on_dask().fit(X, sample_weight=weights)
    assert_same_fit(model, expected)
    assert_array_equal(model.labels_, expected.labels_, strict=True)
    for method in ("predict", "predict_proba", "transform", "energy", "entropy", "recall"):
        assert_array_equal(getattr(model, method)(X), getattr(expected, method)(X), strict=True)
    assert_array_equal(np.asarray(model.complete(X)), np.asarray(expected.complete(X)))
    assert model.score(X, sample_weight=weights) == expected.score(X, sample_weight=weights)
    assert_array_equal(on_dask().fit_predict(X), local().fit_predict(X))
    lists = X.to_numpy().tolist() if framed else X.tolist()
    assert_array_equal(on_dask().fit(lists).labels_, local().fit(lists).labels_)


def test_rows_in_memory_are_asked_of_a_model_of_blocks_and_the_other_way_round():
    X = blobs(FEW)
    of_blocks, of_rows = on_dask().fit(as_array(X, LENGTHS)), on_dask().fit(X)
    assert_array_equal(of_blocks.predict(X), of_rows.labels_)
    assert_array_equal(of_rows.predict(as_array(X, LENGTHS)).compute(), of_rows.labels_)


# --- one machine ----------------------------------------------------------------------------------


def test_a_local_model_answers_the_same(tmp_path):
    frame = as_pandas(blobs(missing=0.1))
    model = on_dask(n_memories=20, max_epochs=200).fit(as_frame(frame, MANY_LENGTHS))
    plain = model.to_local()
    assert type(plain) is amclust.ClAM
    assert not hasattr(plain, "client")
    assert_same_fit(model, plain)
    for method in ("predict", "predict_proba", "transform", "energy", "recall", "complete"):
        answer = getattr(plain, method)(frame)
        assert_array_equal(np.asarray(getattr(model, method)(frame)), np.asarray(answer))
    model.save(tmp_path / "model.amc")
    loaded = amclust.load(tmp_path / "model.amc")
    assert type(loaded) is amclust.ClAM
    assert_array_equal(loaded.predict(frame), computed(model.labels_))
    assert loaded.score(frame) == model.score(as_frame(frame, MANY_LENGTHS))
    with pytest.raises(ValueError, match="not fitted"):
        on_dask().to_local()


def test_displays_take_a_local_model():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from amclust.plotting import BasinsDisplay

    X = blobs(FEW)
    model = on_dask().fit(as_array(X, LENGTHS))
    assert BasinsDisplay.from_estimator(model.to_local(), X).ax_ is not None
    plt.close("all")


@pytest.mark.parametrize("kind", ["array", "frame", "list"])
def test_a_report_is_of_rows_of_dask(kind, tmp_path):
    pytest.importorskip("plotly")
    X = blobs(FEW)
    frame = as_pandas(X)
    rows = {
        "array": as_array(X, LENGTHS),
        "frame": as_frame(frame, LENGTHS),
        "list": as_blocks(frame, LENGTHS),
    }[kind]
    model = on_dask().fit(rows)
    page = model.report(rows, tmp_path / "report.html", title="Blocks of rows").read_text()
    assert "Blocks of rows" in page
    assert ("column 1" in page) == (kind != "array")


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "frame", "list", "cluster"])
def test_blocks_are_learned_one_after_the_other(kind, request):
    X, weights = blobs(missing=0.1), some_weights() + 0.5
    table = as_pandas(X) if kind == "frame" else X
    rows = {"frame": as_frame, "list": as_blocks}.get(kind, as_array)(table, MANY_LENGTHS)
    client = request.getfixturevalue("client") if kind == "cluster" else None
    model = OnDask(4, random_state=0, client=client)
    given = as_blocks(weights, MANY_LENGTHS)
    model.partial_fit(rows, sample_weight=given).partial_fit(rows, sample_weight=given)
    expected = Local(4, random_state=0)
    for _ in range(2):
        for block, values in zip(cut(table, MANY_LENGTHS), cut(weights, MANY_LENGTHS), strict=True):
            if len(block):
                expected.partial_fit(block, sample_weight=values)
    assert_same_fit(model, expected)
    assert model.optimizer_state_.steps == expected.optimizer_state_.steps
    assert_array_equal(np.asarray(computed(model.labels_)), expected.predict(table))


def test_learning_goes_on_from_a_fit():
    X = blobs()
    model = on_dask().fit(as_array(X, MANY_LENGTHS)).partial_fit(as_array(X[:100], (60, 40)))
    expected = local().fit(X).partial_fit(X[:60]).partial_fit(X[60:100])
    assert_same_fit(model, expected)
    model.partial_fit(X[100:150])
    assert_same_fit(model, expected.partial_fit(X[100:150]))


def test_a_failing_stream_leaves_the_estimator_as_it_was():
    X = blobs(FEW)
    model = on_dask().fit(as_array(X, LENGTHS))
    before = dict(vars(model))
    bad = X.copy()
    bad[-1] = np.inf
    with pytest.raises(ValueError, match="Block 3 of X: Input X contains infinity"):
        model.partial_fit(as_array(bad, LENGTHS))
    with pytest.raises(ValueError, match="3 features"):
        model.partial_fit(as_array(X[:, :2], LENGTHS))
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


# --- search ---------------------------------------------------------------------------------------

SPACE = {"learning_rate": [0.05, 0.2], "beta_factor": [0.5, 1.0, 2.0]}


@pytest.mark.parametrize(
    ("kind", "n"), [("array", FEW), ("array", MANY), ("frame", MANY), ("cluster", MANY)]
)
def test_a_search_finds_the_same(kind, n, request):
    X = blobs(n, missing=0.1)
    lengths = LENGTHS if n == FEW else MANY_LENGTHS
    table, rows = X, as_array(X, lengths)
    if kind == "frame":
        table, rows = as_pandas(X), as_frame(X, lengths)
    client = request.getfixturevalue("client") if kind == "cluster" else None
    settings = {
        "n_clusters": [3, 4],
        "space": SPACE,
        "budget": 400,
        "n_init": 2,
        "max_epochs": 40,
        "min_epochs": 10,
        "random_state": 0,
    }
    expected = ClAMSearch(estimator=Local(), **settings).fit(table)
    search = ClAMSearch(estimator=OnDask(client=client), **settings).fit(rows)
    assert search.best_score_ == expected.best_score_
    assert search.best_params_ == expected.best_params_
    for name, column in expected.results_dict_.items():
        assert_array_equal(search.results_dict_[name], column)
    best = search.best_estimator_
    assert type(best) is OnDask
    assert best.client is client
    assert_array_equal(best.memories_, expected.best_estimator_.memories_, strict=True)
    assert_same_records(best.runs_, expected.best_estimator_.runs_)
    labels = search.predict(rows)
    assert dask.is_dask_collection(labels)
    assert_array_equal(np.asarray(labels.compute()), expected.labels_)
    assert_array_equal(np.asarray(computed(search.labels_)), expected.labels_)
    assert search.score(rows) == expected.score(table)


# --- the current client ---------------------------------------------------------------------------


def test_without_a_client_the_current_one_is_taken(client, monkeypatch):
    used = []
    original = type(client).compute

    def compute(self, *given, **named):
        used.append(self)
        return original(self, *given, **named)

    monkeypatch.setattr(type(client), "compute", compute)
    on_dask().fit(as_array(blobs(FEW), LENGTHS))
    assert used
    assert all(one is client for one in used)


def test_progress_is_shown_when_it_is_asked_for(client, capfd):
    X = blobs(FEW)
    on_dask().fit(as_array(X, LENGTHS))
    assert capfd.readouterr().err == ""
    for lengths in (LENGTHS, (FEW,)):
        model = on_dask(verbose=1).fit(as_array(X, lengths))
        assert "ClAM: chose restart" in "".join(capfd.readouterr())
        assert_same_fit(model, local().fit(X))


def test_nothing_is_left_running():
    before = threading.active_count()
    on_dask().fit(as_array(blobs(FEW), LENGTHS))
    assert threading.active_count() <= before + dask.system.CPU_COUNT


@pytest.mark.filterwarnings("ignore:.*no value at all")
def test_a_stream_may_begin_with_blocks_of_nothing():
    X = blobs(FEW)
    X[:50] = np.nan
    model = on_dask().partial_fit(as_array(X, LENGTHS))
    expected = local().partial_fit(X[50:90]).partial_fit(X[90:])
    assert_array_equal(model.network_.memories, expected.network_.memories)
    with pytest.raises(ValueError, match="No row of X has an observed value"):
        on_dask().partial_fit(as_array(np.full((120, X.shape[1]), np.nan), LENGTHS))


def test_sizes_count_what_is_known_of_missing_values():
    X = blobs()
    complete = local().fit(X).network_
    X[0, 0] = np.nan
    network = local().fit(X).network_
    known = network.geometry.completion
    assert sizeof(network) > known.precisions.nbytes + known.means.nbytes
    assert sizeof(network) > network.memories.nbytes + sizeof(known)
    assert sizeof(network.geometry) >= sizeof(known) > sizeof(complete.geometry.completion)
