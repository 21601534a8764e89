"""Displays on a dark background have colours and lines that can be seen there."""

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_hex

from amclust._colours import DARK
from amclust.plotting import (
    BasinsDisplay,
    EntropyDisplay,
    LossCurveDisplay,
    MemoriesDisplay,
    SilhouetteDisplay,
    SizesDisplay,
    TrajectoryDisplay,
)
from amclust.plotting._base import is_dark


@pytest.fixture
def ax():
    with plt.style.context("dark_background"):
        yield plt.figure().add_subplot()


def test_basins(ax, flat):
    display = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=20, ax=ax)
    assert [to_hex(colour) for colour in display.basins_.cmap.colors] == list(DARK[:5])
    assert to_hex(display.borders_.get_color()[0]) == "#ffffff"


def test_trajectories(ax, flat):
    display = TrajectoryDisplay.from_estimator(flat.model, flat.X, n_points=3, ax=ax)
    colours = [to_hex(line.get_color()) for line in display.paths_]
    assert colours == [DARK[label] for label in display.labels]
    assert to_hex(display.starts_.get_facecolor()[0]) == "#000000"


def test_silhouettes(ax, iris):
    display = SilhouetteDisplay.from_estimator(iris.model, iris.X, ax=ax)
    assert to_hex(display.blades_[0].get_facecolor()[0]) == DARK[0]
    assert to_hex(display.mean_line_.get_color()) == "#ffffff"


def test_counts(ax, iris):
    sizes = SizesDisplay.from_estimator(iris.model, ax=ax)
    assert [to_hex(bar.get_facecolor()) for bar in sizes.bars_] == list(DARK[:3])
    entropy = EntropyDisplay.from_estimator(iris.model, iris.X, ax=ax)
    assert to_hex(entropy.mean_line_.get_color()) == "#ffffff"


def test_curves(ax, iris):
    memories = MemoriesDisplay.from_estimator(iris.model, ax=ax)
    assert to_hex(memories.lines_[1].get_color()) == DARK[1]
    ax.cla()
    assert to_hex(LossCurveDisplay.from_estimator(iris.model, ax=ax).line_.get_color()) == DARK[0]


@pytest.mark.parametrize(("figure", "dark"), [("white", False), ("black", True), ("none", False)])
def test_transparent_axes_take_the_background_of_the_figure(figure, dark):
    ax = plt.figure(facecolor=figure).add_subplot(facecolor="none")
    assert is_dark(ax) == dark
