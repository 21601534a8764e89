"""What numbers a fitted model can have: those of a file are held to it before anything uses them.

The core computes in float32 and trusts what it is given; a number that no fit leaves would come
back as NaN or as a wrong answer, long after the file was read. Each refusal names the number, what
it is and what is allowed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust._completion import Completion
from amclust._geometry import Geometry, Whitening
from amclust._network import Network
from amclust._options import MAX_BETA, MIN_BETA
from amclust._runs import OptimizerState
from amclust._winsorising import MAX_VALUE

# Squares are summed in float32.
MAX_FLOAT32 = float(np.finfo(np.float32).max)
MAX_SQUARE = MAX_FLOAT32 / 16
# Weights are exponentials in float64.
MAX_LOG_WEIGHT = math.log(np.finfo(np.float64).max)
# In float64: its square is one, too.
MAX_DOUBLE = math.sqrt(np.finfo(np.float64).max) / 2
# A map times its inverse is that close to the identity.
MAX_INVERSE_ERROR = 1e-3
# A precision is symmetric up to rounding.
MAX_ASYMMETRY = 1e-6
# The parts of a mixture sum to 1 up to rounding.
MAX_PARTS_ERROR = 1e-6


def check_model(network: Network, optimizer: OptimizerState) -> None:
    """Raise ValueError where a number of a network or of its optimizer cannot be."""
    with np.errstate(all="ignore"):  # what comes of impossible numbers is refused below
        _check_geometry(network.geometry)
        _check_network(network)
        _check_optimizer(optimizer)


def _check_network(network: Network) -> None:
    geometry = network.geometry
    _within("beta", network.beta, MIN_BETA, MAX_BETA)
    memories = network.memories.astype(np.float64)
    squares = (memories**2).sum(axis=1)
    _within("memories (the square of their length)", squares, 0.0, MAX_SQUARE)
    exponents = network.beta * squares
    _within("beta times the square of a memory's length", exponents, 0.0, MAX_FLOAT32)
    _within("log_weights", network.log_weights, -MAX_LOG_WEIGHT, MAX_LOG_WEIGHT)
    if network.max_energy is not None:
        _within("max_energy", network.max_energy, 0.0, MAX_DOUBLE)
    if network.sizes is not None:
        _within("sizes", network.sizes, 0.0, MAX_DOUBLE)
    n_ignored = len(geometry.ignored)
    if network.ignored_means is None:
        if n_ignored:
            column = int(geometry.ignored[0])
            msg = f"scale is 0 in column {column}, and ignored_means does not say where it is"
            raise ValueError(msg)
    elif network.ignored_means.shape[1] != n_ignored:
        msg = (
            f"ignored_means has {network.ignored_means.shape[1]} columns, {n_ignored} columns have "
            "a scale of 0"
        )
        raise ValueError(msg)
    largest = float(np.finfo(geometry.dtype).max)
    # Not those of `centers`, whose type may not hold them.
    _within("memories in original units", geometry.from_core(memories), -largest, largest)
    if network.ignored_means is not None:
        _within("ignored_means", network.ignored_means, -largest, largest)


def _check_geometry(geometry: Geometry) -> None:
    _within("scale", geometry.scale, 0.0, MAX_FLOAT32)
    if not (geometry.scale > 0).any():
        msg = "scale is 0 in all columns; at least one must be above 0"
        raise ValueError(msg)
    _within("offset", geometry.offset, -MAX_VALUE, MAX_VALUE)
    _within("fill", geometry.fill, -MAX_FLOAT32, MAX_FLOAT32)
    _within("length", geometry.length, 1 / MAX_DOUBLE, MAX_DOUBLE)
    for name in ("low", "high"):
        if (values := getattr(geometry, name)) is not None:
            _within(name, values, -MAX_VALUE, MAX_VALUE)
    if geometry.limits is not None:
        for name, values in vars(geometry.limits).items():
            _within(f"limits.{name}", values, -MAX_DOUBLE, MAX_DOUBLE)
    if geometry.whitening is not None:
        _check_whitening(geometry.whitening)
    if geometry.completion is not None:
        _check_completion(geometry.completion)


def _check_whitening(whitening: Whitening) -> None:
    for name in ("mean", "forward", "backward"):
        _within(f"whitening.{name}", getattr(whitening, name), -MAX_DOUBLE, MAX_DOUBLE)
    # In this order units of columns cancel.
    error = whitening.backward @ whitening.forward - np.eye(len(whitening.mean))
    if not (np.abs(error) <= MAX_INVERSE_ERROR).all():
        msg = "whitening.backward is not the inverse of whitening.forward"
        raise ValueError(msg)


def _check_completion(completion: Completion) -> None:
    for name in ("mean", "means", "loadings", "precisions"):
        _within(f"completion.{name}", getattr(completion, name), -MAX_DOUBLE, MAX_DOUBLE)
    for number, precision in enumerate(completion.precisions):
        _check_precision(number, precision)
    for name in ("spread", "noise"):
        values = getattr(completion, name)
        _within(f"completion.{name}", values, 1 / MAX_DOUBLE, MAX_DOUBLE)
    for name in ("known", "n_rows", "caution"):
        _within(f"completion.{name}", getattr(completion, name), 0.0, MAX_DOUBLE)
    _within("completion.parts", completion.parts, 0.0, 1.0 + MAX_PARTS_ERROR)
    sums = np.bincount(completion.mixture, completion.parts)
    if not (np.abs(sums - 1.0) <= MAX_PARTS_ERROR).all():
        msg = "completion.parts do not sum to 1 in each mixture"
        raise ValueError(msg)


def _check_precision(number: int, precision: NDArray[np.float64]) -> None:
    """Refuse what is no inverse of a covariance: `partial_fit` goes on from the covariance."""
    size = np.sqrt(np.abs(np.diag(precision)))
    rounding = MAX_ASYMMETRY * size[:, None] * size
    sound = bool((np.abs(precision - precision.T) <= rounding).all())
    if sound:
        try:
            covariance = np.linalg.inv(precision)
            np.linalg.cholesky((covariance + covariance.T) / 2)
        except np.linalg.LinAlgError:
            sound = False
    if not sound:
        msg = f"completion.precisions[{number}] is not symmetric and positive definite"
        raise ValueError(msg)


def _check_optimizer(optimizer: OptimizerState) -> None:
    for name in ("moments", "weight_moments", "energy_moments"):
        first, second = getattr(optimizer, name)
        _within(f"optimizer.{name}", first, -MAX_FLOAT32, MAX_FLOAT32)
        # Its square root divides.
        _within(f"optimizer.{name} (the second)", second, 0.0, MAX_FLOAT32)
    for name in ("mean_square", "total_square"):
        _within(f"optimizer.{name}", getattr(optimizer, name), 0.0, MAX_DOUBLE)


def _within(name: str, values: NDArray[Any] | float, least: float, most: float) -> None:
    """Refuse numbers outside of a range; NaN is outside of all."""
    array = np.asarray(values)
    wrong = ~((array >= least) & (array <= most))
    if wrong.any():
        value = float(array[wrong].flat[0])
        msg = f"{name} must be finite, from {least:g} to {most:g}, got {value:g}"
        raise ValueError(msg)
