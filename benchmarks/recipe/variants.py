"""The variants: ClAM with other parameters, other constants, or other steps.

The library has no options for what did not work, so constants and functions of its private modules
are replaced while a variant is fitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans

from amclust import ClAM, _fitting, _temperature, _training
from benchmarks.data import FloatArray, IntArray
from benchmarks.protocol import RESTARTS
from benchmarks.quality.scoring import choose, silhouettes

Seeding = dict[str, Any]
Centres = Callable[[FloatArray, int, np.random.Generator], Iterator[FloatArray]]

_LEAST = 1e-12
_TREE_ROWS = 1024
# A consensus is of so many runs out of so many.
_RUNS, _POOL = 10, 40


@contextmanager
def replaced(module: ModuleType, values: Mapping[str, Any]) -> Iterator[None]:
    """Give a module's names other values for a while."""
    with ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(mock.patch.object(module, name, value))
        yield


def fit_clam(features: FloatArray, n_clusters: int, seed: int, **parameters: Any) -> IntArray:
    """Cluster by ClAM with the default number of restarts, in one thread."""
    model = ClAM(n_clusters, **{"n_init": RESTARTS, **parameters}, n_jobs=1, random_state=seed)
    labels: IntArray = model.fit(features).labels_
    return labels


def fit_half_from(centres: Centres) -> Callable[[FloatArray, int, int], IntArray]:
    """Seed half of the restarts by given centres, the others by k-means++."""

    def fit(features: FloatArray, n_clusters: int, seed: int) -> IntArray:
        half = RESTARTS // 2
        rng = np.random.default_rng(seed)
        rows = features[rng.permutation(len(features))[:_TREE_ROWS]]
        starts = islice(centres(rows, n_clusters, rng), RESTARTS - half)
        labelings = np.stack(
            [
                fit_clam(features, n_clusters, seed, init="k-means++", n_init=half),
                *(fit_clam(features, n_clusters, seed, init=start) for start in starts),
            ]
        )
        chosen: IntArray = labelings[choose(labelings, silhouettes(features, labelings))]
        return chosen

    return fit


