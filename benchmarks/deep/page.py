"""The tables of docs/deep.md, written from the results file without running anything."""

from __future__ import annotations

from pathlib import Path

from benchmarks.deep.methods import METHODS
from benchmarks.deep.results import Results
from benchmarks.deep.summary import MEASURES, RATIO, Summary
from benchmarks.pages import replace_between
from benchmarks.quality.grids import Grid, mean_and_deviation

BEGIN, END = "<!-- the tables of python -m benchmarks.deep --page -->", "<!-- their end -->"
# Set, autoencoder for all methods that can have it, and what stands above the table.
_TABLES = (
    ("usps", "mlp", "**USPS**"),
    ("fashion_mnist", "mlp", "**Fashion-MNIST, 10,000 images**"),
    (
        "usps",
        "convolutional",
        (
            "**USPS, all from the same convolutional autoencoder** "
            "(`--autoencoder convolutional --methods kmeans dcec graph deepclam`)"
        ),
    ),
    ("fashion_mnist", "convolutional", "**Fashion-MNIST, the same**"),
    ("digits", "mlp", "**digits** (`--sets digits --methods kmeans dec idec graph deepclam`)"),
)
_SHOWN = ("NMI", "accuracy", "ARI", "silhouette", "recalled", RATIO.title)


def write_page(path: Path, results: Results) -> None:
    """Put the tables between the marks of a page.

    Parameters
    ----------
    path : Path
        Markdown file with the marks.
    results : Results
        What has been measured.
    """
    parts = []
    for name, kind, title in _TABLES:
        grid = _grid(results, name, kind)
        if grid.rows:
            parts.append(f"{title}\n\n{grid.as_markdown()}")
    replace_between(path, BEGIN, END, "\n\n".join(parts))


def _grid(results: Results, name: str, kind: str) -> Grid:
    """Give the table of a set, of the cells with this autoencoder or a method's own."""
    records = [
        record
        for record in results.records.values()
        if record.set == name and record.autoencoder == METHODS[record.method].kind(kind)
    ]
    summary = Summary(records, [name], tuple(METHODS), kind)
    measures = [measure for measure in MEASURES if measure.title in _SHOWN]
    rows = []
    for method in METHODS:
        series = summary[name, method]
        if series:
            cells = [mean_and_deviation(series.values(one), one.digits) for one in measures]
            rows.append([summary.title(method, series), *cells])
    columns = ["", *("loss ratio" if one is RATIO else one.title for one in measures)]
    return Grid(name, columns, rows)
