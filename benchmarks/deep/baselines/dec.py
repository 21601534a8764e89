"""DEC: deep embedded clustering (Xie, Girshick, Farhadi, ICML 2016).

The encoder and the centres minimise the divergence alone, by stochastic gradient descent with
momentum; the decoder is left behind.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from benchmarks.deep.baselines.embedded import fit_embedded
from benchmarks.deep.baselines.fitted import Fitted, k_means_centers
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings

_sgd = partial(torch.optim.SGD, lr=0.01, momentum=0.9)


def dec(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Start from the centres of k-means, as published."""
    centers = k_means_centers(autoencoder.latent(X), n_clusters, seed)
    return fit_embedded(autoencoder, X, centers, seed, settings, make_optimizer=_sgd)


def dec_random(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Start from latent rows that are drawn at random."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randperm(len(X), generator=generator)[:n_clusters]
    centers = autoencoder.latent(X[rows])
    return fit_embedded(autoencoder, X, centers, seed, settings, make_optimizer=_sgd)
