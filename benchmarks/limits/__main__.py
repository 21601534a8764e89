"""``python -m benchmarks.limits``: measure what is missing, print, write the page."""

from argparse import Namespace
from pathlib import Path

import numpy as np

from benchmarks.framework.cases import Record
from benchmarks.framework.command import Benchmark
from benchmarks.framework.pages import Grid, amount, number, replace_between, say
from benchmarks.framework.store import Store
from benchmarks.limits.cases import LARGE, LIMITS, METHODS, PEER, Key, cases, perform

TARGET_MARKS = ("<!-- what python -m benchmarks.limits says of the targets -->", "<!-- its end -->")
PEER_MARKS = ("<!-- beside k-means-constrained -->", "<!-- its end -->")
LARGE_MARKS = ("<!-- a million rows -->", "<!-- its end -->")
MAX_INERTIA, MAX_TIME = 1.02, 5.0


def beside_peer(store: Store[Key]) -> dict[str, dict[tuple[str, int, str], tuple[float, float]]]:
    """Give inertia and seconds as parts of the peer's, by method and then by table."""
    records = {record.key: record for record in store.all() if record.key.group == "peer"}
    found: dict[str, dict[tuple[str, int, str], tuple[float, float]]] = {}
    for key, record in records.items():
        peer = records.get(key._replace(method=PEER))
        if key.method != PEER and peer is not None:
            ratio = record.number("inertia") / peer.number("inertia")
            place = key.set, key.n_clusters, key.limits
            found.setdefault(key.method, {})[place] = ratio, record.seconds / peer.seconds
    return found


def peer_table(store: Store[Key]) -> Grid:
    found = beside_peer(store)
    rows = []
    for place in sorted({place for one in found.values() for place in one}):
        name, k, limits = place
        cells = [
            number(one[place][0]) if place in one else "-"
            for one in (found.get(method, {}) for method in METHODS if method != PEER)
        ]
        seconds = [store_seconds(store, Key("peer", name, k, limits, method)) for method in METHODS]
        rows.append([f"{name}, k = {k}, {limits}", *cells, *seconds])
    ours = [method for method in METHODS if method != PEER]
    return Grid(
        "inertia as a part of the peer's, and seconds",
        ["", *(f"{m}: inertia" for m in ours), *(f"{m}: seconds" for m in METHODS)],
        rows,
    )


def store_seconds(store: Store[Key], key: Key) -> str:
    found = [record for record in store.all() if record.key == key]
    return amount(found[-1].seconds) if found else "-"


def large_table(store: Store[Key]) -> Grid:
    rows = []
    for name in LARGE:
        free = _large(store, name, "free")
        for limits in ("free", *LIMITS):
            record = _large(store, name, limits)
            if record is None or free is None:
                continue
            used = record.number("processor_seconds")
            cells = [
                amount(record.seconds),
                amount(used),
                amount(used / free.number("processor_seconds")),
                f"{record.number('predicted'):.2%}",
            ]
            rows.append([f"{name}, {limits}", *cells])
    columns = ["", "seconds", "of all processors", "times the free fit", "predicted as labelled"]
    return Grid("1,000,000 x 10, k = 20", columns, rows)


def _large(store: Store[Key], name: str, limits: str) -> Record[Key] | None:
    found = [r for r in store.all() if r.key == Key("large", name, 20, limits, "amclust")]
    return found[-1] if found else None


def targets(store: Store[Key]) -> Grid:
    """Say which of the targets are met."""
    rows = []
    random = [record for record in store.all() if record.key.group == "random"]
    for record in random:
        violated = int(record.number("violated"))
        count = f"{violated} of {record.case.definition['tables']}"
        rows.append(["limits violated, random tables", "0", count, _word(violated == 0)])
    ours = [r for r in store.all() if r.key.method != PEER and r.key.group != "random"]
    broken = sum(bool(record.results["violated"]) for record in ours)
    rows.append(["limits violated, all others", "0", f"{broken} of {len(ours)}", _word(not broken)])
    for method, found in beside_peer(store).items():
        ratios = np.array([ratio for ratio, _ in found.values()])
        shown = f"{ratios.max():.3f} (mean {ratios.mean():.3f})"
        met = _word(ratios.max() <= MAX_INERTIA)
        name = f"{method}: largest inertia beside {PEER}'s, {len(ratios)} cases"
        rows.append([name, f"{MAX_INERTIA}", shown, met])
    for row in large_table(store).rows:
        if not row[0].endswith("free"):
            met = _word(float(row[3]) <= MAX_TIME)
            rows.append([f"1,000,000 rows, {row[0]}: times the free fit", "5", row[3], met])
    return Grid("targets", ["", "target", "found", "met"], rows)


def _word(met: bool) -> str:
    return "yes" if met else "no"


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    for grid in (targets(store), peer_table(store), large_table(store)):
        say(grid.as_text())


def write_page(path: Path, store: Store[Key]) -> None:
    replace_between(path, TARGET_MARKS, targets(store).as_markdown())
    replace_between(path, PEER_MARKS, peer_table(store).as_markdown())
    replace_between(path, LARGE_MARKS, large_table(store).as_markdown())


main = Benchmark(
    "limits",
    "limits.md",
    "Compare clusters whose sizes have limits with those of k-means-constrained.",
    Key,
    cases,
    perform,
    report,
    write_page,
    choices={"methods": tuple(METHODS)},
    alone=lambda case: case.key.group == "large",
).main

if __name__ == "__main__":
    raise SystemExit(main())
