"""The cases: what a way says of a set, how steady ClAM's estimate is, and what it costs."""

import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances, silhouette_score

from amclust import ClAM, _native
from benchmarks.data import FloatArray, load_set, standardise
from benchmarks.framework.cases import Case
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.pages import say
from benchmarks.framework.running import Unfinished

FAMILIES = ("normal", "uniform", "heavy", "correlated")
TABLES = ("zoo", "ecoli", "segment", "usps_test", "movement_libras", "ctg")


class Set(NamedTuple):
    """Rows, which are drawn when they are asked for, and how many clusters they have."""

    name: str
    draw: Callable[[], FloatArray]
    n_clusters: int


def separated_clusters(k: int, d: int, family: str, separation: float, seed: int) -> FloatArray:
    """Draw clusters of unequal size (up to 1 : 5) and spread (up to 1 : 3).

    Centres are at least `separation` times the sum of two clusters' standard deviations, along the
    line between them, apart, and not much more: the box they are drawn from is as tight as it may.
    """
    rng = np.random.default_rng([seed, k, d])
    shares = rng.uniform(1, 5, k)
    n = np.clip(rng.integers(40, 120) * k, 150, 2000)
    sizes = np.maximum(shares / shares.sum() * n, 12).astype(int)
    shapes = [np.eye(d) * spread for spread in rng.uniform(0.5, 1.5, k)]
    if family == "correlated":
        turns = [np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(k)]
        shapes = [s @ (t * rng.uniform(0.3, 1.7, d)) for s, t in zip(shapes, turns, strict=True)]
    centers = _spread_out(shapes, d, separation, rng)
    parts = []
    for center, shape, size in zip(centers, shapes, sizes, strict=True):
        if family == "uniform":
            z = rng.uniform(-np.sqrt(3), np.sqrt(3), (size, d))
        elif family == "heavy":
            z = rng.standard_t(5, (size, d)) / np.sqrt(5 / 3)
        else:
            z = rng.normal(size=(size, d))
        parts.append(z @ shape.T + center)
    return rng.permutation(np.concatenate(parts))


def _spread_out(
    shapes: list[FloatArray], d: int, separation: float, rng: np.random.Generator
) -> list[FloatArray]:
    half = 2.0
    while True:
        centers: list[FloatArray] = []
        for _ in range(400 * len(shapes)):
            if len(centers) == len(shapes):
                return centers
            new = rng.uniform(-half, half, d)
            shape = shapes[len(centers)]
            lines = [new - center for center in centers]
            if all(
                line @ line
                >= separation * (np.linalg.norm(other.T @ line) + np.linalg.norm(shape.T @ line))
                for line, other in zip(lines, shapes, strict=False)
            ):
                centers.append(new)
        half *= 1.1


def made_sets() -> Iterator[Set]:
    """All families over a grid of k and d, 3 to 5 standard deviations apart."""
    grid = [(k, d) for d in (2, 4, 8, 16, 32, 64) for k in range(2, 21)]
    for index, (k, d) in enumerate(grid):
        family, separation = FAMILIES[index % 4], 3 + index // 4 % 3
        draw = partial(separated_clusters, k, d, family, separation, index)
        yield Set(f"{family}, k={k}, d={d}, {separation} apart", draw, k)


def single_clouds() -> Iterator[Set]:
    rng = np.random.default_rng(0)
    for n in (100, 500, 2000):
        for d in (2, 8, 32):
            clouds = {"normal": rng.normal(size=(n, d)), "uniform": rng.uniform(size=(n, d))}
            clouds["heavy"] = rng.standard_t(5, (n, d))
            clouds["correlated"] = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
            for family, rows in clouds.items():
                yield Set(f"{family}, n={n}, d={d}", rows.copy, 1)


def real_sets(folder: Path) -> Iterator[Set]:
    """Tables with classes, standardised."""
    pixels = load_digits().data
    for name, rows in (("digits", pixels), ("standardised digits", standardise(pixels))):
        components = PCA(8, random_state=0).fit_transform(rows)
        yield Set(f"{name}, 8 components", components.copy, 10)
        yield Set(f"{name}, 8 components, standardised", partial(standardise, components), 10)
    for name in ("iris", "wine", "breast cancer", *TABLES):
        try:
            table = load_set(name.replace(" ", "_"), folder)
        except UnavailableError as error:
            say(f"{name} SKIPPED: {error}")
            continue
        yield Set(name, table.features.copy, table.n_clusters)


@cache
def sets_of(group: str, folder: Path) -> dict[str, Set]:
    makers = {"made": made_sets, "single": single_clouds, "real": partial(real_sets, folder)}
    return {one.name: one for one in makers[group]()}


CANDIDATES = range(2, 21)


def by_silhouette(rows: FloatArray, seed: int) -> int:
    some = np.random.default_rng(seed).permutation(rows)[:1000].astype(np.float32)
    distances = pairwise_distances(some)
    numbers = [k for k in CANDIDATES if k < len(some)]
    found = _native.merged_partitions(some, numbers, _native.NClustersSettings(), seed)
    scores = {
        k: silhouette_score(distances, labels, metric="precomputed")
        for k, labels in zip(numbers, found, strict=True)
        if labels[0] >= 0
    }
    return max(scores, key=lambda k: scores[k])


