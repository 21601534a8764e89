"""The partitions of the sets: silhouettes, agreement with the classes and with each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.data import IntArray
from benchmarks.framework import Grid, mean_and_deviation, number, unpack_labels
from paper import sets
from paper.methods import METHODS, TABLE_METHODS
from paper.published import ARI_BETWEEN, NMI_BETWEEN, SILHOUETTES, TABLES, WINS_AND_LOSSES, Row
from paper.records import Record
from paper.view import NOT_DEFINED, NOT_RUN, View, beside_paper, published

# Where no partition has a silhouette.
_ONE_CLUSTER = "one cluster"
_WITH_DEFAULT = (*TABLE_METHODS, "clam-default")
_BASELINES = tuple(name for name in TABLE_METHODS if not name.startswith("clam"))
_BUDGETED = ("kmeans", "spectral", "agglomerative", "dcec", "dec", "clam")
_SAMPLED = ("spectral", "dec", "dcec")

Cell = Callable[[str, str], str]
Score = Callable[[IntArray, IntArray], float]
_MEASURES: dict[str, tuple[Score, dict[str, Row]]] = {
    "NMI": (normalized_mutual_info_score, NMI_BETWEEN),
    "ARI": (adjusted_rand_score, ARI_BETWEEN),
}


def paper_protocol(view: View) -> Grid:
    """The best silhouette over the grid, whatever its clusters; the paper's below."""

    def cell(name: str, method: str) -> str:
        ours = _with_living(view, name, method, "best")
        return beside_paper(ours, published(SILHOUETTES, name, method))

    rows = [*_rows(view, TABLE_METHODS, cell), *_wins_and_losses(view, "best")]
    return Grid("Silhouettes, the paper's protocol", _columns(TABLE_METHODS), rows)


def paper_protocol_living(view: View) -> Grid:
    """The same runs, the best among the partitions with k living clusters."""

    def cell(name: str, method: str) -> str:
        return _with_living(view, name, method, "living")

    rows = [*_rows(view, TABLE_METHODS, cell), *_wins_and_losses(view, "living")]
    title = "Silhouettes, the paper's protocol with k living clusters"
    return Grid(title, _columns(TABLE_METHODS), rows)


def honest_protocol(view: View) -> Grid:
    """Equal budgets and the same rule for all, and ClAM's default beside it."""

    def cell(name: str, method: str) -> str:
        protocol = "default" if method == "clam-default" else "honest"
        records = view.partitions(name, method, protocol)
        return _over_seeds(records, "silhouette") + _living_over_seeds(records)

    rows = _rows(view, _WITH_DEFAULT, cell)
    return Grid("Silhouettes, the honest protocol", _columns(_WITH_DEFAULT), rows)


def classes(view: View, quantity: str) -> Grid:
    """Agreement with the classes, of what the paper's protocol chose: NMI or ARI."""

    def cell(name: str, method: str) -> str:
        if method == "clam-default":
            return _over_seeds(view.partitions(name, method, "default"), quantity)
        chosen, living = (view.chosen(name, method, rule) for rule in ("best", "living"))
        if chosen is None or living is None:
            ran = view.one("partitions", name, method, "paper") is not None
            ours = _ONE_CLUSTER if ran else NOT_RUN
        else:
            ours = number(chosen[quantity])
            if chosen["index"] != living["index"]:
                ours += f" ({number(living[quantity])})"
        return beside_paper(ours, published(TABLES[quantity], name, method))

    title = f"{quantity.upper()} with the classes"
    return Grid(title, _columns(_WITH_DEFAULT), _rows(view, _WITH_DEFAULT, cell))


def similarity(view: View) -> Grid:
    """Agreement of ClAM's partition with that of each baseline; two rows a set, as in the paper."""

    def cell(name: str, method: str, score: Score) -> str:
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

    rows = [
        [
            f"{sets.title(name)}, {measure}",
            *(
                beside_paper(cell(name, method, score), published(paper, name, method))
                for method in _BASELINES
            ),
        ]
        for name in view.table_sets
        for measure, (score, paper) in _MEASURES.items()
    ]
    return Grid("Agreement of ClAM with each baseline", _columns(_BASELINES), rows)


