"""IDEC: improved deep embedded clustering (Guo, Gao, Liu, Yin, IJCAI 2017).

DEC that keeps its decoder: reconstruction error + 0.1 KL(p ‖ q), by Adam.
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


def idec(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Start from the centres of k-means, as published."""
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
