"""ClAMSearch: the budget, halving, collapsed runs, interrupts, checkpoints, spaces and manners."""

import contextlib
import io
import itertools
import math
import os
import pickle
import re
import sys
from typing import NamedTuple
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from native import plan_of, rows_of
from numpy.testing import assert_array_equal
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from amclust import ClAM, ClAMSearch, _halving, _native, load
from amclust._halving import TABLE_DTYPE, make_rungs, max_run_epochs, plan_rungs, ranked
from amclust._judging import order_runs
from amclust._space import PRESETS, Space
from amclust.io.container import FileFormatError, read, write
from amclust.io.state import SEARCH

SPACE = {
    "objective": ["silhouette", "completion"],
    "beta_factor": [0.5, 1.0],
    "learning_rate": [0.03, 0.1],
}


def table(n=60, d=3, k=3, seed=0, std=3.0, holes=0.0):
    X = make_blobs(n, d, centers=k, cluster_std=std, random_state=seed)[0]
    if holes:
        X[:, 1:][np.random.default_rng(seed).random((n, d - 1)) < holes] = np.nan
    return X


def make(k=3, **settings):
    """A search of 32 runs in three rungs: of 4, 12 and 36 epochs."""
    small = {"space": SPACE, "n_init": 4, "budget": 400, "max_epochs": 36, "min_epochs": 4}
    return ClAMSearch(k, **(small | {"random_state": 0, "n_jobs": 1} | settings))


def alone(**settings):
    """A fit of what one configuration of `make` trains."""
    return ClAM(3, n_init=4, max_epochs=36, random_state=0, n_jobs=1, **settings)


def assert_same_search(one, other):
    pd.testing.assert_frame_equal(one.results_, other.results_)
    assert one.best_index_ == other.best_index_
    assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    assert_array_equal(one.best_estimator_.loss_curve_, other.best_estimator_.loss_curve_)
    assert_same_runs(one.best_estimator_, other.best_estimator_)


def assert_same_runs(one, other):
    pd.testing.assert_frame_equal(pd.DataFrame(one.runs_), pd.DataFrame(other.runs_))


class Call(NamedTuple):
    plan: _native.Plan
    took: int  # epochs


@pytest.fixture
def calls(monkeypatch):
    """The runs of every native call, as they are made, with the epochs that each took."""
    made, train = [], _native.train

    def counted(rows, indices, weights, plans, threads, progress):
        records = train(rows, indices, weights, plans, threads, progress)
        before = [plan.earlier.n_epochs if plan.earlier else 0 for plan in plans]
        took = [record.n_epochs - n for record, n in zip(records, before, strict=True)]
        made.append([Call(*call) for call in zip(plans, took, strict=True)])
        return records

    monkeypatch.setattr(_native, "train", counted)
    return made


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("objective", ["completion", "reconstruction", "silhouette"])
def test_a_paused_run_goes_on_as_if_it_had_not_stopped(objective, metric, instruction_set):
    X = table(50, 5, holes=0.1).astype(np.float32)
    seeds = np.nan_to_num(X[:3])

    def train(**changes):
        settings = {"learn_weights": True, "reseed": True, "max_epochs": 30, "batch_size": 16}
        plan = plan_of(seeds, objective, metric=metric, **settings, **changes)
        return _native.train(rows_of(X, metric), None, None, [plan], 1, None)[0]

    whole = train()
    half = train(pause_at=10)
    assert half.n_epochs == 10
    for earlier in (half, pickle.loads(pickle.dumps(half))):
        rest = train(earlier=earlier)
        for one, other in zip(whole.__getstate__(), rest.__getstate__(), strict=True):
            assert_array_equal(one, other)


def test_a_run_that_was_halved_is_the_same_as_one_that_was_not():
    X = table(holes=0.1)
    halved, full = make().fit(X).results_, make(budget=None).fit(X).results_
    assert set(full["epochs"]) <= set(range(1, 37))
    last = halved[halved["rung"] == 2]
    assert 0 < len(last) < len(full)
    same = full.set_index("run").loc[last["run"]].reset_index()
    columns = [name for name in full if name not in ("rung", "chosen")]
    pd.testing.assert_frame_equal(same[columns], last[columns].reset_index(drop=True))


