"""Memories kept at chosen epochs: `record_epochs`."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from amclust import ClAM, ClAMSearch

X = load_iris().data
HOLES = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
# The runs here are short.
pytestmark = pytest.mark.filterwarnings("ignore:.*improving:sklearn.exceptions.ConvergenceWarning")
BACKENDS = ["native", pytest.param("torch", marks=pytest.mark.torch)]


def model(**parameters):
    settings = {"n_clusters": 3, "n_init": 2, "max_epochs": 30, "random_state": 0}
    return ClAM(**(settings | parameters))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [X, HOLES], ids=["complete", "holes"])
@pytest.mark.parametrize("batch_size", [1024, 40])
def test_recording_changes_nothing(backend, rows, batch_size):
    if backend == "torch":
        pytest.importorskip("torch")
    plain = model(backend=backend, batch_size=batch_size).fit(rows)
    recorded = model(backend=backend, batch_size=batch_size, record_epochs=[0, 3, 7, 30]).fit(rows)
    np.testing.assert_array_equal(recorded.cluster_centers_, plain.cluster_centers_)
    np.testing.assert_array_equal(recorded.loss_curve_, plain.loss_curve_)
    np.testing.assert_array_equal(recorded.labels_, plain.labels_)
    assert not hasattr(plain, "recorded_epochs_")


def test_recorded_memories_are_those_of_shorter_training():
    recorded = model(record_epochs=[6, 2], early_stopping=False, n_init=1).fit(X)
    assert recorded.recorded_epochs_.tolist() == [2, 6]
    assert recorded.recorded_memories_.shape == (2, 3, 4)
    for epoch, memories in zip((2, 6), recorded.recorded_memories_, strict=True):
        shorter = model(n_init=1, max_epochs=epoch, early_stopping=False, record_epochs=[epoch])
        np.testing.assert_array_equal(shorter.fit(X).recorded_memories_[0], memories)


def test_epoch_0_is_the_seeding():
    init = X[[0, 60, 120]]
    recorded = model(init=init, record_epochs=[0]).fit(X)
    np.testing.assert_allclose(recorded.recorded_memories_[0], init, rtol=1e-5)


def test_epochs_that_a_run_did_not_reach_are_left_out():
    fitted = model(max_epochs=1000, record_epochs=range(0, 1001, 10)).fit(X)
    assert fitted.n_iter_ < 1000
    assert fitted.recorded_epochs_.tolist() == list(range(0, fitted.n_iter_ + 1, 10))
    assert len(fitted.recorded_memories_) == len(fitted.recorded_epochs_)


def test_a_later_fit_forgets_what_was_recorded():
    fitted = model(record_epochs=[1]).fit(X)
    fitted.set_params(record_epochs=None).fit(X)
    assert not hasattr(fitted, "recorded_memories_")


@pytest.mark.parametrize("epochs", [[-1], [31], [1.5], 3, "last", [True], [[1, 2]], [None]])
def test_bad_epochs_are_named(epochs):
    with pytest.raises(ValueError, match="record_epochs"):
        model(record_epochs=epochs).fit(X)


def test_a_search_records_nothing():
    search = ClAMSearch(3, budget=200, n_init=1, estimator=model(record_epochs=[500]))
    assert not hasattr(search.fit(X).best_estimator_, "recorded_epochs_")
