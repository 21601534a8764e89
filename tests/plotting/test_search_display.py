"""SearchDisplay, by what it draws."""

import copy
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import loguniform
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import scale

from amclust import ClAM, ClAMSearch
from amclust.plotting import SearchDisplay

X = load_iris().data


def search(n_clusters=3, **params):
    params = {"budget": None, "n_init": 2, "max_epochs": 10, "random_state": 0} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ClAMSearch(n_clusters, **params).fit(X)


@pytest.fixture(scope="module")
def grid():
    space = {"objective": ["completion"], "beta": [0.001, 0.1, 1.0, 10.0], "n_steps": [2, 10]}
    return search(space=space)


@pytest.fixture(scope="module")
def numbers():
    return search([2, 3, 4], space={"objective": ["completion", "silhouette"]}, max_epochs=20)


def best(table, **where):
    rows = table["living_clusters"] == table["n_clusters"]
    for name, value in where.items():
        rows = rows & (table[name] == value)
    return table["silhouette"][rows].max(initial=-np.inf)


def test_a_line_a_t_has_the_best_silhouette_at_each_beta(grid):
    display = SearchDisplay.from_estimator(grid)
    assert [line.get_label() for line in display.lines_] == ["T = 2", "T = 10"]
    assert display.ax_.get_xlabel() == "β (beta)"
    assert display.ax_.get_xscale() == "log"
    for steps, line in zip((2, 10), display.lines_, strict=True):
        for beta, score in line.get_xydata():
            expected = best(grid.results_dict_, beta=beta, n_steps=steps)
            if np.isnan(score):
                assert expected == -np.inf
            else:
                assert_allclose(score, expected)


def test_only_living_clusters_count_and_collapsed_runs_are_crossed(grid):
    display = SearchDisplay.from_estimator(grid)
    lines = np.array([line.get_ydata() for line in display.lines_])
    gone = np.isnan(lines)
    assert gone[1, 0]  # memories attract together at so small a beta
    assert not gone[:, 1:].all()
    crosses = np.concatenate([dots.get_offsets() for dots in display.collapsed_])
    assert 0.001 in crosses[:, 0]
    assert np.isfinite(crosses).all()
    assert display.legend_.get_texts()[-1].get_text() == "collapsed"
    low, _ = display.ax_.get_xlim()
    assert low < 0.001


def test_a_collapsed_run_is_crossed_only_where_it_scores_higher():
    places = np.array([1, 2, 3], dtype=object)
    display = SearchDisplay(
        curves={None: (places, np.array([0.5, 0.5, np.nan]))},
        collapsed={None: (places, np.array([0.4, 0.6, 0.3]))},
        x="n_steps",
        group_by=None,
    ).plot()
    (crosses,) = display.collapsed_
    assert_allclose(crosses.get_offsets(), [[2, 0.6], [3, 0.3]])


def test_a_collapsed_run_never_counts_however_well_it_scores(grid):
    table = {name: column.copy() for name, column in grid.results_dict_.items()}
    rows = (table["beta"] == 1.0) & (table["n_steps"] == 2)
    table["living_clusters"][rows], table["silhouette"][rows] = 2, 0.9
    doctored = copy.copy(grid)
    doctored.results_dict_ = table
    display = SearchDisplay.from_estimator(doctored)
    line = display.lines_[0].get_xydata()
    assert np.isnan(line[line[:, 0] == 1.0, 1]).all()
    crosses = np.concatenate([dots.get_offsets() for dots in display.collapsed_])
    assert [1.0, 0.9] in crosses.tolist()


def test_any_other_parameter(grid):
    display = SearchDisplay.from_estimator(grid, x="n_steps", group_by="beta")
    assert display.ax_.get_xlabel() == "T (n_steps)"
    assert [line.get_label() for line in display.lines_][1] == "β = 0.1"
    assert display.ax_.get_xscale() == "linear"
    single = SearchDisplay.from_estimator(grid, x="n_steps", group_by=None)
    (line,) = single.lines_
    for steps, score in line.get_xydata():
        assert_allclose(score, best(grid.results_dict_, n_steps=steps))


def test_k_means_has_the_same_restarts_and_scaling(grid):
    display = SearchDisplay.from_estimator(grid, X)
    (line,) = display.k_means_
    assert line.get_linestyle() == "--"
    assert line.get_label() == "k-means, best of 2"
    rows = scale(X)
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=2)
    labels = [KMeans(3, n_init=1, random_state=seed).fit(rows).labels_ for seed in seeds]
    expected = max(silhouette_score(rows, found) for found in labels)
    assert_allclose(line.get_ydata(), expected, atol=1e-4)
    more = SearchDisplay.from_estimator(grid, X, restarts=5)
    assert more.k_means >= display.k_means
    assert more.k_means_[0].get_label() == "k-means, best of 5"


