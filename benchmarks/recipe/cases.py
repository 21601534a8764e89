"""The cases: a variant on a set, averaged over the seeds."""

from __future__ import annotations

import time
from argparse import Namespace
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

from sklearn.metrics import adjusted_rand_score

from benchmarks.data import IntArray
from benchmarks.folders import RESULTS
from benchmarks.framework import Case, Store, Unfinished, unpack_labels
from benchmarks.partitions import living_clusters, silhouettes, stability
from benchmarks.protocol import RESTARTS
from benchmarks.quality import cases as quality
from benchmarks.quality.sets import load_set
from benchmarks.recipe.variants import VARIANTS

K_MEANS = "k-means"
K_MEANS_SEEDS = 10


class Key(NamedTuple):
    """A variant, or k-means, on a set."""

    variant: str
    set: str


def make_case(key: Key, seeds: int) -> Case[Key]:
    """Say everything that is chosen about a case; k-means always has as many seeds."""
    if key.variant == K_MEANS:
        return Case(key, {"seeds": K_MEANS_SEEDS, "restarts": RESTARTS})
    definition = VARIANTS[key.variant].definition()
    return Case(key, {"seeds": seeds, "restarts": RESTARTS, **definition})


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Fit a variant to a set with every seed, and average; seconds are the CPU's, of a seed."""
    data, seeds = load_set(case.key.set, options.data_dir), range(case.definition["seeds"])
    start = time.process_time()  # in one thread, and whoever else is on the machine
    if case.key.variant == K_MEANS:
        labelings = [_k_means_labels(case.key.set, seed, options) for seed in seeds]
    else:
        fit = VARIANTS[case.key.variant].labels
        labelings = [fit(data.features, data.n_clusters, seed) for seed in seeds]
    unfinished.seconds = (time.process_time() - start) / len(seeds)
    # A partition is judged alone, since its k may differ.
    scores = [float(silhouettes(data.features, one[None])[0]) for one in labelings]
    return {
        "silhouette": round(fmean(scores), 5),
        "ari": round(fmean(adjusted_rand_score(data.classes, one) for one in labelings), 5),
        "stability": round(stability(labelings), 5),
        "living": fmean(living_clusters(one) for one in labelings),
    }


def _k_means_labels(name: str, seed: int, options: Namespace) -> IntArray:
    """Take k-means' partition from the quality benchmark; one that is not recorded is run."""
    case = quality.make_case(quality.Key(name, "kmeans", seed), options.data_dir)
    record = _quality_store().get(case)
    found = record.results if record else quality.perform(case, Unfinished(), options)
    return unpack_labels(found["labels"])


@cache
def _quality_store() -> Store[quality.Key]:
    return Store(RESULTS / "quality.jsonl", quality.Key)
