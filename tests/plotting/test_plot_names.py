"""Names of columns and clusters in plots, whatever they are."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from plotted_models import fitted

from amclust.plotting import (
    BasinsDisplay,
    EnergyDisplay,
    LossCurveDisplay,
    MemoriesDisplay,
    SilhouetteDisplay,
    TrajectoryDisplay,
)
from amclust.plotting._base import MAX_NAME_LENGTH, plain_texts

DOLLARS = [r"cost $\frac$ 0", "price ($) 0$"]


def named(names, **params):
    X = np.random.default_rng(0).normal(size=(30, len(names)))
    return fitted(pd.DataFrame(X, columns=names), 2, max_epochs=2, **params)


def drawn(text):
    """What a text looks like, and whether it would be set as mathematics."""
    return text._preprocess_math(text.get_text())


def test_short_names_stay_as_they_are():
    assert plain_texts(["a", "b_c", 3, ""]) == ["a", "b_c", "3", ""]


def test_long_names_lose_their_middle_and_stay_different():
    names = ["x" * 70 + "1", "x" * 70 + "2", "y" * 40 + "a" + "y" * 40, "y" * 40 + "b" + "y" * 40]
    texts = plain_texts(names)
    assert [text[-1] for text in texts[:2]] == ["1", "2"]
    assert all(len(text) <= MAX_NAME_LENGTH + 4 for text in texts)
    assert len(set(texts)) == 4
    assert plain_texts(["one\n  line"]) == ["one line"]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("display", [BasinsDisplay, EnergyDisplay, TrajectoryDisplay])
def test_dollars_on_axes_are_no_mathematics(display, metric):
    rows = named(DOLLARS, metric=metric)
    options = {} if display is TrajectoryDisplay else {"resolution": 5}
    ax = display.from_estimator(rows.model, rows.X, **options).ax_
    end = " (rows of unit length)" if metric == "cosine" else ""
    for axis, name in zip((ax.xaxis, ax.yaxis), DOLLARS, strict=True):
        assert drawn(axis.label) == (name + end, False)


def test_dollars_in_ticks_and_legends_are_no_mathematics():
    rows = named(DOLLARS)
    memories = MemoriesDisplay.from_estimator(rows.model, titles=DOLLARS)
    loss = LossCurveDisplay.from_estimator(rows.model, name=DOLLARS[0])
    labels = np.array(DOLLARS)[np.arange(30) % 2]
    silhouettes = SilhouetteDisplay.from_predictions(rows.X, labels)
    texts = [
        *memories.ax_.get_xticklabels(),
        *memories.legend_.get_texts(),
        *loss.legend_.get_texts(),
        *silhouettes.ax_.get_yticklabels(),
    ]
    assert [drawn(text) for text in texts] == [
        (name, False) for name in (*DOLLARS, *DOLLARS, DOLLARS[0], *DOLLARS)
    ]


def test_long_names_leave_room_for_the_profiles():
    rows = named([f"{j} {'long ' * 14}" for j in range(13)])
    display = MemoriesDisplay.from_estimator(rows.model)
    display.figure_.canvas.draw()
    box, figure = display.ax_.get_window_extent(), display.figure_.bbox
    assert box.height > 0.5 * figure.height
    assert box.width > 0.5 * figure.width


def test_a_name_of_300_characters_stays_below_its_axes():
    rows = named(["a" * 300, "b"])
    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    display = BasinsDisplay.from_estimator(rows.model, rows.X, resolution=5, ax=axes[0])
    display.figure_.canvas.draw()
    assert display.ax_.xaxis.label.get_window_extent().x1 < axes[1].get_window_extent().x0


def test_columns_without_a_name_are_called_x0_and_so_on(flat):
    display = MemoriesDisplay.from_estimator(flat.model)
    assert [text.get_text() for text in display.ax_.get_xticklabels()] == ["x0", "x1"]
    assert BasinsDisplay.from_estimator(flat.model, flat.X, resolution=5).ax_.get_xlabel() == "x0"
