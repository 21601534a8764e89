"""The page as a whole: one file, whatever the table."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from report_pages import Page
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

from amclust import ClAM, ClAMSearch
from amclust.report import _subject, write_report

LARGEST = 6_000_000
# Ends elements, begins a comment, and looks like an expression of the templates or of JavaScript.
EVIL = "</script><img src=x onerror=alert(1)>{{ 7*7 }}{% x %}${1}<!--<b>&amp;\"'`\u2028"


def test_it_is_one_small_file_that_asks_for_nothing(iris_page):
    assert iris_page.path.stat().st_size < LARGEST
    asking = {"src", "href", "action", "data", "poster", "srcset"}
    links = [
        value
        for _, attributes in iris_page.reader.elements
        for key, value in attributes.items()
        if key in asking
    ]
    assert links
    assert all(link.startswith("#") for link in links)
    assert not re.search(r"url\(|@import|https?://", iris_page.own)
    (policy,) = (
        attributes["content"]
        for tag, attributes in iris_page.reader.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert not re.search(r"http|\*|'self'|unsafe-eval", policy)


def test_headings_and_tables_have_an_order_that_can_be_heard(iris_page):
    levels = [int(level[1]) for level, _ in iris_page.reader.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    elements = iris_page.reader.elements
    assert ("html", {"lang": "en"}) in elements
    assert all("scope" in attributes for tag, attributes in elements if tag == "th")
    plots = [attributes for _, attributes in elements if attributes.get("class") == "plot"]
    assert {plot["id"] for plot in plots} == {"projection", "basins", "knives", "entropy"}
    assert all(plot["role"] == "img" and len(plot["aria-label"]) > 30 for plot in plots)
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for _, a in elements if a.get("href", "").startswith("#")}
    assert targets <= set(ids)


def test_the_data_is_described(iris_page, iris):
    assert iris_page.facts["Source"] == "iris.csv"
    assert iris_page.facts["Constant columns"] == "none"
    assert "standard deviation" in iris_page.facts["Scaling"]
    assert iris_page.reader.headings[0] == ("h1", "Iris")
    _, first, *_ = iris_page.tables["The columns, in original units"]
    assert first == ["sepal length (cm)", "5.84", "0.83", "4.30", "7.90", "none"]


def test_the_model_can_be_made_again(iris, iris_model, iris_page):
    parameters = {row[0]: row[1] for row in iris_page.tables["All parameters"][1:]}
    assert parameters == {key: repr(value) for key, value in iris_model.get_params().items()}
    (code,) = re.findall(r"<pre.*?><code>(.*?)</code></pre>", iris_page.own, re.DOTALL)
    names = {"X": iris}
    exec(code, names)
    np.testing.assert_array_equal(names["model"].labels_, iris_model.labels_)


def test_the_same_table_gives_the_same_page(iris, iris_model, iris_page, tmp_path):
    again = Page(iris_model, iris, tmp_path, title="Iris", source="iris.csv")
    assert again.own == iris_page.own


def test_what_comes_from_the_table_stays_text(page_of):
    X = pd.DataFrame(make_blobs(30, 2, centers=2, random_state=0)[0])
    X["c"] = 1.0
    X.columns = [f"{j} {EVIL}" for j in range(3)]
    X.iloc[0, 0] = np.nan
    ids = [f"{i} {EVIL}" for i in range(30)]
    page = page_of(X, report={"ids": ids, "title": EVIL, "source": EVIL})
    text = " ".join(EVIL.split())
    assert "img" not in {tag for tag, _ in page.reader.elements}
    names = [row[0] for row in page.tables["The columns, in original units"][1:]]
    assert names == [f"{j} {text}"[:59] + "…" for j in range(3)]
    rows = [row[0] for row in page.tables["The least typical rows"][1:]]
    assert set(rows) <= {f"{i} {text}"[:59] + "…" for i in range(30)}
    assert page.reader.headings[0][1] == text
    assert page.facts["Source"] == text
    assert page.data["projection"]["row"][7] == f"7 {text}"[:31] + "…"
    # Nothing but the scripts of the page itself: theme, data, plotly, figures.
    assert len(re.findall(r"</?script", page.own)) == 8
    assert not re.search(r"<!--|onerror=alert\(1\)>", page.own)


def cosine(X):
    return np.abs(X) + 0.1


@pytest.mark.parametrize(
    ("make", "n_clusters", "parameters"),
    [
        (lambda X: X, 1, {}),
        (lambda X: X[:, :1], 2, {}),
        (lambda X: X[:, :2], 3, {"scale": None}),
        (lambda X: X.astype(np.float32), 3, {"scale": "robust", "weights": "learn"}),
        (cosine, 3, {"metric": "cosine"}),
        (lambda X: X, 3, {"metric": "mahalanobis"}),
        (lambda X: np.repeat(X[:4], 10, axis=0), 4, {}),
        (lambda X: np.round(X * 1e12), 3, {"init": "random"}),
        (lambda X: X * 1e-9, 3, {"random_state": None}),
        (sparse.csr_matrix, 3, {}),
        (pd.DataFrame, 30, {"n_init": 1}),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
def test_whatever_the_table_there_is_a_page(make, n_clusters, parameters, page_of):
    X = make(make_blobs(40, 4, centers=3, random_state=0)[0])
    page = page_of(X, n_clusters, **parameters)
    assert page.path.stat().st_size < LARGEST
    assert not re.search(r"\bnan\b|\binf\b|0000000\d", page.text, re.IGNORECASE)
    assert page.tables["The clusters"]


def test_very_wide_tables_are_cut_and_counted(page_of):
    X = np.random.default_rng(0).normal(size=(20, 10_000))
    X[:, 20:] = 0
    names = [f"{j} {'long ' * 50}" for j in range(10_000)]
    page = page_of(pd.DataFrame(X, columns=names), n_init=1)
    assert len(page.tables["The columns, in original units"]) == 31
    assert "and 9,970 more columns" in page.text
    assert "and 9,972 more; they tell no rows apart" in page.text
    assert page.path.stat().st_size < LARGEST
    assert "long " * 20 not in page.own


def test_the_page_stays_small_when_every_character_has_to_be_escaped(page_of):
    X = pd.DataFrame(make_blobs(2500, 4, centers=3, random_state=0)[0])
    X.columns = [f"{j}{'<' * 100}" for j in range(4)]
    page = page_of(X, report={"ids": ["<" * 100] * 2500}, n_init=1)
    assert page.path.stat().st_size < 0.95 * LARGEST


@pytest.mark.parametrize(
    ("index", "first"),
    [
        (["ada", "bob", "cy", "di"], "ada"),
        (pd.date_range("2024-05-01", periods=4), "2024-05-01"),
        (pd.MultiIndex.from_product([["north", "south"], [1, 2]]), "north, 1"),
        ([7, 8, 9, 10], "7"),
        (pd.RangeIndex(4), "0"),
    ],
    ids=["texts", "dates", "levels", "numbers", "default"],
)
def test_rows_are_named_by_the_index_of_a_frame(iris, iris_model, index, first):
    X = iris[:4].set_axis(index)
    subject = _subject.Subject.of(iris_model, X, None, 0)
    assert subject.row_name(0) == first
    assert (subject.ids is None) == (first == "0")
    assert _subject.Subject.of(iris_model, X, list("wxyz"), 0).row_name(3) == "z"


def test_named_rows_are_shown_by_their_names(iris, iris_model, tmp_path):
    page = Page(iris_model, iris[:4].set_axis(["ada", "bob", "cy", "di"]), tmp_path)
    assert page.data["projection"]["row"] == ["ada", "bob", "cy", "di"]
    assert "numbered from 0" not in page.facts["Rows"]


@pytest.mark.parametrize("rows", [1, 2])
def test_a_few_new_rows_are_enough(iris, iris_model, tmp_path, rows):
    page = Page(iris_model, iris[:rows], tmp_path)
    assert f"{rows} row" in page.text
    assert "k-means cannot be run" in page.text
    cluster = iris_model.labels_[0]
    told = "1 row of 4 columns" if rows == 1 else "2 rows of 4 columns"
    assert f"{told} in cluster {cluster}." in page.text
    assert ("Half of the rows" in page.text) == (rows > 1)
    assert ("no row differs from another" in page.text) == (rows == 1)
    assert page.data["principal"] == (rows > 1)


def test_a_column_may_be_empty_in_new_rows(iris, iris_model, tmp_path):
    X = iris.copy()
    X.iloc[:, 2] = np.nan
    page = Page(iris_model, X, tmp_path)
    row = page.tables["The columns, in original units"][3]
    assert row[1:] == ["–", "–", "–", "–", "100 %"]


def test_large_sparse_tables_are_refused_with_a_way_out(iris_model, tmp_path, monkeypatch):
    monkeypatch.setattr(_subject, "MAX_DENSE_CELLS", 100)
    X = sparse.csr_matrix(np.ones((150, 4)))
    model = ClAM(1, n_init=1).fit(X)
    with pytest.raises(
        ValueError, match=r"at most 100 cells, got 150 rows of 4 columns \(600 cell"
    ):
        write_report(model, X, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_named_and_leave_no_file(iris, iris_model, tmp_path):
    page = tmp_path / "page.html"
    with pytest.raises(ValueError, match="X has 150 rows, got 2 ids"):
        write_report(iris_model, iris, page, ids=["a", "b"])
    with pytest.raises(ValueError, match="feature names should match"):
        write_report(iris_model, iris.rename(columns=str.upper), page)
    with pytest.raises(TypeError, match="must be a fitted ClAM or ClAMSearch, got KMeans"):
        write_report(KMeans(2, n_init=1).fit(iris), iris, page)
    with pytest.raises(NotFittedError):
        write_report(ClAM(3), iris, page)
    assert list(tmp_path.iterdir()) == []


def test_a_search_gives_the_page_of_its_best_estimator(iris, iris_model, iris_page, tmp_path):
    search = ClAMSearch(n_clusters=2)
    search.best_estimator_ = iris_model
    assert Page(search, iris, tmp_path, title="Iris", source="iris.csv").own == iris_page.own


def test_an_existing_file_is_only_replaced_when_asked(iris, iris_model, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("mine")
    with pytest.raises(FileExistsError):
        write_report(iris_model, iris, page, overwrite=False)
    assert page.read_text() == "mine"
    assert write_report(iris_model, iris, str(page)) == page
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_without_a_package_the_extra_is_named(iris, iris_model, tmp_path, monkeypatch, package):
    monkeypatch.setattr("amclust.report._write.find_spec", lambda name: name != package or None)
    with pytest.raises(ModuleNotFoundError, match=rf'{package}: pip install "amclust\[plot\]"'):
        write_report(iris_model, iris, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_a_loaded_model_gives_the_same_page(iris, iris_model, iris_page, tmp_path):
    from amclust.io.model import load_model, save_model

    save_model(iris_model, tmp_path / "iris.amc")
    loaded = load_model(tmp_path / "iris.amc").model
    assert Page(loaded, iris, tmp_path, title="Iris", source="iris.csv").own == iris_page.own
