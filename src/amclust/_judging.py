"""How good partitions are, and which run is the best."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust._network import Network, Want
from amclust._runs import TrainedRun
from amclust._silhouettes import Judged, silhouettes
from amclust.backends import TrainingSet


class Judgement(NamedTuple):
    """How good a partition is."""

    silhouette: float  # NaN: of a single cluster
    n_nonempty: int
    largest_share: float
    beta: float  # of the network, in core units


def judge(
    data: TrainingSet, networks: Iterable[Network], judged: Judged | None = None
) -> list[Judgement]:
    """Judge the partitions that networks make of the rows to judge by, or of other ones."""
    rows, judged = data.rows_to_judge(judged or data.judged)
    counts, partitions, others, n_clusters = judged.counts, [], [], 1
    for network in networks:
        labels = network.core_labels(rows, indices=judged.indices, n_jobs=data.threads)
        inside = labels >= 0  # the others are noise
        of_clusters = np.bincount(labels[inside], counts[inside], minlength=1)
        n_nonempty = len(np.unique(labels[inside]))
        if n_nonempty < network.n_clusters and judged.is_sample:
            # The others may have rows outside of the sample.
            found = network.infer(
                data.labelled_rows, Want.COUNTS, indices=data.indices, n_jobs=data.threads
            )
            n_nonempty = len(np.unique(network.assembly[np.flatnonzero(found.counts)]))
        partitions.append(labels)
        share = float(of_clusters.max() / counts.sum(dtype=np.float64))
        others.append((n_nonempty, share, network.beta))
        n_clusters = max(n_clusters, network.n_clusters)
    scores = np.full(len(partitions), np.nan)
    if n_clusters > 1:
        scores = silhouettes(rows, judged, np.stack(partitions), data.threads)
    return [Judgement(float(score), *rest) for score, rest in zip(scores, others, strict=True)]


def judge_runs(data: TrainingSet, runs: list[TrainedRun]) -> None:
    """Fill in every run's silhouette, its non-empty clusters and the share of the largest one."""
    found = judge(data, (run.network(data.geometry) for run in runs))
    for run, judgement in zip(runs, found, strict=True):
        run.silhouette, run.n_nonempty, run.largest_share, _ = judgement


def choose_run(runs: list[TrainedRun], selection: str) -> int:
    """Return the best of runs with the same number of clusters."""
    n_nonempty, found, losses = np.array(
        [(run.n_nonempty, run.silhouette, run.record.loss) for run in runs]
    ).T
    return int(order_runs(-n_nonempty, found, losses, selection)[0])


def order_runs(
    n_empty: NDArray[Any], silhouettes: NDArray[Any], losses: NDArray[Any], selection: str
) -> NDArray[np.int64]:
    """Return the places of runs, the best first.

    One with fewer empty clusters always goes before one with more.
    """
    scores = -losses
    if selection == "silhouette":
        scores = np.where(np.isnan(silhouettes), scores, silhouettes)
    return np.lexsort((-scores, n_empty))