@pytest.mark.parametrize(
    ("space", "estimator", "holes"),
    [
        ({"beta_factor": [1.0]}, {}, 0.0),
        ({"beta_factor": [1.0]}, {}, 0.1),
        ({"beta_factor": [1.0]}, {"metric": "cosine"}, 0.1),
        ({"beta_factor": [1.0]}, {"metric": "mahalanobis"}, 0.0),
        ({"beta": ["auto"], "weights": ["learn"]}, {"objective": "completion"}, 0.0),
        ({"beta": [1.0], "batch_size": [16], "mask_value": ["max"]}, {}, 0.1),
        ({"n_steps": [4], "step_size": ["1/n_steps"], "learning_rate": [0.03]}, {}, 0.1),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_configuration_without_halving_is_a_fit(space, estimator, holes):
    X = np.vstack([table(holes=holes)] * 2)  # with repeated rows
    weight = np.linspace(0, 1, len(X))
    search = make(space=space, estimator=ClAM(**estimator), budget=None)
    search.fit(X, sample_weight=weight)
    changes = {name: values[0] for name, values in space.items() if name != "beta_factor"}
    if "step_size" in changes:
        changes["step_size"] = 0.25
    model = alone(**(estimator | changes)).fit(X, sample_weight=weight)
    assert_array_equal(search.cluster_centers_, model.cluster_centers_)
    assert_array_equal(search.labels_, model.labels_)
    assert_same_runs(search.best_estimator_, model)
    assert search.best_score_ == model.silhouette_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_configuration_is_what_it_is_alone():
    X = np.vstack([table(40, holes=0.2)] * 2)
    weight = np.linspace(0, 1, len(X))
    grid = {"mask_value": ["mean", "max"], "batch_size": [16, 500], "objective": ["silhouette"]}
    search = make(space=grid, budget=None).fit(X, sample_weight=weight)
    for (mask_value, batch_size), part in search.results_.groupby(["mask_value", "batch_size"]):
        settings = {"mask_value": mask_value, "batch_size": int(batch_size)}
        model = alone(objective="silhouette", **settings).fit(X, sample_weight=weight)
        for column in ("loss", "silhouette"):
            assert_array_equal(part[column], model.runs_[column])
    # Missing values are completed before training, and do not start from the mask value.
    (first, one), (second, other) = search.results_.groupby("mask_value")
    assert (first, second) == ("max", "mean")
    assert_array_equal(one["loss"], other["loss"])


# --- the budget -----------------------------------------------------------------------------------

positive = st.integers(1, 40)


@given(st.none() | positive, positive, st.integers(0, 3000), positive, positive, st.integers(2, 5))
def test_a_plan_keeps_to_the_budget_and_uses_it(
    n_configs, n_init, more, max_epochs, min_epochs, eta
):
    budget = n_init * max_epochs + more
    rungs = plan_rungs(n_configs, n_init, budget, 1, max_epochs, min_epochs, eta)
    assert max_run_epochs(rungs) <= budget
    assert rungs[-1].epochs == max_epochs
    assert len(rungs) == 1 or rungs[0].epochs >= min(min_epochs, max_epochs) - 0.5
    for before, after in itertools.pairwise(rungs):
        assert before.epochs < after.epochs
        assert after.n_runs in (1, before.n_runs // eta)
    begun = rungs[0].n_runs // n_init
    assert begun * n_init == rungs[0].n_runs
    if begun == n_configs:  # no plan with less halving was affordable
        dearer = make_rungs(begun * n_init, len(rungs) - 1, max_epochs, eta)
        assert len(rungs) == 1 or max_run_epochs(dearer) > budget
    else:  # one configuration more was not
        dearer = make_rungs((begun + 1) * n_init, len(rungs), max_epochs, eta)
        assert max_run_epochs(dearer) > budget


def test_a_budget_that_is_too_small_says_what_is_needed():
    with pytest.raises(ValueError, match="budget must be at least 48 .*got 47"):
        make(budget=47).fit(table())
    assert make(budget=48).fit(table()).n_configs_ == 1
    with pytest.raises(ValueError, match="at least 96 .*each of 2 numbers of clusters.*got 95"):
        make([2, 3], budget=95).fit(table())


@pytest.mark.parametrize("budget", [60, 200, 400, 1000, 5000])
@pytest.mark.parametrize("k", [3, [2, 4]])
def test_no_more_epochs_are_trained_than_the_budget_allows(k, budget, calls):
    parts = np.size(k)
    search = make(k, budget=budget * parts).fit(table())
    trained = sum(call.took for made in calls for call in made)
    assert search.budget_used_ == trained <= budget * parts
    assert search.results_.groupby("run")["epochs"].max().sum() == trained
    assert len(calls) == len(search.rungs_)  # one native call a rung
    assert [len(runs) for runs in calls] <= search.rungs_["n_runs"].tolist()
    assert search.n_candidates_ == 8
    assert search.n_configs_ == search.results_["config"].nunique()
    assert (search.n_configs_ == 8) == (budget >= 400)


def test_without_a_budget_everything_is_trained_to_the_end(calls):
    search = make(budget=None, estimator=ClAM(early_stopping=False)).fit(table())
    assert len(calls) == len(search.rungs_) == 1
    assert (search.results_["epochs"] == 36).all()
    assert search.budget_used_ == 8 * 4 * 36


# --- halving --------------------------------------------------------------------------------------


def collapsing(scale="standard"):
    """An outlier, and a temperature at which all memories but one or two go to one place."""
    X = np.vstack([table(60, 2, k=1, std=1.0), [[40.0, 40.0]]])
    high = 1.0 if scale is None else 30.0  # the outlier makes the standard deviation about 5
    space = {"objective": ["completion"], "beta": [1e-6, high], "learning_rate": [0.03, 0.3]}
    return X, make(4, space=space, estimator=ClAM(early_stopping=False, scale=scale))


@pytest.mark.parametrize("k", [3, [2, 4], "collapsing"])
def test_the_best_go_on(k):
    X, search = collapsing() if k == "collapsing" else (table(), None)
    search = search or make(k, estimator=ClAM(early_stopping=False))
    results = search.fit(X).results_
    parts = [part for _, part in results.groupby("n_clusters")]
    assert len(parts) == np.size(search.n_clusters)
    for part in parts:
        rungs = [rung for _, rung in part.groupby("rung")]
        assert [len(rung) * len(parts) for rung in rungs] == search.rungs_["n_runs"].tolist()
        assert len(rungs) > 1
        for here, after in itertools.pairwise(rungs):
            assert set(after["run"]) < set(here["run"])
            columns = here.fillna(-1)[["run", "living_clusters", "silhouette"]]
            ranks = {run: tuple(rank) for run, *rank in columns.itertuples(index=False)}
            kept = min(ranks[run] for run in after["run"])
            assert all(ranks[run] <= kept for run in set(here["run"]) - set(after["run"]))


@pytest.mark.parametrize("scale", ["standard", None])
def test_a_collapsed_run_never_wins_over_a_living_one(scale):
    X, search = collapsing(scale)
    search.fit(X)
    results = search.results_
    best, collapsed = results.loc[search.best_index_], results.loc[search.best_collapsed_index_]
    assert best["living_clusters"] == 4
    assert collapsed["living_clusters"] < 4
    assert collapsed["silhouette"] > search.best_score_  # the published rule would take it
    dead = results[results["living_clusters"] < 4]
    assert collapsed["silhouette"] == dead["silhouette"].max()
    living = results[results["living_clusters"] == 4]
    assert search.best_score_ == living["silhouette"].max()
    assert len(np.unique(search.labels_)) == 4


def test_when_all_collapse_it_warns():
    X, search = collapsing()
    search.set_params(space={"objective": ["completion"], "beta": [1e-6], "learning_rate": [1.0]})
    with pytest.warns(ConvergenceWarning, match="Every run has empty clusters.* of 4"):
        search.fit(X)
    best = search.results_.loc[search.best_index_]
    assert best["living_clusters"] == search.results_["living_clusters"].max() < 4


def test_converged_runs_are_not_trained_again(calls):
    search = make(max_epochs=900, min_epochs=100, budget=9000).fit(table(std=0.5))
    results = search.results_
    assert results["converged"].any()
    assert not results.duplicated(["run", "epochs"]).any()
    assert all(call.took > 0 for made in calls for call in made)
    # They keep their places among those that go on.
    trained = [np.count_nonzero(results["rung"] == rung) for rung in range(len(search.rungs_))]
    assert sum(trained) < search.rungs_["n_runs"].sum()


def test_of_equals_the_one_trained_longer_wins():
    rows = np.zeros(4, TABLE_DTYPE)
    rows["rung"] = [0, 2, 2, 1]
    assert_array_equal(ranked(rows), [1, 2, 3, 0])


def test_nothing_collapsed():
    search = make().fit(table(std=0.5))
    assert (search.results_["living_clusters"] == 3).all()
    assert search.best_collapsed_index_ is None


def test_runs_without_a_number_rank_last():
    dead, losses = np.array([0, 0, 1, 1]), np.array([np.nan, 1, 0, np.nan])
    silhouettes = np.array([np.nan, 0.1, 0.9, np.nan])
    assert_array_equal(order_runs(dead, silhouettes, losses, "silhouette"), [1, 0, 2, 3])


def test_what_was_best_early_is_not_lost():
    X = table(80, 4, k=5)
    searches = [make(5, random_state=seed).fit(X) for seed in range(4)]
    for search in searches:
        living = search.results_[search.results_["living_clusters"] == 5]
        assert search.best_score_ == living["silhouette"].max()
        assert search.results_.loc[search.best_index_, "epochs"] == search.best_estimator_.n_iter_
        assert search.score(X) == pytest.approx(search.best_score_, abs=1e-6)
    assert min(search.results_.loc[search.best_index_, "rung"] for search in searches) < 2


@pytest.mark.parametrize("scale", ["standard", None])
def test_several_numbers_of_clusters_are_compared_by_silhouette(calls, scale):
    X = table(std=0.5, seed=1)
    search = make([2, 3, 5], budget=1200, estimator=ClAM(scale=scale)).fit(X)
    assert search.best_params_["n_clusters"] == search.best_estimator_.n_clusters == 3
    assert {len(call.plan.network.memories) for call in calls[0]} == {2, 3, 5}
    sizes = search.results_[search.results_["rung"] == 0].groupby("n_clusters").size()
    assert sizes.tolist() == [32, 32, 32]


def test_runs_of_a_seed_begin_alike(calls, monkeypatch):
    seeded = []
    monkeypatch.setattr(
        _native, "seed", lambda *args, seed=_native.seed: seeded.append(args[3]) or seed(*args)
    )
    make([2, 3], budget=800).fit(table())
    assert sorted(seeded) == [2, 3]
    plans = [call.plan for call in calls[0]]
    for seed in {plan.objective.seed for plan in plans}:
        for k in (2, 3):
            starts = [plan.network.memories for plan in plans if plan.objective.seed == seed]
            starts = [start for start in starts if len(start) == k]
            assert len(starts) == 8
            assert all(np.array_equal(start, starts[0]) for start in starts)


def test_given_memories_are_used_once():
    X = table()
    search = make(estimator=ClAM(init=X[:3])).fit(X)
    assert search.results_["seed"].nunique() == 1
    assert search.n_configs_ == 8


# --- calls ----------------------------------------------------------------------------------------


def test_results_do_not_depend_on_how_runs_are_shared_out(calls, monkeypatch):
    X = table(holes=0.1)
    search = make().fit(X)
    before = len(calls)
    monkeypatch.setattr(_halving, "CALL_WORK", 1.0)
    assert_same_search(make(n_jobs=2).fit(X), search)
    assert len(calls) - before > 2 * before
    assert max(len(runs) for runs in calls[before:]) == 2


def test_batch_sizes_on_both_sides_of_the_number_of_rows(calls):
    X = np.vstack([table(40)] * 2)
    search = make(space={"batch_size": [16, 32, 80, 500]}, budget=None).fit(X)
    assert [len(runs) for runs in calls] == [8, 8]
    results = search.results_
    losses = results.pivot(index="seed", columns="batch_size", values="loss")
    assert_array_equal(losses[80], losses[500])  # both are all rows
    assert (losses[80] != losses[32]).all()
    assert (losses[16] != losses[32]).all()


# --- interrupts -----------------------------------------------------------------------------------


@contextlib.contextmanager
def interrupted_in_call(number, error=KeyboardInterrupt):
    """End training in the given native call, while calls are short."""
    train, made = _native.train, []

    def stopping(*args):
        made.append(args)
        if len(made) == number:
            raise error
        return train(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_halving, "CALL_WORK", 60 * 3 * 3 * 4 * 10)
        patch.setattr(_native, "train", stopping)
        yield


@pytest.mark.parametrize("number", [1, 2, 4, 5, 6])
def test_a_search_goes_on_after_an_interrupt(number, calls):
    X, whole = table(), make().fit(table())
    search = make()
    before = len(calls)
    with interrupted_in_call(number), pytest.raises(KeyboardInterrupt):
        search.fit(X)
    assert len(calls) - before == number - 1
    with pytest.raises(NotFittedError):
        search.predict(X)
    search = pickle.loads(pickle.dumps(search))  # the state travels with it
    first = sum(len(runs) for runs in calls[before:])
    before = len(calls)
    search.fit(X)
    assert first + sum(len(runs) for runs in calls[before:]) == len(whole.results_)
    assert_same_search(search, whole)
    assert_same_search(search.fit(X), whole)  # and from the start


def test_an_interrupt_leaves_an_earlier_fit_as_it_was():
    X = table()
    search = make().fit(X)
    labels, score = search.labels_, search.best_score_
    with interrupted_in_call(2), pytest.raises(KeyboardInterrupt):
        search.fit(table(seed=1))
    assert_array_equal(search.predict(X), labels)
    assert search.best_score_ == score


@pytest.mark.parametrize(
    ("settings", "rows"),
    [
        *((settings, {}) for settings in ({"budget": 600}, {"estimator": ClAM(tol=0.1)})),
        *(({}, rows) for rows in ({"X": table(seed=1)}, {"sample_weight": np.linspace(0, 1, 60)})),
    ],
)
def test_another_search_begins_anew(settings, rows):
    search, rows = make(), {"X": table()} | rows
    with interrupted_in_call(5), pytest.raises(KeyboardInterrupt):
        search.fit(table())
    search.set_params(**settings)
    assert_same_search(search.fit(**rows), make(**settings).fit(**rows))


def test_a_search_without_a_seed_goes_on_with_what_it_drew():
    X = table()
    search = make(random_state=None, budget=200)
    with interrupted_in_call(2), pytest.raises(KeyboardInterrupt):
        search.fit(X)
    drawn = search._unfinished[1]
    search.fit(X)
    begun = search.results_[search.results_["rung"] == 0]
    assert_array_equal(begun["seed"], drawn.runs["seed"])
    assert_array_equal(begun["loss"][: len(drawn.judged)], drawn.judged["loss"])


# --- checkpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2, 4, 6])
def test_a_search_goes_on_in_another_process(number, tmp_path):
    X, whole = table(), make().fit(table())
    path = tmp_path / "search.amc"
    with interrupted_in_call(number), pytest.raises(KeyboardInterrupt):
        make(checkpoint=path).fit(X)
    assert [file.name for file in tmp_path.iterdir()] == ["search.amc"]
    assert_same_search(make(checkpoint=str(path), n_jobs=2).fit(X), whole)


def test_a_process_killed_after_a_rung_lost_only_what_came_later(tmp_path, calls):
    X, path, files = table(), tmp_path / "search.amc", []
    replace = os.replace
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            os, "replace", lambda *paths: files.append((replace(*paths), path.read_bytes())[1])
        )
        whole = make(checkpoint=path).fit(X)
    assert len(files) == 3
    for rungs_left, content in zip((2, 1, 0), files, strict=True):
        path.write_bytes(content)
        calls.clear()
        assert_same_search(make(checkpoint=path).fit(X), whole)
        assert len(calls) == rungs_left


def test_a_finished_search_is_read_back(tmp_path, calls):
    X, path = table(), tmp_path / "search.amc"
    search = make(checkpoint=path).fit(X)
    arrays = read(path, SEARCH, "")[1]
    assert not len(arrays["places"])  # nothing is kept that no longer counts
    assert len(arrays["lengths.counts"]) == 1  # but the best
    before = len(calls)
    again = make(checkpoint=path).fit(X)
    assert_same_search(again, search)
    assert len(calls) == before
    assert_array_equal(again.predict(X), search.labels_)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budget": 500}, "budget \\(400 there, 500 here\\)"),
        ({"n_clusters": 4}, "n_clusters \\(\\[3\\] there, \\[4\\] here\\)"),
        ({"eta": 2}, "eta"),
        ({"random_state": 1}, "random_state"),
        ({"max_epochs": 30}, "max_epochs"),
        ({"space": {"beta_factor": [1.0, 2.0]}}, "in: space\\."),
        ({"estimator": ClAM(metric="cosine")}, "metric \\(euclidean there, cosine here\\)"),
        ({"estimator": ClAM(init=np.eye(3))}, "init"),
        ({"X": table().astype(np.float32)}, "which differs in: X\\. Name"),
        ({"X": sparse.csr_array(table())}, "which differs in: X\\. Name"),
        ({"sample_weight": np.ones(60)}, "which differs in: sample_weight\\."),
    ],
)
def test_a_checkpoint_of_another_search_is_refused(changes, message, tmp_path):
    path = tmp_path / "search.amc"
    make(checkpoint=path).fit(table())
    content = path.read_bytes()
    rows = {name: changes[name] for name in ("X", "sample_weight") if name in changes}
    settings = {name: value for name, value in changes.items() if name not in rows}
    with pytest.raises(ValueError, match=f"search.amc' is of another search.*{message}"):
        make(checkpoint=path).set_params(**settings).fit(**({"X": table()} | rows))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("empty", "is not a checkpoint of a search: it is empty"),
        *((damage, "is damaged: .*checksum") for damage in ("cut", "bit")),
        *((damage, "is not .*: it has another format") for damage in ("text", "pickle", "archive")),
        ("model", "is not a checkpoint of a search: it is the file of a model"),
        ("half a state", "is damaged: arrays are missing"),
        ("no fingerprint", "is damaged: AttributeError"),
    ],
)
def test_a_damaged_checkpoint_is_refused(damage, message, tmp_path):
    X, path, archive = table(), tmp_path / "search.amc", io.BytesIO()
    search = make(checkpoint=path).fit(X)
    header, arrays = read(path, SEARCH, "")
    if damage == "model":
        search.save(path)
    elif damage == "half a state":
        write(path, SEARCH, header, {name: arrays[name] for name in arrays if name != "runs"})
    elif damage == "no fingerprint":
        write(path, SEARCH, header | {"fingerprint": None}, arrays)
    else:
        content = bytearray(path.read_bytes())
        place = content.index(np.float64(search.best_score_).tobytes())
        content[place] ^= 1
        np.savez(archive, X=X)
        made = {"empty": b"", "cut": content[:place], "bit": content, "text": b"config,loss\n"}
        made |= {"pickle": pickle.dumps(search), "archive": archive.getvalue()}
        path.write_bytes(made[damage])
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"search.amc' {message}") as caught:
        make(checkpoint=path).fit(X)
    assert not re.search("delete|pickle", str(caught.value), flags=re.IGNORECASE)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("rung", rung) for rung in ("x", True, 1.0, -5, 10**9)),
        *(("best", best) for best in (None, -1, -2, 10**6)),
        *((name, seed) for name in ("config_seed", "sample_seed") for seed in ("a", -1, 2**31)),
        *((name, lambda a: a[:3]) for name in ("seeds", "runs", "alive", "record.values")),
        *((name, lambda a: np.stack([a] * 3)) for name in ("seeds", "alive", "places")),
        *((name, lambda a: a * 0.5) for name in ("seeds", "alive", "record.counts")),
        *((f"record.{name}", lambda a: a.astype(np.float16)) for name in ("values", "curve")),
        *(("places", change) for change in (np.negative, np.zeros_like, lambda a: a + 99)),
        *((f"runs.{name}", lambda a: a + 1) for name in ("config", "n_clusters", "seed", "rung")),
        *((f"judged.{name}", lambda a: a + 99) for name in ("run", "seed", "rung")),
        *(("lengths.curve", change) for change in (np.negative, lambda a: a + 1)),
    ],
)
def test_a_checkpoint_that_no_search_writes_is_refused(name, value, tmp_path):
    X, path = table(), tmp_path / "search.amc"
    with interrupted_in_call(6), pytest.raises(KeyboardInterrupt):
        make(checkpoint=path).fit(X)
    header, arrays = read(path, SEARCH, "")
    name_of_table, _, field = name.partition(".")
    if field in TABLE_DTYPE.names:
        arrays[name_of_table][field] = value(arrays[name_of_table][field])
    elif name in arrays:
        arrays[name] = value(arrays[name])
    else:
        header[name] = value
    write(path, SEARCH, header, arrays)
    with pytest.raises(FileFormatError, match="search.amc' is damaged: (?!.*Error)"):
        make(checkpoint=path).fit(X)


