"""What the evaluation has to show, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from benchmarks.paper import sets
from benchmarks.paper.experiments.timings import DEFAULT, PUBLISHED, TITLES
from benchmarks.paper.published import SILHOUETTES
from benchmarks.paper.tables.efficiency import ratio
from benchmarks.paper.tables.toys import drawings
from benchmarks.paper.toys import ELONGATED, TOYS
from benchmarks.paper.view import NOT_RUN, View
from benchmarks.printing import line_cells
from benchmarks.quality.grids import Grid
from benchmarks.records import Line, Target

CLOSE = 0.01
_SETS_TO_REACH = 8
_SAME_DATA = ("zoo", "ecoli", "movement_libras", "mice_protein", "ctg", "segment")
_RATIOS = dict.fromkeys(("zoo", "ecoli", "movement_libras", "yale"), 0.1) | {
    "cifar10_features": 1.0,
    "japanese_vowels": 1.0,
}


def targets(view: View) -> Grid:
    """One line each; what has no record is not reached."""
    columns = ["what", "ours", "beside", "ratio", "target", "reached", "note"]
    rows = [[*line_cells(line), line.note] for line in lines(view)]
    return Grid("What has to be reached", columns, rows, numbers=False)


def lines(view: View) -> Iterator[Line]:
    """Compare what the records say with the targets."""
    yield from (_same_data(view, name) for name in _SAME_DATA)
    yield _reached_sets(view)
    for toy in ELONGATED:
        yield _toy(view, toy, "clam", Target("lowest ARI", ">=", 1.0))
        yield _toy(view, toy, "kmeans", Target("highest ARI", "<", 1.0))
        yield _toy(view, toy, "dec", Target("highest ARI", "<", 1.0))
    yield _toy(view, "noisy", "clam", Target("lowest ARI", ">=", 1.0))
    for name, limit in _RATIOS.items():
        yield from (_efficiency(view, name, method, limit) for method in (DEFAULT, PUBLISHED))


def _same_data(view: View, name: str) -> Line:
    chosen, paper = view.chosen(name, "kmeans"), SILHOUETTES[name]["kmeans"]
    assert paper is not None
    ours = chosen["silhouette"] if chosen else nan
    return Line(
        what=f"{sets.title(name)}: silhouette of k-means",
        unit="",
        ours=ours,
        peer=paper,
        peer_name="the paper's",
        value=round(abs(ours - paper), 4),
        ratio=nan,
        target=Target("difference", "<=", CLOSE),
        note="" if chosen else NOT_RUN,
    )


def _reached_sets(view: View) -> Line:
    reached, ran = [], []
    for name, row in SILHOUETTES.items():
        chosen, paper = view.chosen(name, "clam"), row["clam"]
        if chosen is not None and paper is not None:
            ran.append(name)
            if chosen["silhouette"] >= paper - CLOSE:
                reached.append(name)
    return Line(
        what="ClAM under the paper's protocol: sets at the paper's silhouette",
        unit="",
        ours=len(reached),
        peer=len(ran),
        peer_name="sets run",
        value=len(reached),
        ratio=nan,
        target=Target("sets", ">=", _SETS_TO_REACH),
        note=", ".join(sets.title(name) for name in reached),
    )


def _toy(view: View, toy: str, method: str, target: Target) -> Line:
    found = [record.results["ari"] for record in drawings(view, toy, method)]
    pick = min if target.relation == ">=" else max
    value = pick(found) if found else nan
    return Line(
        what=f"{TOYS[toy].title}: ARI of {method}",
        unit="",
        ours=value,
        peer=nan,
        peer_name="",
        value=value,
        ratio=nan,
        target=target,
        note=f"{len(found)} drawings" if found else NOT_RUN,
    )


def _efficiency(view: View, name: str, method: str, limit: float) -> Line:
    record = view.one("timings", name, "all", "paper")
    value = ratio(record, method) if record else nan
    return Line(
        what=f"{sets.title(name)}: seconds of {TITLES[method]}",
        unit="",
        ours=value,
        peer=nan,
        peer_name="of k-means'",
        value=value,
        ratio=value,
        target=Target("ratio", "<=", limit),
        note="" if record else NOT_RUN,
    )
