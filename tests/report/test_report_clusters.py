"""Clusters and rows: sizes, what distinguishes them, the least typical."""

import re

import numpy as np
import pytest
from report_pages import Page
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.preprocessing import normalize

from amclust import ClAM


def test_sizes_and_shares_are_those_of_the_labels(iris_model, iris_page):
    _, *rows = iris_page.tables["The clusters"]
    sizes = np.bincount(iris_model.labels_)
    assert [row[0] for row in rows] == ["0", "1", "2"]
    for row, size in zip(rows, sizes, strict=True):
        count, share = re.fullmatch(r"(\d+) ([\d.]+) %", row[1]).groups()
        assert int(count) == size
        assert float(share) == pytest.approx(100 * size / 150, abs=0.5)


def test_the_features_that_were_moved_distinguish_in_the_units_of_the_table(two_groups, page_of):
    page = page_of(two_groups)
    _, *rows = page.tables["The clusters"]
    for row in rows:
        # In the table's units only "far" departs; scaled, "far" and "near" do, in this order.
        usual = round(two_groups["far"].mean())
        assert re.match(rf"far −?\d+ \(all rows: {usual}\) [+−][\d.]+ sd near ", row[3])
        assert "same" not in row[3]
    told = {int(re.match(r"far (−?\d+)", row[3].replace("−", "-"))[1]) for row in rows}
    assert min(told) == pytest.approx(0, abs=150)
    assert max(told) == pytest.approx(4000, abs=150)


@pytest.mark.parametrize("size", [1e-6, 1e6])
def test_without_scaling_the_units_of_the_table_do_not_matter(two_groups, page_of, size):
    page = page_of(two_groups * size, scale=None)
    for row in page.tables["The clusters"][1:]:
        # Beside "far", the other columns are too small to tell.
        assert re.fullmatch(r"far \S+ \(all rows: \S+\)", row[3])


def test_departures_are_given_in_standard_deviations(iris, iris_model, iris_page):
    _, *rows = iris_page.tables["The clusters"]
    scaled = (iris_model.cluster_centers_ - iris.mean().to_numpy()) / iris.std(ddof=0).to_numpy()
    for row, departures in zip(rows, scaled, strict=True):
        largest = int(np.abs(departures).argmax())
        name, value, usual, size = re.match(
            r"(.*?) (−?[\d.]+) \(all rows: ([\d.]+)\) ([+−][\d.]+) sd", row[3]
        ).groups()
        assert name == iris.columns[largest]
        assert float(usual) == pytest.approx(iris[name].mean(), abs=0.05)
        center = iris_model.cluster_centers_[int(row[0]), largest]
        assert float(value) == pytest.approx(center, abs=0.05)
        assert float(size.replace("−", "-")) == pytest.approx(departures[largest], abs=0.05)


def test_the_silhouette_of_a_cluster_is_the_mean_of_its_rows(iris_page):
    _, *rows = iris_page.tables["The clusters"]
    for row, knife in zip(rows, iris_page.data["knives"], strict=True):
        assert float(row[2]) == pytest.approx(np.mean(knife["values"]), abs=0.006)


def test_the_most_typical_row_has_the_least_energy(iris, iris_model, iris_page):
    energy = iris_model.energy(iris)
    for row in iris_page.tables["The clusters"][1:]:
        members = np.flatnonzero(iris_model.labels_ == int(row[0]))
        assert int(row[4]) == members[energy[members].argmin()]


def test_the_least_typical_rows_have_the_most_energy(iris, iris_model, iris_page):
    _, *rows = iris_page.tables["The least typical rows"]
    energy = iris_model.energy(iris)
    order = np.argsort(-energy, kind="stable")
    assert [int(row[0]) for row in rows] == order[: len(rows)].tolist()
    assert [int(row[1]) for row in rows] == iris_model.labels_[order[: len(rows)]].tolist()
    assert [float(row[2]) for row in rows] == pytest.approx(energy[order[: len(rows)]], rel=0.005)


