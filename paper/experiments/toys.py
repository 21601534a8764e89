"""The toys: two and three elongated clusters, and two with and without outliers.

Every method gets the same points, as drawn. Agreement and silhouette are those of the inliers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, silhouette_score

from amclust import ClAM
from benchmarks.data import FloatArray, IntArray, Table
from benchmarks.quality.cells import pack_labels
from benchmarks.quality.methods import draw_seeds
from benchmarks.quality.scoring import choose, silhouettes
from paper.experiments.base import Unfinished
from paper.methods.dec import DEC, DEC_RANDOM
from paper.methods.embedded import training
from paper.published import EMBEDDED_GRID
from paper.runs import Run
from paper.settings import Settings
from paper.toys import TOYS, draw

_LLOYD_RESTARTS, _CLAM_RESTARTS = 1000, 100
# Drawings that were not looked at when the toys were made.
FIRST_SEED = 2000
_DEC = {"update_interval": 10, "updates": EMBEDDED_GRID["updates"]}
_CLAM = {"scale": None, "n_init": _CLAM_RESTARTS}
# In 2-D half of the coordinates is one.
_PAPER = {"objective": "completion", "mask_prob": 0.5, "n_steps": 10, "step_size": 0.1}


class Found(NamedTuple):
    """A partition and the prototypes behind it."""

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


def _dec(table: Table, seed: int, parameters: dict[str, Any]) -> Found:
    fitted = DEC.fitted(table.features, table.n_clusters, training(**parameters), seed)
    return Found(fitted.labels, fitted.centers.numpy())


def _dec_random(table: Table, seed: int, parameters: dict[str, Any]) -> Found:
    fitted = DEC_RANDOM.fitted(table.features, table.n_clusters, training(**parameters), seed)
    return Found(fitted.labels, fitted.centers.numpy())


TOY_METHODS = {
    "kmeans": ToyMethod("Lloyd", {"n_init": _LLOYD_RESTARTS}, _lloyd),
    "kmeans-silhouette": ToyMethod(
        "Lloyd, chosen by silhouette", {"restarts": _CLAM_RESTARTS}, _lloyd_by_silhouette
    ),
    "dec": ToyMethod("DEC", _DEC, _dec),
    "dec-random": ToyMethod("DEC, random seeds", _DEC, _dec_random),
    "clam": ToyMethod("ClAM's default loss", _CLAM, _clam),
    "clam-unmasked": ToyMethod("ClAM, no masking", {**_CLAM, "objective": "reconstruction"}, _clam),
    "clam-completion": ToyMethod("ClAM, the paper's loss", {**_CLAM, **_PAPER}, _clam),
}
# What the paper calls k-means and ClAM.
PAPER_METHODS = {"kmeans": "kmeans", "clam-completion": "clam"}


class Toys:
    """A run is one method on one drawing of a toy."""

    name = "toys"
    alone = False
    methods = tuple(TOY_METHODS)
    protocols = ("toy",)

    def runs(self, settings: Settings) -> Iterator[Run]:
        for seed in range(FIRST_SEED, FIRST_SEED + settings.seeds):
            for toy in TOYS:
                for method in TOY_METHODS:
                    yield Run(self.name, toy, method, "toy", seed)

    def definition(self, run: Run, settings: Settings) -> dict[str, Any]:
        return {"toy": TOYS[run.set]._asdict(), "parameters": TOY_METHODS[run.method].parameters}

    def perform(self, run: Run, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
        method = TOY_METHODS[run.method]
        table, inliers = draw(run.set, run.seed)
        labels, prototypes = method.fit(table, run.seed, method.parameters)
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

    def expected_seconds(self, run: Run, settings: Settings) -> float:
        return 1.0


TOYS_EXPERIMENT = Toys()
