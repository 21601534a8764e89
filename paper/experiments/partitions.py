"""Partitions of the sets by all methods, under three protocols: tables 1, 2 and 3.

paper
    The paper's: everything in the grid, the best silhouette wins, whatever its clusters. The best
    of the partitions that have k living clusters is kept beside it.
honest
    Every method gets the same number of single fits, drawn from its grid, and the same rule: the
    best silhouette among the partitions with k living clusters. Several seeds.
default
    ClAM as it comes. Several seeds.
"""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.data import IntArray, Table
from benchmarks.framework.cases import pack_labels
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import draw_seeds, largest_share, living_clusters, silhouettes
from paper import sets
from paper.methods import METHODS, PROTOCOL_METHODS
from paper.methods.base import Config, FitError
from paper.records import Case, Run
from paper.settings import Settings

_DIGITS = 5
# By silhouette alone, or living clusters first.
_RANKS = {"best": itemgetter("silhouette"), "living": itemgetter("living", "silhouette")}


def runs(settings: Settings) -> Iterator[Run]:
    names = settings.sets or sets.TABLE_SETS
    used = [sets.set_in_place_of(name, settings.data_dir) for name in names]
    for protocol, methods in PROTOCOL_METHODS.items():
        for name in used:
            for method in methods:
                if METHODS[method].covers(name):
                    seeds = range(_seeds(method, name, protocol, settings))
                    yield from (Run("partitions", name, method, protocol, seed) for seed in seeds)


def definition(run: Run, settings: Settings) -> dict[str, Any]:
    method = METHODS[run.method]
    configs = _configs(run, settings)
    return {
        "rows": method.rows(settings),
        "judged_rows": settings.sample_rows,
        "fixed": method.fixed(settings),
        "fits": len(configs),
        # As columns, with None where a configuration has not the parameter.
        "configs": {
            name: [config.get(name) for config in configs]
            for name in dict.fromkeys(name for config in configs for name in config)
        },
    }


def perform(case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
    run, asked = case.key, case.definition
    table = sets.load(run.set, settings.data_dir, asked["rows"])
    configs = _configs(run, settings)
    fits = list(zip(configs, draw_seeds(run.seed, len(configs)), strict=True))
    judge = _Judge(table, asked["judged_rows"], unfinished.state)
    for config, seed in fits[len(judge.state["silhouettes"]) :]:
        try:
            labels = METHODS[run.method].fit(table, config, seed, settings)
        except FitError:
            judge.add_failure()
        else:
            judge.add(labels, config, seed)
        unfinished.keep(judge.state)
    return {
        "n_clusters": table.n_clusters,
        "rows": len(table.classes),
        "features": table.features.shape[1],
        **judge.state,
    }


class _Judge:
    """Scores partitions, and keeps the best by either rule; `state` is all as plain values."""

    def __init__(self, table: Table, max_rows: int, state: dict[str, Any] | None) -> None:
        self._table = table
        self._rows = judged_rows(len(table.classes), max_rows)
        self._features = np.ascontiguousarray(table.features[self._rows])
        nothing = {"silhouettes": [], "living_clusters": [], "best": None, "living": None}
        self.state: dict[str, Any] = state or nothing

    def add_failure(self) -> None:
        self.state["silhouettes"].append(None)
        self.state["living_clusters"].append(0)

    def add(self, labels: IntArray, config: Config, seed: int) -> None:
        labels = np.unique(labels, return_inverse=True)[1]
        living = living_clusters(labels)
        score = round(float(silhouettes(self._features, labels[self._rows][None])[0]), _DIGITS)
        self.state["living_clusters"].append(living)
        self.state["silhouettes"].append(None if np.isnan(score) else score)
        if np.isnan(score):
            return
        found = {"silhouette": score, "living": living}
        better = [rule for rule in _RANKS if self._is_better(found, rule)]
        if better:
            classes = self._table.classes
            found = {
                "index": len(self.state["silhouettes"]) - 1,
                "config": config,
                "seed": seed,
                **found,
                "largest": round(largest_share(labels), _DIGITS),
                "nmi": round(normalized_mutual_info_score(classes, labels), _DIGITS),
                "ari": round(adjusted_rand_score(classes, labels), _DIGITS),
                "labels": pack_labels(labels),
            }
            self.state |= dict.fromkeys(better, found)

    def _is_better(self, found: dict[str, Any], rule: str) -> bool:
        rank, kept = _RANKS[rule], self.state[rule]
        return kept is None or rank(found) > rank(kept)


def judged_rows(rows: int, max_rows: int) -> IntArray:
    """Choose the rows that silhouettes are taken of, always the same."""
    if rows <= max_rows:
        return np.arange(rows)
    return np.sort(np.random.default_rng(0).permutation(rows)[:max_rows])


def _seeds(method: str, name: str, protocol: str, settings: Settings) -> int:
    if protocol == "paper" or not METHODS[method].seeded:
        return 1
    seeds = settings.honest_budget(name)[1]
    return min(seeds, METHODS[method].honest_seeds or seeds)


def _configs(run: Run, settings: Settings) -> list[Config]:
    method = METHODS[run.method]
    if run.protocol == "honest":
        return method.draw_configs(run.set, settings, run.seed)
    return method.configs(run.set, settings)