def test_a_checkpoint_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    X, path = table(), tmp_path / "search.amc"
    make(checkpoint=path).fit(X)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError("No space left on device")))
    path.rename(tmp_path / "kept.amc")
    with pytest.raises(OSError, match="(?i)no space left"):
        make(checkpoint=path).fit(X)
    assert [file.name for file in tmp_path.iterdir()] == ["kept.amc"]
    assert (tmp_path / "kept.amc").read_bytes() == before


def test_a_search_that_fails_at_once_leaves_no_checkpoint(tmp_path):
    with interrupted_in_call(1, MemoryError), pytest.raises(MemoryError):
        make(checkpoint=tmp_path / "search.amc").fit(table())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "message"),
    [("nowhere/search.amc", "there is no folder .*nowhere"), (".", "is a folder; name a file")],
)
def test_a_place_that_no_checkpoint_can_have_is_named(tmp_path, place, message):
    with pytest.raises(ValueError, match=f"checkpoint=.*{message}"):
        make(checkpoint=tmp_path / place).fit(table())


# --- spaces ---------------------------------------------------------------------------------------


def test_the_papers_grid_is_that_of_its_table():
    space = Space("paper")
    (grid,) = PRESETS["paper"]
    sizes = {name: len(values) for name, values in grid.items() if len(values) > 1}
    lengths = {"beta": 18, "n_steps": 19, "batch_size": 6, "learning_rate": 4}
    assert sizes == lengths | {"mask_prob": 6, "mask_value": 3}
    assert space.size == math.prod(sizes.values()) == 147_744
    assert (min(grid["beta"]), max(grid["beta"])) == (1e-5, 5.0)
    assert (min(grid["n_steps"]), max(grid["n_steps"])) == (2, 20)
    assert (ClAMSearch().n_init, ClAMSearch().max_epochs) == (10, 200)


