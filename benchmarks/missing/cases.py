"""The cases: what is hidden of a set and by what, the method, the seed; and what came of it."""

import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from benchmarks import data
from benchmarks.data import BoolArray, FloatArray, Table, load_set
from benchmarks.framework.cases import Case
from benchmarks.framework.running import Unfinished
from benchmarks.missing import made, mechanisms
from benchmarks.missing.mechanisms import MECHANISMS, draw_hidden
from benchmarks.missing.methods import (
    CLUSTERERS,
    K_POD,
    KNN,
    METHODS,
    OURS,
    Imputer,
    cluster,
    timed_seconds,
)

# usps_train is of the same kind as usps_test, and larger.
SETS = tuple(name for name in data.SETS if name != "usps_train")
RATES = (20, 50)  # per cent
ALL_RATES = (10, 20, 30, 40, 50)
SEEDS = 5
QUICK_SETS, QUICK_RATES, QUICK_SIZES = ("iris", "zoo"), (50,), made.SIZES[:2]

TABLES, NUMBER, CENTERS, COST = "tables", "number", "centers", "cost"
PARTS = (TABLES, NUMBER, CENTERS, COST)

# In the place of mechanism and method: the number of clusters of the complete table.
COMPLETE = "complete"
# Halves of its rows, drawn at random, that say how far that number hangs on the rows.
HALVES = 8
# Whose number of clusters is compared: of the rows as they are, and after this imputer.
NUMBERED = (OURS, KNN)
CENTERED = (OURS, K_POD)

_WIDTH = 1.96  # standard deviations to either side that 95 % of normal values are within
_DIGITS = 6


class Key(NamedTuple):
    """`set` is the number of rows where the data are made, `rate` is in per cent."""

    part: str
    set: str
    mechanism: str
    rate: int
    method: str
    seed: int = 0


def cases(options: Namespace) -> list[Case[Key]]:
    return [Case(key, _definition(key)) for key in _keys(options) if key.part in options.parts]


def _keys(options: Namespace) -> Iterator[Key]:
    quick = options.quick
    names = options.sets or (QUICK_SETS if quick else SETS)
    hidden = [
        (name, mechanism, rate, seed)
        for name in names
        for mechanism in options.mechanisms or MECHANISMS
        for rate in options.rates or (QUICK_RATES if quick else RATES)
        for seed in _seeds(options)
    ]
    there = [one for one in options.methods or METHODS if METHODS[one].is_available()]
    if TABLES in options.parts:
        shapes = {name: load_set(name, options.data_dir).features.shape for name in names}
        for name, mechanism, rate, seed in hidden:
            methods = (one for one in there if METHODS[one].takes(shapes[name]))
            yield from (Key(TABLES, name, mechanism, rate, one, seed) for one in methods)
    numbered = [one for one in there if one in NUMBERED]
    if numbered:
        for name in names:
            for seed in _seeds(options):
                yield Key(NUMBER, name, COMPLETE, 0, COMPLETE, seed)
    for name, mechanism, rate, seed in hidden:
        yield from (Key(NUMBER, name, mechanism, rate, one, seed) for one in numbered)
    for size in QUICK_SIZES if quick else made.SIZES:
        for rate in QUICK_RATES if quick else made.RATES:
            for seed in _seeds(options):
                methods = (one for one in there if one in CENTERED)
                yield from (Key(CENTERS, str(size), "random", rate, one, seed) for one in methods)
    if OURS in there:
        yield Key(
            COST, str(made.QUICK_ROWS if quick else made.ROWS), "random", made.COST_RATE, OURS
        )


def _seeds(options: Namespace) -> range:
    return options.seeds[:1] if options.quick else options.seeds


