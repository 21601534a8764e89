"""k-means beside the model, and the restarts."""

import numpy as np
import pytest
from report_pages import Page
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import scale

from amclust import ClAM
from amclust.report._facts import Facts
from amclust.report._subject import Subject


def test_the_numbers_are_those_of_an_independent_run(iris, iris_model):
    comparison = Facts(Subject.of(iris_model, iris, None, 5)).comparison
    Z = scale(iris)
    seeds = np.random.RandomState(5).randint(2**31 - 1, size=4)
    runs = [KMeans(3, n_init=1, random_state=seed).fit(Z).labels_ for seed in seeds]
    best = max(runs, key=lambda labels: silhouette_score(Z, labels))
    assert comparison.restarts == 4
    assert comparison.k_means_silhouette == pytest.approx(silhouette_score(Z, best), abs=1e-4)
    assert comparison.silhouette == pytest.approx(iris_model.silhouette_, abs=1e-4)
    assert comparison.agreement == pytest.approx(adjusted_rand_score(best, iris_model.labels_))
    assert comparison.k_means_sizes.tolist() == sorted(np.bincount(best), reverse=True)
    assert comparison.sizes.tolist() == sorted(np.bincount(iris_model.labels_), reverse=True)


def test_the_page_shows_them(iris_model, iris_page):
    table = {row[0]: row[1:] for row in iris_page.tables["Two partitions of the same rows"]}
    sizes = sorted(np.bincount(iris_model.labels_), reverse=True)
    assert float(table["Silhouette"][0]) == pytest.approx(iris_model.silhouette_, abs=1e-4)
    assert table["Restarts"] == ["4", "4"]
    assert table["Sizes of the clusters"][0] == ", ".join(map(str, sizes))


def test_both_are_judged_by_known_values_where_some_are_missing(wine, wine_model, wine_page):
    comparison = Facts(Subject.of(wine_model, wine, None, 0)).comparison
    assert comparison.silhouette == pytest.approx(wine_model.silhouette_, abs=1e-5)
    judged = wine_model.network_.silhouette_values(wine, comparison.k_means_labels).mean()
    assert comparison.k_means_silhouette == pytest.approx(judged, abs=1e-5)
    assert "it had the rows as the model completes them" in wine_page.text


def test_by_loss_the_least_inertia_is_kept(iris):
    model = ClAM(3, n_init=3, selection="loss", random_state=0).fit(iris)
    comparison = Facts(Subject.of(model, iris, None, 1)).comparison
    seeds = np.random.RandomState(1).randint(2**31 - 1, size=3)
    runs = [KMeans(3, n_init=1, random_state=s).fit(scale(iris).astype("f4")) for s in seeds]
    least = min(runs, key=lambda run: run.inertia_)
    assert adjusted_rand_score(least.labels_, comparison.k_means_labels) == 1


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "mahalanobis"])
def test_k_means_sees_rows_as_the_metric_does(iris, metric):
    model = ClAM(3, n_init=2, metric=metric, random_state=0).fit(iris)
    rows = Subject.of(model, iris, None, 0).scaled
    network = model.network_
    if metric == "cosine":
        distances = 1 - rows @ network.memories.T
    else:
        distances = network.geometry.length * np.linalg.norm(
            rows[:, None] - network.memories, axis=2
        )
    np.testing.assert_allclose(distances, model.transform(iris), rtol=1e-3, atol=1e-5)


def test_the_restarts_are_listed_with_the_chosen_one_first(iris_model, iris_page):
    _, *rows = iris_page.tables["The restarts, the best first"]
    chosen = int(np.flatnonzero(iris_model.runs_["chosen"])[0])
    assert rows[0][0] == f"{chosen + 1} chosen"
    order = [int(row[0].split()[0]) - 1 for row in rows]
    assert sorted(order) == [0, 1, 2, 3]
    for row, run in zip(rows, iris_model.runs_[order], strict=True):
        assert float(row[1]) == pytest.approx(run["silhouette"], abs=1e-4)
        assert row[5] == str(run["seed"])
    assert f"the one with the highest silhouette was kept: restart {chosen + 1}" in iris_page.text


def test_how_many_clusters_is_explained_where_it_was_estimated(iris, tmp_path):
    model = ClAM([2, 3, 4], n_init=1, random_state=0).fit(iris)
    page = Page(model, iris, tmp_path)
    _, *rows = page.tables["How many clusters"]
    assert [row[0].split()[0] for row in rows] == ["2", "3", "4"]
    assert [int(row[1]) for row in rows] == model.n_clusters_evidence_["votes"].tolist()
    (chosen,) = (row for row in rows if "chosen" in row[0])
    assert int(chosen[0].split()[0]) == model.n_clusters_


def test_a_stream_is_trained_once(iris, tmp_path):
    model = ClAM(3, random_state=0)
    model.partial_fit(iris[::2])
    model.partial_fit(iris[1::2])
    page = Page(model, iris, tmp_path)
    assert "The model was trained once" in page.text
    assert "these are not the rows of the model’s last fit" in page.facts["Training"]
    sizes = [int(row[1].split()[0]) for row in page.tables["The clusters"][1:]]
    assert sizes == np.bincount(model.predict(iris), minlength=3).tolist()