def consensus_centres(
    rows: FloatArray, n_clusters: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield the clusters of an average-linkage tree of what ten k-means runs agree on."""
    pool = [
        KMeans(n_clusters, n_init=1, random_state=int(one)).fit_predict(rows)
        for one in rng.integers(2**31, size=_POOL)
    ]
    while True:
        runs = rng.choice(_POOL, _RUNS, replace=False)
        partitions = np.stack([pool[run] for run in runs], axis=1)
        tree = linkage(partitions, "average", metric="hamming")
        yield _means(rows, cut_tree(tree, n_clusters)[:, 0])


def ward_centres(
    rows: FloatArray, n_clusters: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Yield the clusters of Ward trees of nine tenths of the rows, which are not smoothed."""
    while True:
        part = rows[rng.permutation(len(rows))[: max(int(0.9 * len(rows)), 2 * n_clusters)]]
        yield _means(part, cut_tree(linkage(part, "ward"), n_clusters)[:, 0])


def _means(rows: FloatArray, labels: IntArray) -> FloatArray:
    return np.stack([rows[labels == label].mean(axis=0) for label in np.unique(labels)])


def anchor_by_inner_scatter(amount: float) -> Callable[..., dict[str, Any]]:
    """Measure the anchor in units of the scatter inside the clusters of the seeding."""
    original = _training.run_settings

    def run_settings(
        problem: _training.Problem, seeding: Seeding, *arguments: Any
    ) -> dict[str, Any]:
        inside = max(seeding["mean_square"], _LEAST)
        return {**original(problem, seeding, *arguments), "anchor": amount / inside}

    return run_settings


def in_stages(*stages: Mapping[str, Any]) -> Callable[..., list[_training.TrainedRun]]:
    """Train every restart several times, each time from the memories of the last.

    A stage is what it changes in the settings; ``beta_factor`` multiplies the temperature's rule.
    """

    def train_runs(
        problem: _training.Problem,
        seedings: list[Seeding],
        seeds: NDArray[np.int64],
        beta: float | None,
        settings: dict[str, Any],
        progress: Any,
        *_record_epochs: Any,
    ) -> list[_training.TrainedRun]:
        trained: list[_training.TrainedRun] = []
        for stage in stages:
            changes = dict(stage)
            factor = changes.pop("beta_factor", 1.0)
            runs = [
                _training.run_settings(
                    problem, seeding, seed, beta, {**settings, **changes}, factor
                )
                for seed, seeding in zip(seeds, seedings, strict=True)
            ]
            trained = _training.train_settings(problem, runs, progress)
            seedings = [
                {**seeding, "memories": run.record["memories"]}
                for seeding, run in zip(seedings, trained, strict=True)
            ]
        return trained

    return train_runs


@dataclass(frozen=True)
class Variant:
    """A recipe.

    Attributes
    ----------
    parameters : mapping
        What the fit is given.
    training, fitting, temperature : mapping
        What is replaced in the library's modules of these names.
    fit : callable
        From features, number of clusters and seed to labels.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] = field(default_factory=dict)
    fitting: Mapping[str, Any] = field(default_factory=dict)
    temperature: Mapping[str, Any] = field(default_factory=dict)
    fit: Callable[..., IntArray] = fit_clam

    def labels(self, features: FloatArray, n_clusters: int, seed: int) -> IntArray:
        """Cluster, and leave the library as it was."""
        with (
            replaced(_training, self.training),
            replaced(_fitting, self.fitting),
            replaced(_temperature, self.temperature),
        ):
            return self.fit(features, n_clusters, seed, **self.parameters)


def _beta(gap_factor: float) -> dict[str, float]:
    """Keep the proportion of the two rules for beta."""
    separated = _temperature.SEPARATED_FACTOR / _temperature.GAP_FACTOR
    return {"GAP_FACTOR": gap_factor, "SEPARATED_FACTOR": separated * gap_factor}


DEFAULT = "default"
VARIANTS = {
    DEFAULT: Variant(),
    "first release": Variant(
        {"init": "k-means++"},
        training={"run_settings": anchor_by_inner_scatter(1.0), "TIE": 2.0},
        temperature={"GAP_FACTOR": 3.0, "SEPARATED_FACTOR": 1.0},
    ),
    "seeds: k-means++ only": Variant({"init": "k-means++"}),
    "seeds: Ward only": Variant({"init": "ward"}),
    "seeds: random rows only": Variant({"init": "random"}),
    "seeds: Ward of unsmoothed rows, k-means++": Variant(fit=fit_half_from(ward_centres)),
    "seeds: consensus, k-means++": Variant(fit=fit_half_from(consensus_centres)),
    "β: gap factor 3": Variant(temperature=_beta(3.0)),
    "β: gap factor 12": Variant(temperature=_beta(12.0)),
    "β: gap factor 48": Variant(temperature=_beta(48.0)),
    "β: annealed, gap factor 6 then 48": Variant(
        fitting={
            "train_runs": in_stages(
                {"beta_factor": 0.25}, {"beta_factor": 2.0, "learning_rate": 0.03}
            )
        }
    ),
    "anchor 0": Variant(training={"ANCHOR": 0.0}),
    "anchor 0.5": Variant(training={"ANCHOR": 0.5}),
    "anchor 1": Variant(training={"ANCHOR": 1.0}),
    "anchor 4": Variant(training={"ANCHOR": 4.0}),
    "anchor 1 / scatter inside": Variant(training={"run_settings": anchor_by_inner_scatter(1.0)}),
    "anchor 3 / scatter inside": Variant(training={"run_settings": anchor_by_inner_scatter(3.0)}),
    "tie 0": Variant(training={"TIE": 0.0}),
    "tie 0.5": Variant(training={"TIE": 0.5}),
    "learned weights": Variant({"weights": "learn"}),
    "objective: completion": Variant({"objective": "completion"}),
    "objective: completion, then silhouette": Variant(
        fitting={"train_runs": in_stages({"objective": "completion"}, {"objective": "silhouette"})}
    ),
    "choice: by training loss": Variant({"selection": "loss"}),
}
