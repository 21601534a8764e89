"""Where our figures are not the paper's, and what was found out about it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.quality.grids import Grid, number
from paper import sets
from paper.experiments.toys import PAPER_METHODS, TOY_METHODS
from paper.findings import finding
from paper.methods import METHODS, PROTOCOL_METHODS
from paper.published import ARI, NMI, NOISE, SILHOUETTES
from paper.tables.cells import NOT_DEFINED
from paper.tables.toys import drawings
from paper.toys import NOISE as NOISE_TOYS
from paper.toys import TOYS
from paper.view import View, published

TOLERANCE = 0.02
# Where the paper's data seem to be others, a small difference says nothing.
_OTHER_DATA = ("usps_test",)
_TABLES = {"silhouette": SILHOUETTES, "nmi": NMI, "ari": ARI}
Numbers = dict[str, float]


class Departure(NamedTuple):
    """A method on a set with a number that differs by more than the tolerance.

    Attributes
    ----------
    cell : str
        Set and method, for the page.
    ours, paper : dict of str to float
        The numbers that both have: silhouette, NMI, ARI.
    living : dict of str to float or None
        Ours of the best partition with k living clusters, where that is another.
    found : str
        What is known about it.
    """

    cell: str
    ours: Numbers
    living: Numbers | None
    paper: Numbers
    found: str

    @property
    def row(self) -> list[str]:
        """Write it as a row of the list."""
        living = _joined(self.living) if self.living else NOT_DEFINED
        return [self.cell, _joined(self.ours), living, _joined(self.paper), self.found]


def departures(view: View) -> Grid:
    """List them, set by set."""
    rows = [one.row for one in all_departures(view)]
    columns = ["", "ours", "ours, k living", "the paper's", "what was found out"]
    title = f"Departures of more than {TOLERANCE}"
    return Grid(title, columns, rows, numbers=False)


def all_departures(view: View) -> Iterator[Departure]:
    """Compare every cell that both have."""
    for name in view.table_sets:
        for method in PROTOCOL_METHODS["paper"]:
            yield from _of_cell(view, name, method)
    for method, paper_method in PAPER_METHODS.items():
        for toy, theirs in zip(NOISE_TOYS, NOISE[paper_method], strict=True):
            found = [record.results["silhouette"] for record in drawings(view, toy, method)]
            if found and abs(fmean(found) - theirs) > TOLERANCE:
                cell = f"noise, {TOYS[toy].title}, {TOY_METHODS[method].title}"
                ours, paper = {"silhouette": fmean(found)}, {"silhouette": theirs}
                yield Departure(cell, ours, None, paper, finding("noise", ""))


def _of_cell(view: View, name: str, method: str) -> Iterator[Departure]:
    best, living = (view.chosen(name, method, rule) for rule in ("best", "living"))
    paper = {
        quantity: value
        for quantity, table in _TABLES.items()
        if (value := published(table, name, method)) is not None
    }
    if best is None or living is None or not paper or not _differ(best, paper):
        return
    record = view.one("partitions", name, method, "paper")
    assert record is not None
    k = record.results["n_clusters"]
    other = living if best["index"] != living["index"] else None
    sentences = []
    if best["living"] < k:
        sentences.append(f"ours has {best['living']} living clusters of {k}")
    if name not in _OTHER_DATA and other and other["living"] == k and not _differ(other, paper):
        what = "it agrees" if len(paper) > 1 else "the silhouette agrees"
        sentences.append(f"with all of them alive {what} with the paper's")
    else:
        sentences.append(finding(name, method))
    yield Departure(
        cell=f"{sets.title(name)}, {METHODS[method].title}",
        ours=_numbers(best, paper),
        living=_numbers(other, paper) if other else None,
        paper=paper,
        found="; ".join(sentences),
    )


def _differ(chosen: dict[str, Any], paper: Numbers) -> bool:
    return any(abs(chosen[quantity] - value) > TOLERANCE for quantity, value in paper.items())


def _numbers(chosen: dict[str, Any], like: Numbers) -> Numbers:
    return {quantity: chosen[quantity] for quantity in like}


def _joined(numbers: Numbers) -> str:
    return " / ".join(number(value) for value in numbers.values())
