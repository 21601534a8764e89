"""The cases: what a way says of a set, how steady ClAM's estimate is, and what it costs."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import Any, NamedTuple

import numpy as np

from amclust import ClAM
from benchmarks.cluster_number.sets import separated_clusters, sets_of
from benchmarks.cluster_number.ways import CANDIDATES, WAYS, by_amclust
from benchmarks.data import FloatArray
from benchmarks.framework import Case, Unfinished

# Where the number of classes is asked for, plus or minus one.
TARGETS = ("iris", "wine", "zoo", "digits, 8 components", "standardised digits, 8 components")


class Key(NamedTuple):
    """What a way says of a set; "steadiness": again and again; "cost": what a fit takes."""

    group: str
    set: str
    way: str


GROUPS = {"made": "separated clusters", "single": "single clouds", "real": "tables with classes"}
# The estimate beside a single fit (2,000 rows), and on a million rows.
COSTS: dict[str, tuple[Any, int]] = {
    "fit": (8, 2_000),
    "fit of range(2, 21)": (CANDIDATES, 2_000),
    "fit of 1,000,000 rows": (8, 1_000_000),
    "fit of 1,000,000 rows, 'auto'": ("auto", 1_000_000),
}


def cases(options: Namespace) -> list[Case[Key]]:
    """List what is asked of the ways; ClAM's estimate is also repeated and timed."""
    ways = options.ways or tuple(WAYS)
    cases = [
        Case(Key(group, name, way), {"seed": 0})
        for group in GROUPS
        for name in sets_of(group, options.data_dir)
        for way in ways
    ]
    if "amclust" in ways:
        real, repeated = sets_of("real", options.data_dir), {"repeats": options.repeats}
        targets = [name for name in real if name.startswith(TARGETS)]
        cases += [Case(Key("steadiness", name, "amclust"), repeated) for name in targets]
        cases += [Case(Key("cost", name, "amclust")) for name in COSTS]
    return cases


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Ask a way about a set, and time it."""
    group, name, way = case.key
    if group == "cost":
        unfinished.seconds = cost(*COSTS[name])
        return {}
    if group == "steadiness":
        rows = sets_of("real", options.data_dir)[name].draw()
        return {"found": steadiness(rows, case.definition["repeats"])}
    one = sets_of(group, options.data_dir)[name]
    rows = one.draw()
    start = time.perf_counter()
    found = int(WAYS[way](rows, case.definition["seed"]))
    unfinished.seconds = time.perf_counter() - start
    return {"found": found, "n_clusters": one.n_clusters, "shape": list(rows.shape)}


def steadiness(rows: FloatArray, n_repeats: int) -> list[int]:
    """Estimate again, with other seeds and then also on nine tenths of the rows."""
    n = len(rows)
    parts = [np.arange(n)] * n_repeats
    parts += [np.random.default_rng(s).permutation(n)[: n * 9 // 10] for s in range(n_repeats)]
    return [by_amclust(rows[part], s) for s, part in enumerate(parts, 1)]


def cost(n_clusters: Any, n_rows: int) -> float:
    """Time a fit of so many rows in eight clusters."""
    rows = separated_clusters(8, 16, "normal", 4, 0)
    rows = np.resize(rows, (2000, 16)) + np.random.default_rng(0).normal(0, 0.01, (2000, 16))
    if n_rows > len(rows):
        rows = np.resize(rows, (n_rows, 16)).astype(np.float32)
    model = ClAM(n_clusters, random_state=0)
    start = time.perf_counter()
    model.fit(rows)
    return time.perf_counter() - start
