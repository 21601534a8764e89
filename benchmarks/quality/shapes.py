"""``python -m benchmarks.quality --suite shapes``: clusters of any shape beside the peers'."""

import operator
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from amclust import ClAM
from benchmarks.data import SETS, FloatArray, IntArray, Table, draw_removed, load_set
from benchmarks.framework.cases import Case, Record
from benchmarks.framework.command import Benchmark
from benchmarks.framework.environment import (
    UnavailableError,
    describe_environment,
    optional_module,
)
from benchmarks.framework.lines import COLUMNS, Entry, Line, Skipped, Target, print_entries
from benchmarks.framework.pages import Grid, number, render, say, versions
from benchmarks.framework.running import Unfinished
from benchmarks.framework.store import Store

# --- methods --------------------------------------------------------------------------------------


def _genie(**parameters: Any) -> Any:
    return optional_module("genieclust", "genieclust").Genie(**parameters)


class Method(NamedTuple):
    """How to cluster; `counted` names its number of clusters, empty where it finds its own."""

    title: str
    make: Callable[..., Any]
    parameters: Mapping[str, Any] = {}
    counted: str = "n_clusters"

    @property
    def seeds(self) -> range:
        """Those that its scores are means over."""
        return range(_MEAN_OVER if "random_state" in self.parameters else 1)

    def labels(self, features: FloatArray, n_clusters: int, seed: int = 0) -> IntArray:
        counted = {self.counted: n_clusters} if self.counted else {}
        if "random_state" in self.parameters:
            counted["random_state"] = seed
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Graph is not fully connected")
            return np.asarray(self.make(**{**self.parameters, **counted}).fit_predict(features))

    def is_available(self) -> bool:
        """Say whether its package is here, and which one is not."""
        try:
            self.make(**self.parameters)
        except UnavailableError as error:
            say(f"{self.title:<22} SKIPPED: {error}")
            return False
        return True


_MEAN_OVER = 5  # seeds
_SEED = {"random_state": 0}
_NEIGHBORS = {"affinity": "nearest_neighbors"}
AUTO, DEFAULT, GENIE = "auto", "default", "genie"
METHODS = {
    AUTO: Method('ClAM(n_memories="auto")', ClAM, {"n_memories": "auto"} | _SEED),
    DEFAULT: Method("ClAM", ClAM, _SEED),
    GENIE: Method("Genie", _genie),
    "spectral": Method("spectral", SpectralClustering, _NEIGHBORS | _SEED),
    "hdbscan": Method("HDBSCAN", HDBSCAN, {"min_cluster_size": 10, "copy": True}, counted=""),
    "mixture": Method(
        "Gaussian mixture", GaussianMixture, {"n_init": 5} | _SEED, counted="n_components"
    ),
    "ward": Method("Ward", AgglomerativeClustering, {"linkage": "ward"}),
    "kmeans": Method("k-means", KMeans, {"n_init": 10} | _SEED),
}

# --- sets -----------------------------------------------------------------------------------------

_FCPS = ("atom", "chainlink", "engytime", "hepta", "lsun", "target", "tetra", "twodiamonds")
_FCPS += ("wingnut",)
_GRAVES = ("dense", "fuzzyx", "line", "parabolic", "ring", "ring_noisy", "ring_outliers")
_GRAVES += ("zigzag", "zigzag_noisy", "zigzag_outliers")
SHAPES = (*(f"fcps_{name}" for name in _FCPS), *(f"graves_{name}" for name in _GRAVES))
# Clusters that one memory each finds too.
ROUND = ("fcps_hepta", "fcps_tetra", "fcps_twodiamonds", "fcps_engytime", "graves_fuzzyx")

_MOST_ROWS = 5_000  # of a table
_REMOVED = 0.2
_MADE_ROWS, _NOISE, _FACTOR = 500, 0.05, 0.5
_SEEDS = range(20)
_NEW_SEED = 1_000  # how far the seeds of new rows are from those of the rows that are fitted
_BLOBS_SEED = 170
_STRETCH = np.array([[0.6, -0.6], [-0.4, 0.8]])
_DIGITS = 6


class Shapes(NamedTuple):
    """Rows with one or more references: labels from 1 on, 0 for noise, which is not scored."""

    features: FloatArray
    references: Sequence[IntArray]


