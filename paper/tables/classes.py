"""Agreement with the classes, of what the paper's protocol chose."""

from __future__ import annotations

from benchmarks.quality.grids import Grid, number
from paper import sets
from paper.methods import METHODS, PROTOCOL_METHODS
from paper.published import ARI, NMI, Row
from paper.tables.cells import NOT_DEFINED, ONE_CLUSTER, beside_paper, over_seeds
from paper.view import NOT_RUN, View, published

_METHODS = (*PROTOCOL_METHODS["paper"], "clam-default")


def nmi(view: View) -> Grid:
    """Normalised mutual information."""
    return _grid(view, "NMI with the classes", "nmi", NMI)


def ari(view: View) -> Grid:
    """Adjusted Rand index."""
    return _grid(view, "ARI with the classes", "ari", ARI)


def _grid(view: View, title: str, quantity: str, paper: dict[str, Row]) -> Grid:
    def cell(name: str, method: str) -> str:
        if not METHODS[method].covers(name):
            return NOT_DEFINED
        if method == "clam-default":
            return over_seeds(view.partitions(name, method, "default"), quantity)
        chosen, living = (view.chosen(name, method, rule) for rule in ("best", "living"))
        if chosen is None or living is None:
            ran = view.one("partitions", name, method, "paper") is not None
            text = ONE_CLUSTER if ran else NOT_RUN
            return beside_paper(text, published(paper, name, method))
        ours = number(chosen[quantity])
        if chosen["index"] != living["index"]:
            ours += f" ({number(living[quantity])})"
        return beside_paper(ours, published(paper, name, method))

    rows = [[sets.title(name), *(cell(name, m) for m in _METHODS)] for name in view.table_sets]
    return Grid(title, ["", *(METHODS[method].title for method in _METHODS)], rows)
