"""``python -m benchmarks.quality``: ClAM's partitions beside its peers'."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from benchmarks.framework import (
    Benchmark,
    Case,
    Record,
    Store,
    UnavailableError,
    describe_environment,
    print_entries,
    say,
)
from benchmarks.quality import summary as quality
from benchmarks.quality.cases import COST, Key, make_case, perform
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import FRESH, GROUPS, SETS, expand_groups, load_set
from benchmarks.summary import Summary

SECTIONS = ("cells", COST)


def cases(options: Namespace) -> list[Case[Key]]:
    """List the cases; a method without a random state has one, with seed 0."""
    names = expand_groups(options.sets or ["all"])
    names = [name for name in names if _is_available(name, options.data_dir)]
    keys = [
        Key(name, method, seed)
        for name in names
        for method in METHODS
        if method in (options.methods or METHODS)
        for seed in (options.seeds if METHODS[method].seeded else [0])
        if "cells" in options.sections
    ]
    if COST in options.sections:
        keys += [Key(name, COST) for name in names]
    return [make_case(key, options.data_dir) for key in keys]


def _is_available(name: str, data_dir: Path) -> bool:
    """Leave out the fresh sets that are not on this machine; the others must be there."""
    try:
        load_set(name, data_dir)
    except UnavailableError as error:
        if name not in FRESH:
            raise
        say(f"{name:<22} SKIPPED: {error}")
        return False
    return True


def tell(record: Record[Key]) -> str:
    """Say what a line of the log says."""
    if record.key.method == COST:
        return ""
    found = record.results
    return (
        f"silhouette {record.number('silhouette'):.4f}  ARI {found['ari']:.4f}  "
        f"NMI {found['nmi']:.4f}  clusters {found['living']}/{found['n_clusters']}  "
        f"largest {found['largest']:.2f}"
    )


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    """Print the tables of what was chosen, the targets, and how much comes from other code."""
    records = [record for record in store.all() if record.key in keys]
    summary = Summary(records, (*SETS, *FRESH), tuple(METHODS))
    pairs = quality.pairs_of(summary)
    for grid in [*quality.measure_grids(summary), *([quality.comparison(pairs)] if pairs else [])]:
        say(f"\n{grid.as_text()}")
    costs = quality.all_cost_lines(store, sorted({key.set for key in keys}))
    print_entries("targets", [*quality.target_lines(pairs), *costs])
    source = describe_environment()["source"]
    ours = (record for record in records if record.key.method.startswith("clam"))
    other = sum(record.environment["source"] != source for record in ours)
    if other:
        say(f"{other} of ClAM's cases were run with other code in src/: --fresh repeats them")


_SECTIONS = {"nargs": "+", "choices": SECTIONS, "default": SECTIONS, "metavar": "SECTION"}
_SECTIONS |= {"help": "cells, cost (default: both)"}
main = Benchmark(
    "quality",
    "quality.md",
    "Compare ClAM's partitions with its peers', at the same number of restarts and by the same "
    "rule of choice. Only cases without a record are run.",
    Key,
    cases,
    perform,
    report,
    quality.write_page,
    options={"--sections": _SECTIONS},
    choices={"sets": (*GROUPS, *SETS, *FRESH), "methods": tuple(METHODS)},
    seeds=10,
    alone=lambda case: case.key.method == COST,
    tell=tell,
    same=lambda ours, before: ours.results["labels"] == before.results["labels"],
).main

if __name__ == "__main__":
    raise SystemExit(main())
