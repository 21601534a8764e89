"""How many clusters: what ClAM estimates, beside other ways to tell.

    python -m benchmarks.cluster_number              # tables, and results/cluster_number.json
    python -m benchmarks.cluster_number --page FILE  # the results into a page; runs nothing

Four ways, on the same made and real sets, each free to answer 2 to 20 (the last two also 1):

silhouette   the largest exact silhouette, of the partitions that ClAM's estimate compares
persistence  the number of attractors, of a network whose memories are the rows, that holds over the
             longest range of beta on a logarithmic scale; an attractor has at least 2 % of the rows
g-means      clusters are split as long as their rows, along the line between the centres of the
             halves, are not normal (Anderson-Darling, one false alarm in 10,000)
amclust      ClAM(n_clusters="auto", scale=None): made columns share their units, and tables are
             standardised before
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances, silhouette_score

from amclust import ClAM, _native
from benchmarks.availability import UnavailableError
from benchmarks.data import FloatArray, load_table, standardise
from benchmarks.pages import replace_between
from benchmarks.quality.grids import Grid

RESULTS = Path(__file__).parent / "results" / "cluster_number.json"
TABLE_MARKS = ("<!-- the table of python -m benchmarks.cluster_number -->", "<!-- its end -->")
STEADINESS_MARKS = ("<!-- other seeds and rows -->", "<!-- their end -->")
CANDIDATES = range(2, 21)
FAMILIES = ("normal", "uniform", "heavy", "correlated")
# Where the issue asks for the number of classes, plus or minus one.
TARGETS = ("iris", "wine", "zoo", "digits, 8 components", "standardised digits, 8 components")
TABLES = ("ecoli", "segment", "usps_test", "movement_libras", "ctg")


class Case(NamedTuple):
    """Rows, and how many clusters they have."""

    name: str
    rows: FloatArray
    n_clusters: int


# --- sets -----------------------------------------------------------------------------------------


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


def made_sets() -> Iterator[Case]:
    """All families over a grid of k and d, 3 to 5 standard deviations apart."""
    grid = [(k, d) for d in (2, 4, 8, 16, 32, 64) for k in range(2, 21)]
    for index, (k, d) in enumerate(grid):
        family, separation = FAMILIES[index % 4], 3 + index // 4 % 3
        rows = separated_clusters(k, d, family, separation, index)
        yield Case(f"{family}, k={k}, d={d}, {separation} apart", rows, k)


def single_clouds() -> Iterator[Case]:
    """Rows without clusters."""
    rng = np.random.default_rng(0)
    for n in (100, 500, 2000):
        for d in (2, 8, 32):
            yield Case(f"normal, n={n}, d={d}", rng.normal(size=(n, d)), 1)
            yield Case(f"uniform, n={n}, d={d}", rng.uniform(size=(n, d)), 1)
            yield Case(f"heavy, n={n}, d={d}", rng.standard_t(5, (n, d)), 1)
            turned = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
            yield Case(f"correlated, n={n}, d={d}", turned, 1)


def real_sets(folder: Path) -> Iterator[Case]:
    """Tables with classes, standardised."""
    yield Case("iris", standardise(load_iris().data), 3)
    yield Case("wine", standardise(load_wine().data), 3)
    yield Case("breast cancer", standardise(load_breast_cancer().data), 2)
    pixels = load_digits().data
    for name, rows in (("digits", pixels), ("standardised digits", standardise(pixels))):
        components = PCA(8, random_state=0).fit_transform(rows)
        yield Case(f"{name}, 8 components", components, 10)
        yield Case(f"{name}, 8 components, standardised", standardise(components), 10)
    for name in ("zoo", *TABLES):
        try:
            table = load_table(name, folder)
        except UnavailableError as error:
            print(f"{name} left out: {error}")
            continue
        yield Case(name, standardise(table.features), table.n_clusters)


# --- ways to tell ---------------------------------------------------------------------------------


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
    for before, count in zip([0, *counts], counts, strict=False):
        run = run + 1 if count == before else 1
        if count in lengths:
            lengths[count] = max(lengths[count], run)
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
    from scipy.stats import norm

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


# --- tables ---------------------------------------------------------------------------------------


def answers(
    cases: Iterator[Case], ways: list[str], before: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Ask these ways about every set, and time them; what others said before is kept."""
    known = {record["name"]: record for record in before}
    records = []
    for case in cases:
        record: dict[str, Any] = known.get(case.name, {"seconds": {}}) | {
            "name": case.name,
            "shape": list(case.rows.shape),
            "n_clusters": case.n_clusters,
        }
        for way in ways:
            start = time.perf_counter()
            record[way] = int(WAYS[way](case.rows, 0))
            record["seconds"][way] = round(time.perf_counter() - start, 3)
        records.append(record)
    return records


