"""What users decide about training."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from amclust._geometry import Geometry
from amclust._metrics import find_metric
from amclust._objectives import AUTO, find_objective, objective_name

# What float32 holds, with room for distances (beta in core units).
MIN_BETA, MAX_BETA = 1e-20, 1e20


@dataclass(frozen=True)
class Options:
    """What users decide about training: the parameters of `ClAM` that it reads, by their names."""

    objective: str
    beta: float | str
    n_steps: int
    step_size: float
    mask_prob: float
    mask_value: float | str
    weights: Any
    metric: Any  # a name, or an Energy
    scale: str | None
    feature_weights: Any
    contamination: float | None
    init: Any
    n_init: int
    batch_size: int
    max_epochs: int
    learning_rate: float
    patience: int
    lr_factor: float
    min_lr: float
    tol: float
    early_stopping: bool
    selection: str
    record_epochs: Any

    @classmethod
    def of(cls, estimator: Any, n_clusters: int, **changed: Any) -> Options:
        """Return the options of an estimator, some changed; those that suit k are decided here."""
        given = {f.name: getattr(estimator, f.name) for f in dataclasses.fields(cls)} | changed
        given["objective"] = objective_name(given["objective"])
        given["batch_size"] = estimator.recipe.batch_size(
            given["batch_size"], n_clusters, spherical=find_metric(given["metric"]).spherical
        )
        return cls(**given)

    @property
    def completes(self) -> bool:
        """Whether missing values are completed before training, which does not do it itself."""
        known = self.objective != AUTO and find_objective(self.objective)
        return not (known and known.fills_from_mask)

    def core_beta(self, geometry: Geometry) -> float | None:
        """Return a given beta in core units; None: from the data."""
        if isinstance(self.beta, str):
            return None
        # Beyond float32, memberships are as good as hard, or as good as equal: so are these.
        return float(np.clip(float(self.beta) * geometry.distance_unit, MIN_BETA, MAX_BETA))
