"""The methods: what each is made of, and its restarts.

Every method gets `RESTARTS` single fits, from seeds drawn from the case's seed, and the same rule
chooses among them (`benchmarks.partitions.choose`). ClAM restarts and chooses by itself, by that
rule. Ward is deterministic and has one fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.manifold import spectral_embedding
from sklearn.metrics import euclidean_distances
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph

from amclust import ClAM
from benchmarks.data import FloatArray, IntArray, Table
from benchmarks.framework import optional_module
from benchmarks.partitions import draw_seeds
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


def _k_means(table: Table) -> Parameters:
    return {"n_clusters": table.n_clusters, "n_init": 1}


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
    embedding: FloatArray = spectral_embedding(
        0.5 * (graph + graph.T), n_components=table.n_clusters, random_state=seed, drop_first=False
    )
    return embedding


def _distances(table: Table, _: int) -> FloatArray:
    distances: FloatArray = euclidean_distances(table.features.astype(np.float32))
    return distances


def _k_medoids(**parameters: Any) -> Any:
    return optional_module("kmedoids", "kmedoids").KMedoids(**parameters)


def _single_threaded_clam(**parameters: Any) -> ClAM:
    return ClAM(**parameters, n_jobs=1)


METHODS = {
    "clam": Method("ClAM", _single_threaded_clam, _default_clam, restarts=1),
    "clam-paper": Method("ClAM, paper", _single_threaded_clam, _paper_clam, restarts=1),
    "kmeans": Method("k-means", KMeans, _k_means),
    "minibatch": Method("mini-batch k-means", MiniBatchKMeans, _k_means),
    "mixture": Method("Gaussian mixture", GaussianMixture, _gaussian_mixture),
    "spectral": Method(
        "spectral",
        KMeans,
        _k_means,
        prepare=_spectral_embedding,
        preparation={"n_neighbors": N_NEIGHBORS},
    ),
    "ward": Method(
        "Ward",
        AgglomerativeClustering,
        lambda table: {"n_clusters": table.n_clusters, "linkage": "ward"},
        restarts=1,
        seeded=False,
    ),
    "kmedoids": Method(
        "k-medoids",
        _k_medoids,
        lambda table: {
            "n_clusters": table.n_clusters,
            "metric": "precomputed",
            "method": "fastermsc",
            "init": "random",
        },
        prepare=_distances,
    ),
}
