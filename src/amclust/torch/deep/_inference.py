"""What a fitted DeepClAM says about rows; the part that does not train."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import Tensor

from amclust._validation import check_numeric_columns
from amclust.torch.deep._network import DeepNetwork, silhouette


def assign(network: DeepNetwork, rows: Tensor) -> Tensor:
    """Return the memory that every row falls to."""
    return network.memory.assign(network.encoder(rows)).to(torch.int32)


class DeepMethods(TransformerMixin, ClusterMixin):
    """Labels, memberships, latent rows and recall from the fitted network."""

    # Set by a fit.
    _network: DeepNetwork

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster that the dynamics carries each latent row to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the memory each row falls to.
        """
        X = self._validate(X)
        return self._network.ask(assign, X)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the memberships of rows: how strongly each memory attracts their latent rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        memberships : ndarray of shape (n_samples, n_clusters)
            Numbers that sum to 1 in every row.
        """
        X = self._validate(X)
        return self._network.ask(lambda net, rows: net.memory.memberships(net.encoder(rows)), X)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the latent rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        latents : ndarray of shape (n_samples, latent_dim)
            What the encoder makes of the rows.
        """
        X = self._validate(X)
        return self._network.ask(lambda net, rows: net.encoder(rows), X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the rows that latent rows stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, latent_dim)
            Latent rows.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            What the decoder makes of them.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=np.float32, input_name="X", estimator=self)
        if X.shape[1] != self._network.memory.dim:
            msg = f"X has {X.shape[1]} columns, latent rows have {self._network.memory.dim}."
            raise ValueError(msg)
        return self._network.ask(lambda net, latents: net.decoder(latents), X)

    def recall(self, X: Any) -> NDArray[Any]:
        """Return what is left of rows after the memory: ``decoder(recall(encoder(x)))``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        recalled : ndarray of shape (n_samples, n_features)
            Rows close to the prototypes of their clusters.
        """
        X = self._validate(X)
        return self._network.ask(lambda net, rows: net.decoder(net.memory(net.encoder(rows))), X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the silhouette of the clusters of the rows in latent space (higher is better).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Exact up to 10,000 rows, on a fixed sample of them above; -1 where all rows fall to
            one memory.
        """
        X = self._validate(X)
        latents = self._network.ask(lambda net, rows: net.encoder(rows), X)
        labels = self._network.ask(lambda net, latents: net.memory.assign(latents), latents)
        value = silhouette(latents, labels)
        return -1.0 if np.isnan(value) else value

    # --- shared ---------------------------------------------------------------------------------

    def _validate(self, X: Any, *, reset: bool = False) -> NDArray[Any]:
        if not reset:
            check_is_fitted(self)
        check_numeric_columns(X)
        return validate_data(self, X, reset=reset, dtype=np.float32, order="C")
