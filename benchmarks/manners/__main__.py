"""``python -m benchmarks.manners``: measure what is missing, print, write the page."""

from argparse import Namespace
from pathlib import Path

from benchmarks.framework.command import Benchmark
from benchmarks.framework.pages import Grid, amount, number, replace_between, say
from benchmarks.framework.store import Store
from benchmarks.manners.cases import INTERRUPT, NEIGHBOUR, PREDICT, START, Key, cases, perform

TARGET_MARKS = (
    "<!-- what python -m benchmarks.manners says of the targets -->",
    "<!-- its end -->",
)
NEIGHBOUR_MARKS = ("<!-- beside a busy process -->", "<!-- its end -->")
MAX_BESIDE, MAX_PREDICT, MAX_INTERRUPT, MAX_START = 1.5, 1.2, 1.0, 0.3


def targets(store: Store[Key]) -> Grid:
    """Say which of the targets are met."""
    rows = []
    beside = {key.name: found["beside"] / found["alone"] for key, found in _of(store, NEIGHBOUR)}
    if beside:
        worst = max(beside, key=beside.__getitem__)
        shown = f"{number(beside[worst], 2)} ({worst})"
        name = f"processor time beside a busy process, the most of {len(beside)} calls"
        rows.append([name, f"{MAX_BESIDE}", shown, _word(beside[worst] <= MAX_BESIDE)])
    for key, found in _of(store, PREDICT):
        ratio = found["amclust"] / found["k_means"]
        name = f"predict, {key.name}: times KMeans.predict"
        rows.append([name, f"{MAX_PREDICT}", number(ratio, 2), _word(ratio <= MAX_PREDICT)])
    for group, words, most in (
        (INTERRUPT, "Ctrl-C, {}: seconds, at most", MAX_INTERRUPT),
        (START, "`amclust {}`: seconds", MAX_START),
    ):
        for key, found in _of(store, group):
            seconds = found["seconds"]
            shown, met = number(seconds, 2), _word(seconds <= most)
            if "processor" in found:
                shown += f" ({number(found['processor'], 2)} of a processor)"
            rows.append([words.format(key.name), f"{most:g}", shown, met])
    return Grid("targets", ["", "target", "found", "met"], rows)


def neighbour_table(store: Store[Key]) -> Grid:
    rows = [
        [
            key.name,
            amount(found["alone"]),
            amount(found["beside"]),
            number(found["beside"] / found["alone"], 2),
        ]
        for key, found in _of(store, NEIGHBOUR)
    ]
    return Grid("processor seconds", ["", "alone", "beside", "ratio"], rows)


def _of(store: Store[Key], group: str) -> list[tuple[Key, dict[str, float]]]:
    return [(one.key, one.results) for one in store.all() if one.key.group == group]


def _word(met: bool) -> str:
    return "yes" if met else "no"


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    for grid in (targets(store), neighbour_table(store)):
        say(grid.as_text())


def write_page(path: Path, store: Store[Key]) -> None:
    replace_between(path, TARGET_MARKS, targets(store).as_markdown())
    replace_between(path, NEIGHBOUR_MARKS, neighbour_table(store).as_markdown())


main = Benchmark(
    "manners",
    "manners.md",
    "Measure what a call costs others, and how soon it ends.",
    Key,
    cases,
    perform,
    report,
    write_page,
    quick=True,
    alone=lambda case: True,
).main

if __name__ == "__main__":
    raise SystemExit(main())
