"""Where our figures are not the paper's, and what was found out about it."""

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.framework.pages import Grid, number
from paper import sets
from paper.experiments.checks import CHECKS
from paper.experiments.toys import NOISE, PAPER_METHODS, TOY_METHODS, TOYS
from paper.methods import METHODS, TABLE_METHODS
from paper.published import NOISE as PAPER_NOISE
from paper.published import TABLES
from paper.records import NOT_DEFINED, NOT_RUN, View, published
from paper.tables.partitions import living

UNEXPLAINED = "not looked into yet"
TOLERANCE = 0.02
# Where the paper's data seem to be others, a small difference says nothing.
_OTHER_DATA = ("usps_test",)


def _read_findings() -> dict[tuple[str, str], str]:
    with Path(__file__).with_name("findings.csv").open(encoding="utf-8", newline="") as file:
        return {
            (name, method): row["finding"]
            for row in csv.DictReader(file)
            for name in row["sets"].split(" ")
            for method in row["methods"].split(" ")
        }


# Keys are (set, method); "" stands for any, and the most special entry counts. Only what was
# checked belongs there, and no number: those are in the records of the checks.
FINDINGS = _read_findings()


def finding(name: str, method: str) -> str:
    keys = ((name, method), (name, ""), ("", method))
    return next((FINDINGS[key] for key in keys if key in FINDINGS), UNEXPLAINED)


def departures(view: View) -> Grid:
    rows = [row for name in view.table_sets for m in TABLE_METHODS for row in _of(view, name, m)]
    rows += _of_noise(view)
    columns = ["", "ours", "ours, k living", "the paper's", "what was found out"]
    return Grid(f"Departures of more than {TOLERANCE}", columns, rows, numbers=False)


def checks(view: View) -> Grid:
    """A row a check: our three numbers, and the paper's for the cell that it is to explain."""
    rows = []
    for name, check in CHECKS.items():
        record = view.one("checks", check.set, name, "check")
        cell = f"{sets.title(check.set)}, {METHODS[check.method].title}"
        paper = _joined(table[check.set].get(check.method) for table in TABLES.values())
        found = [NOT_RUN, "", ""]
        if record is not None:
            found = [number(record.results[quantity]) for quantity in TABLES]
            found[0] += living(record.results["living"], record.results["n_clusters"])
        rows.append([cell, check.what, *found, paper])
    columns = ["", "what was done", "silhouette", "NMI", "ARI", "the paper's three"]
    return Grid("What was looked into", columns, rows, numbers=False)


def _of(view: View, name: str, method: str) -> Iterator[list[str]]:
    """Compare a method on a set, if the paper has it too, and tell what is known about it."""
    record = view.one("partitions", name, method, "paper")
    paper = {
        quantity: value
        for quantity, table in TABLES.items()
        if (value := published(table, name, method)) is not None
    }
    if record is None or not paper:
        return
    best, full, k = (record.results[part] for part in ("best", "living", "n_clusters"))
    if best is None or full is None or not _differ(best, paper):
        return
    other = full if best["index"] != full["index"] else None
    sentences = []
    if best["living"] < k:
        sentences.append(f"ours has {best['living']} living clusters of {k}")
    if name not in _OTHER_DATA and other and other["living"] == k and not _differ(other, paper):
        what = "it agrees" if len(paper) > 1 else "the silhouette agrees"
        sentences.append(f"with all of them alive {what} with the paper's")
    else:
        sentences.append(finding(name, method))
    yield [
        f"{sets.title(name)}, {METHODS[method].title}",
        _joined(best[quantity] for quantity in paper),
        _joined(other[quantity] for quantity in paper) if other else NOT_DEFINED,
        _joined(paper.values()),
        "; ".join(sentences),
    ]


def _of_noise(view: View) -> Iterator[list[str]]:
    for method, paper_method in PAPER_METHODS.items():
        for toy, theirs in zip(NOISE, PAPER_NOISE[paper_method], strict=True):
            found = view.toys(toy, method, "silhouette")
            if found and abs(fmean(found) - theirs) > TOLERANCE:
                cell = f"noise, {TOYS[toy].title}, {TOY_METHODS[method].title}"
                ours, paper = number(fmean(found)), number(theirs)
                yield [cell, ours, NOT_DEFINED, paper, finding("noise", "")]


def _differ(chosen: dict[str, Any], paper: dict[str, float]) -> bool:
    return any(abs(chosen[quantity] - value) > TOLERANCE for quantity, value in paper.items())


def _joined(numbers: Iterable[float | None]) -> str:
    return " / ".join("" if value is None else number(value) for value in numbers)
