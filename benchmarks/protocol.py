"""The paper's protocol: its best hyperparameters, ten restarts of 200 epochs."""

from typing import Any, Literal, NamedTuple

from amclust import ClAM

RESTARTS = 10
EPOCHS = 200


class Protocol(NamedTuple):
    """One row of the paper's table of best hyperparameters.

    ``beta`` is that of the paper's formula, exp(-beta d^2), as everywhere in amclust; the paper's
    program computes exp(-beta/2 d^2), so what it ran may have been half as sharp.
    """

    beta: float | Literal["auto"]
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
    "gcm": Protocol(0.0004, 12, 0.1, 8, 0.15, "max"),
    "mice_protein": Protocol(0.1, 5, 0.2, 8, 0.15),
    "usps_test": Protocol(0.1, 5, 0.001, 16, 0.15, "min"),
    "ctg": Protocol(0.4, 12, 0.1, 8, 0.1),
    "segment": Protocol(0.1, 7, 0.1, 8, 0.1),
    "fashion_mnist": Protocol(0.0005, 5, 0.01, 256, 0.1, "max"),
}

# For data that the paper does not have: the values most common in its table, beta from the data.
TYPICAL = Protocol("auto", 10, 0.1, 8, 0.15)


def paper_parameters(
    n_clusters: int, protocol: Protocol, *, restarts: int = RESTARTS, epochs: int = EPOCHS
) -> dict[str, Any]:
    """Give the parameters of the published method: completion, every epoch run to its end."""
    return {
        "n_clusters": n_clusters,
        "objective": "completion",
        **protocol._asdict(),
        "step_size": protocol.step_size,
        "max_epochs": epochs,
        "early_stopping": False,
        "n_init": restarts,
    }


def paper_clam(
    n_clusters: int, protocol: Protocol, *, random_state: int = 0, **length: int
) -> ClAM:
    return ClAM(**paper_parameters(n_clusters, protocol, **length), random_state=random_state)
