"""DCEC: deep convolutional embedded clustering (Guo, Liu, Zhu, Yin, ICONIP 2017).

The loss of IDEC with its own weight, on a convolutional autoencoder (see
`amclust.torch.autoencoders.convolutional`, which is the published one for images of any size).
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from benchmarks.deep.baselines.embedded import fit_embedded
from benchmarks.deep.baselines.fitted import Fitted, k_means_centers
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings

GAMMA = 0.1

_adam = partial(torch.optim.Adam, lr=1e-3, fused=True)


def dcec(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Start from the centres of k-means, train all layers and the centres at once."""
    return fit_embedded(
        autoencoder,
        X,
        k_means_centers(autoencoder.latent(X), n_clusters, seed),
        seed,
        settings,
        make_optimizer=_adam,
        gamma=GAMMA,
        reconstruct=True,
    )