def test_the_papers_grid_is_drawn_from():
    search = make(space="paper").fit(table())
    assert search.n_candidates_ == 147_744
    assert search.n_configs_ == 11
    results = search.results_
    np.testing.assert_allclose(results["step_size"] * results["n_steps"], 1.0)
    assert set(results["objective"]) == {"completion"}
    assert search.best_estimator_.early_stopping is False
    assert search.best_params_["step_size"] == search.best_estimator_.step_size
    other = make(space="paper", random_state=1).fit(table()).results_
    assert set(other["beta"]) != set(results["beta"])


def test_drawn_configurations_are_distinct():
    space = Space({"beta": [0.1, 1.0], "n_steps": range(1, 10), "mask_value": ["mean", 0.0]})
    assert space.size == 36
    for n in (35, 36):
        assert len({tuple(config.items()) for config in space.draw(n, seed=0)}) == n


def test_values_may_be_drawn_from_distributions():
    space = {"beta_factor": stats.loguniform(0.1, 10), "n_steps": stats.randint(2, 9)}
    search = make(space=space).fit(table())
    results = search.results_
    assert search.n_candidates_ is None
    assert results["beta_factor"].between(0.1, 10).all()
    assert results["beta_factor"].nunique() == search.n_configs_ > 5
    assert type(search.best_params_["n_steps"]) is int
    assert_same_search(make(space=space).fit(table()), search)
    with pytest.raises(ValueError, match="budget=None.*no end.*distribution"):
        make(space=space, budget=None).fit(table())
    wild = {"step_size": stats.uniform(1, 5)}
    with pytest.raises(ValueError, match="'step_size' parameter of ClAMSearch's space must be"):
        make(space=wild).fit(table())


