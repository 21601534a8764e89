"""Reports on models with the energies of `amclust.torch`: noise, units and borders."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")

from report_pages import Page
from sklearn.datasets import make_blobs

from amclust import ClAM, load

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

FEW = {"backend": "torch", "n_init": 2, "max_epochs": 10, "random_state": 0}
N_ROWS, N_NOISE = 65, 5


@pytest.fixture(scope="module")
def rows():
    """Three clouds of twenty rows in mixed units, and five rows that are far from all of them."""
    X, _ = make_blobs(60, 4, centers=3, cluster_std=0.6, random_state=1)
    far = [[40, 0, 0, 0], [0, -40, 0, 0], [0, 0, 40, -40], [30, 30, 30, 30], [-50, 0, 9, 0]]
    X = np.vstack([X, X.mean(axis=0) + np.array(far)])
    return pd.DataFrame(X * [1, 1, 1, 1000], columns=["a", "b", "c", "grams"])


@pytest.fixture(scope="module")
def model(rows):
    return ClAM(3, metric="epanechnikov", beta=1.0, **FEW).fit(rows)


@pytest.fixture(scope="module")
def page(model, rows, tmp_path_factory):
    assert (model.labels_ == -1).sum() == N_NOISE
    return Page(model, rows, tmp_path_factory.mktemp("noise"))


def sizes_of(page):
    """Return what the table of clusters says: rows of each, and their share in per cent."""
    return {row[0]: row[1].split(" ", 1) for row in page.tables["The clusters"][1:]}


def test_the_numbers_add_up(page, model):
    assert page.facts["Rows"].startswith(str(N_ROWS))
    assert page.facts["Clusters"] == "3"
    assert page.facts["Noise"] == str(N_NOISE)
    assert "60 in 3 clusters of 20 rows each; 5 in no cluster (noise)." in page.text
    sizes = sizes_of(page)
    assert list(sizes) == ["0", "1", "2", "noise"]
    assert [int(size) for size, _ in sizes.values()] == [20, 20, 20, N_NOISE]
    shares = [float(share.rstrip(" %")) for _, share in sizes.values()]
    assert sum(shares) == pytest.approx(100, abs=1)
    assert sum(page.data["entropy"]["counts"]) == N_ROWS - N_NOISE
    assert page.facts["Silhouette"] == f"{model.silhouette_:.3f}"


def test_figures_know_noise(page):
    projection = page.data["projection"]
    noise = [i for i, cluster in enumerate(projection["cluster"]) if cluster == -1]
    assert len(noise) == N_NOISE
    assert {projection["energy"][i] for i in noise} == {"∞"}
    assert all(projection["values"][i] == [] for i in noise)
    assert "∞" not in [e for i, e in enumerate(projection["energy"]) if i not in noise]
    assert [knife["cluster"] for knife in page.data["knives"]] == [0, 1, 2]
    assert sum(len(knife["values"]) for knife in page.data["knives"]) == N_ROWS - N_NOISE
    assert any(-1 in line for line in page.data["basins"]["labels"])
    assert "Grey dots are noise" in page.text
    assert "From grey regions no memory is reached" in page.text


def test_noise_is_listed_the_farthest_first(page, model, rows):
    least = {name for name, *_ in page.tables["The least typical rows"][1:]}
    listed = page.tables["The noise"][1:]
    noise = np.flatnonzero(model.labels_ == -1)
    distances = model.transform(rows)[noise]
    order = np.argsort(-distances.min(axis=1))
    assert [row[0] for row in listed] == [str(i) for i in noise[order]]
    assert [row[1] for row in listed] == [str(m) for m in distances.argmin(axis=1)[order]]
    assert not least & {row[0] for row in listed}
    assert "Half of the rows in clusters have less than" in page.text


def test_k_means_has_the_rows_in_clusters(page):
    sizes = page.tables["Two partitions of the same rows"][-1]
    assert all(sum(map(int, text.split(", "))) == N_ROWS - N_NOISE for text in sizes[1:])
    assert "k-means knows no noise" in page.text


def test_rows_that_are_all_noise_or_nearly_so(model, rows, tmp_path):
    far = rows + 1e7
    page = Page(model, far, tmp_path)
    assert "65 rows of 4 columns, all of them noise: out of reach" in page.text
    assert "All rows are noise: none is in a cluster." in page.text
    assert page.data["entropy"] is None
    assert page.data["knives"] is None
    assert sizes_of(page)["noise"] == [str(N_ROWS), "100 %"]
    assert "and 53 more rows" in page.text
    one = pd.concat([rows[:1], far[1:]])
    page = Page(model, one, tmp_path)
    assert f"1 in cluster {model.labels_[0]}; 64 in no cluster (noise)." in page.text
    page = Page(model, pd.concat([rows[:60], far[60:61]]), tmp_path)
    assert "1 row is noise" in page.text


def test_missing_values_of_noise_have_no_memory_beside_them(rows, tmp_path):
    incomplete = rows.copy()
    incomplete.iloc[[0, 60, 63], 1] = np.nan
    model = ClAM(3, metric="epanechnikov", beta=1.0, objective="silhouette", **FEW).fit(incomplete)
    page = Page(model, incomplete, tmp_path)
    labels = {str(i): model.labels_[i] for i in (0, 60, 63)}
    assert -1 in labels.values()
    cells = page.tables["The completed values"][1:]
    assert len(cells) == 3
    for row, _, value, memory, cluster in cells:
        assert value != "–"
        assert (memory == "–") == (cluster == "noise") == (labels[row] == -1)


def test_a_single_memory_with_noise(rows, tmp_path):
    model = ClAM(1, metric="epanechnikov", beta=0.2, **FEW).fit(rows)
    noise = int((model.labels_ == -1).sum())
    assert noise
    page = Page(model, rows, tmp_path)
    assert f"{N_ROWS - noise} around a single memory; {noise} in no cluster (noise)." in page.text


@pytest.mark.parametrize(
    ("metric", "backend"), [("manhattan", "torch"), ("weighted", "torch"), ("euclidean", "native")]
)
def test_borders_are_drawn_where_they_are_straight(rows, metric, backend, tmp_path):
    settings = FEW | {"backend": backend}
    page = Page(ClAM(3, metric=metric, **settings).fit(rows[:60]), rows[:60], tmp_path)
    straight = metric == "euclidean"
    assert bool(page.data["basins"]["borders"]) == straight
    assert ("Dashed lines mark where" in page.text) == straight
    assert "Noise" not in page.facts
    assert "noise" not in page.text.lower()
    assert list(sizes_of(page)) == ["0", "1", "2"]


@pytest.mark.parametrize("scale", ["standard", "robust", None])
def test_units_are_those_of_the_fit_whatever_the_parameters_say_now(rows, scale, tmp_path):
    model = ClAM(3, metric="manhattan", scale=scale, **FEW).fit(rows[:60])
    assert model.network_.geometry.scaling == scale
    model.save(tmp_path / "model.amc")
    model.set_params(scale="standard" if scale is None else None, metric="euclidean")
    words = {"standard": "standard deviation", "robust": "interquartile", None: "none: columns"}
    for known in (model, load(tmp_path / "model.amc")):
        assert known.network_.geometry.scaling == scale
        page = Page(known, rows[:60], tmp_path)
        assert words[scale] in page.facts["Scaling"]
        features = " ".join(row[3] for row in page.tables["The clusters"][1:])
        assert (" sd" in features) == (scale is not None)
    if scale is None:  # without scaling, the column of large numbers comes first
        firsts = [row[3].split()[0] for row in page.tables["The clusters"][1:]]
        assert set(firsts) == {"grams"}


def test_the_method_of_the_estimator_writes_it(model, rows, tmp_path):
    model.report(rows, tmp_path / "report.html")
    assert (tmp_path / "report.html").exists()
