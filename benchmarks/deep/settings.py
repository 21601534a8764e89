"""How long everything is trained: the budget that all methods share."""

from __future__ import annotations

from dataclasses import dataclass, field

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