def test_what_makes_a_row_unusual_is_told(two_groups, tmp_path):
    model = ClAM(2, n_init=1, random_state=0).fit(two_groups)
    two_groups.loc[3, "noise"] = 50.0
    _, first, *_ = Page(model, two_groups, tmp_path).tables["The least typical rows"]
    assert first[0] == "3"
    assert first[3].startswith("noise 50.0 (memory: ")


def test_memories_of_directions_are_compared_with_directions(page_of):
    X = np.abs(make_blobs(60, 3, centers=2, random_state=0)[0])
    page = page_of(X, metric="cosine")
    assert "values are those of rows of length 1" in page.text
    usual = normalize(X).mean(axis=0)
    for row in page.tables["The clusters"][1:]:
        told = re.findall(r"x(\d) [−\d.]+ \(all rows: ([\d.]+)\)", row[3])
        assert told
        for column, value in told:
            assert float(value) == pytest.approx(usual[int(column)], abs=0.005)


@pytest.fixture(scope="module")
def texts():
    """60 rows of 80 columns, three groups of which have a few columns to themselves."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.random((60, 80)) * (rng.random((60, 80)) < 0.05))
    own = sparse.kron(np.eye(3), np.ones((20, 10)) + np.arange(10) / 10, format="csr")
    return sparse.csr_array(X + sparse.hstack([own, sparse.csr_array((60, 50))]))


def top_of(row):
    """Give the names of top features, and their values."""
    return [part.rsplit(" ", 1) for part in row[3].split(", ")]


@pytest.mark.parametrize("parameters", [{"scale": None}, {"metric": "cosine"}, {}])
def test_of_many_columns_the_top_features_are_told(texts, tmp_path, parameters):
    names = [f"word {j}" for j in range(80)]
    model = ClAM(3, n_init=2, random_state=0, **parameters).fit(texts)
    page = Page(model, texts, tmp_path, feature_names=names)
    assert "Of 80 columns, listed are those" in page.text
    top = model.top_features(12, feature_names=names, two_sided=not parameters)
    for row, features in zip(page.tables["The clusters"][1:], top, strict=True):
        told = top_of(row)
        assert [name for name, _ in told] == [f.name for f in features]
        for (_, value), feature in zip(told, features, strict=True):
            assert float(value.replace("−", "-")) == pytest.approx(feature.weight, abs=0.01)
    low = page.own.count('class="top-feature low"')
    assert low == sum(f.score < 0 for features in top for f in features)
    assert ("in italics" in page.text) == (not parameters)
    titles = [a["title"] for _, a in page.reader.elements if a.get("title", "")[:4] == "mean"]
    assert len(titles) == sum(map(len, top))


def test_names_that_do_not_fit_are_refused(texts, tmp_path):
    model = ClAM(3, scale=None, n_init=1, random_state=0).fit(texts)
    with pytest.raises(ValueError, match="feature_names must be None or 80 strings, .* got 2"):
        model.report(texts, tmp_path / "page.html", feature_names=["a", "b"])
    assert not (tmp_path / "page.html").exists()


def test_many_clusters_are_cut_and_counted(page_of):
    X = np.arange(240.0).reshape(120, 2)
    page = page_of(X, 60, n_init=1)
    table = page.tables["The 40 largest clusters"]
    assert len(table) == 41
    shown = sum(int(row[1].split()[0]) for row in table[1:])
    assert f"and 20 more clusters, with {120 - shown} rows" in page.text


def test_a_memory_without_rows_says_so(iris, iris_model, tmp_path):
    one = iris[iris_model.labels_ == 0]
    page = Page(iris_model, one, tmp_path)
    texts = [row[3] for row in page.tables["The clusters"][1:]]
    assert texts[1:] == ["empty: no row falls to this memory"] * 2
    assert "All rows fall to one memory: there are no silhouettes." in page.text
