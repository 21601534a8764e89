"""EntropyDisplay, SizesDisplay and LossCurveDisplay, by what they draw."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import DBSCAN, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from amclust import ClAM, ClAMSearch
from amclust._colours import LIGHT
from amclust.plotting import (
    BasinsDisplay,
    EntropyDisplay,
    LossCurveDisplay,
    SearchDisplay,
    SilhouetteDisplay,
    SizesDisplay,
)


def heights(display):
    return [bar.get_height() for bar in display.bars_]


# --- entropy --------------------------------------------------------------------------------------


def test_bars_count_the_entropies_of_all_rows(any_model):
    display = EntropyDisplay.from_estimator(any_model.model, any_model.X, bins=12)
    entropy = any_model.model.entropy(any_model.X)
    expected, _ = np.histogram(entropy, bins=12, range=(0, np.log(3)))
    assert_array_equal(heights(display), expected)
    assert sum(heights(display)) == len(any_model.X)
    assert_allclose(display.ax_.get_xlim(), [0, np.log(3)])
    assert_allclose(display.mean_line_.get_xdata(), entropy.mean(), atol=1e-6)


def test_few_rows_are_seen_beside_many():
    entropy = np.r_[np.zeros(500), 0.6]
    assert EntropyDisplay(entropy=entropy, n_clusters=2).plot().ax_.get_yscale() == "log"
    assert (
        EntropyDisplay(entropy=entropy, n_clusters=2).plot(log=False).ax_.get_yscale() == "linear"
    )
    even = np.r_[np.linspace(0, 0.6, 500), 0.69]
    assert EntropyDisplay(entropy=even, n_clusters=2).plot().ax_.get_yscale() == "linear"


def test_entropy_of_any_memberships(flat):
    p = GaussianMixture(3, random_state=0).fit(flat.X).predict_proba(flat.X)
    display = EntropyDisplay.from_predictions(p)
    assert display.n_clusters == 3
    sure = EntropyDisplay.from_predictions(np.eye(4)[[0, 1, 1]], bins=5)
    assert_array_equal(heights(sure), [3, 0, 0, 0, 0])
    unsure = EntropyDisplay.from_predictions(np.full((6, 4), 0.25), bins=5)
    assert_array_equal(heights(unsure), [0, 0, 0, 0, 6])


def test_one_cluster_has_no_entropy(one):
    display = EntropyDisplay.from_estimator(one.model, one.X)
    assert heights(display)[0] == len(one.X)
    assert "log 1 = 0.00" in display.ax_.get_xlabel()


@pytest.mark.parametrize(
    "memberships", [[0.5, 0.5], [[0.5, 0.7]], [[1.5, -0.5]], np.full((2, 2), np.nan)]
)
def test_wrong_memberships(memberships):
    with pytest.raises(ValueError, match="memberships must have shape .n_samples, n_clusters."):
        EntropyDisplay.from_predictions(memberships)


def test_wrong_bins(flat):
    with pytest.raises(ValueError, match="'bins' parameter of EntropyDisplay.plot"):
        EntropyDisplay.from_estimator(flat.model, flat.X, bins=0)


# --- sizes ----------------------------------------------------------------------------------------


def test_bars_are_the_sizes_of_the_clusters(iris):
    display = SizesDisplay.from_estimator(iris.model)
    assert_array_equal(heights(display), np.bincount(iris.model.labels_))
    assert [to_hex(bar.get_facecolor()) for bar in display.bars_] == list(LIGHT[:3])
    assert [text.get_text() for text in display.counts_] == [str(n) for n in display.sizes]
    some = SizesDisplay.from_estimator(iris.model, iris.X[:50])
    assert sorted(heights(some)) == [0, 0, 50]


def test_sorted_bars_keep_their_numbers_and_colours():
    display = SizesDisplay.from_predictions([1, 1, 1, 2, 0, 2], n_clusters=4).plot(sort=True)
    assert heights(display) == [3, 2, 1, 0]
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["1", "2", "0", "3"]
    assert to_hex(display.bars_[0].get_facecolor()) == LIGHT[1]


def test_bars_of_the_same_colour_differ_in_their_hatch(many):
    display = SizesDisplay.from_estimator(many.model)
    looks = {(to_hex(bar.get_facecolor()), bar.get_hatch()) for bar in display.bars_}
    assert len(looks) == len(display.counts_) == 25


def test_hundreds_of_clusters_have_room():
    display = SizesDisplay.from_predictions(np.arange(300))
    assert display.counts_ == []
    assert len(display.ax_.get_xticks()) <= 30


def test_sizes_of_other_estimators_and_searches(flat):
    k_means = KMeans(4, n_init=1, random_state=0).fit(flat.X)
    assert_array_equal(heights(SizesDisplay.from_estimator(k_means)), np.bincount(k_means.labels_))
    search = ClAMSearch(2, budget=200, n_init=1, random_state=0).fit(flat.X)
    assert sum(heights(SizesDisplay.from_estimator(search))) == len(flat.X)
    assert sum(heights(SizesDisplay.from_estimator(search, flat.X[:9]))) == 9


def bar_names(display):
    return [text.get_text() for text in display.ax_.get_xticklabels()]


@pytest.mark.parametrize("dtype", [int, np.int8, object])
def test_noise_is_a_grey_bar_behind_the_clusters(dtype):
    labels = np.array([-1, 0, 1, 1, -1, -1, 1], dtype=dtype)
    display = SizesDisplay.from_predictions(labels).plot(sort=True)
    assert heights(display) == [3, 1, 3]
    assert bar_names(display) == ["1", "0", "noise"]
    assert_array_equal(display.sizes, [1, 3])
    red, green, blue, _ = display.bars_[-1].get_facecolor()
    assert red == green == blue
    assert to_hex(display.bars_[0].get_facecolor()) == LIGHT[1]
    assert bar_names(SizesDisplay.from_predictions([-1, -1])) == ["noise"]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["ham", "eggs", "ham"], ["eggs", "ham"]),
        (np.array(["ham", None, "ham"], dtype=object), ["None", "ham"]),
        ([0.5, 2.0, 0.5], ["0.5", "2.0"]),
        ([True, False, True], ["False", "True"]),
    ],
)
def test_clusters_may_have_names(labels, names):
    display = SizesDisplay.from_predictions(labels)
    assert bar_names(display) == names
    assert sum(heights(display)) == 3


def test_long_names_do_not_overlap():
    names = ["a very long name", "another very long name", "b", "c"]
    long = SizesDisplay.from_predictions(names)
    assert {text.get_rotation() for text in long.ax_.get_xticklabels()} == {40}
    assert SizesDisplay.from_predictions(list("abcd")).ax_.get_xticklabels()[0].get_rotation() == 0


def test_sizes_of_an_estimator_with_noise(flat):
    scanned = DBSCAN(eps=0.5).fit(flat.X)
    display = SizesDisplay.from_estimator(scanned)
    assert display.noise == np.count_nonzero(scanned.labels_ == -1) > 0
    assert_array_equal(display.sizes, np.bincount(scanned.labels_[scanned.labels_ >= 0]))


def test_wrong_labels():
    with pytest.raises(ValueError, match=r"must have one dimension, got .* shape \(1, 2\)"):
        SizesDisplay.from_predictions([[0, 1]])
    with pytest.raises(ValueError, match="n_clusters is for labels that are integers"):
        SizesDisplay.from_predictions(["a", "b"], n_clusters=2)


def test_wrong_number_of_clusters():
    with pytest.raises(ValueError, match="'n_clusters' parameter of SizesDisplay"):
        SizesDisplay.from_predictions([0, 1], n_clusters=0)


# --- loss -----------------------------------------------------------------------------------------


def test_the_curve_is_the_loss_of_every_epoch(iris):
    display = LossCurveDisplay.from_estimator(iris.model)
    assert_array_equal(display.line_.get_xdata(), np.arange(1, iris.model.n_iter_ + 1))
    assert_array_equal(display.line_.get_ydata(), iris.model.loss_curve_)
    ((epoch, loss),) = display.best_.get_offsets()
    assert_allclose(loss, iris.model.loss_curve_.min())
    assert iris.model.loss_curve_[int(epoch) - 1] == iris.model.loss_curve_.min()
    assert display.legend_ is None
    assert display.ax_.get_xlabel() == "epoch"


def test_curves_of_several_models_share_axes(iris, flat):
    _, ax = plt.subplots()
    first = LossCurveDisplay.from_estimator(iris.model, name="iris", ax=ax)
    second = LossCurveDisplay.from_estimator(flat.model, name="flat", ax=ax)
    assert first.line_.get_color() != second.line_.get_color()
    assert [text.get_text() for text in second.legend_.get_texts()] == ["iris", "flat"]


def test_a_loss_that_falls_by_decades_has_a_logarithmic_axis():
    assert LossCurveDisplay(loss_curve=0.5 ** np.arange(9)).plot().ax_.get_yscale() == "log"
    assert LossCurveDisplay(loss_curve=-np.arange(9.0)).plot().ax_.get_yscale() == "linear"


def test_a_search_has_the_curve_of_its_best_run(flat):
    search = ClAMSearch(2, budget=200, n_init=1, random_state=0).fit(flat.X)
    display = LossCurveDisplay.from_estimator(search)
    assert_array_equal(display.loss_curve, search.best_estimator_.loss_curve_)


def test_estimators_without_a_curve_are_refused(flat):
    with pytest.raises(TypeError, match="must have a loss_curve_, got KMeans"):
        LossCurveDisplay.from_estimator(KMeans(2, n_init=1).fit(flat.X))
    with pytest.raises(ValueError, match="not fitted"):
        LossCurveDisplay.from_estimator(ClAM(2))


@pytest.mark.parametrize(
    "draw",
    [
        BasinsDisplay.from_estimator,
        SilhouetteDisplay.from_estimator,
        SizesDisplay.from_estimator,
        SearchDisplay.from_estimator,
        lambda pipeline, X: LossCurveDisplay.from_estimator(pipeline),
    ],
)
def test_pipelines_are_told_what_to_pass(flat, draw):
    pipeline = make_pipeline(StandardScaler().fit(flat.X), flat.model)
    words = r"Pipeline: pass pipeline\[-1\] and the rows .*: pipeline\[:-1\].transform\(X\)"
    with pytest.raises(TypeError, match=words):
        draw(pipeline, flat.X)
    SizesDisplay.from_estimator(pipeline[-1], pipeline[:-1].transform(flat.X))
