"""Seconds of k-means and ClAM, side by side: table 4. Nothing else may run meanwhile.

ClAM is timed in three ways: as published, which runs every epoch to its end; the same, but
stopping when its loss no longer falls; and as it comes.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info

from amclust import ClAM
from amclust._threads import available_cores, n_threads
from amclust.datasets import DATASETS
from benchmarks.framework.environment import load_average
from benchmarks.framework.lines import timed
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import living_clusters, silhouettes
from benchmarks.protocol import PROTOCOLS, RESTARTS, TYPICAL, paper_parameters
from paper import sets
from paper.experiments.partitions import judged_rows
from paper.records import Case, Run
from paper.settings import Settings

KMEANS = "kmeans"
VARIANTS = PUBLISHED, STOPPING, DEFAULT = "clam", "clam-stopping", "clam-default"
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


def runs(settings: Settings) -> Iterator[Run]:
    names = filter(settings.has, sets.TIMED_SETS)
    yield from (Run("timings", name, "all", "paper") for name in names)


def definition(run: Run, settings: Settings) -> dict[str, Any]:
    k, restarts = DATASETS[run.set].n_classes, min(RESTARTS, settings.published_restarts)
    protocol = PROTOCOLS.get(run.set, _LARGE)
    published = paper_parameters(k, protocol, restarts=restarts, epochs=settings.epochs)
    timed_restarts = _TIMED_RESTARTS.get(run.set, _KMEANS_RESTARTS)
    return {
        "made": sets.is_made(run.set, settings.data_dir),
        "rows": _QUICK_ROWS if settings.quick else None,
        # Large sets take minutes.
        "repeats": 1 if run.set in _TIMED_RESTARTS else settings.timing_repeats,
        KMEANS: {
            "n_init": _KMEANS_RESTARTS,
            "timed": min(timed_restarts, 10) if settings.quick else timed_restarts,
        },
        PUBLISHED: published,
        STOPPING: {**published, "early_stopping": True},
        DEFAULT: {"n_clusters": k},
    }


def perform(case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
    name, asked = case.key.set, case.definition
    if asked["made"]:
        table = sets.make_like(name, asked["rows"])
    else:
        table = sets.load(name, settings.data_dir, asked["rows"])
    rows = judged_rows(len(table.features), settings.sample_rows)
    judged = np.ascontiguousarray(table.features[rows])
    restarts = asked[KMEANS]["timed"]
    machine = _machine()
    found = unfinished.state or {method: [] for method in TITLES}
    # The first call of each pays for loading and for starting threads.
    few = table.features[:1000]
    KMeans(table.n_clusters, n_init=1, random_state=0).fit(few)
    for variant in VARIANTS:
        ClAM(**{**asked[variant], "n_init": 2, "max_epochs": 1}, random_state=0).fit(few)
    for seed in range(len(found[DEFAULT]), asked["repeats"]):
        models = {KMEANS: KMeans(table.n_clusters, n_init=restarts, random_state=seed)} | {
            variant: ClAM(**asked[variant], random_state=seed) for variant in VARIANTS
        }
        for method, model in models.items():
            done = timed(partial(model.fit_predict, table.features))
            factor = asked[KMEANS]["n_init"] / restarts if method == KMEANS else 1.0
            score = silhouettes(judged, done.result[rows][None])[0]
            row = {
                "seconds": round(done.seconds * factor, 4),
                "silhouette": round(float(score), 5),
                "living": living_clusters(done.result),
            }
            found[method].append(row)
        unfinished.keep(found)
    return {
        "n_clusters": table.n_clusters,
        "rows": len(table.features),
        "features": table.features.shape[1],
        **machine,
        **found,
    }


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
