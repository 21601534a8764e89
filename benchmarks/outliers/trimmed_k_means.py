"""Trimmed k-means (Cuesta-Albertos, Gordaliza, Matran 1997), as a peer, with restarts."""

import numpy as np
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import pairwise_distances

from benchmarks.data import FloatArray, IntArray

MAX_STEPS = 100


def trimmed_k_means(
    rows: FloatArray, k: int, share: float, *, restarts: int, seed: int
) -> IntArray:
    """Return clusters, -1 for what is trimmed: the best of some restarts by its own loss.

    A step assigns rows to the nearest centre, trims those that are the farthest, and averages the
    others; it ends where nothing changes. Rows are standardised before, as ClAM does it.
    """
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    random_state = np.random.RandomState(seed)
    best, found = np.inf, np.zeros(len(rows), np.int64)
    for _ in range(restarts):
        centres, _ = kmeans_plusplus(rows, k, random_state=random_state)
        before = None
        for _ in range(MAX_STEPS):
            squares = pairwise_distances(rows, centres, metric="sqeuclidean")
            labels, nearest = squares.argmin(axis=1), squares.min(axis=1)
            kept = np.argsort(nearest, kind="stable")[: len(rows) - round(share * len(rows))]
            loss = nearest[kept].sum()
            trimmed = np.full(len(rows), -1)
            trimmed[kept] = labels[kept]
            if before is not None and (trimmed == before).all():
                break
            before = trimmed
            for cluster in range(k):
                if (trimmed == cluster).any():
                    centres[cluster] = rows[trimmed == cluster].mean(axis=0)
        if loss < best:
            best, found = loss, trimmed
    return found
