"""What is said of a clustering."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from torch import Tensor

from benchmarks.data import IntArray
from benchmarks.quality.scoring import silhouettes


def accuracy(classes: IntArray, labels: IntArray) -> float:
    """Give the share of rows in the right class, clusters and classes matched at their best."""
    counts = contingency_matrix(classes, labels)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / len(labels))


def agreement(classes: IntArray, labels: IntArray) -> dict[str, float]:
    """Compare a partition with the classes."""
    return {
        "nmi": float(normalized_mutual_info_score(classes, labels)),
        "ari": float(adjusted_rand_score(classes, labels)),
        "accuracy": accuracy(classes, labels),
    }


def silhouette(latent: Tensor, labels: IntArray) -> float:
    """Give the exact silhouette of a partition of latent rows; NaN for a single cluster."""
    rows = np.ascontiguousarray(latent.numpy(), dtype=np.float64)
    return float(silhouettes(rows, labels[None])[0])