def steadiness(cases: list[Case], n_repeats: int) -> dict[str, list[int]]:
    """Estimate again, with other seeds and then also on nine tenths of the rows."""
    found = {}
    for case in cases:
        n = len(case.rows)
        parts: list[NDArray[np.int64]] = [np.arange(n)] * n_repeats
        parts += [np.random.default_rng(s).permutation(n)[: n * 9 // 10] for s in range(n_repeats)]
        found[case.name] = [by_amclust(case.rows[part], s) for s, part in enumerate(parts, 1)]
    return found


def cost() -> dict[str, float]:
    """Time the estimate beside a single fit (2,000 rows), and on a million rows."""
    rows = separated_clusters(8, 16, "normal", 4, 0)
    rows = np.resize(rows, (2000, 16)) + np.random.default_rng(0).normal(0, 0.01, (2000, 16))
    many = np.resize(rows, (1_000_000, 16)).astype(np.float32)
    timings = {}
    for name, n_clusters, X in (
        ("fit", 8, rows),
        ("fit of range(2, 21)", CANDIDATES, rows),
        ("fit of 1,000,000 rows", 8, many),
        ("fit of 1,000,000 rows, 'auto'", "auto", many),
    ):
        model = ClAM(n_clusters, random_state=0)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X)
        timings[name] = round(time.perf_counter() - start, 2)
    return timings


def show(title: str, records: list[dict[str, Any]]) -> None:
    print(f"\n{title}: share of exact answers (within one) of {len(records)} sets, mean seconds")
    for way in WAYS:
        errors = np.array([abs(r[way] - r["n_clusters"]) for r in records])
        seconds = np.mean([r["seconds"][way] for r in records])
        print(
            f"  {way:12s} {np.mean(errors == 0):6.1%} ({np.mean(errors <= 1):.1%}) {seconds:8.2f}"
        )


def write_page(path: Path, results: dict[str, Any]) -> None:
    """Put the tables between the marks of a page."""
    rows = [
        [f"{title}, right", *(_right(results[key], way) for way in WAYS)]
        for key, title in (("made", "separated clusters"), ("single", "single clouds"))
    ]
    for record in results["real"]:
        title = f"{record['name']} ({record['n_clusters']})"
        rows.append([title, *(str(record[way]) for way in WAYS)])
    replace_between(path, *TABLE_MARKS, Grid("", ["", *WAYS], rows).as_markdown())
    steady = [
        f"- {name}: {', '.join(map(str, found))}" for name, found in results["steadiness"].items()
    ]
    replace_between(path, *STEADINESS_MARKS, "\n".join(steady))


def _right(records: list[dict[str, Any]], way: str) -> str:
    right = sum(record[way] == record["n_clusters"] for record in records)
    return f"{right} of {len(records)}"


def main(options: Sequence[str] | None = None) -> int:
    """Compare the ways, or write what is recorded into a page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", default=os.environ.get("AMCLUST_DATA", "../shared/data"))
    parser.add_argument("--repeats", type=int, default=6, help="of the targets (default: 6)")
    parser.add_argument(
        "--ways", nargs="+", choices=WAYS, default=list(WAYS), help="keep the others' answers"
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the results; run nothing")
    arguments = parser.parse_args(options)
    if arguments.page is not None:
        write_page(arguments.page, json.loads(RESULTS.read_text(encoding="utf-8")))
        return 0
    ways, before = arguments.ways, {}
    if len(ways) < len(WAYS):
        before = json.loads(RESULTS.read_text())
    real = list(real_sets(Path(arguments.data_dir)))
    results = {
        "made": answers(made_sets(), ways, before.get("made", [])),
        "single": answers(single_clouds(), ways, before.get("single", [])),
        "real": answers(iter(real), ways, before.get("real", [])),
        "steadiness": steadiness(
            [case for case in real if case.name.startswith(TARGETS)], arguments.repeats
        ),
        "seconds": cost(),
    }
    show("Separated clusters", results["made"])
    show("Single clouds", results["single"])
    print("\nTables with classes")
    print(f"  {'':44s} classes " + " ".join(f"{way:>11s}" for way in WAYS))
    for r in results["real"]:
        print(f"  {r['name']:44s} {r['n_clusters']:7d} " + " ".join(f"{r[w]:11d}" for w in WAYS))
    print(f"\nOther seeds, all rows ({arguments.repeats}), then nine tenths of them")
    for name, found in results["steadiness"].items():
        print(f"  {name:44s} {found}")
    print("\nSeconds", results["seconds"])
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
