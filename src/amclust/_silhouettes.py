"""Silhouettes of single rows, in the distances of a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._config import n_threads
from amclust._plane import fitted_network
from amclust._training import EXACT_SILHOUETTE_ROWS, SAMPLED_SILHOUETTE_ROWS


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
    kinds, own = np.unique(labels[rows], return_inverse=True)
    values[rows] = _native.silhouette_values(
        data, rows, None, own.astype(np.int32), len(kinds), n_threads(model.n_jobs)
    )
    return values