@cache
def load_shapes(name: str, folder: Path) -> Shapes:
    """Read one of `SHAPES`; raises an UnavailableError if its file is not on this machine."""
    path = folder / "shapes" / f"{name}.csv.gz"
    if not path.is_file():
        message = f"{path} is missing: set AMCLUST_DATA or --data-dir to the folder above shapes/"
        raise UnavailableError(message)
    rows = np.genfromtxt(path, delimiter=",", names=True)
    columns = rows.dtype.names or ()
    features = np.column_stack([rows[name] for name in columns if name.startswith("x")])
    labels = [rows[name].astype(np.int64) for name in columns if name.startswith("label")]
    return Shapes(features, labels)


def best_ari(method: Method, features: FloatArray, references: Sequence[IntArray]) -> float:
    """Cluster into as many clusters as each reference has; give the best ARI over them.

    It is the mean over seeds, for methods that have one.
    """
    return fmean(
        max(_ari(method, features, reference, seed) for reference in references)
        for seed in method.seeds
    )


def _ari(method: Method, features: FloatArray, reference: IntArray, seed: int) -> float:
    scored = reference > 0
    labels = method.labels(features, np.unique(reference[scored]).size, seed)
    return float(adjusted_rand_score(reference[scored], labels[scored]))


# --- made sets ------------------------------------------------------------------------------------


class Made(NamedTuple):
    """Rows to fit, new rows of the same distribution, and labels by true centres, where known."""

    fitted: Table
    new: Table
    true_labels: tuple[IntArray, IntArray] | None = None


def _draw_moons(seed: int) -> Table:
    return Table("moons", *make_moons(_MADE_ROWS, noise=_NOISE, random_state=seed))


def _draw_circles(seed: int) -> Table:
    circles = make_circles(_MADE_ROWS, noise=_NOISE, factor=_FACTOR, random_state=seed)
    return Table("circles", *circles)


def _make_stretched(seed: int) -> Made:
    """Draw three blobs and stretch them; no rule beats the nearest centre before the stretch."""
    seed += _BLOBS_SEED
    rows, classes, centers = make_blobs(_MADE_ROWS, random_state=seed, return_centers=True)
    new, new_classes = make_blobs(_MADE_ROWS, centers=centers, random_state=seed + _NEW_SEED)
    return Made(
        Table("aniso", rows @ _STRETCH, classes),
        Table("aniso", new @ _STRETCH, new_classes),
        (cdist(rows, centers).argmin(axis=1), cdist(new, centers).argmin(axis=1)),
    )


MADE: dict[str, Callable[[int], Made]] = {
    "moons": lambda seed: Made(_draw_moons(seed), _draw_moons(seed + _NEW_SEED)),
    "circles": lambda seed: Made(_draw_circles(seed), _draw_circles(seed + _NEW_SEED)),
    "aniso": _make_stretched,
}

# --- cases ----------------------------------------------------------------------------------------


class Key(NamedTuple):
    """`part` is "shapes", "missing" (the same with cells removed), "tables" or "made"."""

    part: str
    set: str
    method: str
    seed: int = 0


def cases(options: Namespace) -> list[Case[Key]]:
    there = [name for name, method in METHODS.items() if method.is_available()]
    beside = [name for name in (AUTO, GENIE) if name in there]
    tables = [name for name in SETS if len(load_set(name, options.data_dir).classes) < _MOST_ROWS]
    for name in SHAPES:
        load_shapes(name, options.data_dir)
    keys = [Key("shapes", name, method) for name in SHAPES for method in there]
    keys += [Key("missing", name, method) for name in SHAPES for method in beside]
    keys += [Key("tables", name, method) for name in tables for method in (AUTO, DEFAULT)]
    keys += [Key("made", name, AUTO, seed) for name in MADE for seed in _SEEDS]
    return [Case(key, _definition(key)) for key in keys]


