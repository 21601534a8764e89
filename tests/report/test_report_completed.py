"""Missing values: how many there are, and what the model puts there."""

import numpy as np
import pytest
from report_pages import Page

from amclust import ClAM


def test_cells_are_those_that_complete_fills(wine, wine_model, wine_page):
    completed = wine_model.complete(wine)
    _, *rows = wine_page.tables["The first completed values"]
    cells = np.argwhere(wine.isna().to_numpy())
    assert len(rows) == 20
    for (row, column), (shown_row, name, value, memory, cluster) in zip(cells, rows, strict=False):
        assert shown_row == f"bottle {row}"
        assert name == wine.columns[column]
        spread = wine[name].std()
        assert float(value) == pytest.approx(completed.iloc[row, column], abs=spread / 10)
        assert int(cluster) == wine_model.labels_[row]
        center = wine_model.cluster_centers_[int(cluster), column]
        assert float(memory) == pytest.approx(center, abs=spread / 10)
    assert f"and {len(cells) - 20} more values" in wine_page.text


def test_columns_are_counted(wine, wine_page):
    _, *rows = wine_page.tables["Completed values, column by column"]
    assert {row[0]: int(row[1]) for row in rows} == wine.isna().sum().to_dict()
    total = int(wine.isna().sum().sum())
    assert wine_page.facts["Missing values"] == f"{total} of 2,314 (11\xa0%), in 13 columns"


def test_a_complete_table_says_so(iris_page):
    assert iris_page.facts["Missing values"] == "none"
    assert "No value is missing." in iris_page.text


def test_memories_of_directions_are_shown_at_the_length_of_the_row(tmp_path):
    X = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 31.0], [10.0, 1.0], [20.0, 2.2], [5.0, np.nan]])
    model = ClAM(2, n_init=2, metric="cosine", random_state=0).fit(X)
    (_, row) = Page(model, X, tmp_path).tables["The completed values"]
    completed = model.complete(X)[5]
    memory = model.cluster_centers_[model.labels_[5]] * np.linalg.norm(completed)
    assert row[:2] == ["5", "x1"]
    assert float(row[2]) == pytest.approx(completed[1], abs=0.05)
    assert float(row[3]) == pytest.approx(memory[1], abs=0.05)
