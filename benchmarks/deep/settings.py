"""How long everything is trained: the budget that all methods share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

AUTOENCODERS = ("mlp", "convolutional", "residual")


@dataclass(frozen=True)
class Settings:
    """Options of every cell.

    Attributes
    ----------
    rows : int or None
        How many rows of a set are used; None: all.
    latent_dim : int
        Latent coordinates.
    epochs : dict of str to int
        Passes of the pre-training, by kind of autoencoder. An epoch of the convolutional one costs
        as much as three of the others.
    batch_size : int
        Rows in a batch, for pre-training and for every method.
    learning_rate : float
        Of the pre-training.
    updates : int
        Batches that a method may train on after the pre-training.
    update_interval : int
        Batches between two target distributions of DEC and its kin.
    tolerance : float
        These stop when fewer labels than this share change between two target distributions.
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

    def as_json(self) -> dict[str, Any]:
        """Give the settings as plain values."""
        return asdict(self)


FULL = Settings()
# Shows that everything runs, not how good it is.
QUICK = Settings(
    rows=1_000,
    epochs=dict.fromkeys(AUTOENCODERS, 3),
    updates=60,
)
