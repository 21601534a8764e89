"""TrajectoryDisplay, by what it draws."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal

from amclust._colours import LIGHT
from amclust._plane import Plane
from amclust.plotting import BasinsDisplay, TrajectoryDisplay


def test_paths_are_those_of_recall(any_model):
    model, X = any_model.model, any_model.X
    display = TrajectoryDisplay.from_estimator(model, X, points=X[10:14])
    _, states = model.recall(X[10:14], return_trajectory=True)
    expected = Plane.from_estimator(model, X).flatten(states)
    assert len(display.paths_) == 4
    for i, line in enumerate(display.paths_):
        assert_allclose(line.get_xydata(), expected[:, i])


def test_they_start_at_rows_and_end_near_their_memories(iris):
    display = TrajectoryDisplay.from_estimator(iris.model, iris.X, n_points=7, n_steps=60)
    plane = Plane.from_estimator(iris.model, iris.X)
    rows = plane.rows[np.linspace(0, 149, 7).astype(int)]
    assert_allclose(display.starts_.get_offsets(), rows, atol=1e-6)
    ends = np.array([line.get_xydata()[-1] for line in display.paths_])
    assert len(display.paths_[0].get_xydata()) == 61
    assert_allclose(ends, plane.memories[display.labels], atol=0.05)
    assert iris.model.n_steps == 10


def test_they_have_the_colours_of_their_clusters(iris):
    display = TrajectoryDisplay.from_estimator(iris.model, iris.X, n_points=5)
    assert [to_hex(line.get_color()) for line in display.paths_] == [
        LIGHT[label] for label in display.labels
    ]
    rows = iris.X.iloc[np.linspace(0, 149, 5).astype(int)]
    assert_array_equal(display.labels, iris.model.predict(rows))


def test_more_points_than_rows_are_all_rows(one):
    display = TrajectoryDisplay.from_estimator(one.model, one.X, n_points=500)
    assert len(display.paths_) == len(one.X)


def test_on_the_axes_of_another_display_memories_are_not_drawn_twice(flat):
    basins = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=20)
    limits = basins.ax_.get_xlim(), basins.ax_.get_ylim()
    display = TrajectoryDisplay.from_estimator(flat.model, flat.X, ax=basins.ax_)
    assert display.ax_ is basins.ax_
    assert display.memories_ is None
    assert (basins.ax_.get_xlim(), basins.ax_.get_ylim()) == limits
    again = TrajectoryDisplay.from_estimator(flat.model, flat.X, ax=basins.ax_, show_memories=True)
    assert_allclose(again.memories_.get_offsets(), basins.memories)


def test_axes_are_named(iris):
    display = TrajectoryDisplay.from_estimator(iris.model, iris.X, features=(3, 0), n_points=2)
    assert display.ax_.get_xlabel() == "petal width (cm)"
    assert display.ax_.get_ylabel() == "sepal length (cm)"


def test_keywords_reach_the_artists(iris):
    display = TrajectoryDisplay.from_estimator(
        iris.model, iris.X, n_points=2, lw=5, c="red", starts_kw={"s": 3}
    )
    assert display.paths_[0].get_linewidth() == 5
    assert to_hex(display.paths_[1].get_color()) == "#ff0000"
    assert display.starts_.get_sizes()[0] == 3


@pytest.mark.parametrize(
    "params", [{"n_points": 0}, {"n_steps": 0}, {"n_steps": 2.5}, {"show_memories": "yes"}]
)
def test_wrong_arguments(iris, params):
    (name,) = params
    with pytest.raises(ValueError, match=f"'{name}' parameter of TrajectoryDisplay"):
        TrajectoryDisplay.from_estimator(iris.model, iris.X, **params)


def test_wrong_points(iris):
    with pytest.raises(ValueError, match="feature"):
        TrajectoryDisplay.from_estimator(iris.model, iris.X, points=iris.X[["sepal width (cm)"]])
