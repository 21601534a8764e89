"""EnergyDisplay, by what it draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from amclust._plane import Plane
from amclust.plotting import EnergyDisplay


def test_the_energy_is_that_of_the_model(flat):
    display = EnergyDisplay.from_estimator(flat.model, flat.X, resolution=25)
    xs, ys = np.meshgrid(display.xs, display.ys)
    expected = flat.model.energy(np.c_[xs.ravel(), ys.ravel()])
    assert_allclose(display.energy.ravel(), expected)


def test_contours_run_from_the_lowest_to_the_highest_energy(any_model):
    display = EnergyDisplay.from_estimator(any_model.model, any_model.X, resolution=25, levels=9)
    levels = display.energy_.levels
    assert len(levels) == 10
    assert_allclose([levels[0], levels[-1]], [display.energy.min(), display.energy.max()])
    assert (np.diff(levels, 2) > 0).all()  # closest where it is low
    assert display.colorbar_.ax.get_ylabel() == "energy"
    ticks = display.colorbar_.get_ticks()
    assert len(ticks) > 1
    assert levels[0] <= ticks[0] < ticks[-1] <= levels[-1]


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
def test_the_colour_bar_can_be_read_from_end_to_end(flat, unit):
    display = EnergyDisplay.from_estimator(flat.model, flat.X, resolution=25)
    display = EnergyDisplay(
        xs=display.xs,
        ys=display.ys,
        energy=unit * (display.energy - 3),
        memories=display.memories,
    ).plot()
    display.figure_.canvas.draw()
    ax = display.colorbar_.ax
    box, ticks = ax.get_window_extent(), display.colorbar_.get_ticks()
    heights = ax.transData.transform([(0, tick) for tick in ticks])[:, 1]
    places = np.r_[0, (heights - box.y0) / box.height, 1]
    assert np.diff(places).min() >= 0
    assert np.diff(places).max() < 0.25
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert_allclose([float(name.replace("−", "-")) for name in names], ticks)
    assert max(map(len, names)) <= 9


def test_memories_lie_in_hollows(iris):
    plane = Plane.from_estimator(iris.model, iris.X)
    display = EnergyDisplay.from_estimator(iris.model, iris.X, resolution=25)
    assert_allclose(display.memories_.get_offsets(), plane.memories)
    assert display.memories[:, 2].max() < np.median(display.energy)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == plane.labels


def test_a_surface_has_the_energy_for_height(flat):
    display = EnergyDisplay.from_estimator(flat.model, flat.X, resolution=25, kind="surface")
    assert display.ax_.name == "3d"
    assert display.ax_.get_zlabel() == "energy"
    low, high = display.ax_.get_zlim()
    assert low <= display.energy.min() < display.energy.max() <= high
    *_, heights = display.memories_._offsets3d
    on_plane = np.asarray(flat.model.cluster_centers_, dtype=float)
    assert_allclose(heights, flat.model.energy(on_plane), rtol=1e-5)
    assert display.colorbar_ is None


def test_one_memory_and_equal_energies_can_be_drawn(one):
    display = EnergyDisplay.from_estimator(one.model, one.X, resolution=10)
    level = EnergyDisplay(
        xs=display.xs, ys=display.ys, energy=np.ones((10, 10)), memories=display.memories
    )
    assert level.plot().energy_.levels[-1] > level.energy_.levels[0]


def test_keywords_reach_the_artists(flat):
    display = EnergyDisplay.from_estimator(
        flat.model, flat.X, resolution=10, cmap="magma", memories_kw={"marker": "s"}
    )
    assert display.energy_.cmap.name == "magma"


def test_a_surface_needs_axes_of_three_dimensions(flat):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="kind='surface' needs an 'ax' with projection='3d'"):
        EnergyDisplay.from_estimator(flat.model, flat.X, resolution=5, kind="surface", ax=ax)


@pytest.mark.parametrize("params", [{"kind": "wire"}, {"levels": 0}])
def test_wrong_arguments(flat, params):
    (name,) = params
    with pytest.raises(ValueError, match=f"'{name}' parameter of EnergyDisplay.plot"):
        EnergyDisplay.from_estimator(flat.model, flat.X, resolution=5, **params)
