"""The methods, and the cases: one set, one method, one seed; or one set and what its fit costs.

Every method gets `RESTARTS` single fits, from seeds drawn from the case's seed, and the same rule
chooses among them (`benchmarks.partitions.choose`). ClAM restarts and chooses by itself, by that
rule. Ward is deterministic and has one fit.
"""

import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score, euclidean_distances, normalized_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

from amclust import ClAM
from benchmarks.data import FloatArray, IntArray, Table, load_set
from benchmarks.framework.cases import Case, Record, pack_labels
from benchmarks.framework.environment import QUIET_LOAD, load_average, optional_module
from benchmarks.framework.lines import Line, Target, interleave, seconds_of, timed
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import choose, draw_seeds, largest_share, living_clusters, silhouettes
from benchmarks.protocol import PROTOCOLS, RESTARTS, TYPICAL, paper_parameters

Parameters = dict[str, Any]

N_NEIGHBORS = 10

# A thousandth of the variance of a standardised feature: mixtures whose components have features
# that are constant in them, or fewer rows than features, stay proper.
REG_COVAR = 1e-3

# What does not change the labels that ClAM finds.
_IMMATERIAL = ("n_jobs", "random_state", "verbose")


@dataclass(frozen=True)
class Method:
    """One way of clustering: an estimator's class, and what it is given for a table.

    `prepare` computes once for all restarts of a case, from the table and the case's seed, what the
    estimator is fitted to; `preparation` has the parameters of that.
    """

    title: str
    make: Callable[..., Any]
    parameters: Callable[[Table], Parameters]
    prepare: Callable[[Table, int], FloatArray] = lambda table, _: table.features
    preparation: Mapping[str, Any] = field(default_factory=dict)
    restarts: int = RESTARTS
    seeded: bool = True

    def definition(self, table: Table) -> Parameters:
        """Say everything that is chosen here about the cases of a table."""
        return {
            "parameters": self.parameters(table),
            "preparation": dict(self.preparation),
            "restarts": self.restarts,
        }

    def labelings(self, table: Table, seed: int) -> IntArray:
        """Cluster a standardised table; a row for every restart."""
        prepared = self.prepare(table, seed)
        parameters = self.parameters(table)
        if not self.seeded:
            return np.stack([self.make(**parameters).fit_predict(prepared)])
        seeds = [seed] if self.restarts == 1 else draw_seeds(seed, self.restarts)
        return np.stack(
            [self.make(**parameters, random_state=one).fit_predict(prepared) for one in seeds]
        )


def _default_clam(table: Table) -> Parameters:
    """Spell the defaults out, so that a changed one changes the definition."""
    defaults = ClAM(table.n_clusters).get_params()
    return {name: value for name, value in defaults.items() if name not in _IMMATERIAL}


def _paper_clam(table: Table) -> Parameters:
    # The training part of USPS has the features of the test part, which is the paper's.
    name = "usps_test" if table.name == "usps_train" else table.name
    return paper_parameters(table.n_clusters, PROTOCOLS.get(name, TYPICAL))


def _with_k(table: Table, **more: Any) -> Parameters:
    return {"n_clusters": table.n_clusters, **more}


def _gaussian_mixture(table: Table) -> Parameters:
    """Full covariances where there are as many rows as the matrices have free entries."""
    n_samples, n_features = table.features.shape
    free_entries = table.n_clusters * n_features * (n_features + 1) // 2
    return {
        "n_components": table.n_clusters,
        "covariance_type": "full" if n_samples >= free_entries else "diag",
        "reg_covar": REG_COVAR,
    }


def _spectral_embedding(table: Table, seed: int) -> FloatArray:
    """Embed as scikit-learn's SpectralClustering does, once for all runs of its k-means step."""
    graph = kneighbors_graph(table.features, N_NEIGHBORS, include_self=True)
    return spectral_embedding(
        0.5 * (graph + graph.T), n_components=table.n_clusters, random_state=seed, drop_first=False
    )


def _distances(table: Table, _: int) -> FloatArray:
    return euclidean_distances(table.features.astype(np.float32))


def _k_medoids(**parameters: Any) -> Any:
    return optional_module("kmedoids", "kmedoids").KMedoids(**parameters)