def by_persistence(rows: FloatArray, seed: int) -> int:
    some = np.random.default_rng(seed).permutation(rows)[:300]
    typical = np.median(pairwise_distances(some, metric="sqeuclidean"))
    counts = [_n_attractors(some, beta) for beta in np.geomspace(0.5, 100, 40) / typical]
    lengths = dict.fromkeys(CANDIDATES, 0)
    run = 0
    for before, found in zip([0, *counts], counts, strict=False):
        run = run + 1 if found == before else 1
        if found in lengths:
            lengths[found] = max(lengths[found], run)
    return max(lengths, key=lambda k: lengths[k])


def _n_attractors(rows: FloatArray, beta: float) -> int:
    states = rows
    for _ in range(60):
        squares = pairwise_distances(states, rows, metric="sqeuclidean")
        weights = np.exp(-beta * (squares - squares.min(axis=1, keepdims=True)))
        before, states = states, weights @ rows / weights.sum(axis=1, keepdims=True)
        if np.abs(states - before).max() < 1e-4 / np.sqrt(beta):
            break
    near = pairwise_distances(states, metric="sqeuclidean") < 0.01 / beta
    sizes = np.bincount(connected_components(near)[1])
    return int(np.count_nonzero(sizes >= 0.02 * len(rows)))


def by_g_means(rows: FloatArray, seed: int) -> int:
    waiting, k = [rows], 0
    while waiting and k + len(waiting) < max(CANDIDATES):
        cluster = waiting.pop()
        halves = KMeans(2, n_init=3, random_state=seed).fit(cluster) if len(cluster) > 8 else None
        if halves is None or _normal(cluster @ np.diff(halves.cluster_centers_, axis=0)[0]):
            k += 1
        else:
            waiting += [cluster[halves.labels_ == half] for half in (0, 1)]
    return k + len(waiting)


def _normal(values: FloatArray) -> bool:
    """Anderson and Darling's test of a normal distribution with unknown mean and variance."""
    n = len(values)
    if values.std() == 0:
        return True
    z = np.sort((values - values.mean()) / values.std(ddof=1))
    odd = 2 * np.arange(1, n + 1) - 1
    statistic = -n - np.mean(odd * (norm.logcdf(z) + norm.logsf(z[::-1])))
    return bool(statistic * (1 + 4 / n - 25 / n**2) <= 1.8692)


def by_amclust(rows: FloatArray, seed: int) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit that follows the estimate is cut short
        model = ClAM("auto", scale=None, n_init=1, max_epochs=1, random_state=seed)
        return model.fit(rows).n_clusters_


WAYS: dict[str, Callable[[FloatArray, int], int]] = {
    "silhouette": by_silhouette,
    "persistence": by_persistence,
    "g-means": by_g_means,
    "amclust": by_amclust,
}


# Where the number of classes is asked for, plus or minus one.
TARGETS = ("iris", "wine", "zoo", "digits, 8 components", "standardised digits, 8 components")


class Key(NamedTuple):
    """What a way says of a set; "steadiness": again and again; "cost": what a fit takes."""

    group: str
    set: str
    way: str


GROUPS = {"made": "separated clusters", "single": "single clouds", "real": "tables with classes"}
# The estimate beside a single fit (2,000 rows), and on a million rows.
COSTS: dict[str, tuple[Any, int]] = {
    "fit": (8, 2_000),
    "fit of range(2, 21)": (CANDIDATES, 2_000),
    "fit of 1,000,000 rows": (8, 1_000_000),
    "fit of 1,000,000 rows, 'auto'": ("auto", 1_000_000),
}


def cases(options: Namespace) -> list[Case[Key]]:
    ways = options.ways or tuple(WAYS)
    cases = [
        Case(Key(group, name, way), {"seed": 0})
        for group in GROUPS
        for name in sets_of(group, options.data_dir)
        for way in ways
    ]
    if "amclust" in ways:
        real, repeated = sets_of("real", options.data_dir), {"repeats": options.repeats}
        targets = [name for name in real if name.startswith(TARGETS)]
        cases += [Case(Key("steadiness", name, "amclust"), repeated) for name in targets]
        cases += [Case(Key("cost", name, "amclust")) for name in COSTS]
    return cases


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    group, name, way = case.key
    if group == "cost":
        unfinished.seconds = cost(*COSTS[name])
        return {}
    if group == "steadiness":
        rows = sets_of("real", options.data_dir)[name].draw()
        return {"found": steadiness(rows, case.definition["repeats"])}
    one = sets_of(group, options.data_dir)[name]
    rows = one.draw()
    start = time.perf_counter()
    found = int(WAYS[way](rows, case.definition["seed"]))
    unfinished.seconds = time.perf_counter() - start
    return {"found": found, "n_clusters": one.n_clusters, "shape": list(rows.shape)}


def steadiness(rows: FloatArray, n_repeats: int) -> list[int]:
    """Estimate again, with other seeds and then also on nine tenths of the rows."""
    n = len(rows)
    parts = [np.arange(n)] * n_repeats
    parts += [np.random.default_rng(s).permutation(n)[: n * 9 // 10] for s in range(n_repeats)]
    return [by_amclust(rows[part], s) for s, part in enumerate(parts, 1)]


def cost(n_clusters: Any, n_rows: int) -> float:
    rows = separated_clusters(8, 16, "normal", 4, 0)
    rows = np.resize(rows, (2000, 16)) + np.random.default_rng(0).normal(0, 0.01, (2000, 16))
    if n_rows > len(rows):
        rows = np.resize(rows, (n_rows, 16)).astype(np.float32)
    model = ClAM(n_clusters, random_state=0)
    start = time.perf_counter()
    model.fit(rows)
    return time.perf_counter() - start
