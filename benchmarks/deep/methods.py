"""The methods, in the order in which they are shown."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from amclust.torch import DeepClAM
from benchmarks.deep.peers import (
    Fitted,
    autoencoder_graph,
    autoencoder_k_means,
    dcec,
    dec,
    dec_random,
    idec,
)
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


@dataclass(frozen=True)
class Method:
    """A way to cluster with an autoencoder.

    `autoencoder` is the kind that it is defined with (None: any), `parameters` gives, as plain
    values, what the settings do not say.
    """

    title: str
    fit: Callable[[Autoencoder, Tensor, int, int, Settings], Fitted]
    autoencoder: str | None = None
    parameters: Callable[[], dict[str, Any]] = dict

    def kind(self, chosen: str) -> str:
        """Give the kind of autoencoder it gets where another is chosen for all."""
        return self.autoencoder or chosen


K_MEANS, DEC, DCEC, DEEP_CLAM = "kmeans", "dec", "dcec", "deepclam"
METHODS = {
    K_MEANS: Method("autoencoder + k-means", autoencoder_k_means),
    DEC: Method("DEC", dec),
    "dec-random": Method("DEC, random seeds", dec_random),
    "idec": Method("IDEC", idec),
    DCEC: Method("DCEC", dcec, autoencoder="convolutional"),
    "graph": Method("autoencoder + DeepClAM's seeding", autoencoder_graph),
    DEEP_CLAM: Method("DeepClAM", deep_clam, parameters=defaults),
}
