"""Table 3: agreement of ClAM's partition with that of each baseline."""

from __future__ import annotations

from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.paper import sets
from benchmarks.paper.methods import METHODS, PROTOCOL_METHODS
from benchmarks.paper.published import ARI_BETWEEN, NMI_BETWEEN
from benchmarks.paper.tables.cells import NOT_DEFINED, beside_paper
from benchmarks.paper.view import NOT_RUN, View, published
from benchmarks.quality.cells import unpack_labels
from benchmarks.quality.grids import Grid, number

_BASELINES = tuple(name for name in PROTOCOL_METHODS["paper"] if not name.startswith("clam"))
_MEASURES = {
    "NMI": (normalized_mutual_info_score, NMI_BETWEEN),
    "ARI": (adjusted_rand_score, ARI_BETWEEN),
}


def similarity(view: View) -> Grid:
    """Two rows a set, as in the paper."""
    rows = []
    for name in view.table_sets:
        for measure, (score, paper) in _MEASURES.items():
            cells = [
                beside_paper(_cell(view, name, method, score), published(paper, name, method))
                for method in _BASELINES
            ]
            rows.append([f"{sets.title(name)}, {measure}", *cells])
    columns = ["", *(METHODS[method].title for method in _BASELINES)]
    return Grid("Table 3: agreement of ClAM with each baseline", columns, rows)


def _cell(view: View, name: str, method: str, score: object) -> str:
    if not METHODS[method].covers(name):
        return NOT_DEFINED
    ours, theirs = view.chosen(name, "clam"), view.chosen(name, method)
    if ours is None or theirs is None:
        return NOT_RUN
    partitions = [unpack_labels(chosen["labels"]) for chosen in (ours, theirs)]
    if len(partitions[0]) != len(partitions[1]):
        return "other rows"
    assert callable(score)
    return number(score(*partitions))