def budgets(view: View) -> Grid:
    """How much was run: fits under the paper's protocol, and fits times seeds otherwise."""

    def value(name: str, method: str, part: str) -> str:
        if not METHODS[method].covers(name):
            return NOT_DEFINED
        record = view.one("partitions", name, method, "paper")
        if record is None:
            return NOT_RUN
        return f"{(record.results if part == 'rows' else record.case.definition)[part]:,}"

    def row(name: str) -> list[str]:
        k_means = view.one("partitions", name, "kmeans", "paper")
        honest = view.partitions(name, "kmeans", "honest")
        restarts = k_means and k_means.case.definition["configs"]["n_init"][0]
        seeds = len(view.partitions(name, "clam-default", "default"))
        return [
            sets.title(name),
            value(name, "kmeans", "rows"),
            *(value(name, method, "fits") for method in _BUDGETED),
            f"{restarts:,}" if restarts else NOT_RUN,
            f"{honest[0].case.definition['fits']} x {len(honest)}" if honest else NOT_RUN,
            f"{seeds}" if seeds else NOT_RUN,
            ", ".join(value(name, method, "rows") for method in _SAMPLED),
        ]

    columns = [
        "",
        "rows",
        *(f"{METHODS[method].title}: fits" for method in _BUDGETED),
        "restarts of k-means",
        "honest: fits x seeds",
        "default: seeds",
        "rows of spectral, DEC, DCEC",
    ]
    return Grid("How much was run", columns, [row(name) for name in view.table_sets])


def _columns(methods: Sequence[str]) -> list[str]:
    return ["", *(METHODS[method].title for method in methods)]


def _rows(view: View, methods: Sequence[str], cell: Cell) -> list[list[str]]:
    return [
        [
            sets.title(name),
            *(cell(name, m) if METHODS[m].covers(name) else NOT_DEFINED for m in methods),
        ]
        for name in view.table_sets
    ]


def _wins_and_losses(view: View, rule: str) -> list[list[str]]:
    """Count the sets on which a variant of ClAM is above, and below, each other method."""

    def cell(ours: str, other: str) -> str:
        if other == ours:
            return NOT_DEFINED
        scores = [
            (round(mine["silhouette"], 3), round(theirs["silhouette"], 3))
            for name in view.table_sets
            if (mine := view.chosen(name, ours, rule)) is not None
            if (theirs := view.chosen(name, other, rule)) is not None
        ]
        text = f"{sum(a > b for a, b in scores)}/{sum(a < b for a, b in scores)}"
        paper = WINS_AND_LOSSES[ours].get(other)
        return f"{text}<br>*{paper[0]}/{paper[1]}*" if paper and rule == "best" else text

    return [
        [f"{METHODS[ours].title}: wins/losses", *(cell(ours, other) for other in TABLE_METHODS)]
        for ours in WINS_AND_LOSSES
    ]


def _with_living(view: View, name: str, method: str, rule: str) -> str:
    """Write the silhouette of what a rule chose, and its number of living clusters."""
    record = view.one("partitions", name, method, "paper")
    if record is None:
        return NOT_RUN
    found: dict[str, Any] | None = record.results[rule]
    if found is None:
        return _ONE_CLUSTER
    return number(found["silhouette"]) + _living(found["living"], record.results["n_clusters"])


def _over_seeds(records: Sequence[Record], quantity: str) -> str:
    """Write the mean ± standard deviation over the seeds."""
    if not records:
        return NOT_RUN
    values = [found[quantity] for found in _defined(records)]
    return mean_and_deviation(values) if values else _ONE_CLUSTER


def _living_over_seeds(records: Sequence[Record]) -> str:
    """Write the mean number of living clusters over the seeds, and how many were asked for."""
    found = _defined(records)
    if not found:
        return ""
    failed = len(records) - len(found)
    more = f", {failed} seeds with {_ONE_CLUSTER}" if failed else ""
    return _living(fmean(one["living"] for one in found), records[0].results["n_clusters"], more)


def _living(living: float, asked: int, more: str = "") -> str:
    return f" <small>({living:.3g}/{asked}{more})</small>"


def _defined(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Leave out the seeds for which every partition was a single cluster."""
    return [record.results["living"] for record in records if record.results["living"]]


def _score(pair: list[dict[str, Any]], score: Score) -> str:
    ours, theirs = (unpack_labels(chosen["labels"]) for chosen in pair)
    if len(theirs) < len(ours):
        ours = ours[sets.sample_of(len(ours), len(theirs))]
    return number(score(ours, theirs))
