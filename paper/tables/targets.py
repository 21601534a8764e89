"""What the evaluation has to show, and whether it does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.framework import Grid, number
from paper import sets
from paper.experiments.timings import DEFAULT, PUBLISHED, TITLES
from paper.experiments.toys import ELONGATED, TOY_METHODS, TOYS
from paper.published import SILHOUETTES
from paper.tables.timings import made, ratio
from paper.view import NOT_RUN, View

CLOSE = 0.01
_SETS_TO_REACH = 8
_SAME_DATA = ("zoo", "ecoli", "movement_libras", "mice_protein", "ctg", "segment")
_TOLD_APART = ("clam", "kmeans", "dec")
_RATIOS = dict.fromkeys(("zoo", "ecoli", "movement_libras", "yale"), 0.1) | {
    "cifar10_features": 1.0,
    "japanese_vowels": 1.0,
}


class Target(NamedTuple):
    """One thing to be reached: what was found, what was asked for, and whether it is so."""

    what: str
    found: str
    asked: str
    reached: bool

    @property
    def row(self) -> list[str]:
        """Write it as a row of the list."""
        return [self.what, self.found, self.asked, "yes" if self.reached else "**no**"]


def targets(view: View) -> Grid:
    """One line each; what has no record is not reached."""
    rows = [target.row for target in all_targets(view)]
    return Grid("What this was to show", ["what", "found", "aim", "reached"], rows, False)


def all_targets(view: View) -> Iterator[Target]:
    """Compare what the records say with what was asked for."""
    yield from (_same_data(view, name) for name in _SAME_DATA)
    yield _reached_sets(view)
    for toy in ELONGATED:
        yield from (_toy(view, toy, method, method == "clam") for method in _TOLD_APART)
    yield _toy(view, "noisy", "clam", right=True)
    for method in (DEFAULT, PUBLISHED):
        yield from (_efficiency(view, name, method, limit) for name, limit in _RATIOS.items())


def _same_data(view: View, name: str) -> Target:
    chosen, paper = view.chosen(name, "kmeans"), SILHOUETTES[name]["kmeans"]
    assert paper is not None
    what, asked = f"silhouette of k-means, {sets.title(name)}", f"{number(paper)} ± {CLOSE}"
    if chosen is None:
        return Target(what, NOT_RUN, asked, False)
    score = chosen["silhouette"]
    return Target(what, number(score), asked, abs(score - paper) <= CLOSE)


def _reached_sets(view: View) -> Target:
    reached = {
        sets.title(name): chosen["silhouette"] >= (row["clam"] or 0.0) - CLOSE
        for name, row in SILHOUETTES.items()
        if (chosen := view.chosen(name, "clam")) is not None
    }
    missed = [title for title, is_reached in reached.items() if not is_reached]
    found = f"{sum(reached.values())} of {len(reached)}"
    if missed:
        found += f" (not {', '.join(missed)})"
    return Target(
        f"sets on which ClAM has its published silhouette (less {CLOSE}) or more, by the paper's "
        "rule",
        found,
        f"{_SETS_TO_REACH}",
        sum(reached.values()) >= _SETS_TO_REACH,
    )


def _toy(view: View, toy: str, method: str, right: bool) -> Target:
    # Adding zero takes the sign from a zero.
    records = view.records("toys", name=toy, method=method)
    scores = [round(record.results["ari"], 3) + 0.0 for record in records]
    what = f"ARI of {TOY_METHODS[method].title}, {TOYS[toy].title}"
    asked = "1 in every drawing" if right else "below 1 in every drawing"
    if not scores:
        return Target(what, NOT_RUN, asked, False)
    found = f"{min(scores):.3f} to {max(scores):.3f} in {len(scores)} drawings"
    return Target(what, found, asked, min(scores) == 1.0 if right else max(scores) < 1.0)


def _efficiency(view: View, name: str, method: str, limit: float) -> Target:
    record = view.one("timings", name, "all", "paper")
    what = f"{sets.title(name)}: time of {TITLES[method]}, as a part of that of k-means"
    if record is None:
        return Target(what, NOT_RUN, f"at most {limit:g}", False)
    value = ratio(record, method)
    return Target(what, f"{value:.2g}{made(record)}", f"at most {limit:g}", value <= limit)
