"""Silhouettes of single rows, in the distances of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._plane import fitted_network
from amclust._training import EXACT_SILHOUETTE_ROWS, SAMPLED_SILHOUETTE_ROWS

# Cells of the distances that are held at a time.
BLOCK_CELLS = 2**22


def silhouette_values(
    model: Any, X: Any, labels: Any = None, *, max_rows: int = EXACT_SILHOUETTE_ROWS
) -> NDArray[np.float64]:
    """Return the silhouette of each row, in the model's metric and scaling.

    As in `ClAM.score`, whose value is their mean, two rows with missing values are compared by the
    features that both have.

    Parameters
    ----------
    model : ClAM or ClAMSearch
        A fitted estimator.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows; NaN where a value is missing.

    labels : array-like of shape (n_samples,), default=None
        Any partition of the rows (that of k-means, say); None: ``model.predict(X)``.

    max_rows : int, default=10_000
        With more rows than this, a fixed sample of 2,048 of them (at most `max_rows`) stands for
        all; the values of the others are NaN.

    Returns
    -------
    values : ndarray of shape (n_samples,)
        Between -1 and 1; 0 for a row alone in its cluster, and where there is only one cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from amclust import ClAM
    >>> from amclust._silhouettes import silhouette_values
    >>> X = np.array([[0.0], [1.0], [9.0], [10.0]])
    >>> model = ClAM(2, random_state=0).fit(X)
    >>> silhouette_values(model, X).round(2)
    array([0.89, 0.88, 0.88, 0.89])
    """
    model = fitted_network(model)
    labels = model.predict(X) if labels is None else labels
    X = model._validate(X)
    data = model._dataset(X)
    labels = np.asarray(labels)
    if labels.shape != (data.rows,):
        msg = f"labels must have shape ({data.rows},), one for each row of X, got {labels.shape}."
        raise ValueError(msg)
    rows = np.arange(data.rows)
    if len(rows) > max_rows:
        count = min(SAMPLED_SILHOUETTE_ROWS, max_rows)
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:count])
    values = np.full(data.rows, np.nan)
    values[rows] = _silhouettes(_native.load_rows(data, rows), labels[rows])
    return values


def _silhouettes(rows: NDArray[np.float32], labels: NDArray[Any]) -> NDArray[np.float64]:
    present = ~np.isnan(rows)
    kinds, own = np.unique(labels, return_inverse=True)
    members = np.eye(len(kinds))[own]
    n = len(rows)
    values = np.zeros(n)
    whole = present.all()
    # Zero where missing: products then run over what two rows have in common.
    here = np.where(present, rows, 0.0).astype(np.float64)
    squares, there = here**2, present.astype(np.float64)
    lengths, sizes = squares.sum(axis=1), members.sum(axis=0)
    step = max(1, BLOCK_CELLS // n)
    for start in range(0, n, step):
        block = slice(start, start + step)
        products = here[block] @ here.T
        if whole:
            square = lengths[block, None] + lengths - 2 * products
            counts = np.broadcast_to(sizes, (len(square), len(sizes)))
        else:
            square = squares[block] @ there.T + there[block] @ squares.T - 2 * products
            meet = there[block] @ there.T
            square *= rows.shape[1] * (meet > 0) / np.maximum(meet, 1.0)
            counts = (meet > 0).astype(np.float64) @ members
        distances = np.sqrt(np.maximum(square, 0.0))
        # A row is not its own neighbour; rounding would leave it at a distance.
        distances[np.arange(len(distances)), np.arange(n)[block]] = 0.0
        others = counts - members[block]
        values[block] = _compared(distances @ members, others, own[block])
    return values


def _compared(
    totals: NDArray[np.float64], counts: NDArray[np.float64], own: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return silhouettes from the summed distances to every cluster, and to how many rows."""
    means = np.divide(totals, counts, out=np.full_like(totals, np.inf), where=counts > 0)
    each = np.arange(len(own))
    inside = means[each, own]
    means[each, own] = np.inf
    outside = means.min(axis=1)
    larger = np.maximum(inside, outside)
    judged = np.isfinite(larger) & (larger > 0)
    values = np.zeros(len(own))
    values[judged] = (outside[judged] - inside[judged]) / larger[judged]
    return values
