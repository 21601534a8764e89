"""Silhouettes against one hyperparameter, a line for each number of steps T.

All other hyperparameters are the paper's best for the set. A point is the best silhouette of a few
restarts, whatever its clusters; the number of living clusters is kept.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from amclust._space import PRESETS
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import draw_seeds, living_clusters, silhouettes
from benchmarks.protocol import PROTOCOLS
from paper import sets
from paper.methods.base import product
from paper.methods.clam import CLAM
from paper.records import Case, Run
from paper.settings import Settings

STEPS = (2, 5, 10, 20)
_SIX = ("zoo", "ecoli", "movement_libras", "yale", "gcm", "segment")
_THREE = ("zoo", "yale", "ecoli")
CURVES = {"beta": _SIX, "learning_rate": _SIX, "mask_prob": _THREE, "mask_value": _THREE}


def runs(settings: Settings) -> Iterator[Run]:
    for parameter, names in CURVES.items():
        for name in filter(settings.has, names):
            used = sets.set_in_place_of(name, settings.data_dir)
            yield Run("curves", used, parameter, "paper")


def definition(run: Run, settings: Settings) -> dict[str, Any]:
    best = PROTOCOLS[sets.paper_set(run.set)]._asdict()
    return {
        "fixed": {**best, **CLAM.fixed(settings), "init": "auto"},
        "steps": STEPS,
        "values": PRESETS["paper"][0][run.method],
        "restarts": settings.curve_restarts,
    }


def perform(case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
    run, asked = case.key, case.definition
    table = sets.load(run.set, settings.data_dir)
    found = unfinished.state or {"silhouettes": [], "living": []}
    points = product(n_steps=asked["steps"], **{run.method: asked["values"]})
    seeds = draw_seeds(run.seed, asked["restarts"])
    for point in points[len(found["silhouettes"]) :]:
        config = {**asked["fixed"], **point}
        labels = np.stack([CLAM.fit(table, config, seed, settings) for seed in seeds])
        scores = np.nan_to_num(silhouettes(table.features, labels), nan=-1.0)
        best = int(scores.argmax())
        found["silhouettes"].append(round(float(scores[best]), 5))
        found["living"].append(living_clusters(labels[best]))
        unfinished.keep(found)
    return {
        "n_clusters": table.n_clusters,
        "steps": [point["n_steps"] for point in points],
        "values": [point[run.method] for point in points],
        **found,
    }
