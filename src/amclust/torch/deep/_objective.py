"""What DeepClAM minimises: a recipe of weighted terms, each a small function of one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from amclust.torch.layer import AssociativeMemory


class Batch(NamedTuple):
    """Rows and what the network made of them; a term takes from it what it needs."""

    rows: Tensor
    latents: Tensor  # encoder(rows)
    recalled: Tensor  # the latents after the steps of this epoch
    targets: Tensor | None  # memberships to agree with, if the seeding gave any
    decoder: nn.Module
    memory: AssociativeMemory
    guard: float  # what the autoencoder's own loss counts in this epoch
    unit: float  # the reconstruction loss after pre-training: what other terms are measured in


Term = Callable[[Batch], Tensor]
Recipe = Sequence[tuple[float, Term]]


def recalled_reconstruction(batch: Batch) -> Tensor:
    """Compare rows with what the decoder makes of their recalled latents: the objective proper.

    It ties the representation to the clusters, since little but the memory is left of a row.
    """
    return F.mse_loss(batch.decoder(batch.recalled), batch.rows)


def reconstruction(batch: Batch) -> Tensor:
    """Compare rows with what the decoder makes of their own latents: what the bound is on."""
    return batch.guard * F.mse_loss(batch.decoder(batch.latents), batch.rows)


def agreement(batch: Batch) -> Tensor:
    """Compare memberships with the targets (cross-entropy): rows of a cluster come together."""
    if batch.targets is None:
        return batch.rows.new_zeros(())
    memory = batch.memory
    logits = memory.energy_function.logits(batch.latents, memory.memories, memory.beta)
    return batch.unit * F.cross_entropy(logits, batch.targets)


RECIPE: Recipe = ((0.5, recalled_reconstruction), (1.0, reconstruction), (3.0, agreement))


def total_loss(batch: Batch, recipe: Recipe) -> Tensor:
    """Return the weighted sum of a recipe's terms."""
    total = batch.rows.new_zeros(())
    for weight, term in recipe:
        total = total + weight * term(batch)
    return total
