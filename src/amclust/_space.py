"""What a search may vary: which parameters, over which values, and how configurations are drawn."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import (
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

from amclust._estimator import ClAM
from amclust._objectives import AUTO, find_objective
from amclust._parameters import PARAMETERS, Constraints

Config = dict[str, Any]

# The step size of the paper: all steps together go as far as one of size 1.
PAPER_STEP = "1/n_steps"

# What may be searched: nothing that changes the distances, in which all runs are compared.
SEARCHABLE: Constraints = {
    name: PARAMETERS[name]
    for name in (
        "objective",
        "beta",
        "n_steps",
        "mask_prob",
        "mask_value",
        "batch_size",
        "learning_rate",
        "patience",
        "lr_factor",
        "min_lr",
        "tol",
        "early_stopping",
    )
} | {
    "beta_factor": [Interval(Real, 1e-6, 1e6, closed="both")],
    "step_size": [*PARAMETERS["step_size"], StrOptions({PAPER_STEP})],
    "weights": [None, StrOptions({"learn"})],
}

# The hyperparameter table of the paper. Where it gives a range, T has every number and beta the
# series 1, 2, 5.
_PAPER: list[Config] = [
    {
        "objective": ["completion"],
        "beta": [float(f"{digit}e{power}") for power in range(-5, 1) for digit in (1, 2, 5)],
        "n_steps": list(range(2, 21)),
        "step_size": [PAPER_STEP],
        "batch_size": [8, 16, 32, 64, 128, 256],
        "learning_rate": [1e-4, 1e-3, 1e-2, 1e-1],
        "mask_prob": [0.1, 0.12, 0.15, 0.2, 0.25, 0.3],
        "mask_value": ["mean", "min", "max"],
        "lr_factor": [0.8],
        "patience": [5],
        "min_lr": [1e-5],
        "tol": [1e-3],
        "early_stopping": [False],
    }
]

_DEFAULT: list[Config] = [
    {
        "objective": ["silhouette"],
        "beta_factor": [0.5, 1.0, 2.0],
        "learning_rate": [0.03, 0.1, 0.3],
        "weights": [None, "learn"],
    },
    {
        "objective": ["completion"],
        "beta_factor": [0.5, 1.0, 2.0],
        "learning_rate": [0.03, 0.1, 0.3],
        "mask_prob": [0.15, 0.3],
    },
]

PRESETS = {"default": _DEFAULT, "paper": _PAPER}


class Space:
    """Configurations to draw from: a preset's name, or a dict (or several) of lists and laws."""

    def __init__(self, space: Any) -> None:
        if isinstance(space, str):
            space = PRESETS[space]
        parts = [space] if isinstance(space, Mapping) else space
        if not parts:
            msg = "space must have at least one dict, got an empty list."
            raise ValueError(msg)
        self._parts = [_checked_part(part) for part in parts]
        self.names = list(dict.fromkeys(name for part in self._parts for name in part))

    @property
    def size(self) -> int | None:
        """The number of configurations; None where a parameter is drawn from a distribution."""
        if any(_is_law(values) for part in self._parts for values in part.values()):
            return None
        return sum(math.prod(len(values) for values in part.values()) for part in self._parts)

    def values(self, name: str, otherwise: Any) -> list[Any]:
        """Return the values of a parameter that may be drawn; where it is not varied, the other."""
        found = [part.get(name, [otherwise]) for part in self._parts]
        return [value for values in found if not _is_law(values) for value in values]

    def draw(self, n: int, seed: int) -> list[Config]:
        """Return n configurations: the whole grid, or as many of it (none twice) by chance."""
        # Imported here, so that `import amclust` stays light.
        from sklearn.model_selection import ParameterGrid, ParameterSampler

        if n == self.size:
            return list(ParameterGrid(self._parts))
        drawn = [
            {name: _plain(value) for name, value in config.items()}
            for config in ParameterSampler(self._parts, n, random_state=seed)
        ]
        for config in drawn:
            for name, value in config.items():
                _check_value(name, value)
        return drawn

    def describe(self) -> str:
        """Say what the space is, the same for the same space in any process."""
        return str(
            [
                {name: _describe_law(v) if _is_law(v) else v for name, v in sorted(part.items())}
                for part in self._parts
            ]
        )


def parameters_of(config: Config, model: ClAM) -> Config:
    """Return a configuration as parameters of ClAM; a multiple of the automatic beta is left."""
    params = {name: value for name, value in config.items() if name != "beta_factor"}
    if "beta_factor" in config:
        params["beta"] = "auto"
    if params.get("step_size") == PAPER_STEP:
        params["step_size"] = 1.0 / params.get("n_steps", model.n_steps)
    return params


def _checked_part(part: Any) -> Config:
    if not isinstance(part, Mapping):
        msg = f"space must be a preset's name, a dict or a list of dicts, got {part!r} in a list."
        raise ValueError(msg)
    unknown = sorted(str(name) for name in part if name not in SEARCHABLE)
    if unknown:
        msg = (
            f"space has parameters that cannot be searched: {', '.join(unknown)}. "
            f"These can: {', '.join(sorted(SEARCHABLE))}."
        )
        raise ValueError(msg)
    if {"beta", "beta_factor"} <= set(part):
        msg = (
            "space has both 'beta' and 'beta_factor' (a multiple of beta='auto') in one dict: "
            "pass a list of two dicts to search both."
        )
        raise ValueError(msg)
    return {name: _checked_values(name, values) for name, values in part.items()}


def _checked_values(name: str, values: Any) -> Any:
    if _is_law(values):
        return values
    if not isinstance(values, list | tuple | range | np.ndarray) or not len(values):
        msg = (
            f"space[{name!r}] must be a list of values with at least one of them, or a "
            f"distribution with an rvs method, got {values!r}."
        )
        raise ValueError(msg)
    values = [_plain(value) for value in values]
    for value in values:
        _check_value(name, value)
    return values


def _check_value(name: str, value: Any) -> None:
    validate_parameter_constraints({name: SEARCHABLE[name]}, {name: value}, "ClAMSearch's space")
    if name == "objective" and value != AUTO:
        find_objective(value)


def _is_law(values: Any) -> bool:
    return hasattr(values, "rvs")


def _describe_law(law: Any) -> str:
    # A frozen distribution of SciPy prints its address, which is another in every process.
    if hasattr(law, "dist"):
        return f"{law.dist.name}{law.args}{law.kwds}"
    return type(law).__qualname__


def _plain(value: Any) -> Any:
    """Return a value of Python instead of one of NumPy."""
    return value.item() if isinstance(value, np.generic) else value
