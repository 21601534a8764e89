"""Networks with the paper's best hyperparameters: entropies on all sets, memories over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from amclust import ClAM
from benchmarks.framework import Unfinished, pack_array
from benchmarks.partitions import living_clusters
from benchmarks.protocol import paper_parameters
from paper import sets
from paper.experiments.base import Experiment
from paper.methods.clam import NORMAL
from paper.published import BEST_HYPERPARAMETERS
from paper.records import Run
from paper.settings import Settings

EPOCHS = (0, 5, 10, 20, 50, 100)
_EVOLVING = "fashion_mnist"
# Of the paper's figure, which has another T than its table of the best.
_EVOLVING_STEPS = 10


class Memories(Experiment):
    """A run is a set: entropies of its rows, or the memories at some epochs."""

    name = "memories"
    methods = ("entropy", "evolution")
    protocols = ("paper",)

    def runs(self, settings: Settings) -> Iterator[Run]:
        for name in settings.sets or sets.TABLE_SETS:
            used = sets.set_in_place_of(name, settings.data_dir)
            yield Run(self.name, used, "entropy", "paper")
            if name == _EVOLVING:
                yield Run(self.name, used, "evolution", "paper")

    def definition(self, run: Run, settings: Settings) -> dict[str, Any]:
        return {
            "parameters": _parameters(run, settings),
            "rows": _rows(settings),
            "init": {"normal": NORMAL} if run.method == "evolution" else "auto",
        }

    def perform(self, run: Run, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
        table = sets.load(run.set, settings.data_dir, _rows(settings))
        parameters = _parameters(run, settings)
        if run.method == "evolution":
            shape = table.n_clusters, table.features.shape[1]
            init = np.random.default_rng(run.seed).normal(*NORMAL, shape)
            epochs = [epoch for epoch in EPOCHS if epoch <= settings.epochs]
            parameters |= {"init": init, "n_init": 1, "record_epochs": epochs}
        model = ClAM(table.n_clusters, **parameters, n_jobs=1, random_state=run.seed).fit(
            table.features
        )
        found = {
            "n_clusters": table.n_clusters,
            "living": living_clusters(model.labels_),
            "silhouette": round(float(model.silhouette_), 5),
            "beta": model.beta_,
        }
        if run.method == "evolution":
            epochs = model.recorded_epochs_.tolist()
            return {**found, "epochs": epochs, "memories": pack_array(model.recorded_memories_)}
        rows = table.features[:: max(1, len(table.features) // settings.sample_rows)]
        return {**found, "entropy": pack_array(model.entropy(rows))}


def _parameters(run: Run, settings: Settings) -> dict[str, Any]:
    best = BEST_HYPERPARAMETERS[sets.paper_set(run.set)]
    if run.method == "evolution":
        best = best._replace(n_steps=_EVOLVING_STEPS)
    restarts = settings.published_restarts
    parameters = paper_parameters(0, best, restarts=restarts, epochs=settings.epochs)
    del parameters["n_clusters"]
    return parameters


def _rows(settings: Settings) -> int | None:
    return settings.sample_rows if settings.quick else None
