"""Mixtures that go on with more rows: a step of expectation and maximisation over all that came.

What a mixture was made of follows from the mixture: sums of rows, to which those of new rows are
added. So nothing has to be kept of the rows that came before but how many there were.
"""

from __future__ import annotations

import numpy as np

from amclust import _native
from amclust._mixtures import RIDGE, SHRINKAGE, Floats, Mixture, Sums, _maximised, _pooled
from amclust._rows import Weights


def made_of(mixture: Mixture, n_rows: float, known: Floats) -> Sums:
    """Return the sums of so many rows that a mixture is made of.

    `known` are how many rows have each column, which only factors need.
    """
    count, d = mixture.means.shape
    sizes = mixture.parts * n_rows
    sums = sizes[:, None] * mixture.means
    none = np.zeros(0)
    if mixture.loadings is not None and mixture.noise is not None:
        rank = mixture.loadings.shape[1]
        squares = known[:, None, None] * np.eye(rank)
        values = known[:, None] * mixture.loadings
        noise = known * ((mixture.loadings**2).sum(axis=1) + mixture.noise)
        return Sums(sizes, sums, np.zeros((0, d, d)), squares, values, noise, known)
    outer = sizes[:, None, None] * mixture.means[:, :, None] * mixture.means[:, None, :]
    if len(mixture.covariances) == 1:
        scatter = n_rows * _unshrunk(mixture.covariances[0], 1.0, 0.0)
        squares = (scatter + outer.sum(axis=0))[None]
    else:
        prior = d + 2
        totals = mixture.covariances * (sizes + prior)[:, None, None]
        shared = _unshrunk(totals.sum(axis=0), n_rows, count * prior)
        pooled = _pooled(shared / n_rows)
        squares = totals - prior * pooled + outer
    return Sums(sizes, sums, squares, none, none, none, none)


def _unshrunk(found: Floats, n_rows: float, prior: float) -> Floats:
    """Return S where `found` is S + prior * _pooled(S / n_rows), or _pooled(S) without a prior."""
    diagonal = np.diag(found)
    if not prior:
        scatter = found / (1 - SHRINKAGE)
        np.fill_diagonal(scatter, diagonal - RIDGE)
        return scatter
    scatter = found / (1 + prior * (1 - SHRINKAGE) / n_rows)
    np.fill_diagonal(scatter, (diagonal - prior * RIDGE) / (1 + prior / n_rows))
    return scatter


def with_more_rows(
    mixture: Mixture,
    rows: _native.Rows,
    weights: Weights | None,
    *,
    n_before: float,
    known_before: Floats,
    n_rows: float,
    threads: int,
) -> Mixture:
    """Return the mixture of rows that came before and of new ones, which stand for `n_rows`."""
    old = made_of(mixture, n_before, known_before)
    seen = _native.gaussian_sums(rows, mixture.memories, None, weights, threads)
    factor = n_rows / seen.weight
    found = [getattr(old, name) + factor * getattr(seen, name) for name in _own(mixture)]
    return _maximised(mixture, old._replace(**dict(zip(_own(mixture), found, strict=True))))


def _own(mixture: Mixture) -> tuple[str, ...]:
    """Return which sums a mixture of this kind is made of."""
    if mixture.loadings is None:
        return ("sizes", "sums", "squares")
    return (
        "sizes",
        "sums",
        "factor_squares",
        "factor_values",
        "value_squares",
        "column_weights",
    )


def in_new_units(mixture: Mixture, shift: Floats, factor: Floats) -> Mixture:
    """Return a mixture of points x as one of (x - shift) * factor."""
    means = (mixture.means - shift) * factor
    if mixture.loadings is not None and mixture.noise is not None:
        loadings = np.ascontiguousarray(mixture.loadings * factor[:, None])
        mixture = mixture._replace(loadings=loadings, noise=mixture.noise * factor**2)
        return mixture._replace(means=means, likelihood=None)
    covariances = mixture.covariances * factor[:, None] * factor
    return mixture._replace(means=means, covariances=covariances, likelihood=None)
