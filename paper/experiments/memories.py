"""Networks with the paper's best hyperparameters: entropies on all sets, memories over time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from amclust import ClAM
from benchmarks.framework.cases import pack_array
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import living_clusters
from benchmarks.protocol import PROTOCOLS, paper_parameters
from paper import sets
from paper.methods.clam import NORMAL
from paper.records import Case, Run
from paper.settings import Settings

EPOCHS = (0, 5, 10, 20, 50, 100)
_EVOLVING = "fashion_mnist"
# Of the paper's figure, which has another T than its table of the best.
_EVOLVING_STEPS = 10


def runs(settings: Settings) -> Iterator[Run]:
    for name in settings.sets or sets.TABLE_SETS:
        used = sets.set_in_place_of(name, settings.data_dir)
        yield Run("memories", used, "entropy", "paper")
        if name == _EVOLVING:
            yield Run("memories", used, "evolution", "paper")


def definition(run: Run, settings: Settings) -> dict[str, Any]:
    best, init = PROTOCOLS[sets.paper_set(run.set)], "auto"
    if run.method == "evolution":
        best, init = best._replace(n_steps=_EVOLVING_STEPS), {"normal": NORMAL}
    restarts, epochs = settings.published_restarts, settings.epochs
    parameters = paper_parameters(0, best, restarts=restarts, epochs=epochs)
    del parameters["n_clusters"]
    rows = settings.sample_rows if settings.quick else None
    return {"parameters": parameters, "rows": rows, "init": init}


def perform(case: Case, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
    run, parameters = case.key, {**case.definition["parameters"]}
    table = sets.load(run.set, settings.data_dir, case.definition["rows"])
    if run.method == "evolution":
        shape = table.n_clusters, table.features.shape[1]
        init = np.random.default_rng(run.seed).normal(*NORMAL, shape)
        epochs = [epoch for epoch in EPOCHS if epoch <= settings.epochs]
        parameters |= {"init": init, "n_init": 1, "record_epochs": epochs}
    model = ClAM(table.n_clusters, **parameters, n_jobs=1, random_state=run.seed)
    model.fit(table.features)
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
