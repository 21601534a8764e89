"""The silhouette that ranks restarts and that `score` gives: one rule for the rows it looks at."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._rows import (
    DrawnRows,
    Indices,
    Places,
    TableRows,
    TableSource,
    Weights,
    draw_places,
    observed_weights,
)

# Up to this many rows the silhouette is exact; above, it is of a fixed sample.
EXACT_ROWS = 10_000
SAMPLED_ROWS = 2_048


def sample_rows(n_rows: int, max_rows: int = EXACT_ROWS) -> Indices:
    """Return the places of all rows, or of the sample that stands for more than `max_rows`."""
    if n_rows <= max_rows:
        return np.arange(n_rows)
    return draw_places(n_rows, min(SAMPLED_ROWS, max_rows), 0)


@dataclass(frozen=True, eq=False)
class Judged:
    """The rows on which partitions are judged."""

    indices: Indices
    counts: Weights  # how many rows each stands for
    is_sample: bool  # whether they stand for others too

    def some(self, max_rows: int = SAMPLED_ROWS) -> Judged:
        """Return a sample of them, which is cheaper to judge by; rows that stand for many stay."""
        if len(self.indices) <= max_rows:
            return self
        heavy = self.counts * max_rows > self.counts.sum(dtype=np.float64)
        others = np.flatnonzero(~heavy)
        left = max_rows - int(np.count_nonzero(heavy))
        sample = others[np.random.default_rng(0).permutation(len(others))[:left]]
        kept = np.sort(np.r_[np.flatnonzero(heavy), sample])
        return Judged(self.indices[kept], self.counts[kept], True)


def judged_places(n_counted: int) -> Indices | None:
    """Return which of the rows that count partitions are judged on; None: all of them."""
    return sample_rows(n_counted) if n_counted > EXACT_ROWS else None


def judge_on(drawn: DrawnRows) -> Judged:
    """Return the rows on which partitions are judged, of those that were drawn.

    Rows that are the same are judged as one that counts as many: neither copies nor the order of
    rows change anything, to the last bit.
    """
    weights, indices = drawn.sample_weight, drawn.judged
    if weights is not None:
        weights = np.ascontiguousarray(weights if indices is None else weights[indices])
    return Judged(*drawn.rows.distinct(indices, weights), drawn.n_counted > EXACT_ROWS)


def judged_rows(rows: TableRows, sample_weight: Weights | None) -> Judged:
    """Return the rows on which the partitions of a table are judged: those that have values."""
    source = TableSource(rows.X, observed_weights(rows.X, sample_weight)[0])
    return judge_on(source.draw(lambda size: Places(None, judged_places(size.n_counted))))


def silhouettes(
    rows: _native.Rows, judged: Judged, labels: NDArray[np.int32], threads: int
) -> NDArray[np.float64]:
    """Return the silhouette of each partition (n_partitions, n_indices); NaN for one cluster.

    Where values are missing, two rows are compared by the features that both have. Rows of label -1
    are in no cluster and left out.
    """
    if labels.min(initial=0) < 0:
        found = []
        for partition in labels:
            kept = np.flatnonzero(partition >= 0)
            some = dataclasses.replace(
                judged, indices=judged.indices[kept], counts=judged.counts[kept]
            )
            value = np.full(1, np.nan)
            if len(kept):
                value = silhouettes(rows, some, partition[None, kept], threads)
            found.append(value)
        return np.concatenate(found)
    if labels.max(initial=0) >= labels.size:  # more clusters than rows, or numbers of the user's
        _, numbers = np.unique(labels, return_inverse=True)
        labels = numbers.reshape(labels.shape).astype(np.int32)
    labels = np.ascontiguousarray(labels, dtype=np.int32)
    n_clusters = int(labels.max(initial=0)) + 1
    return _native.silhouette(rows, judged.indices, judged.counts, labels, n_clusters, threads)
