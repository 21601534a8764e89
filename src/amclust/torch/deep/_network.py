"""An autoencoder with a memory between its halves, and what it says about rows."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from amclust import _native
from amclust._rows import TableRows
from amclust._silhouettes import judged_rows, silhouettes
from amclust._threads import n_threads
from amclust.torch import autoencoders
from amclust.torch._device import find_device, refuse_forked
from amclust.torch.layer import AssociativeMemory

# Rows that go through the modules at once when nothing is trained.
INFERENCE_ROWS = 4096
# Matrix products of fewer rows may be summed in another order. Rows in whole groups get the same
# answer whichever rows are asked about beside them.
GROUP_ROWS = 16


def mean_square(made: Tensor, rows: Tensor, observed: Tensor | None) -> Tensor:
    """Return the mean squared error an entry, of those that were observed (None: all)."""
    if observed is None:
        return nn.functional.mse_loss(made, rows)
    squares = torch.where(observed, made - rows, 0.0).square().sum()
    return squares / observed.sum().clamp(min=1)


class Evaluation(NamedTuple):
    """What a network makes of all rows, without training."""

    latents: Tensor
    recalled: Tensor
    labels: Tensor
    reconstruction: float  # mean squared error an entry of decoder(latents)
    recalled_reconstruction: float  # the same of decoder(recalled)

    def counts(self, n_clusters: int) -> Tensor:
        """Return how many rows fall to each memory."""
        return torch.bincount(self.labels, minlength=n_clusters)


class DeepNetwork(nn.Module):
    """Encoder, memory in latent space, decoder: one module, so that they move and save together."""

    def __init__(self, encoder: nn.Module, decoder: nn.Module, memory: AssociativeMemory) -> None:
        super().__init__()
        self.encoder, self.decoder, self.memory = encoder, decoder, memory

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return self.memory.memories.device

    def ask(
        self, answer: Callable[[DeepNetwork, Tensor], Tensor], rows: NDArray[Any]
    ) -> NDArray[Any]:
        """Return the answers for rows, in chunks, without gradients."""
        self.eval()
        chunks = []
        with torch.no_grad():
            for start in range(0, len(rows), INFERENCE_ROWS):
                chunk = rows[start : start + INFERENCE_ROWS]
                batch = torch.tensor(chunk, dtype=torch.float32, device=self.device)
                padding = batch[-1:].expand(-len(batch) % GROUP_ROWS, -1)
                chunks.append(answer(self, torch.cat([batch, padding]))[: len(batch)].cpu())
        found: NDArray[Any] = torch.cat(chunks).numpy()
        # A label of -1 is a latent row with NaN.
        bad = ~np.isfinite(found) | ((found < 0) & (found.dtype.kind == "i"))
        if bad.any():
            row = int(np.argwhere(bad)[0][0])
            msg = (
                f"The network makes NaN or infinity of row {row} of X, whose largest entry is "
                f"{np.abs(rows[row]).max():g}: rows must be like those it was trained on."
            )
            raise ValueError(msg)
        return found

    def evaluate(self, rows: Tensor, observed: Tensor | None = None) -> Evaluation:
        """Encode, recall, label and reconstruct rows that are on the device.

        Errors are those of the entries that were `observed`; None: all.
        """
        self.eval()
        latents, states, labels = [], [], []
        plain = recalled = 0.0
        count = rows.numel() if observed is None else max(1, int(observed.sum()))

        def error(made: Tensor, batch: Tensor, seen: Tensor | None) -> float:
            apart = made - batch
            return (apart if seen is None else apart * seen).square().sum().item()

        with torch.no_grad():
            for start in range(0, len(rows), INFERENCE_ROWS):
                some = slice(start, start + INFERENCE_ROWS)
                batch, seen = rows[some], None if observed is None else observed[some]
                latent = self.encoder(batch)
                state = self.memory(latent)
                plain += error(self.decoder(latent), batch, seen)
                recalled += error(self.decoder(state), batch, seen)
                latents.append(latent)
                states.append(state)
                labels.append(self.memory.assign(latent))
        return Evaluation(
            torch.cat(latents),
            torch.cat(states),
            torch.cat(labels),
            plain / count,
            recalled / count,
        )


def make_pair(
    encoder: Any,
    decoder: nn.Module | None,
    latent_dim: int,
    image_shape: Any,
    n_features: int,
    generator: torch.Generator,
) -> tuple[nn.Module, nn.Module]:
    """Return a new encoder and decoder of flat rows, from what DeepClAM was given."""
    if isinstance(encoder, nn.Module) != (decoder is not None):
        msg = (
            "A decoder goes with an encoder that is a module, got "
            f"encoder={_kind(encoder)} and decoder={_kind(decoder)}."
        )
        raise ValueError(msg)
    if image_shape is not None and math.prod(image_shape) != n_features:
        n_pixels = math.prod(image_shape)
        msg = f"image_shape={image_shape} has {n_pixels} entries, but X has {n_features} columns."
        raise ValueError(msg)
    if isinstance(encoder, nn.Module) and decoder is not None:
        # Together, so that what the two share stays shared.
        pair = copy.deepcopy((encoder, decoder))
        if image_shape is None:
            return pair
        to_image = nn.Unflatten(1, tuple(image_shape))
        return nn.Sequential(to_image, pair[0]), nn.Sequential(pair[1], nn.Flatten())
    if encoder == "convolutional":
        if image_shape is None:
            msg = "encoder='convolutional' needs image_shape, got None."
            raise ValueError(msg)
        return autoencoders.convolutional(image_shape, latent_dim, generator=generator)
    if encoder == "residual":
        return autoencoders.residual(n_features, latent_dim, generator=generator)
    if encoder == "mlp":
        return autoencoders.mlp(n_features, latent_dim, generator=generator)
    if not all(isinstance(width, Integral) and int(width) >= 1 for width in encoder):
        msg = f"encoder={encoder} must have widths of hidden layers, integers of at least 1."
        raise ValueError(msg)
    return autoencoders.mlp(n_features, latent_dim, hidden=encoder, generator=generator)


def latent_length(encoder: nn.Module, decoder: nn.Module, rows: Tensor) -> int:
    """Return the length of a latent row; refuse modules that do not take rows there and back."""
    encoder.eval()
    decoder.eval()
    with torch.no_grad():
        latents = _tried("encoder", encoder, rows)
        if not isinstance(latents, Tensor) or latents.ndim != 2 or len(latents) != len(rows):
            expected = f"({len(rows)}, latent_dim) of {_kind(rows)}"
            msg = f"encoder must make {expected}, got {_kind(latents)}."
            raise ValueError(msg)
        restored = _tried("decoder", decoder, latents)
    if not isinstance(restored, Tensor) or restored.shape != rows.shape:
        msg = f"decoder must make {_kind(rows)} of {_kind(latents)}, got {_kind(restored)}."
        raise ValueError(msg)
    return latents.shape[1]


def _tried(name: str, module: nn.Module, rows: Tensor) -> Any:
    try:
        return module(rows)
    except RuntimeError as error:
        msg = f"{name} does not take {_kind(rows)}: {error}"
        raise ValueError(msg) from error


def choose_device(wanted: str | torch.device | None, encoder: nn.Module) -> torch.device:
    """Return the device to compute on: as wanted, else where the encoder is."""
    refuse_forked()
    if wanted is None:
        return next((weight.device for weight in encoder.parameters()), torch.device("cpu"))
    return find_device(wanted)


def _kind(value: object) -> str:
    """Return in a word what something is; tensors by their shape."""
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    return repr(value) if value is None or isinstance(value, str) else type(value).__name__


def silhouette(points: NDArray[np.float32], labels: NDArray[Any]) -> float:
    """Return the silhouette (NaN if undefined); of a fixed sample above 10,000 points."""
    X = np.ascontiguousarray(points)
    judged = judged_rows(TableRows(X), None)
    ones = np.ones(X.shape[1], np.float32)
    rows = _native.dense_rows(X).in_units(
        "euclidean", X.mean(axis=0, dtype=np.float64), ones, has_missing=False
    )
    (value,) = silhouettes(rows, judged, labels[None, judged.indices], n_threads(None))
    return float(value)
