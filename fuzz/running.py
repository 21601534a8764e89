"""Running a target for a time, or for so many cases."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import ModuleType
from typing import Any

import hypothesis
from hypothesis import HealthCheck, given, settings

from fuzz import dialects, models, parameters, tables

TARGETS: dict[str, ModuleType] = {
    "tables": tables,
    "parameters": parameters,
    "models": models,
    "dialects": dialects,
}
# Cases that hypothesis makes at a time; the time is looked at between them.
BATCH = 200


def run(
    target: ModuleType, *, seed: int, seconds: float | None = None, cases: int | None = None
) -> Counter[str]:
    """Check cases until the time is over or so many are done; return their outcomes.

    What is wrong is raised, after hypothesis has made it as small as it can.
    """
    found: Counter[str] = Counter()
    end = None if seconds is None else time.monotonic() + seconds
    number = seed
    while (cases is None or found.total() < cases) and (end is None or time.monotonic() < end):
        left = BATCH if cases is None else min(BATCH, cases - found.total())
        found += _batch(target, number, left, end)
        number += 1
    return found


def _batch(target: ModuleType, seed: int, size: int, end: float | None) -> Counter[str]:
    found: Counter[str] = Counter()
    failing = False

    @hypothesis.seed(seed)
    @settings(
        max_examples=size,
        deadline=None,
        database=None,
        print_blob=True,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(target.strategy)
    def one(case: Any) -> None:
        nonlocal failing
        if end is not None and not failing and time.monotonic() > end + 30:
            return
        try:
            found[target.check(case)] += 1
        except BaseException:
            failing = True
            raise

    one()
    return found


def say(text: str) -> None:
    """Write a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