def test_k_means_takes_holes_and_other_metrics():
    rows = X.copy()
    rows[::5, 1] = np.nan
    for table, metric in ((rows, "euclidean"), (X, "cosine"), (X, "mahalanobis")):
        found = ClAMSearch(
            3,
            space={"learning_rate": [0.1, 0.3]},
            estimator=ClAM(metric=metric, objective="completion"),
            budget=40,
            n_init=1,
            max_epochs=20,
            random_state=0,
        ).fit(table)
        display = SearchDisplay.from_estimator(found, table)
        assert -1 < display.k_means < 1


def test_numbers_of_clusters_along_the_axis(numbers):
    display = SearchDisplay.from_estimator(numbers, X, x="n_clusters", group_by="objective")
    assert [line.get_label() for line in display.lines_] == [
        "objective = completion",
        "objective = silhouette",
    ]
    (reference,) = display.k_means_
    assert list(reference.get_xdata()) == [2, 3, 4]
    assert_allclose(reference.get_ydata(), list(display.k_means.values()))


def test_numbers_of_clusters_as_lines(numbers):
    display = SearchDisplay.from_estimator(numbers, X, x="objective")
    assert [line.get_label() for line in display.lines_] == ["k = 2", "k = 3", "k = 4"]
    names = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert names == ["completion", "silhouette"]
    for line, reference in zip(display.lines_, display.k_means_, strict=True):
        assert line.get_color() == reference.get_color()


def test_other_numbers_of_clusters_do_not_count(numbers):
    doctored = copy.copy(numbers)
    doctored.best_params_ = {"n_clusters": 4}  # not where silhouettes are highest
    display = SearchDisplay.from_estimator(doctored, x="objective", group_by=None)
    expected = [
        best(numbers.results_dict_, n_clusters=4, objective=name)
        for name in ("completion", "silhouette")
    ]
    assert_allclose(display.lines_[0].get_ydata(), expected)


def test_multiples_of_the_automatic_beta():
    space = {"objective": ["silhouette"], "beta_factor": [0.5, 2.0], "weights": [None, "learn"]}
    display = SearchDisplay.from_estimator(search(space=space))
    assert display.x == "beta_factor"
    assert [line.get_label() for line in display.lines_] == ["weights = None", "weights = learn"]
    assert list(display.lines_[0].get_xdata()) == [0.5, 2.0]


def test_drawn_values_are_not_joined():
    display = SearchDisplay.from_estimator(
        search(2, space={"learning_rate": loguniform(1e-3, 1)}, budget=400, n_init=1, min_epochs=10)
    )
    (line,) = display.lines_
    assert len(line.get_xdata()) == 40
    assert line.get_linestyle() == "None"
    assert display.legend_ is None or "learning" not in display.legend_.get_texts()[0].get_text()


def test_the_legend_covers_no_line(grid):
    display = SearchDisplay.from_estimator(grid, X)
    display.figure_.canvas.draw()
    assert display.legend_.get_window_extent().x0 >= display.ax_.get_window_extent().x1


def test_keywords_reach_the_artists(grid):
    display = SearchDisplay.from_estimator(
        grid, X, lw=4, k_means_kw={"color": "red"}, collapsed_kw={"s": 99}
    )
    assert display.lines_[0].get_linewidth() == 4
    assert display.k_means_[0].get_color() == "red"
    assert display.collapsed_[0].get_sizes()[0] == 99


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"x": "patience"}, "x='patience' was not searched; these were: n_clusters, objective"),
        ({"group_by": "seed"}, "group_by='seed' was not searched"),
        ({"x": "beta", "group_by": "beta"}, "must be different parameters, got 'beta' for both"),
        ({"x": 3}, "'x' parameter of SearchDisplay"),
        ({"restarts": 0}, "'restarts' parameter of SearchDisplay"),
    ],
)
def test_wrong_arguments(grid, params, words):
    with pytest.raises(ValueError, match=words):
        SearchDisplay.from_estimator(grid, **params)


def test_only_a_search_can_be_drawn(grid):
    with pytest.raises(TypeError, match="must be a fitted ClAMSearch, got ClAM"):
        SearchDisplay.from_estimator(grid.best_estimator_)