_single_threaded_clam = partial(ClAM, n_jobs=1)
_single = partial(_with_k, n_init=1)
_ward = partial(_with_k, linkage="ward")
_medoids = partial(_with_k, metric="precomputed", method="fastermsc", init="random")
_neighbors = {"n_neighbors": N_NEIGHBORS}
METHODS = {
    "clam": Method("ClAM", _single_threaded_clam, _default_clam, restarts=1),
    "clam-paper": Method("ClAM, paper", _single_threaded_clam, _paper_clam, restarts=1),
    "kmeans": Method("k-means", KMeans, _single),
    "minibatch": Method("mini-batch k-means", MiniBatchKMeans, _single),
    "mixture": Method("Gaussian mixture", GaussianMixture, _gaussian_mixture),
    "spectral": Method("spectral", KMeans, _single, _spectral_embedding, _neighbors),
    "ward": Method("Ward", AgglomerativeClustering, _ward, restarts=1, seeded=False),
    "kmedoids": Method("k-medoids", _k_medoids, _medoids, _distances),
}


# In the place of a method: fits timed side by side, with all cores.
COST = "cost"
COST_ROUNDS = 3
KMEANS_RESTARTS = 100
_DIGITS = 6

# The default fit of the first release: one objective from k-means++ rows, every default as it was.
FIRST_RELEASE: dict[str, Any] = {"objective": "silhouette", "beta": "auto", "n_steps": 10}
FIRST_RELEASE |= {"step_size": 0.5, "init": "k-means++", "n_init": 10, "batch_size": 1024}
FIRST_RELEASE |= {"max_epochs": 200, "learning_rate": 0.1, "patience": 5, "lr_factor": 0.8}
FIRST_RELEASE |= {"min_lr": 1e-5, "tol": 1e-3, "early_stopping": True, "selection": "silhouette"}


class Key(NamedTuple):
    set: str
    method: str
    seed: int = 0


def make_case(key: Key, data_dir: Path) -> Case[Key]:
    if key.method == COST:
        chosen = {"rounds": COST_ROUNDS, "kmeans": KMEANS_RESTARTS, "single": FIRST_RELEASE}
    else:
        chosen = METHODS[key.method].definition(load_set(key.set, data_dir))
    return Case(key, chosen)


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Run all restarts of a case, choose, and score; the same for the same case."""
    table = load_set(case.key.set, options.data_dir)
    if case.key.method == COST:
        return measure_cost(table)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        start = time.perf_counter()
        labelings = METHODS[case.key.method].labelings(table, case.key.seed)
        scores = silhouettes(table.features, labelings)
        chosen = choose(labelings, scores)
        unfinished.seconds = time.perf_counter() - start
    labels = labelings[chosen]
    return {
        "n_clusters": table.n_clusters,
        "silhouette": round(float(scores[chosen]), _DIGITS),
        "nmi": round(normalized_mutual_info_score(table.classes, labels), _DIGITS),
        "ari": round(adjusted_rand_score(table.classes, labels), _DIGITS),
        "living": living_clusters(labels),
        "largest": round(largest_share(labels), _DIGITS),
        "labels": pack_labels(labels),
    }


def measure_cost(table: Table) -> dict[str, Any]:
    """Time the default fit, the single-objective fit it grew from, and k-means, in turn."""
    load = load_average()
    k, features = table.n_clusters, table.features
    # The first call of each pays for loading and for starting threads.
    timed(lambda: ClAM(k, n_init=2, max_epochs=1, random_state=0).fit(features))
    timed(lambda: KMeans(k, n_init=2, random_state=0).fit(features))
    makers = {
        "clam": ClAM,
        "single": partial(ClAM, **FIRST_RELEASE),
        "kmeans": partial(KMeans, n_init=KMEANS_RESTARTS),
    }
    calls = {name: partial(_fit, make, table) for name, make in makers.items()}
    rounds = interleave(calls, range(COST_ROUNDS))
    return {"load": load, "seconds": {name: seconds_of(found) for name, found in rounds.items()}}


def _fit(make: Callable[..., Any], table: Table, seed: int) -> None:
    make(table.n_clusters, random_state=seed).fit(table.features)


def cost_lines(record: Record[Key]) -> list[Line]:
    seconds, load = record.results["seconds"], record.results["load"]
    peers = {"single": ("silhouette objective alone", 3.0)}
    peers |= {"kmeans": (f"KMeans(n_init={KMEANS_RESTARTS})", 1.0)}
    return [
        Line.of_pairs(
            f"{record.key.set}: cost of the default fit",
            "s",
            seconds["clam"],
            seconds[peer],
            peer_name=title,
            target=Target("ratio", "<=", limit),
            note=f"on a busy machine, load {load:.1f}" if load and load > QUIET_LOAD else "",
        )
        for peer, (title, limit) in peers.items()
    ]
