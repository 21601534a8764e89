"""What a method is: a grid of configurations for each protocol, and one fit."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.data import IntArray, Table
from paper.settings import Settings

Config = dict[str, Any]


class FitError(RuntimeError):
    """A configuration has no partition: an eigensolver that fails, for example."""


class Method(ABC):
    """One way of clustering, with its `name` in records and its `title` in tables.

    It says whether a fit depends on a seed, whether it is given a sample of the rows of a large
    set, and its fits and seeds of the honest protocol where it cannot have as many as the others.
    """

    name: str
    title: str
    seeded = True
    sampled = False
    honest_fits: int | None = None
    honest_seeds: int | None = None

    def covers(self, name: str) -> bool:
        return True

    def rows(self, settings: Settings) -> int | None:
        """How many rows of a set it is given at most; None: all."""
        return settings.sample_rows if self.sampled else None

    def fixed(self, settings: Settings) -> Config:
        """Give the parameters that are the same in all configurations."""
        return {}

    @abstractmethod
    def configs(self, name: str, settings: Settings, *, single: bool = False) -> list[Config]:
        """Give what the paper's protocol tries, or the grid of single fits of the honest one."""

    @abstractmethod
    def fit(self, table: Table, config: Config, seed: int, settings: Settings) -> IntArray:
        """Cluster the rows; FitError where that fails."""

    def draw_configs(self, name: str, settings: Settings, seed: int) -> list[Config]:
        """Draw as many configurations for single fits as every method gets.

        A method without seeds is tried with every configuration once at most.
        """
        grid = self.configs(name, settings, single=True)
        generator = np.random.default_rng(seed)
        count = self.honest_fits or settings.honest_budget(name)[0]
        if not self.seeded:
            count = min(count, len(grid))
        rounds = -(-count // len(grid))
        order = np.concatenate([generator.permutation(len(grid)) for _ in range(rounds)])
        return [grid[i] for i in order[:count]]


def product(**values: Sequence[Any]) -> list[Config]:
    """Give all combinations, the last parameter changing fastest."""
    configs: list[Config] = [{}]
    for name, choices in values.items():
        configs = [{**config, name: choice} for config in configs for choice in choices]
    return configs
