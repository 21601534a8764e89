"""The cases: a method on blobs with noise, and a scale on a table with wild cells."""

import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.ensemble import IsolationForest
from sklearn.metrics import adjusted_rand_score, f1_score

from amclust import ClAM
from benchmarks.data import _BUNDLED, FloatArray, IntArray, Table, load_table
from benchmarks.framework.cases import Case
from benchmarks.framework.running import Unfinished
from benchmarks.outliers.made import noisy_blobs, with_wild_cells
from benchmarks.outliers.trimmed_k_means import trimmed_k_means

RESTARTS = 10


class Blobs(NamedTuple):
    """Blobs with noise."""

    k: int
    d: int
    noise: float
    separation: float  # of centres, in sums of two spreads

    def __str__(self) -> str:
        apart = f"{self.separation:g} apart" if self.separation else "anywhere"
        return f"k={self.k}, d={self.d}, {self.noise:.0%} noise, {apart}"


_GRID = product((2, 4, 8), (2, 5, 10), (0.05, 0.1, 0.2), (0.0, 2.0, 3.0))
BLOBS = {str(one): one for one in (Blobs(*numbers) for numbers in _GRID)}


def by_amclust(rows: FloatArray, k: int, noise: float, seed: int, factor: float = 1.0) -> IntArray:
    """Give ClAM the share of noise, or a multiple of it."""
    share = min(factor * noise, 0.49)
    return ClAM(k, contamination=share, random_state=seed, n_jobs=1).fit_predict(rows)


def by_plain_amclust(rows: FloatArray, k: int, noise: float, seed: int) -> IntArray:
    return ClAM(k, random_state=seed, n_jobs=1).fit_predict(rows)


def by_trimmed_k_means(rows: FloatArray, k: int, noise: float, seed: int) -> IntArray:
    return trimmed_k_means(rows, k, noise, restarts=RESTARTS, seed=seed)


def by_hdbscan(rows: FloatArray, k: int, noise: float, seed: int) -> IntArray:
    """As its users run it, on standardised rows; it is not told k or the share of noise."""
    return HDBSCAN(copy=True).fit_predict(standard(rows))


def by_k_means(rows: FloatArray, k: int, noise: float, seed: int) -> IntArray:
    return KMeans(k, n_init=RESTARTS, random_state=seed).fit_predict(standard(rows))


def by_forest(rows: FloatArray, k: int, noise: float, seed: int) -> IntArray:
    """Take what an isolation forest finds away, and cluster the rest."""
    kept = IsolationForest(contamination=noise, random_state=seed).fit_predict(rows) > 0
    labels = np.full(len(rows), -1)
    labels[kept] = by_k_means(rows[kept], k, noise, seed)
    return labels


def standard(rows: FloatArray) -> FloatArray:
    return (rows - rows.mean(axis=0)) / rows.std(axis=0)


METHODS: dict[str, Callable[[FloatArray, int, float, int], IntArray]] = {
    "amclust": by_amclust,
    "amclust, half the share": partial(by_amclust, factor=0.5),
    "amclust, twice the share": partial(by_amclust, factor=2.0),
    "trimmed k-means": by_trimmed_k_means,
    "HDBSCAN": by_hdbscan,
    "isolation forest + k-means": by_forest,
    "k-means": by_k_means,
    "amclust, no share": by_plain_amclust,
}

# --- wild cells -----------------------------------------------------------------------------------

# The rule was chosen on the first two and on made columns; the others were kept out.
CHOSEN_ON, KEPT_OUT = ("iris", "wine"), ("breast_cancer", "ecoli", "segment")
# "known" is robust, too, and has the wild cells as missing ones: what can be had at the most.
SCALES = ("robust", "known", "standard")
WILD = {"clean": (0.0, 0.0, False)} | {
    f"{share:.1%} by {size:g} sd, {'two sides' if two_sided else 'one side'}": (
        share,
        size,
        two_sided,
    )
    for share, size, two_sided in product((0.001, 0.01, 0.05), (10.0, 50.0, 1000.0), (False, True))
}


# With which the default is measured, too.
STANDARD_TOO = ("clean", "0.1% by 50 sd, one side")


class Key(NamedTuple):
    """A method on blobs with noise ("noise"), or a scale on a table with wild cells ("cells")."""

    group: str
    set: str
    way: str
    seed: int


def cases(options: Namespace) -> list[Case[Key]]:
    seeds = list(options.seeds)
    found = [
        Case(Key("noise", name, method, seed), {"restarts": RESTARTS})
        for name, method, seed in product(BLOBS, METHODS, seeds)
    ]
    found += [
        Case(Key("cells", f"{table}: {wild}", scale, seed), {"restarts": RESTARTS})
        for table, wild, scale, seed in product((*CHOSEN_ON, *KEPT_OUT), WILD, SCALES, seeds)
        if scale != "standard" or wild in STANDARD_TOO
    ]
    return found


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    group, name, way, seed = case.key
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if group == "noise":
            return noise(BLOBS[name], way, seed, unfinished)
        return cells(*name.split(": "), way, seed, options)


def noise(blobs: Blobs, method: str, seed: int, unfinished: Unfinished) -> dict[str, Any]:
    """Score a method on the rows of blobs, and on finding the others."""
    rows, truth, density = noisy_blobs(*blobs, seed)
    start = time.process_time()
    labels = METHODS[method](rows, blobs.k, blobs.noise, seed)
    unfinished.seconds = time.process_time() - start
    inliers = truth >= 0
    best = np.argsort(density, kind="stable")[: np.count_nonzero(~inliers)]
    least = np.isin(np.arange(len(rows)), best)
    return {
        "ari": adjusted_rand_score(truth[inliers], labels[inliers]),
        "f1": f1_score(~inliers, labels < 0),
        "best_f1": f1_score(~inliers, least),
    }


def raw_table(name: str, options: Namespace) -> Table:
    """Give a table in its own units."""
    if name in _BUNDLED:
        return Table(name, *_BUNDLED[name](return_X_y=True))
    return load_table(name, options.data_dir)


def cells(name: str, wild: str, scale: str, seed: int, options: Namespace) -> dict[str, Any]:
    """Score a scale on a table some of whose cells are wild."""
    table = raw_table(name, options)
    tame = table.features.astype(float)
    rows = with_wild_cells(tame, *WILD[wild], seed)
    if scale == "known":
        rows, scale = np.where(rows == tame, rows, np.nan), "robust"
    model = ClAM(table.n_clusters, scale=scale, n_init=RESTARTS, random_state=seed, n_jobs=1)
    return {"ari": adjusted_rand_score(table.classes, model.fit_predict(rows))}
