"""DeepClAM, started from an autoencoder that is handed over."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from amclust.torch import DeepClAM
from benchmarks.deep.baselines.fitted import Fitted
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings


def deep_clam(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Train with the estimator's defaults, on no more batches than the others."""
    n_batches = math.ceil(len(X) / settings.batch_size)
    model = DeepClAM(
        n_clusters,
        autoencoder.encoder,
        autoencoder.decoder,
        pretrain_epochs=0,
        batch_size=settings.batch_size,
        random_state=seed,
    )
    model.max_epochs = min(model.max_epochs, settings.updates // n_batches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X.numpy())
    trained = Autoencoder(model.encoder_, model.decoder_)
    with torch.no_grad():
        recalled = model.memory_(trained.latent(X))
    return Fitted(
        model.labels_,
        trained,
        torch.from_numpy(model.cluster_centers_),
        recalled,
        updates=model.n_iter_ * n_batches,
    )


def defaults() -> dict[str, Any]:
    """Give the parameters of the estimator, since results change with them."""
    parameters: dict[str, Any] = DeepClAM().get_params()
    return parameters
