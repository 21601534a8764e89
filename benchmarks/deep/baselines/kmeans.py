"""Autoencoder + k-means: the latent rows as they are."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.deep.baselines.fitted import Fitted, k_means
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings


def autoencoder_k_means(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Cluster the latent rows; the autoencoder stays as it is."""
    found = k_means(autoencoder.latent(X), n_clusters, seed)
    return Fitted(found.labels_, autoencoder, torch.from_numpy(found.cluster_centers_))
