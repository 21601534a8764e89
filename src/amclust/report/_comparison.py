"""k-means beside the model: as many restarts, the same scaling, the same rule of choice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from amclust._k_means import k_means_restarts
from amclust.report._subject import Subject

# A model of a thousand restarts is compared with this many at most.
MAX_RESTARTS = 50


class Comparison(NamedTuple):
    """Two partitions of the same (sampled) rows."""

    restarts: int
    silhouette: float  # of the model's partition
    k_means_silhouette: float
    sizes: NDArray[np.int64]
    k_means_sizes: NDArray[np.int64]
    agreement: float  # adjusted Rand index
    k_means_labels: NDArray[np.int32]


def compare_with_k_means(subject: Subject) -> Comparison | None:
    """Run k-means on the rows as the model measures them; None where there is nothing to compare.

    Both partitions are judged by the silhouette that ranks the model's own runs: where values are
    missing, distances are taken over the features that two rows have in common. k-means knows no
    noise: both partitions are of the rows in clusters only.
    """
    n_clusters, kept = subject.n_clusters, subject.clustered[subject.sample]
    rows, sample = subject.scaled[kept], subject.sample[kept]
    if n_clusters < 2 or len(rows) < n_clusters:
        return None
    restarts = min(len(subject.model.runs_), MAX_RESTARTS)
    fitted = k_means_restarts(rows, n_clusters, restarts, subject.random_state)
    labels = subject.labels[sample]
    candidates = np.stack([labels, *(run.labels_ for run in fitted)])
    silhouettes = subject.network.silhouettes(
        subject.rows[sample], candidates, n_jobs=subject.n_jobs
    )
    if subject.model.selection == "silhouette":
        best = int(np.argmax(np.nan_to_num(silhouettes[1:], nan=-1.0)))
    else:
        best = int(np.argmin([run.inertia_ for run in fitted]))
    chosen = candidates[1 + best]
    return Comparison(
        restarts,
        float(silhouettes[0]),
        float(silhouettes[1 + best]),
        _sizes(labels, n_clusters),
        _sizes(chosen, n_clusters),
        float(adjusted_rand_score(labels, chosen)),
        chosen,
    )


def _sizes(labels: NDArray[np.int32], n_clusters: int) -> NDArray[np.int64]:
    return np.sort(np.bincount(labels, minlength=n_clusters))[::-1]
