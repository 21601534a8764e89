"""ShapeDisplay, MergeTreeDisplay, and planes with assemblies, by what they draw."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons

from amclust import ClAM
from amclust.plotting import (
    BasinsDisplay,
    EnergyDisplay,
    MemoriesDisplay,
    MergeTreeDisplay,
    ShapeDisplay,
    TrajectoryDisplay,
)


@pytest.fixture(scope="module")
def moons():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    return X, ClAM(3, n_memories=30, random_state=0).fit(X)


def test_eigenvalues_and_candidates_are_drawn(moons):
    display = ShapeDisplay.from_estimator(moons[1], color="red")
    values = moons[1].shape_evidence_.eigenvalues
    assert_array_equal(display.line_.get_ydata(), np.maximum(1 - values[:30], 1e-5))
    (text,) = display.legend_.get_texts()
    assert text.get_text().startswith("30 memories, cut ")
    again = moons[1].shape_evidence_.plot(ax=display.ax_)
    assert again.ax_ is display.ax_


def test_round_clusters_are_named():
    X, _ = make_moons(200, noise=0.05, random_state=0)
    model = ClAM(2, n_memories="auto", random_state=0).fit(X)
    texts = [text.get_text() for text in ShapeDisplay.from_estimator(model).legend_.get_texts()]
    assert texts[0].startswith("round clusters, cut 0.")
    assert texts[1].startswith("40 memories, cut 0.")


def test_the_tree_is_drawn(moons):
    display = MergeTreeDisplay.from_estimator(moons[1])
    assert sorted(display.tree_["leaves"]) == [0, 1, 2]
    assert MergeTreeDisplay(merge_tree=np.empty((0, 4))).plot().tree_ == {}


def test_evidence_reads_like_a_frame(moons):
    frame = moons[1].shape_evidence_.to_pandas()
    assert list(frame.columns) == list(moons[1].shape_evidence_.columns)
    assert frame["n_memories"].tolist() == [30]


@pytest.mark.parametrize("display", [ShapeDisplay, MergeTreeDisplay])
def test_models_of_round_clusters_have_neither(display, moons):
    with pytest.raises(ValueError, match="estimator has no .* fit ClAM"):
        display.from_estimator(ClAM(2, random_state=0).fit(moons[0]))


@pytest.mark.parametrize("display", [BasinsDisplay, TrajectoryDisplay, EnergyDisplay])
def test_memories_have_the_number_of_their_cluster(display, moons):
    X, model = moons
    drawn = display.from_estimator(model, X)
    assert [text.get_text() for text in drawn.numbers_] == [str(c) for c in model.memory_labels_]


def test_borders_are_where_the_cluster_of_the_nearest_memory_changes(moons):
    """Along any line, that changes as often as a border is crossed: none is within an assembly."""
    X, model = moons
    display = BasinsDisplay.from_estimator(model, X, resolution=20)
    segments = np.array(display.borders_.get_segments())
    low, high = segments[:, :, 1].min(axis=1), segments[:, :, 1].max(axis=1)
    crossed = 0
    for y in np.linspace(*display.ys[[0, -1]], 14)[1:-1]:
        line = np.linspace(*display.xs[[0, -1]], 2000)
        clusters = model.transform(np.c_[line, np.full(2000, y)]).argmin(axis=1)
        changes = np.count_nonzero(np.diff(clusters))
        assert changes == np.count_nonzero((low < y) & (y <= high))
        crossed += changes
    assert crossed > 10


def test_memories_that_are_shown_are_the_clusters(moons):
    assert len(MemoriesDisplay.from_estimator(moons[1]).memories) == 3


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_memories_of_epochs_are_the_clusters_too(metric, moons):
    model = ClAM(3, n_memories=30, metric=metric, record_epochs=range(200), random_state=0)
    model.fit(moons[0])
    values = {"centre": "zero", "units": "table"}
    grown = MemoriesDisplay.from_estimator(model, epochs=True, **values)
    assert grown.memories.shape == (len(model.recorded_epochs_), 3, 2)
    assert len(grown.lines_) == 3 * len(model.recorded_epochs_)
    assert_allclose(grown.memories[-1], model.cluster_centers_, atol=1e-5)
    sizes = model.network_.sizes
    for cluster in range(3):
        members = model.memory_labels_ == cluster
        mean = np.average(model.recorded_memories_[0, members], axis=0, weights=sizes[members])
        mean /= np.linalg.norm(mean) if metric == "cosine" else 1
        assert_allclose(grown.memories[0, cluster], mean, atol=1e-5)
    some = MemoriesDisplay.from_estimator(model, epochs=[0], clusters=[2], **values)
    assert_allclose(some.memories[0], grown.memories[0, [2]])
