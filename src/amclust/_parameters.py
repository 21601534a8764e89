"""What the parameters of `ClAM` may be; errors name parameter, value and what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)

from amclust._metrics import SCALES, check_metric
from amclust._objectives import AUTO, find_objective

# What the core counts with.
MAX_INT = 2**31 - 1

# What users set, by name; and what that may be, as scikit-learn declares it.
Parameters = dict[str, Any]
Constraints = dict[str, Any]

PARAMETERS: Constraints = {
    "n_clusters": [
        StrOptions({"auto"}),
        Interval(Integral, 1, MAX_INT, closed="both"),
        "array-like",
    ],
    "n_memories": [
        None,
        StrOptions({"auto"}),
        Interval(Integral, 1, MAX_INT, closed="both"),
    ],
    "objective": [str, callable],  # any that is registered, see `find_objective`
    "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    "n_steps": [Interval(Integral, 1, 10_000, closed="both")],
    "step_size": [Interval(Real, 0, 1, closed="right")],
    "mask_prob": [Interval(Real, 0, 1, closed="neither")],
    "mask_value": [
        StrOptions({"mean", "min", "max"}),
        Interval(Real, None, None, closed="neither"),
    ],
    "weights": [None, StrOptions({"learn"}), "array-like"],
    "metric": [str, HasMethods(["attraction", "pull"])],  # see `check_metric`
    "size_min": [None, Interval(Integral, 0, MAX_INT, closed="both")],
    "size_max": [None, Interval(Integral, 1, MAX_INT, closed="both")],
    "scale": [StrOptions(set(SCALES)), None],
    "categorical_features": [None, StrOptions({"from_dtype"}), "array-like"],
    "feature_weights": [None, "array-like", Mapping],
    "contamination": [None, Interval(Real, 0, 0.5, closed="left")],
    "init": [StrOptions({"auto", "k-means++", "ward", "random"}), "array-like", "sparse matrix"],
    "n_init": [Interval(Integral, 1, MAX_INT, closed="both")],
    "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, MAX_INT, closed="both")],
    "max_epochs": [Interval(Integral, 1, MAX_INT, closed="both")],
    "learning_rate": [Interval(Real, 0, None, closed="neither")],
    "patience": [Interval(Integral, 1, MAX_INT, closed="both")],
    "lr_factor": [Interval(Real, 0, 1, closed="neither")],
    "min_lr": [Interval(Real, 0, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "early_stopping": ["boolean"],
    "selection": [StrOptions({"silhouette", "loss"})],
    "record_epochs": [None, "array-like"],
    "backend": [StrOptions({"native", "torch"})],
    "device": "no_validation",  # by torch
    "n_jobs": [
        None,
        Interval(Integral, 1, MAX_INT, closed="both"),
        Interval(Integral, -MAX_INT, -1, closed="both"),
    ],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


class NamedParameters:
    """An estimator whose errors name the parameter, whatever its value is."""

    def _validate_params(self: Any) -> None:
        check_constraints(
            self._parameter_constraints, self.get_params(deep=False), type(self).__name__
        )


def check_constraints(allowed: Constraints, parameters: Parameters, owner: str) -> None:
    """Refuse parameters that are not allowed, as scikit-learn does; also what it trips over."""
    for name, value in parameters.items():
        if name in allowed:
            _check_constraints(name, value, allowed[name], owner)


def _check_constraints(name: str, value: Any, allowed: Any, owner: str) -> None:
    try:
        validate_parameter_constraints({name: allowed}, {name: value}, caller_name=owner)
    except InvalidParameterError:
        raise
    except (OverflowError, TypeError) as error:  # a fraction, say, cannot be compared with NaN
        msg = (
            f"The {name!r} parameter of {owner} cannot be of the type {type(value).__name__}, got "
            f"{value!r}: give a plain number, text or array."
        )
        raise ValueError(msg) from error


def check_parameters(parameters: Parameters, owner: str = "ClAM") -> None:
    """Refuse parameters that are not allowed, some or all of them."""
    allowed = {name: PARAMETERS[name] for name in parameters}
    check_constraints(allowed, parameters, owner)
    objective = parameters.get("objective", AUTO)
    if objective != AUTO:
        find_objective(objective)
    if "metric" in parameters:
        check_metric(parameters["metric"], owner=owner)
