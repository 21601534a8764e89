"""Mixtures read off the clusters of complete rows, without any step of expectation.

A fit to rows that lack nothing needs no regression for itself, but new rows may lack values. Where
clusters are known and nothing is missing, the likeliest memories and covariances are sums over
rows: as good as mixtures that are learned for it, and at next to no cost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from amclust._mixtures import (
    FACTOR_NOISE,
    FACTORS,
    MAX_FULL,
    RIDGE,
    TINY,
    Floats,
    Mixture,
    _pooled,
)

# With more columns nothing is learned of complete rows.
MAX_COLUMNS = 2000
# Clusters have covariances of their own if these have no more numbers; else they share one.
MAX_OWN_VALUES = 2**16
# So many errors tell how sure one can be.
ENOUGH_ERRORS = 300
# For sums over columns, directions beyond those that are wanted make these exact enough.
OVERSAMPLING, POWER_STEPS = 10, 2


def mixtures_of_clusters(Z: Floats, shares: Floats, labels: NDArray[np.int64]) -> list[Mixture]:
    """Return one memory of all rows and one for each cluster, whose answers are averaged.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        Complete rows, in units of their columns.

    shares : ndarray of shape (n_rows,)
        Their weights, with sum 1.

    labels : ndarray of shape (n_rows,)
        The cluster of each, from 0 on without a gap.

    Returns
    -------
    mixtures : list of Mixture
        With many columns only one, whose memories share a few factors.
    """
    n, d = Z.shape
    count = int(labels.max()) + 1
    members = np.zeros((count, n))
    members[labels, np.arange(n)] = shares
    sizes = members.sum(axis=1)
    parts, means = sizes / sizes.sum(), members @ Z / np.maximum(sizes, TINY)[:, None]
    apart = (Z - means[labels]) * np.sqrt(shares)[:, None]
    if d > MAX_FULL:
        return [_by_factors(parts, means, apart)]
    mean = shares @ Z
    around = (Z - mean) * np.sqrt(shares)[:, None]
    whole = Mixture(np.ones(1), mean[None], _pooled(around.T @ around)[None])
    if count == 1:
        return [whole]
    pooled = _pooled(apart.T @ apart)
    if count * d * d > MAX_OWN_VALUES:
        return [whole, Mixture(parts, means, pooled[None])]
    prior = (d + 2) / n  # as where mixtures are learned
    own = np.empty((count, d, d))
    for cluster in range(count):
        inside = apart[labels == cluster]
        own[cluster] = (inside.T @ inside + prior * pooled) / (sizes[cluster] + prior)
    return [whole, Mixture(parts, means, own)]


def _by_factors(parts: Floats, means: Floats, apart: Floats) -> Mixture:
    n, d = apart.shape
    count = max(1, min(*FACTORS, n // 3, d // 2))
    _, values, directions = randomized_svd(
        apart, count, n_oversamples=OVERSAMPLING, n_iter=POWER_STEPS, random_state=0
    )
    squares = (apart**2).sum(axis=0)
    left = max(squares.sum() - (values**2).sum(), 0.0) / d
    loadings = directions.T * np.sqrt(np.maximum(values**2 - left, RIDGE))
    noise = np.maximum(squares - (loadings**2).sum(axis=1), FACTOR_NOISE)
    return Mixture(parts, means, np.zeros((0, d, d)), np.ascontiguousarray(loadings), noise)


def errors_between_halves(Z: Floats, shares: Floats, labels: NDArray[np.int64]) -> Floats:
    """Return how many deviations values are off that are told by the others of their row.

    Half of the rows are told by what the other half teaches; of few rows each half. Of one value
    that is missing the mean and the variance follow from the precision matrix alone, for all
    values at once.
    """
    errors = [np.zeros(0)]
    half = np.arange(len(Z)) % 2
    for one in range(2):
        if len(errors[-1]) >= ENOUGH_ERRORS:
            break
        known, asked = half == one, half != one
        taught = np.unique(labels[known])
        asked &= np.isin(labels, taught)
        if known.sum() < 2 or not asked.any():
            continue
        places = np.searchsorted(taught, labels)
        own = shares[known] / max(shares[known].sum(), TINY)
        means, variances = [], []
        for mixture in mixtures_of_clusters(Z[known], own, places[known]):
            off, variance = _single_errors(mixture, Z[asked], places[asked])
            means.append(off)
            variances.append(variance)
        off = np.mean(means, axis=0)
        spread = np.mean(np.array(variances) + (np.array(means) - off) ** 2, axis=0)
        errors.append(np.abs(off / np.sqrt(spread)).ravel())
    return np.concatenate(errors)


def _single_errors(mixture: Mixture, Z: Floats, labels: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return each value less what the rest of its row tells, and the variance of that."""
    own = labels if len(mixture.means) > 1 else np.zeros_like(labels)
    apart = Z - mixture.means[own]
    if mixture.loadings is not None and mixture.noise is not None:
        scaled = mixture.loadings / mixture.noise[:, None]
        inside = np.linalg.inv(np.eye(scaled.shape[1]) + mixture.loadings.T @ scaled)
        image = apart / mixture.noise - (apart @ scaled) @ inside @ scaled.T
        diagonal = 1 / mixture.noise - ((scaled @ inside) * scaled).sum(axis=1)
        return image / diagonal, np.broadcast_to(1 / diagonal, image.shape)
    precisions = mixture.precisions
    if len(precisions) == 1:
        image, diagonal = apart @ precisions[0], np.diag(precisions[0])[None]
    else:
        image = np.empty_like(apart)
        for cluster, precision in enumerate(precisions):
            image[own == cluster] = apart[own == cluster] @ precision
        diagonal = np.diagonal(precisions, axis1=1, axis2=2)[own]
    return image / diagonal, np.broadcast_to(1 / diagonal, image.shape)
