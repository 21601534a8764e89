"""The partitions of the sets: silhouettes, agreement with the classes and with each other."""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.data import IntArray, sample_of
from benchmarks.framework.cases import unpack_labels
from benchmarks.framework.pages import Grid, mean_and_deviation, number
from paper import sets
from paper.methods import METHODS, TABLE_METHODS
from paper.published import ARI_BETWEEN, NMI_BETWEEN, SILHOUETTES, TABLES, WINS_AND_LOSSES, Row
from paper.records import NOT_DEFINED, NOT_RUN, View, beside_paper, published

# Where no partition has a silhouette.
_ONE_CLUSTER = "one cluster"
_WITH_DEFAULT = [*TABLE_METHODS, "clam-default"]
_BASELINES = [name for name in TABLE_METHODS if not name.startswith("clam")]
_BUDGETED = ("kmeans", "spectral", "agglomerative", "dcec", "dec", "clam")
_SAMPLED = ("spectral", "dec", "dcec")

Cell = Callable[[str, str], str]
Score = Callable[[IntArray, IntArray], float]
_MEASURES: dict[str, tuple[Score, dict[str, Row]]] = {
    "NMI": (normalized_mutual_info_score, NMI_BETWEEN),
    "ARI": (adjusted_rand_score, ARI_BETWEEN),
}


def paper_protocol(view: View, rule: str) -> Grid:
    """The best silhouette over the grid, by either rule; the paper's below where it is by its."""

    def cell(name: str, method: str) -> str:
        found = view.chosen(name, method, rule)
        ours = _why_none(view, name, method, "paper")
        if found is not None:
            k = view.partitions(name, method, "paper")[0].results["n_clusters"]
            ours = number(found["silhouette"]) + living(found["living"], k)
        return beside_paper(ours, published(SILHOUETTES, name, method) if rule == "best" else None)

    title = "Silhouettes, the paper's protocol"
    more = "" if rule == "best" else " with k living clusters"
    return _by_method(view, title + more, TABLE_METHODS, cell, _wins_and_losses(view, rule))


def honest_protocol(view: View) -> Grid:
    """Equal budgets and the same rule for all, and ClAM's default beside it."""

    def cell(name: str, method: str) -> str:
        protocol = "default" if method == "clam-default" else "honest"
        found = view.seeds(name, method, protocol).values()
        if not found:
            return _why_none(view, name, method, protocol)
        records = view.partitions(name, method, protocol)
        failed = len(records) - len(found)
        more = f", {failed} seeds with {_ONE_CLUSTER}" if failed else ""
        text = mean_and_deviation([one["silhouette"] for one in found])
        mean = fmean(one["living"] for one in found)
        return text + living(mean, records[0].results["n_clusters"], more)

    return _by_method(view, "Silhouettes, the honest protocol", _WITH_DEFAULT, cell)


def classes(view: View, quantity: str) -> Grid:
    """Agreement with the classes, of what the paper's protocol chose: NMI or ARI."""

    def cell(name: str, method: str) -> str:
        if method == "clam-default":
            found = [one[quantity] for one in view.seeds(name, method, "default").values()]
            none = _why_none(view, name, method, "default")
            return mean_and_deviation(found) if found else none
        best, full = (view.chosen(name, method, rule) for rule in ("best", "living"))
        ours = _why_none(view, name, method, "paper")
        if best is not None and full is not None:
            ours = number(best[quantity])
            if best["index"] != full["index"]:
                ours += f" ({number(full[quantity])})"
        return beside_paper(ours, published(TABLES[quantity], name, method))

    return _by_method(view, f"{quantity.upper()} with the classes", _WITH_DEFAULT, cell)


def similarity(view: View) -> Grid:
    """Agreement of ClAM's partition with that of each baseline; two rows a set, as in the paper."""

    def cell(name: str, method: str, score: Score) -> str:
        if not METHODS[method].covers(name):
            return NOT_DEFINED
        best, full = (
            [chosen for one in ("clam", method) if (chosen := view.chosen(name, one, rule))]
            for rule in ("best", "living")
        )
        if len(best) < 2 or len(full) < 2:
            return NOT_RUN
        text = _score(best, score)
        return text if best == full else f"{text} ({_score(full, score)})"

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
        record = view.one("partitions", name, method, "paper")
        if record is None:
            return NOT_RUN if METHODS[method].covers(name) else NOT_DEFINED
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


def _by_method(
    view: View, title: str, methods: Sequence[str], cell: Cell, more: Sequence[Sequence[str]] = ()
) -> Grid:
    """Make a table with a row a set, and more rows below, and a column a method."""
    rows = [
        [
            sets.title(name),
            *(cell(name, m) if METHODS[m].covers(name) else NOT_DEFINED for m in methods),
        ]
        for name in view.table_sets
    ]
    return Grid(title, _columns(methods), [*rows, *more])


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


def _why_none(view: View, name: str, method: str, protocol: str) -> str:
    return _ONE_CLUSTER if view.partitions(name, method, protocol) else NOT_RUN


def living(count: float, asked: int, more: str = "") -> str:
    """Write a number of living clusters, a mean perhaps, and how many were asked for."""
    return f" <small>({count:.3g}/{asked}{more})</small>"


def _score(pair: list[dict[str, Any]], score: Score) -> str:
    ours, theirs = (unpack_labels(chosen["labels"]) for chosen in pair)
    if len(theirs) < len(ours):
        ours = ours[sample_of(len(ours), len(theirs))]
    return number(score(ours, theirs))
