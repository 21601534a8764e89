"""The paper's protocol: its best hyperparameters, ten restarts of 200 epochs."""

from __future__ import annotations

from typing import NamedTuple

from amclust import ClAM

RESTARTS = 10
EPOCHS = 200


class Protocol(NamedTuple):
    """One row of the paper's table of best hyperparameters."""

    beta: float
    n_steps: int
    learning_rate: float
    batch_size: int
    mask_prob: float
    mask_value: str = "mean"

    @property
    def step_size(self) -> float:
        """The paper's choice, one over the number of steps."""
        return 1.0 / self.n_steps


PROTOCOLS = {
    "zoo": Protocol(2.4, 10, 0.1, 8, 0.2),
    "ecoli": Protocol(0.095, 12, 0.1, 16, 0.15),
    "movement_libras": Protocol(0.7, 7, 0.01, 8, 0.15),
    "yale": Protocol(0.06, 10, 0.1, 8, 0.15),
    "fashion_mnist": Protocol(0.0005, 5, 0.01, 256, 0.1, "max"),
}


def paper_clam(
    n_clusters: int,
    protocol: Protocol,
    *,
    restarts: int = RESTARTS,
    epochs: int = EPOCHS,
    random_state: int = 0,
) -> ClAM:
    """Give the estimator of the published method: completion, every epoch run to its end."""
    return ClAM(
        n_clusters,
        objective="completion",
        beta=protocol.beta,
        n_steps=protocol.n_steps,
        step_size=protocol.step_size,
        mask_prob=protocol.mask_prob,
        mask_value=protocol.mask_value,
        learning_rate=protocol.learning_rate,
        batch_size=protocol.batch_size,
        max_epochs=epochs,
        early_stopping=False,
        n_init=restarts,
        random_state=random_state,
    )
