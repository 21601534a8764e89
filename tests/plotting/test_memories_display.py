"""MemoriesDisplay, by what it draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from plotted_models import fitted
from sklearn.datasets import load_digits, load_iris

from amclust.plotting import MemoriesDisplay


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:300]
    return fitted(X, 10, scale=None, max_epochs=5, record_epochs=[0, 2, 5])


# --- images ---------------------------------------------------------------------------------------


def test_images_are_departures_from_the_mean(digits):
    display = MemoriesDisplay.from_estimator(digits.model, image_shape=(8, 8))
    expected = digits.model.cluster_centers_ - digits.X.mean(axis=0)
    assert len(display.images_) == 10
    for image, memory in zip(display.images_, expected, strict=True):
        assert_allclose(image.get_array(), memory.reshape(8, 8), atol=1e-5)
    assert display.colorbar_.ax.get_ylabel() == "departure from the mean"


def test_colours_are_signed_and_the_same_for_all_images(digits):
    display = MemoriesDisplay.from_estimator(digits.model, image_shape=(8, 8))
    limits = {image.get_clim() for image in display.images_}
    ((low, high),) = limits
    assert -low == high == np.abs(display.memories).max()


def test_values_themselves(digits):
    display = MemoriesDisplay.from_estimator(digits.model, image_shape=(8, 8), centre="zero")
    assert_allclose(display.memories, digits.model.cluster_centers_)
    assert display.value_name == "value"


def test_images_do_not_overlap_and_are_named(digits):
    display = MemoriesDisplay.from_estimator(
        digits.model, image_shape=(8, 8), clusters=[7, 2, 4], titles=["a", "b", "c"], n_columns=2
    )
    assert_allclose(display.memories[0], digits.model.cluster_centers_[7] - digits.X.mean(axis=0))
    assert [text.get_text() for text in display.ax_.texts] == ["a", "b", "c"]
    boxes = [image.get_extent() for image in display.images_]
    assert boxes[0][1] < boxes[1][0]  # beside each other
    assert boxes[0][0] == boxes[2][0]
    assert boxes[0][2] > boxes[2][3]  # below


def test_upright_images_stay_upright(digits):
    display = MemoriesDisplay.from_estimator(digits.model, image_shape=(16, 4))
    left, right, bottom, top = display.images_[0].get_extent()
    assert (top - bottom) / (right - left) == 4
    assert display.ax_.get_aspect() == 1
    assert display.images_[0].origin == "upper"


def test_evolution_has_a_column_an_epoch(digits):
    display = MemoriesDisplay.from_estimator(digits.model, image_shape=(8, 8), epochs=True)
    assert len(display.images_) == 30
    expected = digits.model.recorded_memories_ - digits.X.mean(axis=0)
    for place, image in enumerate(display.images_):
        cluster, epoch = divmod(place, 3)
        assert_allclose(image.get_array(), expected[epoch, cluster].reshape(8, 8), atol=1e-5)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["0", "2", "5"]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list("0123456789")
    left, right, bottom, top = display.images_[4].get_extent()  # the second cluster and epoch
    assert left < display.ax_.get_xticks()[1] < right
    assert bottom < display.ax_.get_yticks()[1] < top


def test_chosen_epochs(digits):
    display = MemoriesDisplay.from_estimator(digits.model, image_shape=(8, 8), epochs=[5, 0])
    assert display.epochs == [5, 0]
    expected = digits.model.recorded_memories_[[2, 0]] - digits.X.mean(axis=0)
    assert_allclose(display.memories, expected, atol=1e-5)


# --- profiles -------------------------------------------------------------------------------------


def test_profiles_are_departures_in_scaled_units(iris):
    display = MemoriesDisplay.from_estimator(iris.model)
    X = iris.X.to_numpy()
    expected = (iris.model.cluster_centers_ - X.mean(axis=0)) / X.std(axis=0)
    assert_allclose([line.get_ydata() for line in display.lines_], expected, atol=1e-5)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == list(iris.X.columns)
    assert display.ax_.get_ylabel() == "departure from the mean (scaled)"
    assert [text.get_text() for text in display.legend_.get_texts()] == ["0", "1", "2"]


@pytest.mark.parametrize("offset", [0, 1000])
def test_a_single_memory_is_the_mean(one, offset):
    display = MemoriesDisplay.from_estimator(fitted(one.X + offset, 1).model)
    assert_array_equal(display.lines_[0].get_ydata(), [0, 0])
    low, high = display.ax_.get_ylim()
    assert -low == high > 0.5


def test_profiles_in_units_of_the_table(iris):
    display = MemoriesDisplay.from_estimator(iris.model, centre="zero", units="table")
    lines = [line.get_ydata() for line in display.lines_]
    assert_allclose(lines, iris.model.cluster_centers_)


def test_mahalanobis_has_the_units_of_its_distances():
    X = load_iris().data
    model = fitted(X, metric="mahalanobis").model
    display = MemoriesDisplay.from_estimator(model)
    differences = model.cluster_centers_ - X.mean(axis=0)
    inside = (X - model.cluster_centers_[model.labels_]).std(axis=0)  # clusters share a covariance
    assert_allclose(display.memories, differences / inside, rtol=0.15, atol=0.02)


def test_cosine_has_directions():
    model = fitted(load_iris().data, metric="cosine").model
    display = MemoriesDisplay.from_estimator(model)
    assert_allclose(np.linalg.norm(display.memories, axis=1), 1, atol=1e-6)
    assert display.ax_.get_ylabel() == "direction"


def test_profiles_keep_the_colours_and_numbers_of_their_clusters(iris):
    some = MemoriesDisplay.from_estimator(iris.model, clusters=[2, 0])
    whole = MemoriesDisplay.from_estimator(iris.model)
    for line, cluster in zip(some.lines_, (2, 0), strict=True):
        assert line.get_color() == whole.lines_[cluster].get_color()
        assert line.get_label() == str(cluster)
        assert_array_equal(line.get_ydata(), whole.lines_[cluster].get_ydata())


def test_profiles_evolve_in_panels(iris):
    display = MemoriesDisplay.from_estimator(iris.model, epochs=[0, 20])
    assert [panel.get_title() for panel in display.panels_] == ["epoch 0", "epoch 20"]
    assert len(display.lines_) == 6
    first = MemoriesDisplay.from_estimator(iris.model, epochs=[0])
    assert_array_equal(display.lines_[1].get_ydata(), first.lines_[1].get_ydata())
    assert display.panels_[0].get_ylim() == display.panels_[1].get_ylim()


def test_the_legend_covers_no_line(iris):
    display = MemoriesDisplay.from_estimator(iris.model)
    display.figure_.canvas.draw()
    assert display.legend_.get_window_extent().x0 >= display.ax_.get_window_extent().x1
    width = display.figure_.bbox.x1
    assert display.legend_.get_window_extent().x1 <= width


def test_many_profiles_and_features_have_room(many, digits):
    assert len(MemoriesDisplay.from_estimator(many.model).legend_.get_texts()) == 25
    wide = MemoriesDisplay.from_estimator(digits.model)
    assert wide.ax_.get_xlabel() == "feature"
    assert len(wide.ax_.get_xticks()) < 15
    assert MemoriesDisplay.from_estimator(digits.model, legend=False).legend_ is None


# --- arguments ------------------------------------------------------------------------------------


def test_it_draws_on_given_axes(digits):
    _, ax = plt.subplots()
    display = MemoriesDisplay.from_estimator(
        digits.model, image_shape=(8, 8), ax=ax, colorbar=False, cmap="PiYG"
    )
    assert display.ax_ is ax
    assert len(ax.images) == 10
    assert display.colorbar_ is None
    assert display.images_[0].get_cmap().name == "PiYG"


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"image_shape": (7, 8)}, "image_shape must be .height, width. of 64 pixels.*got .7, 8."),
        ({"image_shape": 8}, "image_shape must be"),
        ({"image_shape": (4, 4, 4)}, "image_shape must be"),
        ({"epochs": [0, 3]}, "epochs must be some of the recorded ones, which are .0, 2, 5."),
        ({"epochs": []}, "epochs must be some"),
        ({"clusters": [0, 10]}, "clusters must be integers from 0 to 9, got .0, 10."),
        ({"clusters": [0.5]}, "clusters must be integers"),
        ({"titles": ["a"]}, "titles must have 10 names, one for each memory, got 1"),
        ({"centre": "median"}, "'centre' parameter of MemoriesDisplay"),
        ({"units": "cm"}, "'units' parameter of MemoriesDisplay"),
        ({"n_columns": 0}, "'n_columns' parameter of MemoriesDisplay"),
    ],
)
def test_wrong_arguments(digits, params, words):
    with pytest.raises(ValueError, match=words):
        MemoriesDisplay.from_estimator(digits.model, **params)


def test_epochs_must_have_been_recorded(flat):
    with pytest.raises(ValueError, match=r"epochs needs .* fit ClAM\(record_epochs=\[0, 1, 2"):
        MemoriesDisplay.from_estimator(flat.model, epochs=True)
