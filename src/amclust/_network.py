"""What a fitted network says about rows; the part of ClAM that does not train."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from amclust import _native
from amclust._config import n_threads
from amclust._training import EXACT_SILHOUETTE_ROWS, SAMPLED_SILHOUETTE_ROWS
from amclust._units import Units, Whitening, make_dataset
from amclust._validation import check_numeric_columns, check_statistics, name_column


class NetworkMethods(TransformerMixin, ClusterMixin):
    """Labels, memberships, energy and recall from the fitted memories."""

    n_clusters: Any
    metric: str
    n_steps: int
    step_size: float
    n_jobs: int | None
    # Set by a fit.
    n_clusters_: int
    n_clusters_evidence_: NDArray[np.void]
    # The network in the core's units:
    _memories: NDArray[np.float32]
    _log_weights: NDArray[np.float32]
    _beta: float
    _offset: NDArray[np.float64]
    _fitted_metric: str
    _trained_objective: str
    _scale: NDArray[np.float32]
    _length: float
    _fill: NDArray[np.float32]
    _whitening: Whitening
    _dtype: str

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster that the dynamics carries each row to.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; NaN where a value is missing.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the memory each row falls to.
        """
        return self._ask(X, "labels")

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit and return the labels of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's loss.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row.
        """
        labels: NDArray[np.int32] = self.fit(X, sample_weight=sample_weight).labels_
        return labels

    def transform(self, X: Any) -> Any:
        """Return the distances of rows to the memories.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; missing values are filled by the network first.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances in the metric of the estimator (for "cosine", 1 - cosine similarity).
        """
        squares = self._ask(X, "square_distances")
        if self._metric == "cosine":
            return squares
        return np.sqrt(squares) * squares.dtype.type(self._units().length)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit and return the distances of the rows to the memories.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's loss.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances to the memories.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the memberships of rows: how strongly each memory attracts them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        memberships : ndarray of shape (n_samples, n_clusters)
            Positive numbers that sum to 1 in every row.
        """
        return self._ask(X, "memberships")

    def energy(self, X: Any) -> NDArray[Any]:
        """Return the energy of rows: low near a memory, high far from all of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        energy : ndarray of shape (n_samples,)
            ``-1/beta * log(sum_m weight_m * exp(-beta * |rho_m - x|^2))``.
        """
        energy = self._ask(X, "energy")
        return energy * energy.dtype.type(self._units().length ** 2)

    def entropy(self, X: Any) -> NDArray[Any]:
        """Return the entropy of the memberships; 0 means the nearest memory decides alone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        entropy : ndarray of shape (n_samples,)
            Between 0 and ``log(n_clusters)``.
        """
        return self._ask(X, "entropy")

    def recall(self, X: Any, *, return_trajectory: bool = False) -> Any:
        """Let the dynamics act on rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows; missing values are filled by the network first.

        return_trajectory : bool, default=False
            Also return the states in between.

        Returns
        -------
        states : ndarray of shape (n_samples, n_features)
            Where the rows are after `n_steps` steps.

        trajectory : ndarray of shape (n_steps + 1, n_samples, n_features)
            All states, the start first. Only with ``return_trajectory=True``.
        """
        if not return_trajectory:
            return self._points(self._ask(X, "state"))
        trajectory = self._points(self._ask(X, "trajectory"))
        return trajectory[-1].copy(), trajectory

    def complete(self, X: Any) -> Any:
        """Fill the missing values of rows; all other values stay exactly as they are.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows with NaN where a value is missing.

        Returns
        -------
        completed : same type as X, of shape (n_samples, n_features)
            A copy of `X` with the NaN filled.

        Examples
        --------
        >>> import numpy as np
        >>> from amclust import ClAM
        >>> X = np.array([[0.0, 0.0], [0.1, 0.1], [5.0, 5.0], [5.1, 4.9]])
        >>> model = ClAM(n_clusters=2, random_state=0).fit(X)
        >>> model.complete([[5.05, np.nan]]).round(0)
        array([[5., 5.]])
        """
        frame = X if hasattr(X, "columns") else None
        X = self._validate(X)
        dense = X.toarray() if sparse.issparse(X) else X
        missing = np.isnan(dense)
        rows = np.flatnonzero(missing.any(axis=1))
        completed = np.array(dense)
        data = self._dataset(X)  # refuses what cannot be a row, holes or not
        if len(rows):
            # Trained by completion, the network completes from the mask value.
            from_observed = self._trained_objective != "completion"
            found = self._infer(
                data, ["filled", "row_scale"], rows, fill_from_observed=from_observed
            )
            filled = found["filled"]
            if self._metric == "cosine":
                filled = filled * found["row_scale"][:, None]
            values = self._outward(filled).astype(dense.dtype)
            completed[rows] = np.where(missing[rows], values, dense[rows])
        if sparse.issparse(X):
            return type(X)(completed)
        return completed if frame is None else _filled_frame(frame, completed, missing.any(axis=0))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the silhouette of the partition of the rows (higher is better).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            Exact up to 10,000 rows, on a fixed sample of them above; -1 where all rows fall to
            one memory.
        """
        X = self._validate(X)
        data = self._dataset(X)
        rows = np.arange(data.rows)
        weights = sample_weight
        if weights is not None:
            weights = _check_sample_weight(weights, X, dtype=np.float32, ensure_non_negative=True)
        if len(rows) > EXACT_SILHOUETTE_ROWS:
            rows = np.sort(np.random.default_rng(0).permutation(rows)[:SAMPLED_SILHOUETTE_ROWS])
            weights = None if weights is None else np.ascontiguousarray(weights[rows])
        labels = self._infer(data, ["labels"], rows)["labels"]
        (value,) = _native.silhouette(
            data, rows, weights, labels[None], len(self._memories), n_threads(self.n_jobs)
        )
        return -1.0 if np.isnan(value) else float(value)

    # --- shared ---------------------------------------------------------------------------------

    @property
    def _metric(self) -> str:
        """What the core computes: Mahalanobis distances are Euclidean after whitening."""
        return "cosine" if self._fitted_metric == "cosine" else "euclidean"

    def _units(self) -> Units:
        return Units(self._metric, self._offset, self._scale, self._fill, self._length)

    def _validate(self, X: Any, *, reset: bool = False) -> Any:
        if not reset:
            check_is_fitted(self)
        check_numeric_columns(X)
        if isinstance(X, np.ma.MaskedArray):
            floats = np.result_type(X.dtype, np.float32)
            X = np.where(np.ma.getmaskarray(X), np.nan, X.data).astype(floats)
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
        if reset:
            self._dtype = X.dtype.name
        return X

    def _whitenable(self, X: Any) -> NDArray[Any]:
        if sparse.issparse(X):
            msg = "metric='mahalanobis' needs a dense X, got a sparse matrix."
            raise ValueError(msg)
        names = getattr(self, "feature_names_in_", None)
        if not np.isfinite(X).all():
            row, column = np.argwhere(~np.isfinite(X))[0]
            msg = (
                f"metric='mahalanobis' takes no missing or infinite values, got {X[row, column]} "
                f"in row {row}, {name_column(int(column), names)}. Use metric='euclidean'."
            )
            raise ValueError(msg)
        return X

    def _dataset(self, X: Any) -> _native.Dataset:
        """Wrap validated rows for the core, in the units of the fit."""
        data = make_dataset(X)
        stats = _native.statistics(data, None, None, n_threads(self.n_jobs))
        names = getattr(self, "feature_names_in_", None)
        if self._fitted_metric == "mahalanobis":
            X = self._whitenable(X)
        check_statistics(stats, names, data.rows, self._metric, fitting=False)
        if self._fitted_metric == "mahalanobis":
            data = make_dataset(self._whitening.apply(X))
        data.has_missing = stats["missing"] > 0
        data.set_units(self._metric, self._offset, self._scale)
        return data

    def _infer(
        self,
        data: _native.Dataset,
        want: list[str],
        rows: NDArray[np.int64] | None = None,
        *,
        fill_from_observed: bool = True,
    ) -> dict[str, Any]:
        return _native.infer(
            data,
            rows,
            self._fill,
            self._memories,
            self._log_weights,
            self._beta,
            float(self.step_size),
            int(self.n_steps),
            want,
            n_threads(self.n_jobs),
            fill_from_observed,
        )

    def _ask(self, X: Any, what: str) -> NDArray[Any]:
        X = self._validate(X)
        found = self._infer(self._dataset(X), [what])[what]
        return found if found.dtype == np.int32 else found.astype(X.dtype, copy=False)

    def _points(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring points of the core back to the table, in their own type."""
        return self._outward(values).astype(values.dtype, copy=False)

    def _outward(self, values: NDArray[Any]) -> NDArray[Any]:
        points = self._units().outward(values)
        return self._whitening.undo(points) if self._fitted_metric == "mahalanobis" else points


def _filled_frame(frame: Any, values: NDArray[Any], columns: NDArray[np.bool_]) -> Any:
    """Return a copy of a data frame with some columns replaced; the others keep their types."""
    if hasattr(frame, "isetitem"):  # pandas
        filled = frame.copy()
        for j in np.flatnonzero(columns):
            filled.isetitem(int(j), values[:, j])
        return filled
    names = frame.columns  # polars
    made = frame.__class__(values, schema=list(names))
    return frame.with_columns([made[names[j]] for j in np.flatnonzero(columns)])
