"""How long is trained, and pre-trained autoencoders: for every set, kind and seed a file."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from amclust.io.files import atomic_write
from amclust.torch import autoencoders
from amclust.torch.deep._pretraining import PretrainingState, pretrain, reconstruction_error
from benchmarks.data import Table
from benchmarks.framework.cases import short_hash

_SECONDS_BETWEEN_WRITES = 30.0
AUTOENCODERS = ("mlp", "convolutional", "residual")


@dataclass(frozen=True)
class Settings:
    """Options of every case.

    `updates` are the batches that a method may train on after the pre-training, `update_interval`
    those between two target distributions of DEC and its kin, which stop when fewer labels than
    the share `tolerance` change in between. `epochs` and `learning_rate` are of the pre-training;
    an epoch of the convolutional autoencoder costs as much as three of the others.
    """

    rows: int | None = None
    latent_dim: int = 10
    epochs: dict[str, int] = field(
        default_factory=lambda: {"mlp": 40, "convolutional": 20, "residual": 40}
    )
    batch_size: int = 256
    learning_rate: float = 1e-3
    updates: int = 1_200
    update_interval: int = 30
    tolerance: float = 1e-3


FULL = Settings()
# Shows that everything runs, not how good it is.
QUICK = Settings(rows=1_000, epochs=dict.fromkeys(AUTOENCODERS, 3), updates=60)


class Autoencoder(NamedTuple):
    encoder: nn.Module
    decoder: nn.Module

    def copy(self) -> Autoencoder:
        """Give a pair that can be trained without changing this one."""
        return Autoencoder(deepcopy(self.encoder), deepcopy(self.decoder))

    def latent(self, X: Tensor) -> Tensor:
        """Encode all rows, without gradients."""
        with torch.no_grad():
            return torch.cat([self.encoder(batch) for batch in X.split(4096)])

    def error(self, X: Tensor) -> float:
        return reconstruction_error(self.encoder, self.decoder, X)


def untrained(kind: str, images: Table, seed: int, latent_dim: int) -> Autoencoder:
    generator = torch.Generator().manual_seed(seed)
    shape: Any = images.shape if kind == "convolutional" else images.features.shape[1]
    return Autoencoder(*getattr(autoencoders, kind)(shape, latent_dim, generator=generator))


@dataclass(frozen=True)
class Shelf:
    """The folder of the files; `say` is told about the training, a line at a time."""

    folder: Path
    say: Callable[[str], object]

    def pretrained(self, kind: str, images: Table, seed: int, settings: Settings) -> Autoencoder:
        """Read a trained autoencoder, or train it; a training that was killed goes on.

        It is the same, whether read, trained at once or in parts. `kind` is the name of a function
        of `amclust.torch.autoencoders`, the seed that of its first weights and the order of rows.
        """
        pair = untrained(kind, images, seed, settings.latent_dim)
        X = torch.from_numpy(images.features)
        epochs = settings.epochs[kind]
        path = self.folder / f"{images.name}-{kind}-{seed}-{_key(pair, X, kind, settings)}.pt"
        start = _read(path, pair)
        done = 0 if start is None else len(start["losses"])
        name = f"{images.name}, {kind} autoencoder, seed {seed}"
        if done >= epochs:
            return pair
        if done:
            self.say(f"{name}: goes on after epoch {done}")

        written = began = time.monotonic()

        def progress(state: PretrainingState) -> None:
            nonlocal written
            now, epoch = time.monotonic(), len(state["losses"])
            if now - written > _SECONDS_BETWEEN_WRITES or epoch == epochs:
                _write(path, pair, state)
                written = now
                speed = (now - began) / (epoch - done)
                loss = state["losses"][-1]
                self.say(f"{name}: epoch {epoch}, loss {loss:.5f}, {speed:.2f} s an epoch")

        sizes = {"batch_size": settings.batch_size, "learning_rate": settings.learning_rate}
        generator = torch.Generator().manual_seed(seed)
        pretrain(
            *pair, X, epochs=epochs, **sizes, generator=generator, progress=progress, start=start
        )
        return pair


def _key(pair: Autoencoder, X: Tensor, kind: str, settings: Settings) -> str:
    code = hashlib.sha256(X.numpy().tobytes())
    for module in pair:
        for value in module.parameters():
            code.update(value.detach().numpy().tobytes())
    training = (settings.epochs[kind], settings.batch_size, settings.learning_rate)
    return short_hash([code.hexdigest(), *training])


def _read(path: Path, pair: Autoencoder) -> PretrainingState | None:
    """Put the weights of a file into the pair, and give where their training stands."""
    if not path.is_file():
        return None
    content = torch.load(path, weights_only=True)
    for module, weights in zip(pair, content["weights"], strict=True):
        module.load_state_dict(weights)
    return content["state"]


def _write(path: Path, pair: Autoencoder, state: PretrainingState) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, overwrite=True) as file:
        torch.save({"weights": [module.state_dict() for module in pair], "state": state}, file)
