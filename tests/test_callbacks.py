"""Callbacks of scikit-learn: what they see of a fit, and that they change nothing of it."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from amclust import ClAM, ClAMSearch

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9")

# A few epochs are enough here.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def table(n=90):
    return make_blobs(n, 3, centers=3, random_state=0)


def make(**params):
    return ClAM(**({"n_clusters": 3, "n_init": 3, "random_state": 0, "max_epochs": 12} | params))


class Log:
    """What a callback was told, in order; `act` may raise, or ask to stop."""

    def __init__(self, act=lambda context: None):
        self.begun, self.ended, self.events, self._act = [], [], [], act

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(path(context))

    def on_fit_task_end(self, estimator, context):
        self.ended.append(path(context))
        return self._act(context)


class Everywhere(Log):
    """The same, handed on to the estimators inside of others."""

    max_propagation_depth = None


def path(context):
    steps = [] if context.parent is None else path(context.parent)
    return (*steps, context.task_name, context.task_id)


def assert_same(model, other):
    assert_array_equal(model.memories_, other.memories_)
    assert_array_equal(model.labels_, other.labels_)
    assert_array_equal(model.loss_curve_, other.loss_curve_)
    assert_array_equal(model.runs_, other.runs_)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"max_epochs": 100},
        {"objective": "completion", "record_epochs": [0, 4]},
        {"objective": "reconstruction", "n_jobs": 2},
        {"n_memories": 12},
        {"contamination": 0.1},
        {"batch_size": 16, "weights": "learn"},
        {"size_min": 20},
        pytest.param({"backend": "torch"}, marks=pytest.mark.torch),
    ],
    ids=str,
)
def test_a_watched_fit_finds_the_same(params):
    if "backend" in params:
        pytest.importorskip("torch")
    X, _ = table()
    log = Log()
    model = make(**params).set_callbacks(log)
    assert_same(model.fit(X), make(**params).fit(X))
    assert log.events == ["setup", "teardown"]
    assert len(set(log.begun)) == len(log.begun)
    assert sorted(log.begun) == sorted(log.ended)  # whatever begins ends, once
    assert log.ended[-1] == ("fit", 0)


def test_every_epoch_of_every_restart_is_seen():
    X, _ = table()
    log = Log()
    model = make().set_callbacks(log).fit(X)
    for restart, epochs in enumerate(model.runs_["n_iter"]):
        above = ("fit", 0, "restart", restart)
        assert [at for at in log.ended if at[:4] == above] == [
            *[(*above, "epoch", epoch) for epoch in range(epochs)],
            above,
        ]
    assert len(model.runs_) == 3


def test_restarts_that_are_not_trained_are_over_at_once():
    X, _ = table(1200)
    log = Log()
    model = make(n_init=10).set_callbacks(log).fit(X)
    trained = np.count_nonzero(model.runs_["n_iter"])
    assert trained < 10
    assert len([at for at in log.ended if len(at) == 4]) == 10
    assert len([at for at in log.begun if len(at) == 6]) == model.runs_["n_iter"].sum()


def test_a_callback_stops_a_restart():
    X, _ = table()
    log = Log(lambda context: context.task_name == "epoch" and context.task_id == 2)
    model = make(early_stopping=False).set_callbacks(log).fit(X)
    assert_array_equal(model.runs_["n_iter"], 3)


def test_a_callback_stops_all_restarts():
    X, _ = table()
    first = []

    def act(context):
        if context.task_name == "epoch":
            return context.parent.task_id == 1 and context.task_id == 4
        return context.task_name == "restart" and not first and not first.append(1)

    model = make(early_stopping=False).set_callbacks(Log(act)).fit(X)
    assert_array_equal(model.runs_["n_iter"], 5)


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_ctrl_c_leaves_the_estimator_as_it_was(error):
    X, _ = table()
    model = make().fit(X[:60])

    def act(context):
        if context.task_name == "epoch" and context.task_id == 3:
            raise error

    log = Log(act)
    before = vars(model.set_callbacks(log)).copy()
    with pytest.raises(error):
        model.fit(X)
    assert vars(model) == before
    assert log.events == ["setup", "teardown"]
    assert len(model.labels_) == 60


def test_scikit_learn_shows_progress(capsys):
    pytest.importorskip("rich")
    X, _ = table()
    make().set_callbacks(callback.ProgressBar()).fit(X)
    shown = capsys.readouterr().out
    assert "ClAM - fit" in shown
    assert all(f"ClAM - restart #{run}" in shown for run in range(3))
    assert "100%" in shown
    search().set_callbacks(callback.ProgressBar()).fit(X)
    assert "ClAMSearch - rung #0" in capsys.readouterr().out
    assert "RichProgressMonitor" not in [type(one).__name__ for one in threading.enumerate()]


def test_scikit_learn_scores_every_epoch():
    X, y = table()
    monitor = callback.ScoringMonitor(scoring=["adjusted_rand_score"])
    model = make(init="random", objective="completion").set_callbacks(monitor)
    model.fit(X, y)
    log = monitor.get_logs().data
    epochs = [row for row in log if row["task_name"] == "epoch"]
    assert len(epochs) == model.runs_["n_iter"].sum()
    (chosen,) = np.flatnonzero(model.runs_["chosen"])
    (end,) = [row for row in log if row["task_id_path"] == (0, chosen)]
    assert end["adjusted_rand_score"] == pytest.approx(adjusted_rand_score(y, model.labels_))
    assert len({row["adjusted_rand_score"] for row in epochs}) > 1


def test_any_score_is_monitored():
    X, _ = table()
    scoring = {"silhouette": lambda model, X, y: model.score(X)}
    monitor = callback.ScoringMonitor(scoring=scoring)
    model = make().set_callbacks(monitor)
    model.fit_predict(X, np.zeros(len(X)))
    (whole,) = [row for row in monitor.get_logs().data if row["task_name"] == "fit"]
    assert whole["silhouette"] == pytest.approx(model.score(X))


def test_tasks_join_those_of_other_estimators():
    X, _ = table()
    log = Everywhere()
    pipe = make_pipeline(StandardScaler(), make()).set_callbacks(log).fit(X)
    runs = pipe[-1].runs_
    assert len([at for at in log.ended if "epoch" in at]) == runs["n_iter"].sum()
    log = Everywhere()
    GridSearchCV(make(), {"n_clusters": [2, 3]}, cv=2).set_callbacks(log).fit(X)
    assert sorted(log.begun) == sorted(log.ended)
    assert [at for at in log.ended if "epoch" in at]


def test_one_more_pass_is_one_task():
    X, _ = table()
    log = Log()
    model = make().set_callbacks(log).partial_fit(X)
    assert log.ended == [("fit", 0)]
    assert_array_equal(model.memories_, make().partial_fit(X).memories_)


def search(**params):
    return ClAMSearch(
        3, space={"step_size": [0.3, 0.5]}, n_init=2, min_epochs=2, max_epochs=18, budget=60,
        random_state=0, **params,
    )  # fmt: skip


def test_a_watched_search_finds_the_same():
    X, y = table()
    log, monitor = Log(), callback.ScoringMonitor(scoring=["adjusted_rand_score"])
    watched, alone = search().set_callbacks(log, monitor).fit(X, y), search().fit(X)
    assert_array_equal(watched.labels_, alone.labels_)
    for name, values in alone.results_dict_.items():
        assert_array_equal(watched.results_dict_[name], values)
    assert sorted(log.begun) == sorted(log.ended)
    rungs = [at for at in log.ended if len(at) == 4]
    assert rungs == [("fit", 0, "rung", at) for at in range(len(watched.rungs_))]
    trained = [at[-1] for at in log.ended if len(at) == 6]
    assert sorted(trained) == sorted(watched.results_dict_["run"])
    scored = [row for row in monitor.get_logs().data if row["task_name"] == "rung"]
    assert len(scored) == len(rungs)
    assert all(np.isfinite(row["adjusted_rand_score"]) for row in scored)


def test_an_interrupted_search_goes_on():
    X, _ = table()

    def act(context):
        if context.task_name == "rung":
            raise KeyboardInterrupt

    log = Log(act)
    one = search().set_callbacks(log)
    with pytest.raises(KeyboardInterrupt):
        one.fit(X)
    assert not hasattr(one, "best_estimator_")
    assert log.events == ["setup", "teardown"]
    one.set_callbacks(again := Log()).fit(X)
    assert_array_equal(one.labels_, search().fit(X).labels_)
    rungs = [at for at in again.ended if len(at) == 4]
    assert rungs == [("fit", 0, "rung", at) for at in range(len(one.rungs_))]


def test_a_callback_ends_a_search():
    X, _ = table()
    one = search().set_callbacks(Log(lambda context: context.task_name == "rung")).fit(X)
    assert set(one.results_dict_["rung"]) == {0}
    assert len(one.labels_) == len(X)


def test_callbacks_are_not_stored(tmp_path):
    import amclust

    X, _ = table()
    model = make().set_callbacks(Log()).fit(X)
    model.save(tmp_path / "model.amc")
    assert not hasattr(amclust.load(tmp_path / "model.amc"), "_skl_callbacks")
