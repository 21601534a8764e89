"""The toys: elongated clusters side by side, with and without outliers.

The paper shows pictures of its toys and does not say how they were drawn. Here clusters are
stripes of normal points, some times as long as the distance between them, turned by 30 degrees.
From about twice that distance on the sum of squares prefers a cut across the stripes, while the
silhouette prefers the stripes themselves up to a little more: the lengths are chosen in between,
on the drawings of seeds 0 to 39, and judged on others.
Points are spread evenly over the quantiles, so that every drawing has the length it should have.

Every method gets the same points, as drawn. Agreement and silhouette are those of the inliers.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score

from amclust import ClAM
from benchmarks.data import BoolArray, FloatArray, IntArray, Table
from benchmarks.framework.cases import pack_labels
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import choose, draw_seeds, silhouettes
from paper.methods.deep import DEC, DEC_RANDOM, DECMethod
from paper.published import EMBEDDED_GRID
from paper.records import Case, Run
from paper.settings import Settings

_WIDTH = 0.08
_TURN = np.deg2rad(30.0)
_TURNED = np.array([[np.cos(_TURN), -np.sin(_TURN)], [np.sin(_TURN), np.cos(_TURN)]])
_UNIFORM_DEVIATION = 12**-0.5


class Toy(NamedTuple):
    """How a toy is drawn: so many stripes of so many rows, and outliers beyond both ends."""

    title: str
    stripes: int
    rows: int
    # In distances between stripes: the deviation is that of a uniform stripe of this length.
    length: float
    outliers: int = 0


class Drawn(NamedTuple):
    """A toy: its points, true clusters, and which are no outliers."""

    table: Table
    inliers: BoolArray


TOYS = {
    "two-stripes": Toy("two clusters", 2, 150, 2.25),
    "three-stripes": Toy("three elongated clusters", 3, 120, 2.2),
    "clean": Toy("without outliers", 2, 150, 1.9),
    "noisy": Toy("with outliers", 2, 150, 1.9, outliers=20),
}
ELONGATED = ("two-stripes", "three-stripes")
NOISE = ("clean", "noisy")


def draw(name: str, seed: int) -> Drawn:
    """Draw a toy; the clean one of a seed is the noisy one without its outliers."""
    toy = TOYS[name]
    generator = np.random.default_rng(seed)
    parts = [_stripe(generator, toy, height) for height in range(toy.stripes)]
    classes: IntArray = np.repeat(np.arange(toy.stripes), toy.rows)
    outliers = _outliers(generator, toy)
    points = np.concatenate([*parts, outliers]) @ _TURNED.T
    classes = np.concatenate([classes, np.zeros(len(outliers), classes.dtype)])
    inliers = np.arange(len(points)) < toy.stripes * toy.rows
    return Drawn(Table(name, points, classes), inliers)


def _stripe(generator: np.random.Generator, toy: Toy, height: int) -> FloatArray:
    quantiles = (np.arange(toy.rows) + generator.uniform(size=toy.rows)) / toy.rows
    along = norm.ppf(quantiles) * toy.length * _UNIFORM_DEVIATION
    across = height + generator.normal(0.0, _WIDTH, toy.rows)
    return np.column_stack([along, across])


def _outliers(generator: np.random.Generator, toy: Toy) -> FloatArray:
    distance = generator.uniform(0.6 * toy.length, 0.6 * toy.length + 1.5, toy.outliers)
    side = np.where(np.arange(toy.outliers) % 2, -1.0, 1.0)
    return np.column_stack(
        [side * distance, generator.uniform(-0.6, toy.stripes - 0.4, toy.outliers)]
    )


# --- what finds their clusters --------------------------------------------------------------------

_LLOYD_RESTARTS, _CLAM_RESTARTS = 1000, 100
# Drawings that were not looked at when the toys were made.
FIRST_SEED = 2000
_DEC = {"update_interval": 10, "updates": EMBEDDED_GRID["updates"]}
_CLAM = {"scale": None, "n_init": _CLAM_RESTARTS}
# In 2-D half of the coordinates is one.
_PAPER = {"objective": "completion", "mask_prob": 0.5, "n_steps": 10, "step_size": 0.1}


class Found(NamedTuple):
    labels: IntArray
    prototypes: FloatArray


class ToyMethod(NamedTuple):
    """A method as the toys see it: its parameters are in the definition of a run."""

    title: str
    parameters: dict[str, Any]
    fit: Callable[[Table, int, dict[str, Any]], Found]


def _lloyd(table: Table, seed: int, parameters: dict[str, Any]) -> Found:
    model = KMeans(table.n_clusters, random_state=seed, **parameters).fit(table.features)
    return Found(model.labels_, model.cluster_centers_)


def _lloyd_by_silhouette(table: Table, seed: int, parameters: dict[str, Any]) -> Found:
    """Choose among Lloyd's restarts by the rule that ClAM chooses by."""
    models = [
        KMeans(table.n_clusters, n_init=1, random_state=one).fit(table.features)
        for one in draw_seeds(seed, parameters["restarts"])
    ]
    labelings = np.stack([model.labels_ for model in models])
    best = models[choose(labelings, silhouettes(table.features, labelings))]
    return Found(best.labels_, best.cluster_centers_)


