"""Agreement of ClAM's partition with that of each baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.data import IntArray
from benchmarks.quality.cells import unpack_labels
from benchmarks.quality.grids import Grid, number
from paper import sets
from paper.methods import METHODS, PROTOCOL_METHODS
from paper.published import ARI_BETWEEN, NMI_BETWEEN, Row
from paper.tables.cells import NOT_DEFINED, beside_paper
from paper.view import NOT_RUN, View, published

_BASELINES = tuple(name for name in PROTOCOL_METHODS["paper"] if not name.startswith("clam"))
Score = Callable[[IntArray, IntArray], float]
_MEASURES: dict[str, tuple[Score, dict[str, Row]]] = {
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
    return Grid("Agreement of ClAM with each baseline", columns, rows)


def _cell(view: View, name: str, method: str, score: Score) -> str:
    if not METHODS[method].covers(name):
        return NOT_DEFINED
    best, living = (
        [chosen for one in ("clam", method) if (chosen := view.chosen(name, one, rule))]
        for rule in ("best", "living")
    )
    if len(best) < 2 or len(living) < 2:
        return NOT_RUN
    text = _score(best, score)
    return text if best == living else f"{text} ({_score(living, score)})"


def _score(pair: list[dict[str, Any]], score: Score) -> str:
    ours, theirs = (unpack_labels(chosen["labels"]) for chosen in pair)
    if len(theirs) < len(ours):
        ours = ours[sets.sample_of(len(ours), len(theirs))]
    return number(score(ours, theirs))
