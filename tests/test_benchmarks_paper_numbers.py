"""The paper's numbers, grids and hyperparameters are as it prints them."""

import re

import pytest

from amclust.datasets import DATASETS
from benchmarks.folders import DATA
from benchmarks.protocol import PROTOCOLS
from paper import published

PAPER = DATA.parent / "paper" / "clam.tex"
TITLES = {
    **{info.title.lower(): name for name, info in DATASETS.items()},
    "movement libras": "movement_libras",
    "mice protien exp": "mice_protein",
    "mice protien expression": "mice_protein",
    "mlib": "movement_libras",
    "mpe": "mice_protein",
    "seg": "segment",
    "fm": "fashion_mnist",
    "fashion mnist": "fashion_mnist",
}


@pytest.fixture(scope="module")
def paper():
    if not PAPER.is_file():
        pytest.skip(f"{PAPER} is not on this machine")
    return PAPER.read_text(encoding="utf-8")


def rows_of(paper, label):
    """Read the rows of a table: cells as text, without what typesets them."""
    body = paper.split(rf"\label{{{label}}}")[1].split(r"\end{tabular}")[0]
    body = body.replace("\n", " ").split(r"\midrule", 1)[1]
    for row in re.split(r"\\\\", body):
        text = re.sub(r"\\(mid|top|bottom)rule", "", row)
        text = re.sub(r"\\txsps\{[^}]*\}", "", text)
        text = re.sub(r"\\multirow\{\d\}\{\*\}", "", text)
        text = re.sub(r"\{\\em ([^}]*)\}|\\(?:textbf|underline)\{([^}]*)\}", r"\1\2", text)
        cells = [cell.strip(" {}'") for cell in text.split("&")]
        if len(cells) > 1:
            yield cells


def numbers(cells):
    undefined = {"---", "N/A"}
    return [None if cell in undefined else float(cell.replace("0.0.0", "0.0")) for cell in cells]


def sets_of(rows):
    """Give the rows by set, without those of wins and losses."""
    return {TITLES[row[0].lower()]: row[1:] for row in rows if row[0].lower() in TITLES}


def assert_table(table, rows):
    assert {name: list(row.values()) for name, row in table.items()} == {
        name: numbers(cells) for name, cells in rows.items()
    }


def test_silhouettes_are_the_papers(paper):
    assert_table(published.SILHOUETTES, sets_of(rows_of(paper, "tab:ss")))


def test_nmi_is_that_of_the_main_part_but_for_two_slips(paper):
    rounded = sets_of(rows_of(paper, "tab:nmigt"))
    assert set(rounded) == set(published.NMI)
    slips = {
        (name, method)
        for name, row in published.NMI.items()
        for (method, value), main in zip(row.items(), numbers(rounded[name]), strict=True)
        if (value is None) != (main is None) or (value is not None and abs(value - main) > 0.01)
    }
    assert slips == {("movement_libras", "dec-random"), ("fashion_mnist", "dec-random")}


@pytest.mark.parametrize(
    ("label", "tables"),
    [("tab:fullgt", ("NMI", "ARI")), ("tab:amvsbasefull", ("NMI_BETWEEN", "ARI_BETWEEN"))],
)
def test_tables_with_two_rows_a_set_are_the_papers(paper, label, tables):
    rows = list(rows_of(paper, label))
    for start, table in enumerate(tables):
        found = {
            TITLES[first[0].lower()]: row[2:]
            for first, row in zip(rows[::2], rows[start::2], strict=True)
        }
        assert {row[1] for row in rows[start::2]} == {table[:3]}
        assert_table(getattr(published, table), found)


def test_wins_and_losses_are_the_papers(paper):
    found = [row[1:] for row in rows_of(paper, "tab:ss") if "W/L" in row[0]]
    columns = list(published.SILHOUETTES["zoo"])
    for cells, table in zip(found, published.WINS_AND_LOSSES.values(), strict=True):
        counts = {
            name: tuple(map(int, cell.split("/")))
            for name, cell in zip(columns, cells, strict=True)
            if cell != "---"
        }
        assert counts == table


def test_shapes_efficiency_noise_and_best_hyperparameters_are_the_papers(paper):
    shapes = sets_of(rows_of(paper, "tab:data"))
    assert set(shapes) == set(published.SILHOUETTES)
    for name, cells in shapes.items():
        info = DATASETS[name]
        assert [info.n_samples, info.n_features, info.n_classes] == list(map(int, cells[1:]))
    efficiency = sets_of(row for row in rows_of(paper, "tab:efficiency-main"))
    assert {name: list(row) for name, row in published.EFFICIENCY.items()} == {
        name: numbers(cells) for name, cells in efficiency.items()
    }
    noise = [tuple(numbers(row[1:])) for row in rows_of(paper, "tab:noise")]
    assert list(published.NOISE.values()) == noise
    best = sets_of(rows_of(paper, "tab:bhp"))
    assert {name: list(row) for name, row in PROTOCOLS.items()} == {
        name: [*numbers(cells[:5]), cells[5]] for name, cells in best.items()
    }


def test_grids_of_the_baselines_are_the_papers(paper):
    text = " ".join(paper.split(r"\label{tab:hp_baselines}")[1].split(r"\end{table}")[0].split())
    for name, grid in (
        ("gamma", published.SPECTRAL_GRID["gamma"]),
        (r"n\_neighbors", published.SPECTRAL_GRID["n_neighbors"]),
        (r"update\_interval", published.EMBEDDED_GRID["update_interval"]),
    ):
        values = re.search(rf"& {re.escape(name)} &[^&]*& \[([^\]]*)\]", text)[1]
        assert tuple(map(float, values.split(","))) == grid
    for name in ("metric", "linkage"):
        assert all(f"{value}'" in text for value in published.AGGLOMERATIVE_GRID[name])
