"""The sets: made clusters, single clouds, and tables with classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

from benchmarks.data import FloatArray, load_table, standardise
from benchmarks.framework import UnavailableError, say

FAMILIES = ("normal", "uniform", "heavy", "correlated")
TABLES = ("zoo", "ecoli", "segment", "usps_test", "movement_libras", "ctg")


class Set(NamedTuple):
    """Rows, which are drawn when they are asked for, and how many clusters they have."""

    name: str
    draw: Callable[[], FloatArray]
    n_clusters: int


def given(name: str, rows: FloatArray, n_clusters: int) -> Set:
    """Make a set of rows that are there."""
    return Set(name, lambda: rows, n_clusters)


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
    """Rows without clusters."""
    rng = np.random.default_rng(0)
    for n in (100, 500, 2000):
        for d in (2, 8, 32):
            yield given(f"normal, n={n}, d={d}", rng.normal(size=(n, d)), 1)
            yield given(f"uniform, n={n}, d={d}", rng.uniform(size=(n, d)), 1)
            yield given(f"heavy, n={n}, d={d}", rng.standard_t(5, (n, d)), 1)
            turned = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
            yield given(f"correlated, n={n}, d={d}", turned, 1)


def real_sets(folder: Path) -> Iterator[Set]:
    """Tables with classes, standardised."""
    yield given("iris", standardise(load_iris().data), 3)
    yield given("wine", standardise(load_wine().data), 3)
    yield given("breast cancer", standardise(load_breast_cancer().data), 2)
    pixels = load_digits().data
    for name, rows in (("digits", pixels), ("standardised digits", standardise(pixels))):
        components = PCA(8, random_state=0).fit_transform(rows)
        yield given(f"{name}, 8 components", components, 10)
        yield given(f"{name}, 8 components, standardised", standardise(components), 10)
    for name in TABLES:
        try:
            table = load_table(name, folder)
        except UnavailableError as error:
            say(f"{name} SKIPPED: {error}")
            continue
        yield given(name, standardise(table.features), table.n_clusters)


@cache
def sets_of(group: str, folder: Path) -> dict[str, Set]:
    """Give the sets of a group by their names."""
    found = {"made": made_sets, "single": single_clouds, "real": partial(real_sets, folder)}[
        group
    ]()
    return {one.name: one for one in found}
