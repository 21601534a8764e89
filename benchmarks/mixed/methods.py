"""What is compared on mixed tables; every method is told the number of clusters."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from amclust import ClAM
from benchmarks.data import FloatArray, IntArray
from benchmarks.framework.environment import optional_module
from benchmarks.missing.methods import add_to_variances
from benchmarks.mixed.filling import FILLINGS, one_hot, standardise
from benchmarks.mixed.made import Mixed
from benchmarks.partitions import draw_seeds

RESTARTS = 10
# Chosen on other tables, as the best of 2, 5, 10 and 20 for this peer.
COMPONENTS = 10
# As in the comparison on missing values: what variances have added, so that none vanishes.
_STEPMIX = {"reg_covar": 1e-3, "max_iter": 100, "abs_tol": 1e-4}

Method = Callable[[Mixed, int], IntArray]


def by_amclust(table: Mixed, seed: int) -> IntArray:
    """Take the frame as it is."""
    model = ClAM(table.n_clusters, n_init=RESTARTS, random_state=seed, n_jobs=1)
    return model.fit_predict(table.frame())


def by_one_hot_amclust(table: Mixed, seed: int) -> IntArray:
    """Give ClAM 0 and 1 a level, as if these were numbers."""
    levels, _ = one_hot(table.codes)
    rows = np.hstack([table.numbers, levels])
    return ClAM(table.n_clusters, n_init=RESTARTS, random_state=seed, n_jobs=1).fit_predict(rows)


def by_k_prototypes(table: Mixed, seed: int, filling: str) -> IntArray:
    """Run Huang's k-prototypes with its own weight of categories."""
    prototypes = optional_module("kmodes.kprototypes", "kmodes").KPrototypes
    numbers, codes = FILLINGS[filling](table, seed)
    rows = np.hstack([numbers, codes])
    model = prototypes(table.n_clusters, init="Huang", n_init=RESTARTS, random_state=seed)
    categories = list(range(numbers.shape[1], rows.shape[1]))
    return np.asarray(model.fit_predict(rows, categorical=categories))


def by_famd(table: Mixed, seed: int, filling: str, components: int = COMPONENTS) -> IntArray:
    """Cluster the leading components of a factor analysis of mixed data by k-means."""
    prince = optional_module("prince", "prince")
    numbers, codes = FILLINGS[filling](table, seed)
    frame = pd.DataFrame(numbers).add_prefix("number ")
    for at, column in enumerate(codes.T):
        frame[f"category {at}"] = [f"level {level}" for level in column]
    most = numbers.shape[1] + sum(len(np.unique(column)) - 1 for column in codes.T)
    analysis = prince.FAMD(n_components=min(components, most), random_state=seed).fit(frame)
    rows = analysis.row_coordinates(frame).to_numpy()
    return KMeans(table.n_clusters, n_init=RESTARTS, random_state=seed).fit_predict(rows)


def by_gower(table: Mixed, seed: int, filling: str | None = None) -> IntArray:
    """Cluster Gower's distances by the best of several runs of FasterPAM."""
    kmedoids = optional_module("kmedoids", "kmedoids")
    numbers, codes = FILLINGS[filling](table, seed) if filling else (table.numbers, table.codes)
    distances = gower_distances(numbers, codes)
    runs = [
        kmedoids.fasterpam(distances, table.n_clusters, random_state=one, n_cpu=1)
        for one in draw_seeds(seed, RESTARTS)
    ]
    return np.asarray(min(runs, key=lambda run: run.loss).labels, dtype=np.int64)


def gower_distances(numbers: FloatArray, codes: IntArray) -> FloatArray:
    """Average over the columns that both rows have: parts of the range, and 0 or 1 a category."""
    total = np.zeros((len(numbers), len(numbers)))
    count = np.zeros_like(total)
    for column in numbers.T:
        there = ~np.isnan(column)
        extent = np.nanmax(column) - np.nanmin(column)
        gaps = np.abs(column[:, None] - column) / (extent if extent > 0 else 1.0)
        both = there[:, None] & there
        total += np.where(both, gaps, 0.0)
        count += both
    for levels in codes.T:
        both = (levels >= 0)[:, None] & (levels >= 0)
        total += both & (levels[:, None] != levels)
        count += both
    # Rows that share no column are as far as any can be.
    return np.where(count > 0, total / np.maximum(count, 1), 1.0)


def by_one_hot_k_means(table: Mixed, seed: int, filling: str) -> IntArray:
    """Cluster standardised numbers beside 0 and 1 a level."""
    numbers, codes = FILLINGS[filling](table, seed)
    rows = np.hstack([numbers, one_hot(codes)[0]])
    return KMeans(table.n_clusters, n_init=RESTARTS, random_state=seed).fit_predict(rows)


def by_stepmix(table: Mixed, seed: int) -> IntArray:
    """Fit normal numbers and categories by cluster to what is there; keep the likeliest restart."""
    stepmix = optional_module("stepmix.stepmix", "stepmix").StepMix
    chosen = dict(_STEPMIX)
    numbers, codes = standardise(table.numbers), np.where(table.codes < 0, np.nan, table.codes)
    rows = np.hstack([numbers, codes])
    measurement = {
        "numbers": {
            "model": add_to_variances(chosen.pop("reg_covar")),
            "n_columns": numbers.shape[1],
        },
        "categories": {"model": "categorical_nan", "n_columns": codes.shape[1]},
    }
    best, best_bound = np.zeros(len(rows), np.int64), -math.inf
    for one in draw_seeds(seed, RESTARTS):
        model = stepmix(
            table.n_clusters, measurement=measurement, random_state=one, progress_bar=0, **chosen
        )
        with np.errstate(all="ignore"):
            labels = model.fit(rows).predict(rows)
        if math.isfinite(model.lower_bound_) and model.lower_bound_ > best_bound:
            best, best_bound = np.asarray(labels), model.lower_bound_
    return best


def definition(method: str) -> dict[str, Any]:
    """Say what is chosen here about a method."""
    chosen: dict[str, Any] = {"restarts": RESTARTS}
    if method == STEPMIX:
        chosen |= _STEPMIX
    if method.startswith(FAMD):
        chosen["components"] = COMPONENTS
    return chosen


OURS, ONE_HOT, STEPMIX, FAMD = "amclust", "amclust, one-hot", "StepMix", "FAMD + k-means"
PEERS: dict[str, dict[str, Method]] = {
    "k-prototypes": {
        f"k-prototypes, {filling}": partial(by_k_prototypes, filling=filling)
        for filling in ("mode", "KNN")
    },
    FAMD: {
        f"{FAMD}, {filling}": partial(by_famd, filling=filling)
        for filling in ("mode", "KNN", "iterative")
    },
    "Gower + k-medoids": {
        "Gower + k-medoids": by_gower,
        "Gower + k-medoids, KNN": partial(by_gower, filling="KNN"),
    },
    "one-hot + k-means": {
        f"one-hot + k-means, {filling}": partial(by_one_hot_k_means, filling=filling)
        for filling in FILLINGS
    },
    STEPMIX: {STEPMIX: by_stepmix},
}
METHODS: dict[str, Method] = {OURS: by_amclust, ONE_HOT: by_one_hot_amclust}
for _ways in PEERS.values():
    METHODS |= _ways
