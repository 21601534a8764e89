"""DeepClAM, started from an autoencoder that is handed over."""

from __future__ import annotations

import math
import warnings

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from benchmarks.availability import UnavailableError
from benchmarks.deep.baselines.fitted import Fitted
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings


def deep_clam(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Train with the estimator's defaults, for as many batches as the others have at most."""
    try:
        from amclust.torch import DeepClAM
    except ImportError as error:
        message = f"this amclust has no DeepClAM: {error}"
        raise UnavailableError(message) from error
    n_batches = math.ceil(len(X) / settings.batch_size)
    model = DeepClAM(
        n_clusters,
        autoencoder.encoder,
        autoencoder.decoder,
        pretrain_epochs=0,
        max_epochs=math.ceil(settings.updates / n_batches),
        batch_size=settings.batch_size,
        random_state=seed,
    )
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
