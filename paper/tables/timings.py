"""Efficiency: silhouette and seconds of k-means and ClAM."""

from statistics import median

from benchmarks.framework.lines import median_ratio
from benchmarks.framework.pages import Grid, amount, number
from paper import sets
from paper.experiments.timings import DEFAULT, KMEANS, PUBLISHED, TITLES
from paper.published import EFFICIENCY
from paper.records import NOT_DEFINED, NOT_RUN, Record, View, beside_paper

_MADE = " (made data of this shape)"


def efficiency(view: View) -> Grid:
    """A row for each set and method, the paper's numbers below those that it has."""
    rows = []
    for name in sets.TIMED_SETS:
        record = view.timing(name)
        if record is None:
            rows.append([sets.title(name), NOT_RUN, NOT_RUN, NOT_RUN])
            continue
        title = sets.title(name) + made(record)
        rows += [[f"{title}: {label}", *_cells(record, m)] for m, label in TITLES.items()]
    return Grid("Efficiency", ("", "silhouette", "seconds", "of k-means' time"), rows)


def conditions(view: View) -> str:
    """Say in how many threads all this was timed, and how busy the machine was before."""
    found = [record.results for record in view.records("timings")]
    threads = sorted({one["threads"][name] for one in found for name in one.get("threads", {})})
    loads = sorted(one["load"] for one in found if one.get("load") is not None)
    if not threads or not loads:
        return ""
    return (
        f"Threads: {' or '.join(map(str, threads))}. Load of the machine in the minute before a "
        f"set: {loads[0]} to {loads[-1]}.\n"
    )


def made(record: Record) -> str:
    """Say so where the data are made."""
    return _MADE if record.case.definition["made"] else ""


def ratio(record: Record, method: str = DEFAULT) -> float:
    """Give a variant's seconds over those of k-means, the median of pairs."""
    ours, theirs = ([one["seconds"] for one in record.results[name]] for name in (method, KMEANS))
    return median_ratio(ours, theirs)


def _cells(record: Record, method: str) -> list[str]:
    paper, found = EFFICIENCY[record.key.set], record.results[method]
    # A silhouette of made data says nothing.
    score = NOT_DEFINED if made(record) else number(median(row["silhouette"] for row in found))
    score += f" <small>({min(row['living'] for row in found)} living)</small>"
    seconds = amount(median(row["seconds"] for row in found))
    relative = NOT_DEFINED if method == KMEANS else f"{ratio(record, method):.2g}"
    if method == KMEANS:
        timed, all_restarts = (record.case.definition[KMEANS][key] for key in ("timed", "n_init"))
        if timed < all_restarts:
            seconds += f" ({timed} of {all_restarts} restarts, scaled up)"
        score = beside_paper(score, paper.kmeans_silhouette)
        seconds = beside_paper(seconds, paper.kmeans_seconds, 0)
    if method == PUBLISHED:
        score = beside_paper(score, paper.clam_silhouette)
        seconds = beside_paper(seconds, paper.clam_seconds, 0)
        relative = beside_paper(relative, paper.clam_seconds / paper.kmeans_seconds, 1)
    return [score, seconds, relative]
