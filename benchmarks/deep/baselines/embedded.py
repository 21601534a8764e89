"""Deep embedded clustering: what DEC, IDEC and DCEC have in common.

Latent rows z and centres μ have the similarities of a Student t distribution with one degree of
freedom, q_ij ∝ 1 / (1 + ‖z_i − μ_j‖²). The target p_ij ∝ q_ij² / Σ_i q_ij sharpens them, and is
drawn up anew every few batches; in between KL(p ‖ q) is minimised, in encoder and centres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count

import torch
from torch import Tensor, nn
from torch.nn.functional import kl_div, mse_loss

from benchmarks.deep.baselines.fitted import Fitted
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings

MakeOptimizer = Callable[[Iterable[Tensor]], torch.optim.Optimizer]


def similarities(latent: Tensor, centers: Tensor) -> Tensor:
    """Give q: rows that sum to one."""
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
    make_optimizer: MakeOptimizer,
    gamma: float = 1.0,
    reconstruct: bool = False,
) -> Fitted:
    """Minimise γ KL(p ‖ q), plus the mean squared error of the reconstruction where asked for.

    Parameters
    ----------
    autoencoder : Autoencoder
        Trained in place; without reconstruction its decoder stays as it is.
    X : Tensor
        The rows.
    centers : Tensor of shape (n_clusters, latent_dim)
        Where the centres start.
    seed : int
        Of the order of the rows.
    settings : Settings
        Batches, interval between targets, and when to stop.
    make_optimizer : callable
        Gives the optimizer of the parameters it is called with.
    gamma : float
        Weight of the divergence.
    reconstruct : bool
        Whether the reconstruction counts.

    Returns
    -------
    Fitted
        Every row has the label of its nearest centre.
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
    """Give the target distribution of all rows, and their labels."""
    q = similarities(autoencoder.latent(X), centers.detach())
    return target_distribution(q), q.argmax(1)


def _batches(n_rows: int, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Go through the rows again and again, each time in another order."""
    while True:
        yield from torch.randperm(n_rows, generator=generator).split(batch_size)
