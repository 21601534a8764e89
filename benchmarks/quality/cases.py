"""The cases: one set, one method, one seed; or one set and what the default fit costs there."""

from __future__ import annotations

import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from amclust import ClAM
from benchmarks.data import Table
from benchmarks.framework import (
    QUIET_LOAD,
    Case,
    Line,
    Record,
    Target,
    Unfinished,
    interleave,
    load_average,
    pack_labels,
    seconds_of,
    timed,
)
from benchmarks.partitions import choose, largest_share, living_clusters, silhouettes
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import load_set

# In the place of a method: fits timed side by side, with all cores.
COST = "cost"
COST_ROUNDS = 3
KMEANS_RESTARTS = 100
_DIGITS = 6

# The default fit of the first release: one objective from k-means++ rows, every default as it was.
FIRST_RELEASE: dict[str, Any] = {"objective": "silhouette", "beta": "auto", "n_steps": 10}
FIRST_RELEASE |= {"step_size": 0.5, "init": "k-means++", "n_init": 10, "batch_size": 1024}
FIRST_RELEASE |= {"max_epochs": 200, "learning_rate": 0.1, "patience": 5, "lr_factor": 0.8}
FIRST_RELEASE |= {"min_lr": 1e-5, "tol": 1e-3, "early_stopping": True, "selection": "silhouette"}


class Key(NamedTuple):
    """What is run."""

    set: str
    method: str
    seed: int = 0


def make_case(key: Key, data_dir: Path) -> Case[Key]:
    """Say everything that is chosen about a case."""
    if key.method == COST:
        chosen = {"rounds": COST_ROUNDS, "kmeans": KMEANS_RESTARTS, "single": FIRST_RELEASE}
    else:
        chosen = METHODS[key.method].definition(load_set(key.set, data_dir))
    return Case(key, chosen)


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Run all restarts of a case, choose, and score; the same for the same case."""
    table = load_set(case.key.set, options.data_dir)
    if case.key.method == COST:
        return measure_cost(table)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        start = time.perf_counter()
        labelings = METHODS[case.key.method].labelings(table, case.key.seed)
        scores = silhouettes(table.features, labelings)
        chosen = choose(labelings, scores)
        unfinished.seconds = time.perf_counter() - start
    labels = labelings[chosen]
    return {
        "n_clusters": table.n_clusters,
        "silhouette": round(float(scores[chosen]), _DIGITS),
        "nmi": round(normalized_mutual_info_score(table.classes, labels), _DIGITS),
        "ari": round(adjusted_rand_score(table.classes, labels), _DIGITS),
        "living": living_clusters(labels),
        "largest": round(largest_share(labels), _DIGITS),
        "labels": pack_labels(labels),
    }


def measure_cost(table: Table) -> dict[str, Any]:
    """Time the default fit, the single-objective fit it grew from, and k-means, in turn."""
    load = load_average()
    k, features = table.n_clusters, table.features
    # The first call of each pays for loading and for starting threads.
    timed(lambda: ClAM(k, n_init=2, max_epochs=1, random_state=0).fit(features))
    timed(lambda: KMeans(k, n_init=2, random_state=0).fit(features))
    makers = {
        "clam": ClAM,
        "single": partial(ClAM, **FIRST_RELEASE),
        "kmeans": partial(KMeans, n_init=KMEANS_RESTARTS),
    }
    calls = {name: partial(_fit, make, table) for name, make in makers.items()}
    rounds = interleave(calls, range(COST_ROUNDS))
    return {"load": load, "seconds": {name: seconds_of(found) for name, found in rounds.items()}}


def _fit(make: Callable[..., Any], table: Table, seed: int) -> None:
    make(table.n_clusters, random_state=seed).fit(table.features)


def cost_lines(record: Record[Key]) -> list[Line]:
    """Compare the default fit of a set with the two others."""
    seconds, load = record.results["seconds"], record.results["load"]
    peers = {"single": ("silhouette objective alone", 3.0)}
    peers |= {"kmeans": (f"KMeans(n_init={KMEANS_RESTARTS})", 1.0)}
    return [
        Line.of_pairs(
            f"{record.key.set}: cost of the default fit",
            "s",
            seconds["clam"],
            seconds[peer],
            peer_name=title,
            target=Target("ratio", "<=", limit),
            note=f"on a busy machine, load {load:.1f}" if load and load > QUIET_LOAD else "",
        )
        for peer, (title, limit) in peers.items()
    ]
