"""BasinsDisplay, by what it draws."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from amclust import ClAM, ClAMSearch
from amclust._colours import LIGHT
from amclust._plane import Plane
from amclust.plotting import BasinsDisplay


def test_regions_are_what_the_model_predicts(flat):
    display = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=40)
    xs, ys = np.meshgrid(display.xs, display.ys)
    expected = flat.model.predict(np.c_[xs.ravel(), ys.ravel()]).reshape(40, 40)
    assert_array_equal(display.basins_.get_array(), expected)
    assert len(np.unique(expected)) > 1


def test_a_pixel_is_where_its_point_is(flat):
    display = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=40)
    x, y = display.xs[7], display.ys[30]
    canvas = display.ax_.transData.transform((x, y))
    event = type("Event", (), {"x": canvas[0], "y": canvas[1], "xdata": x, "ydata": y})
    event.inaxes = display.ax_
    assert display.basins_.get_cursor_data(event) == display.basins[30, 7]


def test_borders_are_where_the_nearest_memory_changes(any_model):
    model, X = any_model.model, any_model.X
    display = BasinsDisplay.from_estimator(model, X, resolution=20)
    plane = Plane.from_estimator(model, X)
    segments = np.array(display.borders_.get_segments())
    assert len(segments)
    along = segments[:, 1] - segments[:, 0]
    size = np.array([np.ptp(display.xs), np.ptp(display.ys)])
    across = np.stack([-along[:, 1] / size[1], along[:, 0] / size[0]], axis=1)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    for part in (0.3, 0.5, 0.7):
        middle = segments[:, 0] + part * along
        sides = [nearest(plane, middle + sign * 1e-4 * across * size) for sign in (-1, 1)]
        long = np.linalg.norm(along / size, axis=1) > 1e-2
        assert (sides[0] != sides[1])[long].all()


def nearest(plane, points):
    """The nearest memory, from distances in all features."""
    geometry, memories = plane.network.geometry, plane.network.memories.astype(float)
    rows = plane.lift(points)
    if geometry.metric == "mahalanobis":
        rows = geometry.whitening.apply(rows)
    states = (rows - geometry.offset) * geometry.scale
    if geometry.metric == "cosine":
        return (states @ memories.T).argmax(axis=1)
    return ((states[:, None] - memories) ** 2).sum(axis=-1).argmin(axis=1)


def test_all_borders_are_there(flat):
    """Along any line, the nearest memory changes as often as a border is crossed."""
    display = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=20)
    plane = Plane.from_estimator(flat.model, flat.X)
    segments = np.array(display.borders_.get_segments())
    for y in np.linspace(*display.ys[[0, -1]], 12)[1:-1]:
        line = np.linspace(*display.xs[[0, -1]], 2000)
        changes = np.count_nonzero(np.diff(nearest(plane, np.c_[line, np.full(2000, y)])))
        low, high = segments[:, :, 1].min(axis=1), segments[:, :, 1].max(axis=1)
        assert changes == np.count_nonzero((low < y) & (y <= high))


def test_basins_differ_from_cells_where_memories_attract_together(flat):
    display = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=60)
    xs, ys = np.meshgrid(display.xs, display.ys)
    cells = flat.model.transform(np.c_[xs.ravel(), ys.ravel()]).argmin(axis=1)
    assert 0 < np.mean(cells != display.basins.ravel()) < 0.6


def test_borders_are_dashed(flat):
    display = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=20)
    (style,) = display.borders_.get_linestyle()
    assert style[1] is not None


def test_memories_and_rows_are_where_the_plane_has_them(any_model):
    model, X = any_model.model, any_model.X
    display = BasinsDisplay.from_estimator(model, X, resolution=20)
    plane = Plane.from_estimator(model, X)
    assert_allclose(display.memories_.get_offsets(), plane.memories)
    assert [text.get_text() for text in display.numbers_] == ["0", "1", "2"]
    labels = model.predict(X)
    for label, dots in zip(np.unique(labels), display.rows_, strict=True):
        assert_allclose(dots.get_offsets(), plane.rows[labels == label])
        assert to_hex(dots.get_facecolor()[0]) == LIGHT[label]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == plane.labels


def test_chosen_features_name_the_axes(iris):
    pair = ("petal length (cm)", "sepal width (cm)")
    display = BasinsDisplay.from_estimator(iris.model, iris.X, features=pair, resolution=20)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == pair
    dots = np.concatenate([dots.get_offsets() for dots in display.rows_])
    assert_allclose(np.sort(dots[:, 0]), np.sort(iris.X[pair[0]]))


def test_the_plane_can_go_through_a_row(iris):
    through = iris.X.iloc[100].to_numpy()
    display = BasinsDisplay.from_estimator(
        iris.model, iris.X, features=(2, 3), through=through, resolution=20
    )
    near = np.abs(display.xs - through[2]).argmin(), np.abs(display.ys - through[3]).argmin()
    assert display.basins[near[1], near[0]] == iris.model.predict(iris.X[100:101])[0]


def test_more_clusters_than_colours_are_hatched(many):
    display = BasinsDisplay.from_estimator(many.model, many.X, resolution=60)
    assert len(display.numbers_) == 25
    (hatch,) = display.hatches_
    assert hatch.hatches == ["///"]
    (hatched,) = hatch.get_paths()
    memories = many.model.cluster_centers_
    inside = [hatched.contains_point(point) for point in memories]
    assert_array_equal(inside, np.arange(25) >= 20)
    assert len(np.unique(display.basins_.get_array())) == 25


def test_one_cluster_has_no_borders(one):
    display = BasinsDisplay.from_estimator(one.model, one.X, resolution=20)
    assert not display.borders_.get_segments()
    assert not display.basins_.get_array().any()


def test_a_single_column_has_upright_borders(iris):
    X = iris.X[["petal length (cm)"]]
    display = BasinsDisplay.from_estimator(
        ClAM(3, n_init=1, random_state=0).fit(X), X, resolution=20
    )
    segments = np.array(display.borders_.get_segments())
    assert len(segments) == 2
    assert_allclose(segments[:, 0, 0], segments[:, 1, 0])
    assert display.ax_.get_yticks().size == 0


def test_rows_can_be_left_out_and_marks_can_be_changed(flat):
    display = BasinsDisplay.from_estimator(
        flat.model,
        flat.X,
        resolution=20,
        show_rows=False,
        borders_kw={"colors": "red"},
        memories_kw={"s": 7},
        alpha=0.9,
    )
    assert display.rows_ == []
    assert to_hex(display.borders_.get_color()[0]) == "#ff0000"
    assert display.memories_.get_sizes()[0] == 7
    assert display.basins_.get_alpha() == 0.9


def test_it_draws_on_given_axes_and_again_on_others(flat):
    _, (left, right) = plt.subplots(1, 2)
    display = BasinsDisplay.from_estimator(flat.model, flat.X, resolution=20, ax=left)
    assert display.ax_ is left
    assert display.figure_ is left.figure
    assert display.plot(ax=right, show_rows=False).ax_ is right
    assert len(right.images) == len(left.images) == 1


def test_a_search_is_drawn_as_its_best_estimator(flat):
    search = ClAMSearch(2, budget=200, n_init=1, random_state=0).fit(flat.X)
    display = BasinsDisplay.from_estimator(search, flat.X, resolution=20)
    assert len(display.memories) == 2


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"resolution": 1}, "'resolution' parameter of BasinsDisplay.from_estimator"),
        ({"margin": -1}, "'margin' parameter"),
        ({"features": (0, 7)}, "features has column 7"),
        ({"ax": 3}, "'ax' parameter of BasinsDisplay.plot must be matplotlib axes or None, got 3"),
    ],
)
def test_wrong_arguments(flat, params, words):
    with pytest.raises(ValueError, match=words):
        BasinsDisplay.from_estimator(flat.model, flat.X, **{"resolution": 5, **params})


def test_wrong_estimators(flat):
    with pytest.raises(NotFittedError):
        BasinsDisplay.from_estimator(ClAM(3), flat.X)
    with pytest.raises(TypeError, match="must be a fitted ClAM or ClAMSearch, got KMeans"):
        BasinsDisplay.from_estimator(KMeans(2, n_init=1).fit(flat.X), flat.X)