def test_several_spaces():
    space = [{"beta": [0.1, 0.2]}, {"beta_factor": [2.0], "mask_value": [0.5]}]
    search = make(space=space, budget=None).fit(table())
    results = search.results_.groupby("config").first()
    assert results["beta"].tolist()[:2] == pytest.approx([0.1, 0.2], rel=1e-5)
    assert_array_equal(results["beta_factor"], [np.nan, np.nan, 2.0])
    assert results["mask_value"].tolist() == ["mean", "mean", 0.5]


def test_multiples_of_the_automatic_temperature():
    X = table()
    search = make(space={"beta_factor": [1.0, 3.0]}, budget=None).fit(X)
    by_seed = search.results_.pivot(index="seed", columns="beta_factor", values="beta")
    np.testing.assert_allclose(by_seed[3.0], 3 * by_seed[1.0])
    runs = ClAM(3, n_init=4, random_state=0).fit(X).runs_
    np.testing.assert_allclose(by_seed[1.0][runs["seed"]], runs["beta"])
    assert search.best_estimator_.beta == search.best_params_["beta"]
    assert search.best_estimator_.beta_ == pytest.approx(search.best_params_["beta"])
    assert "beta_factor" not in search.best_params_


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"n_step": [3]}, "cannot be searched: n_step. These can: batch_size, beta, beta_factor"),
        ({"metric": ["cosine"]}, "cannot be searched: metric"),
        ({"n_steps": [3, 0]}, "'n_steps' parameter of ClAMSearch's space must be .*Got 0"),
        ({"step_size": ["1/T"]}, "'step_size' parameter .*1/n_steps.*Got '1/T'"),
        ({"weights": [[1, 2, 3]]}, "'weights' parameter .*'learn'"),
        ({"beta_factor": ["auto"]}, "'beta_factor' parameter"),
        ({"beta": []}, "space\\['beta'\\] must be a list .*got \\[\\]"),
        ({"beta": 0.1}, "space\\['beta'\\] must be a list .*got 0.1"),
        ({"mask_value": "mean"}, "space\\['mask_value'\\] must be a list .*got 'mean'"),
        ({"beta": [1.0], "beta_factor": [1.0]}, "both 'beta' and 'beta_factor'"),
        ([], "space must have at least one dict"),
        ([["beta"]], "a dict or a list of dicts, got \\['beta'\\]"),
        ("papers", "'space' parameter of ClAMSearch must be a str among .*'paper'"),
    ],
)
def test_bad_spaces_are_named(space, message):
    with pytest.raises(ValueError, match=message):
        make(space=space).fit(table())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"n_clusters": k}, f"n_clusters must .*got {re.escape(str(k))}") for k in ([], [2, 0])),
        *(({"n_clusters": k}, f"n_clusters must .*got {re.escape(str(k))}") for k in ([2.5], True)),
        (
            {"n_clusters": 1, "space": "default", "budget": 4000},
            "space='default' searches objective 'silhouette', .*n_clusters of at least 2, got 1",
        ),
        ({"n_clusters": [3, 1]}, "space searches objective 'silhouette', .*at least 2, got 1"),
        ({"n_clusters": "auto"}, "'n_clusters' parameter of ClAMSearch"),
        ({"budget": 0}, "'budget' parameter of ClAMSearch .*Got 0"),
        ({"eta": 1}, "'eta' parameter of ClAMSearch"),
        ({"min_epochs": 0}, "'min_epochs' parameter of ClAMSearch"),
        ({"estimator": "ClAM"}, "'estimator' parameter of ClAMSearch .*'ClAM'"),
        ({"estimator": ClAM(metric="chebyshev")}, "'metric' parameter of ClAM .*'chebyshev'"),
        ({"n_clusters": 61}, "n_clusters=61 must be at most the number of distinct rows"),
    ],
)
def test_bad_parameters_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        make().set_params(**changes).fit(table())


