"""Timings that stay honest on a noisy machine: interleaved, compared in pairs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from statistics import median
from typing import Generic, NamedTuple, TypeVar

from sklearn.exceptions import ConvergenceWarning

Result = TypeVar("Result")

# OpenMP and BLAS threads spin for some milliseconds after a call; the next call must not pay.
_SETTLE_SECONDS = 0.05


class Timed(NamedTuple, Generic[Result]):
    """What a call returned, how long it took, and whether it said it had not converged."""

    seconds: float
    result: Result
    converged: bool


def timed(call: Callable[[], Result]) -> Timed[Result]:
    """Time one call; its convergence warnings are kept as a fact instead of printed."""
    time.sleep(_SETTLE_SECONDS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        start = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - start
    unconverged = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return Timed(seconds, result, not unconverged)


def interleave(
    calls: Mapping[str, Callable[[int], Result]], seeds: Iterable[int]
) -> dict[str, list[Timed[Result]]]:
    """Time several methods in turn, seed by seed, so that they share the machine's moods."""
    rounds: dict[str, list[Timed[Result]]] = {name: [] for name in calls}
    for seed in seeds:
        for name, call in calls.items():
            rounds[name].append(timed(partial(call, seed)))
    return rounds


def seconds_of(rounds: Iterable[Timed[Result]]) -> list[float]:
    """Take the times alone."""
    return [entry.seconds for entry in rounds]


def median_ratio(ours: Iterable[float], peers: Iterable[float]) -> float:
    """Median of the ratios of measurements made side by side."""
    return median(mine / theirs for mine, theirs in zip(ours, peers, strict=True))
