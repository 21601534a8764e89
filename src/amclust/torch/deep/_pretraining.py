"""Pre-training of an autoencoder: plain or denoising, stopped and resumed at will."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from amclust.torch.deep._network import mean_square


class PretrainingState(TypedDict):
    """Where a training stands after an epoch, beside the weights of the two modules.

    Plain values: ``torch.save`` writes them and ``torch.load(weights_only=True)`` reads them. The
    optimizer's tensors are the living ones, so save or copy the state before the next epoch.
    """

    losses: list[float]
    optimizer: dict[str, Any]
    generator: Tensor


Progress = Callable[[PretrainingState], None]


def pretrain(
    encoder: nn.Module,
    decoder: nn.Module,
    X: Tensor,
    *,
    epochs: int,
    batch_size: int = 256,
    learning_rate: float = 1e-3,
    corruption: float = 0.0,
    generator: torch.Generator,
    progress: Progress | None = None,
    start: PretrainingState | None = None,
    observed: Tensor | None = None,
) -> list[float]:
    """Minimise the mean squared error of ``decoder(encoder(x))`` with Adam, in place.

    The learning rate falls to zero along a cosine; batches are of nearly equal size. The encoder
    sees the share `corruption` of a row's entries as zero (a denoising autoencoder), the error is
    that of all, or of those that were `observed`. `generator`, on any device, draws the order of
    the rows and the corrupted entries.

    `progress` hears of every epoch, with the state; it may save that, and stop the training by
    raising. `start` is such a state: with modules that have the weights of that moment the training
    goes on as if it had not stopped, to the bit on one machine.

    Returns the mean squared error an entry in every epoch, those of `start` included, measured
    while the weights change. An error that is no longer finite raises FloatingPointError. Modules
    are left in the mode (train or eval) they had.
    """
    # The fused Adam is one pass over the weights, which are many here for the rows of a batch.
    # Weights that both have are trained once.
    parameters = list(dict.fromkeys([*encoder.parameters(), *decoder.parameters()]))
    if not parameters:
        msg = "encoder and decoder have no parameters to pre-train; set pretrain_epochs=0."
        raise ValueError(msg)
    optimizer = torch.optim.Adam(parameters, lr=learning_rate, fused=True)
    losses: list[float] = []
    if start is not None:
        optimizer.load_state_dict(start["optimizer"])
        generator.set_state(start["generator"])
        losses += start["losses"]

    n_batches = math.ceil(len(X) / batch_size)
    with _mode(True, encoder, decoder):
        while len(losses) < epochs:
            total = X.new_zeros(())
            order = torch.randperm(len(X), generator=generator, device=generator.device)
            for place, rows in enumerate(order.to(X.device).tensor_split(n_batches)):
                share = (len(losses) + place / n_batches) / epochs
                optimizer.param_groups[0]["lr"] = learning_rate * _cosine(share)
                optimizer.zero_grad()
                batch = X[rows]
                made = decoder(encoder(_corrupted(batch, corruption, generator)))
                loss = mean_square(made, batch, None if observed is None else observed[rows])
                loss.backward()
                optimizer.step()
                total += loss.detach() * len(rows)
            losses.append(total.item() / len(X))
            if not math.isfinite(losses[-1]):
                msg = (
                    f"The reconstruction error is {losses[-1]} after epoch {len(losses)} of "
                    f"pre-training with a learning rate of {learning_rate:g}; lower pretrain_lr, "
                    "scale X, or see whether the encoder makes NaN."
                )
                raise FloatingPointError(msg)
            if progress is not None:
                progress(_state(losses, optimizer, generator))
    return losses


def reconstruction_error(
    encoder: nn.Module, decoder: nn.Module, X: Tensor, *, batch_size: int = 4096
) -> float:
    """Return the mean squared error an entry of ``decoder(encoder(X))``, in eval mode."""
    total = 0.0
    with torch.no_grad(), _mode(False, encoder, decoder):
        for batch in X.tensor_split(math.ceil(len(X) / batch_size)):
            total += F.mse_loss(decoder(encoder(batch)), batch, reduction="sum").item()
    return total / X.numel()


def _cosine(share: float) -> float:
    """Fall from one to zero, slowly at both ends."""
    return 0.5 * (1.0 + math.cos(math.pi * share))


def _corrupted(batch: Tensor, corruption: float, generator: torch.Generator) -> Tensor:
    if corruption == 0.0:
        return batch
    draws = torch.rand(batch.shape, generator=generator, device=generator.device)
    return batch.masked_fill((draws < corruption).to(batch.device), 0.0)


def _state(
    losses: list[float], optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> PretrainingState:
    return {
        "losses": list(losses),
        "optimizer": optimizer.state_dict(),
        "generator": generator.get_state(),
    }


@contextmanager
def _mode(training: bool, *modules: nn.Module) -> Iterator[None]:
    """Put modules into train or eval mode, and all their parts back at the end."""
    before = [(part, part.training) for module in modules for part in module.modules()]
    for module in modules:
        module.train(training)
    try:
        yield
    finally:
        for part, was_training in before:
            part.training = was_training