def _definition(key: Key) -> dict[str, Any]:
    """Say everything that is chosen here about a case."""
    if key.part == COST:
        return {"columns": made.COLUMNS, "clusters": made.COST_CLUSTERS, "rounds": made.ROUNDS}
    if key.part == CENTERS:
        return made.definition()
    chosen: dict[str, Any] = {}
    if key.method in METHODS and (key.part == TABLES or key.method == KNN):
        chosen |= METHODS[key.method].definition()
    if key.mechanism == COMPLETE:
        chosen["halves"] = HALVES
    else:
        chosen |= mechanisms.definition(key.mechanism)
    return chosen


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Do what the part of a case asks for; the same for the same case, but for seconds."""
    with warnings.catch_warnings():
        # Of outliers, and of much that is missing.
        warnings.simplefilter("ignore", UserWarning)
        return _perform(case.key, options)


def _perform(key: Key, options: Namespace) -> dict[str, Any]:
    if key.part == COST:
        return made.measure_cost(int(key.set))
    if key.part == CENTERS:
        clusters = made.draw_clusters(int(key.set), key.rate, key.seed)
        found = made.learned_centers(key.method, clusters, key.seed)
        return {"error": round(made.centers_error(found, clusters), _DIGITS)}
    table = load_set(key.set, options.data_dir)
    if key.mechanism == COMPLETE:
        return _count_clusters(table.features, key) | {"halves": _count_in_halves(table, key)}
    hidden = draw_hidden(table.features, key.mechanism, key.rate / 100.0, key.seed)
    features = np.where(hidden, np.nan, table.features)
    if key.part == NUMBER:
        return _count_clusters(features, key)
    score = _score_imputer if isinstance(METHODS[key.method], Imputer) else _score_direct
    results = score(key, table, features, hidden)
    facts = {"shape": list(features.shape), "share": float(hidden.mean())}
    return facts | {name: round(value, _DIGITS) for name, value in results.items()}


def _count_clusters(features: FloatArray, key: Key) -> dict[str, Any]:
    """Ask ClAM how many clusters there are, and whether it warned of what is missing."""
    method = METHODS.get(key.method)
    if isinstance(method, Imputer):
        features = method.fill(features, key.seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ClAM("auto", n_jobs=1, random_state=key.seed).fit(features)
    said = [str(one.message) for one in caught]
    return {"found": model.n_clusters_, "warned": any("missing" in message for message in said)}


def _count_in_halves(table: Table, key: Key) -> list[int]:
    """Ask the same of halves of the complete rows."""
    generator, n_samples = np.random.default_rng(key.seed), len(table.features)
    halves = (generator.permutation(n_samples)[: n_samples // 2] for _ in range(HALVES))
    found = (_count_clusters(table.features[np.sort(half)], key)["found"] for half in halves)
    return [int(one) for one in found]


def _score_imputer(
    key: Key, table: Table, features: FloatArray, hidden: BoolArray
) -> dict[str, float]:
    """Fill once, and cluster what was filled by each clusterer."""
    imputer = METHODS[key.method]
    filled, seconds = timed_seconds(partial(imputer.fill, features, key.seed))
    results = {"rmse": rmse(filled, table.features, hidden), "seconds": seconds}
    for one in CLUSTERERS:
        call = partial(cluster, one, filled, table.n_clusters, key.seed)
        labels, results[f"seconds_{one}"] = timed_seconds(call)
        results[f"ari_{one}"] = adjusted_rand_score(table.classes, labels)
    return results


def _score_direct(
    key: Key, table: Table, features: FloatArray, hidden: BoolArray
) -> dict[str, float]:
    find: Callable[..., Any] = METHODS[key.method]
    found, seconds = timed_seconds(partial(find, features, table.n_clusters, key.seed))
    results = {"ari": adjusted_rand_score(table.classes, found.labels), "seconds": seconds}
    if found.completed is not None:
        results["rmse"] = rmse(found.completed, table.features, hidden)
    if found.deviations is not None:
        errors = found.completed - table.features
        results["coverage"] = coverage(
            errors, found.deviations, scored_cells(table.features, hidden)
        )
    return results


def scored_cells(features: FloatArray, hidden: BoolArray) -> BoolArray:
    """Give the hidden cells of the columns that are not constant in the complete table."""
    return hidden & (np.nanstd(features, axis=0) > 0.0)


def rmse(completed: FloatArray, features: FloatArray, hidden: BoolArray) -> float:
    """Root mean square error of hidden cells, in standard deviations of the complete columns."""
    spread = np.nanstd(features, axis=0)
    errors = (completed - features) / np.where(spread > 0.0, spread, 1.0)
    return float(np.sqrt(np.square(errors[scored_cells(features, hidden)]).mean()))


def coverage(errors: FloatArray, deviations: FloatArray, cells: BoolArray) -> float:
    """Share of the cells whose error is within what the method's own deviations allow."""
    return float((np.abs(errors) <= _WIDTH * deviations)[cells].mean())
