"""What a method gives back, and the k-means that most of them begin with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from sklearn.cluster import KMeans
from torch import Tensor

from benchmarks.data import IntArray
from benchmarks.deep.pretrained import Autoencoder

K_MEANS_RESTARTS = 20


@dataclass(frozen=True)
class Fitted:
    """A clustering of latent rows.

    Attributes
    ----------
    labels : ndarray of int
        One a row.
    autoencoder : Autoencoder
        As the method left it.
    centers : Tensor of shape (n_clusters, latent_dim)
        In the latent space.
    recalled : Tensor or None
        The latent rows where the method's dynamics carries them, if it has one.
    updates : int
        Batches that were trained on.
    """

    labels: IntArray
    autoencoder: Autoencoder
    centers: Tensor
    recalled: Tensor | None = None
    updates: int = 0


def k_means(latent: Tensor, n_clusters: int, seed: int) -> KMeans:
    """Cluster latent rows, the best of 20 restarts."""
    return KMeans(n_clusters, n_init=K_MEANS_RESTARTS, random_state=seed).fit(latent.numpy())


def k_means_centers(latent: Tensor, n_clusters: int, seed: int) -> Tensor:
    """Give the centres of `k_means`."""
    return torch.from_numpy(k_means(latent, n_clusters, seed).cluster_centers_).to(latent.dtype)
