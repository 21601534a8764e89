"""Seconds of k-means and ClAM, side by side: table 4. Nothing else may run meanwhile.

ClAM is timed in three ways: as published, which runs every epoch to its end; the same, but
stopping when its loss no longer falls; and as it comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info

from amclust import ClAM
from amclust._config import available_cores, n_threads
from amclust.datasets import DATASETS
from benchmarks.data import IntArray, Table
from benchmarks.framework import Timed, Unfinished, load_average, timed
from benchmarks.partitions import living_clusters, silhouettes
from benchmarks.protocol import RESTARTS, TYPICAL, paper_parameters
from paper import sets
from paper.experiments.base import Experiment
from paper.experiments.partitions import judged_rows
from paper.published import BEST_HYPERPARAMETERS
from paper.records import Run
from paper.settings import Settings

KMEANS = "kmeans"
PUBLISHED, STOPPING, DEFAULT = "clam", "clam-stopping", "clam-default"
TITLES = {
    KMEANS: "k-means",
    PUBLISHED: "ClAM as published, every epoch",
    STOPPING: "the same, stopping when the loss no longer falls",
    DEFAULT: "ClAM's default",
}

_KMEANS_RESTARTS = 1000
# Large shapes: so many restarts are timed, and the seconds multiplied up to a thousand.
_TIMED_RESTARTS = {"cifar10_features": 3, "japanese_vowels": 3}
_LARGE = TYPICAL._replace(batch_size=256)
_QUICK_ROWS = 5_000


class Timings(Experiment):
    """A run is a set: k-means and ClAM's variants in turn, several times."""

    name = "timings"
    alone = True
    methods = ("all",)
    protocols = ("paper",)

    def runs(self, settings: Settings) -> Iterator[Run]:
        for name in sets.TIMED_SETS:
            if settings.has(name):
                yield Run(self.name, name, "all", "paper")

    def definition(self, run: Run, settings: Settings) -> dict[str, Any]:
        k = DATASETS[run.set].n_classes
        return {
            "made": sets.is_made(run.set, settings.data_dir),
            "rows": _rows(settings),
            "repeats": _repeats(run.set, settings),
            KMEANS: {"n_init": _KMEANS_RESTARTS, "timed": _timed_restarts(run.set, settings)},
            **_variants(run.set, k, settings),
        }

    def perform(self, run: Run, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
        table = _table(run.set, settings)
        restarts = _timed_restarts(run.set, settings)
        variants = _variants(run.set, table.n_clusters, settings)
        machine = _machine()
        found = unfinished.state or {name: [] for name in (KMEANS, *variants)}
        # The first call of each pays for loading and for starting threads.
        few = table.features[:1000]
        KMeans(table.n_clusters, n_init=1, random_state=0).fit(few)
        for parameters in variants.values():
            ClAM(**{**parameters, "n_init": 2, "max_epochs": 1}, random_state=0).fit(few)
        for seed in range(len(found[DEFAULT]), _repeats(run.set, settings)):
            models = {KMEANS: KMeans(table.n_clusters, n_init=restarts, random_state=seed)} | {
                name: ClAM(**parameters, random_state=seed) for name, parameters in variants.items()
            }
            for name, model in models.items():
                done = timed(partial(model.fit_predict, table.features))
                factor = _KMEANS_RESTARTS / restarts if name == KMEANS else 1.0
                found[name].append(_row(table, done, factor, settings))
            unfinished.keep(found)
        return {
            "n_clusters": table.n_clusters,
            "rows": len(table.features),
            "features": table.features.shape[1],
            **machine,
            **found,
        }


def _row(
    table: Table, done: Timed[IntArray], factor: float, settings: Settings
) -> dict[str, float]:
    rows = judged_rows(len(table.features), settings.sample_rows)
    score = silhouettes(np.ascontiguousarray(table.features[rows]), done.result[rows][None])[0]
    return {
        "seconds": round(done.seconds * factor, 4),
        "silhouette": round(float(score), 5),
        "living": living_clusters(done.result),
    }


def _variants(name: str, n_clusters: int, settings: Settings) -> dict[str, dict[str, Any]]:
    """Give the parameters of ClAM's variants."""
    protocol = BEST_HYPERPARAMETERS.get(name, _LARGE)
    restarts = min(RESTARTS, settings.published_restarts)
    published = paper_parameters(n_clusters, protocol, restarts=restarts, epochs=settings.epochs)
    return {
        PUBLISHED: published,
        STOPPING: {**published, "early_stopping": True},
        DEFAULT: {"n_clusters": n_clusters},
    }


def _repeats(name: str, settings: Settings) -> int:
    """Give how often a set is timed: large ones once, they take minutes."""
    return 1 if name in _TIMED_RESTARTS else settings.timing_repeats


def _timed_restarts(name: str, settings: Settings) -> int:
    full = _TIMED_RESTARTS.get(name, _KMEANS_RESTARTS)
    return min(full, 10) if settings.quick else full


def _rows(settings: Settings) -> int | None:
    return _QUICK_ROWS if settings.quick else None


def _table(name: str, settings: Settings) -> Table:
    if sets.is_made(name, settings.data_dir):
        return sets.make_like(name, _rows(settings))
    return sets.load(name, settings.data_dir, _rows(settings))


def _machine() -> dict[str, Any]:
    """Say how busy the machine is, and in how many threads each of the two may run."""
    # k-means obeys OMP_NUM_THREADS; ClAM takes every core it may use.
    pools = (pool for pool in threadpool_info() if pool["user_api"] == "openmp")
    load = load_average()
    return {
        "load": None if load is None else round(load, 2),
        "cores": available_cores(),
        "threads": {
            KMEANS: max((pool["num_threads"] for pool in pools), default=1),
            PUBLISHED: n_threads(None),
        },
    }
