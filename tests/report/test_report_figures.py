"""What the figures show."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_samples
from sklearn.preprocessing import scale

from amclust import ClAM
from amclust._plane import Plane
from amclust.report import _subject
from amclust.report._facts import Profiles
from amclust.report._subject import Subject


def test_rows_are_projected_on_their_principal_components(iris, iris_page):
    shown = np.column_stack([iris_page.data["projection"][axis] for axis in "xy"])
    expected = PCA(2).fit_transform(scale(iris))
    signs = np.sign((shown * expected).sum(axis=0))
    np.testing.assert_allclose(shown, expected * signs, atol=2e-3)
    assert iris_page.data["axes"] == [
        "PC 1 (73 % of the variance)",
        "PC 2 (23 % of the variance)",
    ]


def test_hovering_tells_the_row_its_cluster_and_its_values(iris, iris_model, iris_page):
    shown = iris_page.data["projection"]
    row = 77
    assert shown["row"][row] == "77"
    assert shown["cluster"] == iris_model.labels_.tolist()
    assert float(shown["energy"][row]) == pytest.approx(iris_model.energy(iris)[row], rel=0.01)
    entropy = float(iris_model.entropy(iris)[row])
    written = shown["entropy"][row]
    assert "×10" in written or float(written) == pytest.approx(entropy, rel=0.05)
    names = shown["features"][shown["cluster"][row]]
    assert [float(value) for value in shown["values"][row]] == iris[names].iloc[row].tolist()


def test_silhouettes_are_those_of_scikit_learn(iris, iris_model, iris_page):
    expected = silhouette_samples(scale(iris), iris_model.labels_)
    for knife in iris_page.data["knives"]:
        members = knife["rows"]
        assert set(iris_model.labels_[members]) == {knife["cluster"]}
        assert knife["values"] == sorted(knife["values"], reverse=True)
        np.testing.assert_allclose(knife["values"], expected[members], atol=1e-3)
    assert iris_page.data["silhouette"] == pytest.approx(expected.mean(), abs=1e-4)


def test_entropy_counts_all_rows(iris, iris_model, iris_page):
    counts = np.array(iris_page.data["entropy"]["counts"])
    edges = iris_page.data["entropy"]["edges"]
    assert counts.sum() == 150
    assert edges[-1] == pytest.approx(np.log(3), abs=1e-4)
    assert counts[0] == np.count_nonzero(iris_model.entropy(iris) < edges[1])


def test_basins_are_what_the_model_predicts_in_the_plane(iris, iris_model, iris_page):
    basins = iris_page.data["basins"]
    plane = Plane.from_estimator(iris_model, iris)
    labels = plane.ask(iris_model.network_.labels, np.array(basins["x"]), np.array(basins["y"]))
    # Coordinates are rounded on the page: at a border a point may fall to the other side.
    assert np.mean(labels == basins["labels"]) > 0.995


def test_borders_are_where_the_nearest_memory_changes(iris, iris_model, iris_page):
    borders = np.array(iris_page.data["basins"]["borders"])
    assert len(borders) > 1
    plane = Plane.from_estimator(iris_model, iris)
    middles = plane.lift((borders[:, :2] + borders[:, 2:]) / 2)
    distances = np.sort(iris_model.transform(pd.DataFrame(middles, columns=iris.columns)), axis=1)
    np.testing.assert_allclose(distances[:, 0], distances[:, 1], atol=0.01)


def test_large_tables_are_sampled_and_the_page_says_so(monkeypatch, page_of):
    monkeypatch.setattr(_subject, "MAX_ROWS", 80)
    monkeypatch.setattr(_subject, "MIN_ROWS", 80)
    monkeypatch.setattr(_subject, "MAX_DRAWN", 50)
    X = make_blobs(200, 3, centers=2, random_state=0)[0]
    page = page_of(X)
    assert len(page.data["projection"]["x"]) == 50
    assert len(set(page.data["projection"]["row"])) == 50
    assert sorted(row for knife in page.data["knives"] for row in knife["rows"]) == list(range(50))
    assert sum(page.data["entropy"]["counts"]) == 200
    assert "Drawn are 50 of 200 rows, picked at random." in page.text
    assert "Measured on a random sample of 80 rows." in page.text
    assert "All numbers here are of a random sample of 80 rows." in page.text
    sizes = [int(row[1].split()[0]) for row in page.tables["The clusters"][1:]]
    assert sum(sizes) == 200


def test_the_page_draws_a_single_column_as_a_strip(page_of):
    page = page_of(np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.5]]))
    assert page.data["axes"] == ["x0", ""]
    assert len(set(page.data["projection"]["y"])) == 6
    assert page.data["projection"]["x"] == [0, 1, 2, 10, 11, 12.5]


def test_profiles_leave_out_constant_columns(two_groups):
    model = ClAM(2, n_init=1, random_state=0).fit(two_groups)
    profiles = Profiles.of(Subject.of(model, two_groups, None, 0))
    assert all(d.column != 3 for m in range(2) for d in profiles.of_cluster(m))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("n_clusters", "circles"), [(30, "numbered circle"), (61, "empty circle")])
def test_the_text_says_how_memories_are_shown(page_of, n_clusters, circles):
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    memories = grid[:n_clusters]
    page = page_of(memories + 0.01, n_clusters, init=memories, n_init=1, max_epochs=1)
    assert page.data["numbered"] == (circles == "numbered circle")
    assert f"every {circles} the memory of a cluster" in page.text
    assert "Colours repeat after 20 clusters" in page.text