def _definition(key: Key) -> dict[str, Any]:
    chosen: dict[str, Any] = {"parameters": dict(METHODS[key.method].parameters)}
    if key.part != "made":
        chosen["seeds"] = len(METHODS[key.method].seeds)
    if key.part == "missing":
        chosen |= {"removed": _REMOVED, "filled": "KNNImputer" if key.method == GENIE else None}
    elif key.part == "made":
        chosen |= {"rows": _MADE_ROWS, "noise": _NOISE, "factor": _FACTOR}
    return chosen


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Cluster and score a case; the same for the same case."""
    part, name, chosen, seed = case.key
    method = METHODS[chosen]
    if part == "made":
        return _score_made(MADE[name](seed), method)
    if part == "tables":
        table = load_set(name, options.data_dir)
        features, references = table.features, [table.classes + 1]
    else:
        features, references = load_shapes(name, options.data_dir)
    start = time.perf_counter()
    if part == "missing":
        removed = draw_removed(features.shape, _REMOVED, seed=0)
        features = np.where(removed, np.nan, features)
        features = KNNImputer().fit_transform(features) if chosen == GENIE else features
    ari = best_ari(method, features, references)
    unfinished.seconds = time.perf_counter() - start
    return {"ari": round(ari, _DIGITS)}


def _score_made(made: Made, method: Method) -> dict[str, Any]:
    model = method.make(made.fitted.n_clusters, **method.parameters).fit(made.fitted.features)
    labels = {"ari": model.labels_, "new_ari": model.predict(made.new.features)}
    if made.true_labels is not None:
        labels |= zip(("true_ari", "new_true_ari"), made.true_labels, strict=True)
    return {
        name: round(float(adjusted_rand_score(_rows(made, name).classes, found)), _DIGITS)
        for name, found in labels.items()
    }


def _rows(made: Made, quantity: str) -> Table:
    return made.new if quantity.startswith("new") else made.fitted


# --- targets --------------------------------------------------------------------------------------

_LEAST = Target("least", ">=", 0.99)  # of the made sets, over the seeds

Scores = dict[str, dict[str, float]]  # by set and method


def scores_of(records: Iterable[Record[Key]], part: str) -> Scores:
    """Give the ARIs of a part, sets in the usual order."""
    found: Scores = {}
    for record in records:
        if record.key.part == part:
            found.setdefault(record.key.set, {})[record.key.method] = record.number("ari")
    return {name: found[name] for name in (*SHAPES, *SETS) if name in found}


def target_entries(records: Sequence[Record[Key]]) -> Iterator[Entry]:
    shapes = scores_of(records, "shapes")
    alone = Target("mean", ">=", 0.96)
    more, no_less = Target("difference", ">", 0.0), Target("difference", ">=", 0.0)
    yield _mean_line("shapes: mean ARI", shapes, SHAPES, "", alone)
    yield _mean_line("shapes: mean ARI", shapes, SHAPES, GENIE, more)
    for name in ROUND:
        nearly = Target("difference", ">=", -0.02)
        yield _mean_line(f"{name}: ARI", shapes, [name], DEFAULT, nearly)
    tables = scores_of(records, "tables")
    what = f"{len(tables)} tables: mean ARI"
    yield _mean_line(what, tables, list(tables), DEFAULT, no_less)
    missing = scores_of(records, "missing")
    what = f"shapes, {_REMOVED:.0%} of the cells removed: mean ARI"
    yield _mean_line(what, missing, SHAPES, GENIE, more, note="Genie's filled by KNNImputer")
    yield from _made_lines(records)


def _mean_line(
    what: str, scores: Scores, sets: Sequence[str], peer: str, target: Target, note: str = ""
) -> Entry:
    """Compare the means over these sets; without a peer the target is that of our own."""
    needed = [AUTO, *([peer] if peer else [])]
    gone = [METHODS[one].title for one in needed if any(one not in scores.get(s, {}) for s in sets)]
    if gone or not sets:
        return Skipped(what, f"records are missing of {', '.join(gone) or 'all'}")
    samples = {one: [scores[name][one] for name in sets] for one in needed}
    ours = samples[AUTO]
    if not peer:
        mean = fmean(ours)
        return Line(what, mean, np.nan, "", value=mean, target=target, ratio=np.nan, note=note)
    return Line.of_means(
        what,
        ours,
        samples[peer],
        peer_name=METHODS[peer].title,
        target=target,
        ratio=np.nan,
        note="; ".join(filter(None, [note, _count_better(ours, samples[peer])])),
    )


def _count_better(ours: Sequence[float], peers: Sequence[float]) -> str:
    """Say on how many sets a mean stands; empty for a single set."""
    if len(ours) == 1:
        return ""
    better, worse = (sum(map(relation, ours, peers)) for relation in (operator.gt, operator.lt))
    return f"better on {better}, worse on {worse} of {len(ours)} sets"


def _made_lines(records: Iterable[Record[Key]]) -> Iterator[Entry]:
    """Hold the least ARI over the seeds against the target, of the rows and of new ones."""
    for name in MADE:
        found = [one for one in records if one.key.part == "made" and one.key.set == name]
        if len(found) < len(_SEEDS):
            yield Skipped(name, f"{len(found)} of {len(_SEEDS)} seeds are recorded")
            continue
        for prefix, rows in (("", "the rows fitted"), ("new_", "new rows")):
            yield _least_line(f"{name}, {rows}: least ARI", found, prefix)


def _least_line(what: str, records: Sequence[Record[Key]], prefix: str) -> Line:
    aris = [record.number(f"{prefix}ari") for record in records]
    known = [record for record in records if f"{prefix}true_ari" in record.results]
    true = [record.number(f"{prefix}true_ari") for record in known]
    note = _below(aris) + (f"; the true centres': {_below(true)}" if true else "")
    return Line(
        what,
        min(aris),
        min(true, default=np.nan),
        "the true centres" if true else "",
        value=min(aris),
        target=_LEAST,
        ratio=np.nan,
        note=note,
    )


def _below(aris: Sequence[float]) -> str:
    below = sum(ari < _LEAST.limit for ari in aris)
    return f"{below} of {len(aris)} draws below {_LEAST.limit}, mean {fmean(aris):.3f}"


# --- tables and page ------------------------------------------------------------------------------


def score_grid(title: str, scores: Scores) -> Grid:
    """Give a row a set and one for the means; a dash where a set has no record."""
    methods = [one for one in METHODS if any(one in found for found in scores.values())]
    rows = [
        [name, *(number(found.get(one, np.nan)) for one in methods)]
        for name, found in scores.items()
    ]
    if scores:
        means = (fmean(found.get(one, np.nan) for found in scores.values()) for one in methods)
        rows.append(["mean", *map(number, means)])
    return Grid(title, ["", *(METHODS[one].title for one in methods)], rows)


def score_grids(records: Sequence[Record[Key]]) -> list[Grid]:
    titles = {
        "shapes": "ARI on clusters of any shape",
        "missing": f"the same with {_REMOVED:.0%} of the cells removed",
        "tables": "ARI on the tables",
    }
    return [score_grid(title, scores_of(records, part)) for part, title in titles.items()]


def target_grid(entries: Iterable[Entry]) -> Grid:
    rows = [
        [entry.what, *["-"] * (len(COLUMNS) - 1), f"skipped: {entry.skipped}"]
        if isinstance(entry, Skipped)
        else [*entry.cells, entry.note]
        for entry in entries
    ]
    return Grid("targets", (*COLUMNS, "note"), rows, numbers=False)


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    records = [record for record in store.all() if record.key in keys]
    for grid in score_grids(records):
        say(f"\n{grid.as_text()}")
    print_entries("targets", target_entries(records))
    source = describe_environment()["source"]
    other = sum(record.environment["source"] != source for record in records)
    if other:
        say(f"{other} cases were run with other code in src/: --fresh repeats them")


def write_page(path: Path, store: Store[Key]) -> None:
    records = store.all()
    shapes, missing, tables = score_grids(records)
    render(
        path,
        Path(__file__).with_name("shapes.md.jinja"),
        shapes=shapes,
        missing=missing,
        tables=tables,
        targets=target_grid(target_entries(records)),
        environments=store.environments().values(),
        versions=versions,
    )


main = Benchmark(
    "shapes",
    "shapes.md",
    "Compare clusters of any shape with the peers'. Only cases without a record are run.",
    Key,
    cases,
    perform,
    report,
    write_page,
    tell=("ari", "new_ari"),
    same=lambda ours, before: ours.results == before.results,
    program="benchmarks.quality --suite shapes",
).main