# --- among the others -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "holes"),
    [*itertools.product(["euclidean", "cosine"], [0.0, 0.2]), ("mahalanobis", 0.0)],
)
def test_it_answers_as_its_best_estimator(metric, holes):
    X = table(holes=holes)
    search = make(estimator=ClAM(metric=metric)).fit(X)
    best = search.best_estimator_
    assert_array_equal(search.labels_, search.predict(X))
    for ask in ("transform", "predict_proba", "energy", "entropy", "recall"):
        assert_array_equal(getattr(search, ask)(X), getattr(best, ask)(X), err_msg=ask)
    assert not np.isnan(search.complete(X)).any()
    assert best.metric == metric
    assert best.silhouette_ == search.best_score_
    assert_array_equal(search.labels_, make(estimator=ClAM(metric=metric)).fit_predict(X))


def test_sparse_rows():
    X = table()
    X[np.abs(X) < 2] = 0.0
    thin, dense = make().fit(sparse.csr_array(X)), make().fit(X)
    # Entries are added up in another order than the values of dense rows.
    pd.testing.assert_frame_equal(thin.results_, dense.results_, rtol=1e-3)
    assert thin.best_index_ == dense.best_index_
    assert_array_equal(thin.labels_, dense.labels_)


def test_frames_and_names():
    F = pd.DataFrame(table(), columns=["a", "b", "c"])
    search = make().set_output(transform="pandas").fit(F)
    assert list(search.feature_names_in_) == ["a", "b", "c"]
    assert search.n_features_in_ == 3
    assert list(search.transform(F).columns) == ["clam0", "clam1", "clam2"]
    search.fit(F.to_numpy())
    assert not hasattr(search, "feature_names_in_")


