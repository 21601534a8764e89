"""SilhouetteDisplay, by what it draws."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose
from sklearn.metrics import pairwise_distances, silhouette_samples

from amclust._colours import LIGHT
from amclust.plotting import SilhouetteDisplay


def test_a_blade_has_the_sorted_silhouettes_of_its_cluster(any_model):
    model, X = any_model.model, any_model.X
    display = SilhouetteDisplay.from_estimator(model, X)
    values, labels = model.network_.silhouette_values(X), model.predict(X)
    assert len(display.blades_) == 3
    for label, blade in enumerate(display.blades_):
        box = blade.get_datalim(display.ax_.transData)
        mine = values[labels == label]
        assert_allclose(box.height, len(mine))
        assert_allclose([box.x0, box.x1], [min(0, mine.min()), max(0, mine.max())], atol=1e-12)
        assert to_hex(blade.get_facecolor()[0]) == LIGHT[label]
        (path,) = blade.get_paths()
        top = path.vertices[path.vertices[:, 1] == box.y0]
        assert_allclose(top[:, 0].max(), max(0, mine.max()))
        assert set(np.round(mine, 9)) <= set(np.round(path.vertices[:, 0], 9))


def test_blades_do_not_overlap_and_are_numbered(iris):
    display = SilhouetteDisplay.from_estimator(iris.model, iris.X)
    boxes = [blade.get_datalim(display.ax_.transData) for blade in display.blades_]
    assert all(above.y1 < below.y0 for above, below in pairwise(boxes))
    low, high = display.ax_.get_ylim()
    assert low > high  # the first cluster is on top
    ticks = zip(display.ax_.get_yticks(), display.ax_.get_yticklabels(), strict=True)
    for box, (place, text) in zip(boxes, ticks, strict=True):
        assert box.y0 < place < box.y1
        assert text.get_text() == str(boxes.index(box))


def test_the_line_is_the_mean_and_the_score(iris):
    display = SilhouetteDisplay.from_estimator(iris.model, iris.X)
    assert_allclose(display.mean_line_.get_xdata(), display.mean_silhouette)
    assert_allclose(display.mean_silhouette, iris.model.score(iris.X), atol=1e-6)
    (text,) = display.legend_.get_texts()
    assert text.get_text() == f"mean {display.mean_silhouette:.3f}"


def test_the_legend_covers_no_blade(iris):
    display = SilhouetteDisplay.from_estimator(iris.model, iris.X)
    display.figure_.canvas.draw()
    assert display.legend_.get_window_extent().y0 >= display.ax_.get_window_extent().y1


def test_of_any_partition(flat):
    names = np.array(["b", "a"])[(flat.X[:, 0] > 0).astype(int)]
    display = SilhouetteDisplay.from_predictions(flat.X, names, metric="manhattan")
    expected = silhouette_samples(flat.X, names, metric="manhattan")
    assert_allclose(display.silhouettes, expected)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["a", "b"]
    other = SilhouetteDisplay.from_estimator(flat.model, flat.X, labels=names)
    assert_allclose(other.silhouettes, flat.model.network_.silhouette_values(flat.X, names))


def test_rows_without_a_silhouette_are_left_out(iris):
    silhouettes = np.where(np.arange(150) % 3, np.nan, 0.5)
    display = SilhouetteDisplay(silhouettes=silhouettes, labels=np.repeat([0, 2], 75)).plot()
    heights = [blade.get_datalim(display.ax_.transData).height for blade in display.blades_]
    assert heights == [25, 25]
    assert to_hex(display.blades_[1].get_facecolor()[0]) == LIGHT[2]
    assert display.mean_silhouette == 0.5


def test_numbers_of_many_blades_can_be_read(many):
    display = SilhouetteDisplay.from_estimator(many.model, many.X)
    assert len(display.blades_) == 25
    assert display.blades_[22].get_hatch()
    display.figure_.canvas.draw()
    boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    assert len(boxes) > 12
    assert all(above.y0 >= below.y1 - 1 for above, below in pairwise(boxes))


def test_one_cluster_is_said_to_have_none(one):
    display = SilhouetteDisplay.from_estimator(one.model, one.X)
    assert len(display.blades_) == 1
    assert "no silhouettes" in display.ax_.texts[0].get_text()
    assert display.mean_line_ is None
    assert display.legend_ is None


def test_a_single_row_is_drawn_without_a_warning(iris):
    display = SilhouetteDisplay.from_estimator(iris.model, iris.X[:1])
    assert display.silhouettes.tolist() == [0]


@pytest.mark.parametrize("metric", ["euclidean", "precomputed", None])
def test_noise_is_left_out(flat, metric):
    X, labels = flat.X, np.arange(len(flat.X)) % 5 - 1
    kept = labels >= 0
    if metric is None:
        display = SilhouetteDisplay.from_estimator(flat.model, X, labels=labels)
        expected = flat.model.network_.silhouette_values(X[kept], labels[kept])
    else:
        rows = pairwise_distances(X) if metric == "precomputed" else X
        display = SilhouetteDisplay.from_predictions(rows, labels, metric=metric)
        expected = silhouette_samples(X[kept], labels[kept])
    assert np.isnan(display.silhouettes[~kept]).all()
    assert_allclose(display.silhouettes[kept], expected, atol=1e-9)
    assert_allclose(display.mean_silhouette, expected.mean())
    assert len(display.blades_) == 4
    assert to_hex(display.blades_[0].get_facecolor()[0]) == LIGHT[0]
    last = display.legend_.get_texts()[-1].get_text()
    assert last == f"noise: {np.count_nonzero(~kept)} rows left out"


def test_noise_alone_is_refused(flat):
    with pytest.raises(ValueError, match="all rows are noise"):
        SilhouetteDisplay.from_predictions(flat.X, np.full(len(flat.X), -1))


def test_keywords_reach_the_artists(iris):
    display = SilhouetteDisplay.from_estimator(
        iris.model, iris.X, mean_kw={"color": "red"}, alpha=0.5
    )
    assert display.mean_line_.get_color() == "red"
    assert display.blades_[0].get_alpha() == 0.5


def test_labels_must_fit_the_rows(iris):
    with pytest.raises(ValueError, match="labels must have shape"):
        SilhouetteDisplay.from_estimator(iris.model, iris.X, labels=[0, 1])
    with pytest.raises(ValueError, match="labels must have shape"):
        SilhouetteDisplay.from_predictions(iris.X, [0, 1])
