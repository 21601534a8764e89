"""Silhouettes under the paper's protocol, under the honest one, and ClAM's default."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.quality.grids import Grid
from paper import sets
from paper.methods import METHODS, PROTOCOL_METHODS
from paper.published import SILHOUETTES, WINS_AND_LOSSES
from paper.tables.cells import (
    NOT_DEFINED,
    beside_paper,
    living_over_seeds,
    over_seeds,
    with_living,
)
from paper.view import View, published

_METHODS = PROTOCOL_METHODS["paper"]


def paper_protocol(view: View) -> Grid:
    """The best silhouette over the grid, whatever its clusters; the paper's below."""

    def cell(name: str, method: str) -> str:
        return beside_paper(
            _chosen(view, name, method, "best"), published(SILHOUETTES, name, method)
        )

    rows = _rows(view, _METHODS, cell)
    rows += [_wins(view, ours, "best") for ours in WINS_AND_LOSSES]
    return Grid("Silhouettes, the paper's protocol", _columns(_METHODS), rows)


def paper_protocol_living(view: View) -> Grid:
    """The same runs, the best among the partitions with k living clusters."""
    rows = _rows(view, _METHODS, lambda name, method: _chosen(view, name, method, "living"))
    rows += [_wins(view, ours, "living") for ours in WINS_AND_LOSSES]
    title = "Silhouettes, the paper's protocol with k living clusters"
    return Grid(title, _columns(_METHODS), rows)


def honest_protocol(view: View) -> Grid:
    """Equal budgets and the same rule for all, and ClAM's default beside it."""
    methods = (*_METHODS, "clam-default")

    def cell(name: str, method: str) -> str:
        protocol = "default" if method == "clam-default" else "honest"
        records = view.partitions(name, method, protocol)
        return over_seeds(records, "silhouette") + living_over_seeds(records)

    return Grid("Silhouettes, the honest protocol", _columns(methods), _rows(view, methods, cell))


def _chosen(view: View, name: str, method: str, rule: str) -> str:
    return with_living(view.one("partitions", name, method, "paper"), rule)


def _columns(methods: Sequence[str]) -> list[str]:
    return ["", *(METHODS[method].title for method in methods)]


def _rows(view: View, methods: Sequence[str], cell: Callable[[str, str], str]) -> list[list[str]]:
    return [
        [
            sets.title(name),
            *(cell(name, m) if METHODS[m].covers(name) else NOT_DEFINED for m in methods),
        ]
        for name in view.table_sets
    ]


def _wins(view: View, ours: str, rule: str) -> list[str]:
    """Count the sets on which a variant is above, and below, each other method."""
    cells = []
    for other in _METHODS:
        pairs = [
            (view.chosen(name, ours, rule), view.chosen(name, other, rule))
            for name in view.table_sets
        ]
        scores = [
            (round(a["silhouette"], 3), round(b["silhouette"], 3)) for a, b in pairs if a and b
        ]
        won, lost = sum(a > b for a, b in scores), sum(a < b for a, b in scores)
        paper = WINS_AND_LOSSES[ours].get(other)
        text = f"{won}/{lost}"
        if paper and rule == "best":
            text += f"<br>*{paper[0]}/{paper[1]}*"
        cells.append(NOT_DEFINED if other == ours else text)
    return [f"{METHODS[ours].title}: wins/losses", *cells]