def test_the_results_are_a_frame():
    results = make().fit(table()).results_
    assert list(results.columns) == [
        *("run", "config", "n_clusters", "seed", "objective", "beta_factor", "learning_rate"),
        *("beta", "rung", "epochs", "loss", "silhouette", "living_clusters", "largest_share"),
        *("converged", "chosen"),
    ]
    assert results["chosen"].sum() == 1
    assert results["largest_share"].between(1 / 3, 1).all()
    search = make(space={"weights": [None, "learn"]}).fit(table())
    assert set(search.results_["weights"]) == {None, "learn"}
    best = search.results_.loc[search.best_index_]
    assert best["chosen"]
    assert best["largest_share"] == pytest.approx(np.bincount(search.labels_).max() / 60)


def test_results_without_pandas(monkeypatch):
    search = make().fit(table())
    columns = search.results_dict_
    pd.testing.assert_frame_equal(pd.DataFrame(columns), search.results_, check_dtype=False)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(AttributeError, match="amclust\\[table\\].*results_dict_"):
        _ = search.results_


def test_the_best_estimator_is_an_estimator_like_any():
    X = table()
    search = make().fit(X)
    best = search.best_estimator_
    assert search.best_params_.items() <= best.get_params().items()
    assert best.runs_["chosen"].sum() == 1
    assert len(best.runs_) == 4
    best.partial_fit(X)
    again = clone(search.best_estimator_).fit(X)
    assert again.cluster_centers_.shape == (3, 3)


