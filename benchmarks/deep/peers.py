"""The peers of DeepClAM, as published, on an autoencoder that is handed over.

autoencoder + k-means   the latent rows as they are
autoencoder + graph     the seeding of DeepClAM: what it starts with, before anything is trained
DEC   deep embedded clustering (Xie, Girshick, Farhadi, ICML 2016): encoder and centres minimise
      the divergence alone, by gradient descent with momentum; the decoder is left behind
IDEC  improved DEC (Guo, Gao, Liu, Yin, IJCAI 2017): reconstruction error + 0.1 KL(p ‖ q), by Adam
DCEC  deep convolutional embedded clustering (Guo, Liu, Zhu, Yin, ICONIP 2017): the loss of IDEC
      on the autoencoder of `amclust.torch.autoencoders.convolutional`

The last three have in common: latent rows z and centres μ have the similarities of a Student t
distribution with one degree of freedom, q_ij ∝ 1 / (1 + ‖z_i − μ_j‖²). The target
p_ij ∝ q_ij² / Σ_i q_ij sharpens them, and is drawn up anew every few batches; in between KL(p ‖ q)
is minimised, in encoder and centres.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn.functional import kl_div, mse_loss

from amclust.torch.deep._seeding import seed_by_graph
from benchmarks.data import IntArray
from benchmarks.deep.pretrained import Autoencoder, Settings

K_MEANS_RESTARTS = 20
GAMMA = 0.1

_sgd = partial(torch.optim.SGD, lr=0.01, momentum=0.9)
_adam = partial(torch.optim.Adam, lr=1e-3, fused=True)


@dataclass(frozen=True)
class Fitted:
    """A clustering of latent rows, with the autoencoder and the centres as the method left them.

    `recalled` are the latent rows where the method's dynamics carries them, if it has one, and
    `updates` the batches that were trained on.
    """

    labels: IntArray
    autoencoder: Autoencoder
    centers: Tensor
    recalled: Tensor | None = None
    updates: int = 0


# --- methods: from an autoencoder of their own, rows, number of clusters, seed and settings -------


def autoencoder_k_means(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Cluster the latent rows; the autoencoder stays as it is."""
    found = _k_means(autoencoder.latent(X), n_clusters, seed)
    return Fitted(found.labels_, autoencoder, torch.from_numpy(found.cluster_centers_))


def autoencoder_graph(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Cluster the graph of neighbours among the latent rows; the autoencoder stays as it is."""
    found = seed_by_graph(autoencoder.latent(X).numpy(), n_clusters, "auto", seed)
    assert found.targets is not None
    return Fitted(found.targets.argmax(dim=1).numpy(), autoencoder, found.memories)


def _embedded(make_centers: Callable[..., Tensor], **options: Any) -> Callable[..., Fitted]:
    """Make a method of the first centres, from autoencoder, rows, k and seed, and a loss."""

    def fit(
        autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
    ) -> Fitted:
        centers = make_centers(autoencoder, X, n_clusters, seed)
        return fit_embedded(autoencoder, X, centers, seed, settings, **options)

    return fit


# --- what they are made of ------------------------------------------------------------------------


def _k_means(latent: Tensor, n_clusters: int, seed: int) -> KMeans:
    return KMeans(n_clusters, n_init=K_MEANS_RESTARTS, random_state=seed).fit(latent.numpy())


def k_means_centers(autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int) -> Tensor:
    """Give the centres of k-means, the best of 20 restarts."""
    latent = autoencoder.latent(X)
    return torch.from_numpy(_k_means(latent, n_clusters, seed).cluster_centers_).to(latent.dtype)


def random_centers(autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return autoencoder.latent(X[torch.randperm(len(X), generator=generator)[:n_clusters]])


def similarities(latent: Tensor, centers: Tensor) -> Tensor:
    weights = 1.0 / (1.0 + (latent[:, None] - centers).square().sum(-1))
    return weights / weights.sum(1, keepdim=True)


def target_distribution(q: Tensor) -> Tensor:
    """Give p: q sharpened, with large clusters held back; rows that sum to one."""
    weights = q.square() / q.sum(0)
    return weights / weights.sum(1, keepdim=True)


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """Give KL(p ‖ q), the mean over the rows."""
    return kl_div(q.log(), p, reduction="batchmean")


def fit_embedded(
    autoencoder: Autoencoder,
    X: Tensor,
    centers: Tensor,
    seed: int,
    settings: Settings,
    *,
    make_optimizer: Callable[[Iterable[Tensor]], torch.optim.Optimizer],
    gamma: float = 1.0,
    reconstruct: bool = False,
) -> Fitted:
    """Minimise γ KL(p ‖ q), plus the mean squared error of the reconstruction where asked for.

    The autoencoder is trained in place, without reconstruction its encoder alone. In the end every
    row has the label of its nearest centre.
    """
    centers = nn.Parameter(centers.clone())
    modules = autoencoder if reconstruct else autoencoder[:1]
    optimizer = make_optimizer([centers, *(p for module in modules for p in module.parameters())])
    batches = _batches(len(X), settings.batch_size, torch.Generator().manual_seed(seed))
    target, labels = _targets(autoencoder, X, centers)
    for update in count():
        if update and update % settings.update_interval == 0:
            before = labels
            target, labels = _targets(autoencoder, X, centers)
            if (labels != before).float().mean() < settings.tolerance:
                break
        if update == settings.updates:
            break
        rows = next(batches)
        latent = autoencoder.encoder(X[rows])
        loss = gamma * divergence(target[rows], similarities(latent, centers))
        if reconstruct:
            loss = loss + mse_loss(autoencoder.decoder(latent), X[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    _, labels = _targets(autoencoder, X, centers)
    return Fitted(labels.numpy(), autoencoder, centers.detach(), updates=update)


def _targets(autoencoder: Autoencoder, X: Tensor, centers: Tensor) -> tuple[Tensor, Tensor]:
    q = similarities(autoencoder.latent(X), centers.detach())
    return target_distribution(q), q.argmax(1)


def _batches(n_rows: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Go through the rows again and again, each time in another order."""
    while True:
        yield from torch.randperm(n_rows, generator=generator).split(batch_size)


dec = _embedded(k_means_centers, make_optimizer=_sgd)
dec_random = _embedded(random_centers, make_optimizer=_sgd)
idec = _embedded(k_means_centers, make_optimizer=_adam, gamma=GAMMA, reconstruct=True)
# The same loss with the same weight; what differs is the autoencoder it is defined with.
dcec = idec