def _clam(table: Table, seed: int, parameters: dict[str, Any]) -> Found:
    model = ClAM(table.n_clusters, random_state=seed, n_jobs=1, **parameters).fit(table.features)
    return Found(model.labels_, model.cluster_centers_)


def _dec(method: DECMethod, table: Table, seed: int, parameters: dict[str, Any]) -> Found:
    fitted = method.fitted(table, seed, **parameters)
    return Found(fitted.labels, fitted.centers.numpy())


TOY_METHODS = {
    "kmeans": ToyMethod("Lloyd", {"n_init": _LLOYD_RESTARTS}, _lloyd),
    "kmeans-silhouette": ToyMethod(
        "Lloyd, chosen by silhouette", {"restarts": _CLAM_RESTARTS}, _lloyd_by_silhouette
    ),
    "dec": ToyMethod("DEC", _DEC, partial(_dec, DEC)),
    "dec-random": ToyMethod("DEC, random seeds", _DEC, partial(_dec, DEC_RANDOM)),
    "clam": ToyMethod("ClAM's default loss", _CLAM, _clam),
    "clam-unmasked": ToyMethod("ClAM, no masking", {**_CLAM, "objective": "reconstruction"}, _clam),
    "clam-completion": ToyMethod("ClAM, the paper's loss", {**_CLAM, **_PAPER}, _clam),
}
# What the paper calls k-means and ClAM.
PAPER_METHODS = {"kmeans": "kmeans", "clam-completion": "clam"}


def runs(settings: Settings) -> Iterator[Run]:
    for seed in range(FIRST_SEED, FIRST_SEED + settings.seeds):
        for toy in TOYS:
            yield from (Run("toys", toy, method, "toy", seed) for method in TOY_METHODS)


def definition(run: Run, settings: Settings) -> dict[str, Any]:
    return {"toy": TOYS[run.set]._asdict(), "parameters": TOY_METHODS[run.method].parameters}


def perform(case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
    run = case.key
    table, inliers = draw(run.set, run.seed)
    fit = TOY_METHODS[run.method].fit
    labels, prototypes = fit(table, run.seed, case.definition["parameters"])
    labels = np.unique(labels, return_inverse=True)[1]
    points, classes, found = table.features[inliers], table.classes[inliers], labels[inliers]
    several = len(np.unique(found)) > 1
    return {
        "n_clusters": table.n_clusters,
        "living": len(np.unique(labels)),
        "silhouette": silhouette_score(points, found) if several else None,
        "nmi": normalized_mutual_info_score(classes, found),
        "ari": adjusted_rand_score(classes, found),
        "true_silhouette": silhouette_score(points, classes),
        "labels": pack_labels(labels),
        "prototypes": prototypes.tolist(),
    }