def test_cloning_and_storing():
    X = table()
    search = make(estimator=ClAM(metric="cosine")).fit(X)
    assert search.get_params()["estimator__metric"] == "cosine"
    copy = clone(search)
    assert not hasattr(copy, "best_estimator_")
    assert_same_search(copy.fit(X), search)
    assert_same_search(pickle.loads(pickle.dumps(search)), search)
    search.set_params(estimator__metric="euclidean").fit(X)
    assert search.best_estimator_.metric == "euclidean"


@pytest.mark.parametrize("name", ["predict", "transform", "score", "complete"])
def test_an_unfitted_search_says_so(name):
    with pytest.raises(NotFittedError):
        getattr(make(), name)(table())
    assert not hasattr(make(), "labels_")


def test_it_is_quiet_unless_asked(capfd):
    make().fit(table())
    assert capfd.readouterr() == ("", "")
    make(verbose=1, budget=200).fit(table())
    out, err = capfd.readouterr()
    assert not out
    assert "5 configurations drawn at random from 8, 20 runs in 3 rung(s)" in err
    assert "rung 1" not in err
    assert "best silhouette" in err
    make(verbose=2).fit(table())
    err = capfd.readouterr().err
    assert "rung 3 of 3: trained 3 runs to epoch 36" in err
    search = make(verbose=1)
    with interrupted_in_call(2), pytest.raises(KeyboardInterrupt):
        search.fit(table())
    assert "stopped; another fit goes on from here" in capfd.readouterr().err


def test_the_best_of_a_search_is_saved(tmp_path):
    X = table()
    search = make().fit(X)
    search.save(tmp_path / "best.amc")
    np.testing.assert_array_equal(load(tmp_path / "best.amc").predict(X), search.labels_)
