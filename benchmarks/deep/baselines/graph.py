"""Autoencoder + the seeding of DeepClAM: what it has to start with, before anything is trained."""

from __future__ import annotations

from torch import Tensor

from amclust.torch.deep._seeding import seed_by_graph
from benchmarks.deep.baselines.fitted import Fitted
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings


def autoencoder_graph(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Cluster the graph of neighbours among the latent rows; the autoencoder stays as it is."""
    found = seed_by_graph(autoencoder.latent(X).numpy(), n_clusters, "auto", seed)
    assert found.targets is not None
    return Fitted(found.targets.argmax(dim=1).numpy(), autoencoder, found.memories)
