"""The cases: a method on a made table, and what a fit of many rows costs."""

import time
import warnings
from argparse import Namespace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from benchmarks.data import FloatArray, make_mixture
from benchmarks.framework.cases import Case
from benchmarks.framework.environment import load_average
from benchmarks.framework.running import Unfinished
from benchmarks.mixed import made
from benchmarks.mixed.made import mixed_table
from benchmarks.mixed.methods import METHODS, OURS, RESTARTS, definition

TABLES, COST = "tables", "cost"
ROWS, COLUMNS, CLUSTERS, ROUNDS = 100_000, 20, 10, 5
MIXED, NUMBERS = "mixed", "numbers"


class Key(NamedTuple):
    """A method on the table of a seed, or (`COST`) so many rows."""

    part: str
    table: int
    method: str


def cases(options: Namespace) -> list[Case[Key]]:
    methods = options.methods or METHODS
    found = [
        Case(Key(TABLES, seed, method), made.definition() | definition(method))
        for seed in options.seeds
        for method in methods
    ]
    if OURS in methods:
        chosen = {"columns": COLUMNS, "clusters": CLUSTERS, "rounds": ROUNDS, "restarts": RESTARTS}
        found.append(Case(Key(COST, ROWS, OURS), chosen))
    return found


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    part, table, method = case.key
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part == COST:
            return measure_cost(table)
        return score(table, method, unfinished)


def score(seed: int, method: str, unfinished: Unfinished) -> dict[str, Any]:
    """Score a method on a made table; the time is that of the processor."""
    table = mixed_table(seed)
    start = time.process_time()
    labels = METHODS[method](table, seed)
    unfinished.seconds = time.process_time() - start
    return {"ari": adjusted_rand_score(table.clusters, labels), "best": table.best} | table.facts


def large_tables(rows: int) -> dict[str, FloatArray | pd.DataFrame]:
    """Return numbers in clusters, and the same with half of the columns cut into six levels."""
    numbers = make_mixture(rows, COLUMNS, CLUSTERS)
    frame = pd.DataFrame(numbers).add_prefix("number ")
    for at in range(COLUMNS // 2):
        column = numbers[:, at]
        codes = np.searchsorted(np.quantile(column, np.arange(1, 6) / 6), column)
        frame[f"number {at}"] = pd.Categorical.from_codes(codes, [f"level {c}" for c in range(6)])
    return {MIXED: frame, NUMBERS: numbers}


def measure_cost(rows: int) -> dict[str, Any]:
    """Time fits of both tables in turn, by the processors' time."""
    load, tables = load_average(), large_tables(rows)
    seconds: dict[str, list[float]] = {name: [] for name in tables}
    calls = {name: partial(_fit, table) for name, table in tables.items()}
    for call in calls.values():
        call(0)
    for seed in range(ROUNDS):
        for name, call in calls.items():
            start = time.process_time()
            call(seed)
            seconds[name].append(time.process_time() - start)
    return {"load": load, "seconds": seconds}


def _fit(table: FloatArray | pd.DataFrame, seed: int) -> None:
    ClAM(CLUSTERS, n_init=RESTARTS, random_state=seed).fit(table)
