"""Where our figure is not the paper's, and what was found out about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.paper import sets
from benchmarks.paper.findings import finding
from benchmarks.paper.methods import METHODS, PROTOCOL_METHODS
from benchmarks.paper.published import ARI, NMI, NOISE, SILHOUETTES
from benchmarks.paper.tables.toys import drawings
from benchmarks.paper.toys import NOISE as NOISE_TOYS
from benchmarks.paper.toys import TOYS
from benchmarks.paper.view import View, published
from benchmarks.quality.grids import Grid, number, signed

TOLERANCE = 0.02
_TABLES = {
    "silhouette": (SILHOUETTES, "silhouette"),
    "NMI": (NMI, "nmi"),
    "ARI": (ARI, "ari"),
}


class Departure(NamedTuple):
    """A cell that differs by more than the tolerance."""

    table: str
    set: str
    method: str
    ours: float
    paper: float
    living: str = ""

    @property
    def row(self) -> list[str]:
        """Write it as a row of the list."""
        name = TOYS[self.set].title if self.set in TOYS else sets.title(self.set)
        return [
            f"{self.table}, {name}, {METHODS[self.method].title}",
            number(self.ours) + self.living,
            number(self.paper),
            signed(self.ours - self.paper),
            finding(self.table, self.set, self.method),
        ]


def departures(view: View) -> Grid:
    """List them, table by table."""
    rows = [one.row for one in all_departures(view)]
    columns = ["cell", "ours", "paper", "difference", "what was found out"]
    title = f"Departures of more than {TOLERANCE}"
    return Grid(title, columns, rows, numbers=False)


def all_departures(view: View) -> Iterator[Departure]:
    """Compare every cell that both have."""
    for table, (paper, quantity) in _TABLES.items():
        for name in view.table_sets:
            for method in PROTOCOL_METHODS["paper"]:
                chosen, theirs = view.chosen(name, method), published(paper, name, method)
                if chosen is None or theirs is None:
                    continue
                if abs(chosen[quantity] - theirs) > TOLERANCE:
                    record = view.one("partitions", name, method, "paper")
                    assert record is not None
                    living = f" ({chosen['living']}/{record.results['n_clusters']})"
                    yield Departure(table, name, method, chosen[quantity], theirs, living)
    for method, numbers in NOISE.items():
        for toy, theirs in zip(NOISE_TOYS, numbers, strict=True):
            found = [record.results["silhouette"] for record in drawings(view, toy, method)]
            ours = sum(found) / len(found) if found else theirs
            if abs(ours - theirs) > TOLERANCE:
                yield Departure("noise", toy, method, ours, theirs)
