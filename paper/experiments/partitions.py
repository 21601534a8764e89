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

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from benchmarks.data import IntArray, Table
from benchmarks.framework import Unfinished, pack_labels
from benchmarks.partitions import draw_seeds, largest_share, living_clusters, silhouettes
from paper import sets
from paper.methods import METHODS, PROTOCOL_METHODS
from paper.methods.base import Config, FitError
from paper.records import Case, Run
from paper.settings import Settings

_DIGITS = 5


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
    judge = _Judge(table, asked["judged_rows"])
    if unfinished.state is not None:
        judge.restore(unfinished.state)
    for config, seed in fits[len(judge.silhouettes) :]:
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
    """Scores partitions, and keeps the best by either rule."""

    def __init__(self, table: Table, max_rows: int) -> None:
        self._table = table
        self._rows = judged_rows(len(table.classes), max_rows)
        self._features = np.ascontiguousarray(table.features[self._rows])
        self.silhouettes: list[float | None] = []
        self.living: list[int] = []
        self._best: dict[str, dict[str, Any] | None] = {"best": None, "living": None}

    @property
    def state(self) -> dict[str, Any]:
        """What was found so far, as plain values."""
        return {"silhouettes": self.silhouettes, "living_clusters": self.living, **self._best}

    def restore(self, state: dict[str, Any]) -> None:
        self.silhouettes, self.living = state["silhouettes"], state["living_clusters"]
        self._best = {rule: state[rule] for rule in self._best}

    def add_failure(self) -> None:
        self.silhouettes.append(None)
        self.living.append(0)

    def add(self, labels: IntArray, config: Config, seed: int) -> None:
        labels = np.unique(labels, return_inverse=True)[1]
        living = living_clusters(labels)
        score = float(silhouettes(self._features, labels[self._rows][None])[0])
        self.living.append(living)
        self.silhouettes.append(None if np.isnan(score) else round(score, _DIGITS))
        if np.isnan(score):
            return
        found = None
        for rule, kept in self._best.items():
            if kept is None or _rank(rule, living, score) > _rank(
                rule, kept["living"], kept["silhouette"]
            ):
                found = found or self._describe(labels, config, seed, living, score)
                self._best[rule] = found

    def _describe(
        self, labels: IntArray, config: Config, seed: int, living: int, score: float
    ) -> dict[str, Any]:
        return {
            "index": len(self.silhouettes) - 1,
            "config": config,
            "seed": seed,
            "silhouette": round(score, _DIGITS),
            "living": living,
            "largest": round(largest_share(labels), _DIGITS),
            "nmi": round(normalized_mutual_info_score(self._table.classes, labels), _DIGITS),
            "ari": round(adjusted_rand_score(self._table.classes, labels), _DIGITS),
            "labels": pack_labels(labels),
        }


def _rank(rule: str, living: int, score: float) -> tuple[int, float]:
    """Order partitions: by silhouette alone, or living clusters first."""
    return (living if rule == "living" else 0), round(score, _DIGITS)


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
