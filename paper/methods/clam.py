"""ClAM as published, and its two ablations.

A configuration is a single run of 200 epochs. Under the paper's protocol there are first runs with
the paper's best hyperparameters, at its β and at half of it (its program computes exp(−β/2‖·‖²)),
then runs with hyperparameters drawn from its grid. Memories are seeded in two ways: as ClAM does,
and from the normal distribution of the paper's program. All three variants get the same draws.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import ParameterSampler

from amclust import ClAM
from amclust._space import PAPER_STEP, PRESETS, parameters_of
from benchmarks.data import IntArray, Table
from benchmarks.protocol import PROTOCOLS
from paper.methods.base import Config, Method
from paper.sets import paper_set
from paper.settings import Settings

_DRAWN = ("beta", "n_steps", "batch_size", "learning_rate", "mask_prob", "mask_value")
_MASKING = ("mask_prob", "mask_value")
_IMMATERIAL = ("n_clusters", "n_jobs", "random_state", "verbose")
_DRAW_SEED = 0
# Draws of the honest protocol come from a part of the grid of this size, the same for all seeds.
_SINGLE_CONFIGS = 2_000

# Where the paper's program draws its memories: mean and standard deviation.
NORMAL = (0.1, 0.1)


@dataclass(frozen=True)
class ClAMMethod(Method):
    name: str
    title: str
    parameters: dict[str, Any]

    def fixed(self, settings: Settings) -> Config:
        shared = {"step_size": PAPER_STEP, "n_init": 1, "early_stopping": False}
        return {**self.parameters, **shared, "max_epochs": settings.epochs}

    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        if single:
            return self._without_masks(_draw(_SINGLE_CONFIGS, inits=("auto",)))
        best = PROTOCOLS[paper_set(name)]._asdict()
        drawn = _draw(settings.clam_runs[name], inits=("auto", "normal"))
        restarts = min(settings.published_restarts, max(1, len(drawn) // 10))
        published = [
            {**best, "beta": best["beta"] * factor, "init": init}
            for factor in (1.0, 0.5)
            for init in ("auto", "normal")
            for _ in range(restarts)
        ]
        return self._without_masks([*published, *drawn])

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        config = {**config, **self.fixed(settings)}
        if config["init"] == "normal":
            shape = table.n_clusters, table.features.shape[1]
            config["init"] = np.random.default_rng(seed).normal(*NORMAL, shape)
        parameters = parameters_of(config, ClAM())
        model = ClAM(table.n_clusters, **parameters, n_jobs=1, random_state=seed)
        return model.fit(table.features).labels_

    def _without_masks(self, configs: list[Config]) -> list[Config]:
        if self.parameters["objective"] == "completion":
            return configs
        return [{key: one[key] for key in one if key not in _MASKING} for one in configs]


@cache
def _draw(count: int, inits: tuple[str, ...]) -> list[Config]:
    """Draw from the paper's grid, always the same."""
    grid = PRESETS["paper"][0]
    space = {name: grid[name] for name in _DRAWN} | {"init": list(inits)}
    sampler = ParameterSampler(space, count, random_state=_DRAW_SEED)
    return [{name: config[name] for name in (*_DRAWN, "init")} for config in sampler]


class DefaultClAM(Method):
    """ClAM without a parameter but the number of clusters; no search, no protocol."""

    name = "clam-default"
    title = "ClAM's default"

    def fixed(self, settings: Settings) -> Config:
        # Spelt out, so that a changed default changes the definition.
        defaults = ClAM().get_params()
        return {name: value for name, value in defaults.items() if name not in _IMMATERIAL}

    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        return [{}]

    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        model = ClAM(table.n_clusters, n_jobs=1, random_state=seed, **config)
        return model.fit(table.features).labels_


CLAM = ClAMMethod("clam", "ClAM", {"objective": "completion"})
CLAM_UNMASKED = ClAMMethod("clam-unmasked", "ClAM, no masking", {"objective": "reconstruction"})
CLAM_WEIGHTED = ClAMMethod(
    "clam-weighted", "ClAM, weighted", {"objective": "completion", "weights": "learn"}
)
