"""Displays of models with the energies of `amclust.torch`: noise, and no straight borders."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

pytest.importorskip("torch")

from numpy.testing import assert_allclose
from plotted_models import fitted
from sklearn.datasets import make_blobs

from amclust import ClAM, ClAMSearch
from amclust.plotting import (
    BasinsDisplay,
    EnergyDisplay,
    EntropyDisplay,
    LossCurveDisplay,
    MemoriesDisplay,
    SearchDisplay,
    SilhouetteDisplay,
    SizesDisplay,
    TrajectoryDisplay,
)
from amclust.plotting._energy import CLIPPED
from amclust.plotting._labels import NOISE_COLOUR

GREY = plt.matplotlib.colors.to_rgba(NOISE_COLOUR)
N_ROWS, N_NOISE = 65, 5


def rows():
    """Three clouds of twenty rows, and five rows that are far from all of them."""
    X, _ = make_blobs(60, 4, centers=3, cluster_std=0.6, random_state=1)
    far = [[40, 0, 0, 0], [0, -40, 0, 0], [0, 0, 40, -40], [30, 30, 30, 30], [-50, 0, 9, 0]]
    return np.vstack([X, X.mean(axis=0) + np.array(far)])


@pytest.fixture(scope="module")
def noisy():
    """A model that leaves five rows out."""
    found = fitted(rows(), metric="epanechnikov", backend="torch", beta=1.0, max_epochs=10)
    assert (found.model.labels_ == -1).sum() == N_NOISE
    return found


@pytest.fixture(scope="module")
def manhattan():
    return fitted(rows()[:60], metric="manhattan", backend="torch", max_epochs=10)


def drawn(display):
    """Draw for real: some mistakes show only then."""
    display.figure_.canvas.draw()
    return display


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


@pytest.mark.parametrize("name", ["noisy", "manhattan"])
def test_every_display_is_drawn(name, request):
    found = request.getfixturevalue(name)
    model, X = found.model, found.X
    for display in (BasinsDisplay, EnergyDisplay):
        drawn(display.from_estimator(model, X, resolution=20))
        drawn(display.from_estimator(model, X, features=(0, 1), resolution=20))
    drawn(EnergyDisplay.from_estimator(model, X, resolution=20, kind="surface"))
    for display in (TrajectoryDisplay, SilhouetteDisplay, EntropyDisplay, SizesDisplay):
        drawn(display.from_estimator(model, X))
    for display in (MemoriesDisplay, LossCurveDisplay, SizesDisplay):
        drawn(display.from_estimator(model))


@pytest.mark.parametrize("metric", ["epanechnikov", "manhattan"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_searches_are_drawn(metric):
    estimator = ClAM(metric=metric, backend="torch", max_epochs=4)
    space = {"beta": [0.5, 1.0]}
    search = ClAMSearch(
        3, estimator=estimator, space=space, budget=16, n_init=2, max_epochs=4, random_state=0
    ).fit(rows())
    display = drawn(SearchDisplay.from_estimator(search, rows()))
    assert np.isfinite(display.k_means)


def test_noise_is_grey_in_basins_and_called_so(noisy):
    display = drawn(BasinsDisplay.from_estimator(noisy.model, noisy.X, resolution=30))
    assert (display.basins == -1).any()
    assert legend_texts(display) == [f"noise: {N_NOISE} rows"]
    assert display.basins_.cmap(display.basins_.norm(-1.0)) == pytest.approx(GREY)
    assert display.basins_.cmap(display.basins_.norm(0.0)) != pytest.approx(GREY)
    noise, *others = display.rows_
    assert len(noise.get_offsets()) == N_NOISE
    assert_allclose(noise.get_facecolor(), [GREY])
    assert sum(len(dots.get_offsets()) for dots in others) == N_ROWS - N_NOISE
    alone = BasinsDisplay.from_estimator(noisy.model, noisy.X, resolution=30, show_rows=False)
    assert legend_texts(alone) == ["noise"]


def test_noise_has_no_hatch():
    basins = np.array([[-1, 20], [0, 20]])
    corners = np.array([0.0, 1.0])
    memories = np.random.default_rng(0).random((21, 2))
    display = BasinsDisplay(
        xs=corners, ys=corners, basins=basins, borders=np.empty((0, 2, 2)), memories=memories
    ).plot()
    (hatches,) = display.hatches_
    (left, _), (right, _) = hatches.get_paths()[0].get_extents().get_points()
    assert left >= 0.5
    assert right == 1.0


def test_without_noise_nothing_is_said_of_it(manhattan):
    display = BasinsDisplay.from_estimator(manhattan.model, manhattan.X, resolution=20)
    assert display.legend_ is None
    assert TrajectoryDisplay.from_estimator(manhattan.model, manhattan.X).legend_ is None
    energy = EnergyDisplay.from_estimator(manhattan.model, manhattan.X, resolution=20)
    assert energy.colorbar_.ax.get_ylabel() == "energy"


def test_borders_are_drawn_for_metrics_of_the_core_only(noisy, manhattan, flat):
    for found, straight in ((noisy, False), (manhattan, False), (flat, True)):
        display = BasinsDisplay.from_estimator(found.model, found.X, resolution=20)
        assert bool(len(display.borders)) == straight


def test_infinite_energies_are_clipped_and_the_colour_bar_says_so(noisy):
    display = drawn(EnergyDisplay.from_estimator(noisy.model, noisy.X, resolution=40))
    finite = display.energy[np.isfinite(display.energy)]
    assert len(finite) < display.energy.size
    assert display.colorbar_.ax.get_ylabel() == CLIPPED
    assert display.energy_.levels[-1] == pytest.approx(finite.max())
    surface = drawn(display.plot(kind="surface"))
    assert surface.ax_.get_zlabel() == CLIPPED
    assert surface.ax_.get_zlim()[1] < np.inf


def test_a_plane_that_no_memory_reaches_is_drawn(noisy):
    far = noisy.X.mean(axis=0) + 1e4
    for kind in ("contour", "surface"):
        display = EnergyDisplay.from_estimator(
            noisy.model, noisy.X, features=(0, 1), through=far, resolution=10, kind=kind
        )
        assert np.isinf(drawn(display).energy).all()


def test_noise_stays_where_it_is(noisy):
    display = TrajectoryDisplay.from_estimator(noisy.model, noisy.X, n_points=N_ROWS)
    drawn(display)
    assert legend_texts(display) == [f"noise: {N_NOISE} rows"]
    noise = display.labels == -1
    assert noise.sum() == N_NOISE
    assert_allclose(display.paths[-1][noise], display.paths[0][noise], atol=1e-3)
    for line, grey in zip(display.paths_, noise, strict=True):
        assert (plt.matplotlib.colors.to_rgba(line.get_color()) == GREY) == grey
    basins = BasinsDisplay.from_estimator(noisy.model, noisy.X, resolution=20)
    over = TrajectoryDisplay.from_estimator(noisy.model, noisy.X, ax=basins.ax_)
    assert over.legend_ is None
    assert over.ax_.get_legend() is basins.legend_


def test_noise_is_left_out_of_silhouettes_and_entropies(noisy):
    silhouettes = SilhouetteDisplay.from_estimator(noisy.model, noisy.X)
    assert silhouettes.mean_silhouette == pytest.approx(noisy.model.score(noisy.X), abs=1e-5)
    entropy = EntropyDisplay.from_estimator(noisy.model, noisy.X)
    assert sum(bar.get_height() for bar in entropy.bars_) == N_ROWS - N_NOISE
    for display in (silhouettes, entropy):
        assert legend_texts(display)[1] == f"noise: {N_NOISE} rows left out"
    memberships = noisy.model.predict_proba(noisy.X)
    same = EntropyDisplay.from_predictions(memberships)
    assert_allclose(same.entropy, entropy.entropy, atol=1e-5)
    with pytest.raises(ValueError, match="all of them are noise"):
        EntropyDisplay.from_predictions(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="sum to 1"):
        EntropyDisplay.from_predictions([[0.0, 0.0], [0.2, 0.2]])


def test_noise_is_counted_apart(noisy):
    display = SizesDisplay.from_estimator(noisy.model, noisy.X)
    assert display.noise == N_NOISE
    assert display.sizes.sum() == N_ROWS - N_NOISE
    assert len(display.sizes) == 3
