"""amclust search, report, bench, info, demo and playground."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from clear_groups import FAST

import amclust as package

COLUMNS = ("--id", "id", "--drop", "note")
SEARCH = ("--budget", 300, "--restarts", 1, "--epochs", 20, "--threads", 1)


def test_search_keeps_the_best_model(amclust, table):
    options = ("-k", "2:3", *COLUMNS, *SEARCH)
    done = amclust("search", table, *options, "-o", "b.amc", "--results", "r.csv", "--json", "-q")
    assert done.code == 0, done.err
    told, model = done.json(), package.load("b.amc")
    assert told["n_clusters"] == model.n_clusters_ == 3
    assert told["silhouette"] == model.silhouette_
    assert told["budget_used"] <= 300
    assert told["best"][0]["n_clusters"] == 3
    silhouettes = [
        row["silhouette"] for row in told["best"] if row["living_clusters"] == row["n_clusters"]
    ]
    assert silhouettes == sorted(silhouettes, reverse=True)
    results = pd.read_csv("r.csv")
    assert results["silhouette"].max() == pytest.approx(model.silhouette_)
    assert amclust("predict", "b.amc", table).code == 0


def test_search_shows_the_best_configurations(amclust, table):
    done = amclust("search", table, "-k", 3, *COLUMNS, *SEARCH, "--top", 2)
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert re.fullmatch(r"\d+ configurations? tried, \d+ of 300 run-epochs used", lines[0])
    assert lines[2].split()[:2] == ["k", "objective"]
    assert [line.split()[0] for line in lines[3:5]] == ["1", "2"]
    assert lines[5] == ""


def test_search_goes_on_from_a_checkpoint(amclust, table):
    options = ("-k", 3, *COLUMNS, *SEARCH, "--checkpoint", "s.npz", "--json", "-q")
    first = amclust("search", table, *options).json()
    assert amclust("search", table, *options).json() == first
    done = amclust("search", table, *options, "--seed", 1)
    assert done.code == 1
    assert "another search" in done.err


def interrupted(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("checkpoint", [True, False])
def test_an_interrupted_search_says_how_to_go_on(amclust, table, monkeypatch, checkpoint):
    more = ("--checkpoint", "s.npz") if checkpoint else ()
    with monkeypatch.context() as patch:
        patch.setattr(package._native, "train", interrupted)  # in the first call
        done = amclust("search", table, "-k", 3, *COLUMNS, *SEARCH, *more)
    assert done.code == 130
    assert ("goes on from s.npz" if checkpoint else "--checkpoint FILE") in done.err
    if checkpoint:
        assert amclust("search", table, "-k", 3, *COLUMNS, *SEARCH, *more).code == 0


def test_a_search_interrupted_before_it_began_says_so(amclust, table, monkeypatch):
    monkeypatch.setattr(package.ClAMSearch, "fit", interrupted)
    done = amclust("search", table, "-k", 3, *COLUMNS, "--checkpoint", "s.npz")
    assert done.code == 130
    assert "nothing was kept yet" in done.err


def test_report_of_a_fit_and_of_a_model(amclust, table, model):
    done = amclust("report", table, "-k", 3, *COLUMNS, *FAST, "--json")
    assert done.code == 0, done.err
    told = done.json()
    assert told["report"] == "report.html"
    assert told["bytes"] == len((table.parent / "report.html").read_bytes())
    done = amclust("report", table, "--model", model, "-o", "m.html", "--title", "Three groups")
    assert done.code == 0, done.err
    page = (table.parent / "m.html").read_text()
    assert "Three groups" in page
    assert "table.csv" in page
    for arguments in (["-k", 3, "--model", model], []):
        assert amclust("report", table, *arguments).code == 2


def test_bench_on_a_table(amclust, table):
    options = ("--restarts", 1, "--repeats", 1, "--threads", 1)
    done = amclust("bench", table, "-k", 3, "--id", "id", "--label", "note", *options, "--json")
    assert done.code == 0, done.err
    (result,) = done.json()["results"]
    assert [m["method"] for m in result["methods"]] == ["k-means", "ClAM"]
    for method in result["methods"]:
        assert method["ari"] > 0.8
        assert method["silhouette"] > 0.5
    done = amclust("bench", table, "-k", 3, *COLUMNS, *options)
    assert "ARI" not in done.out
    assert "times as long as k-means" in done.out
    assert amclust("bench", table).code == 2
    assert amclust("bench", table, "-k", "2:3").code == 2
    done = amclust("bench", table, "-k", 3, "--label", "nonsense")
    assert "'nonsense'" in done.err


def test_bench_compares_clusters_of_several_memories(amclust, folder):
    from sklearn.datasets import make_moons

    X, moon = make_moons(300, noise=0.03, random_state=0)
    pd.DataFrame(X, columns=["x", "y"]).assign(moon=moon).to_csv("moons.csv", index=False)
    options = ("--label", "moon", "--restarts", 2, "--repeats", 1, "--threads", 1, "--json")
    done = amclust("bench", "moons.csv", "-k", 2, "--memories", "auto", *options)
    k_means, clam = done.json()["results"][0]["methods"]
    assert clam["ari"] > 0.9 > k_means["ari"]


def test_bench_scales_as_the_estimator_does(folder):
    from sklearn.preprocessing import StandardScaler

    from amclust.cli.commands.bench import scaled_rows

    X = np.random.default_rng(0).normal(size=(30, 3)) * [1, 10, 0] + [0, 5, 7]
    np.testing.assert_allclose(
        scaled_rows(X, "standard")[:, :2], StandardScaler().fit_transform(X)[:, :2], rtol=1e-6
    )
    assert not scaled_rows(X, "standard")[:, 2].any()
    np.testing.assert_allclose(scaled_rows(X, None), X - X.mean(axis=0), atol=1e-12)


def test_info_is_readable(amclust, model):
    done = amclust("info", model)
    assert done.code == 0
    assert f"model of amclust {package.__version__}" in done.out
    assert "fitted on table.csv: 40 rows, named by the column 'id'" in done.out
    assert "n_clusters = 3" in done.out
    assert "width, height" in done.out
    assert done.err == ""


def test_info_of_a_model_without_names(amclust, folder):
    package.ClAM(2, n_init=1, init=[[0.0], [9.0]]).fit([[0], [1], [8], [9]]).save("m.amc")
    done = amclust("info", "m.amc")
    assert "1 feature without names" in done.out
    assert "init = [[0.0], [9.0]]" in done.out
    assert json.loads(amclust("info", "m.amc", "--json").out)["features"] is None


def test_the_table_of_the_demo(amclust, folder):
    done = amclust("demo", "--write-table", "wine.csv")
    assert done.code == 0, done.err
    frame = pd.read_csv("wine.csv")
    assert frame.shape == (178, 15)
    assert frame["wine"].is_unique
    assert sorted(frame["cultivar"].unique()) == ["barbera", "barolo", "grignolino"]
    assert 20 < frame.isna().to_numpy().sum() < 100
    next_line = done.out.splitlines()[-1]
    assert next_line.startswith("next: amclust ")
    again = amclust("demo", "--write-table", "wine.csv")
    assert again.code == 1
    assert "--force" in again.err
    before = (folder / "wine.csv").read_bytes()
    assert amclust("demo", "--write-table", "wine.csv", "--force", "--json").json()["rows"] == 178
    assert (folder / "wine.csv").read_bytes() == before


def test_demo_for_machines(amclust, folder):
    done = amclust("demo", "--restarts", 1, "--json")
    assert [row["method"] for row in done.json()["results"]] == ["k-means", "ClAM"]
