"""Lines people watch while a benchmark runs."""

from __future__ import annotations

import math
import sys
from functools import cache

_THOUSAND = 1000.0


def say(text: str = "") -> None:
    """Write one line at once, so that a long run can be watched."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


@cache
def warn_once(what: str, reason: str) -> None:
    """Say that something is wrong, once: a file is read by the run and by the page."""
    say(f"WARNING: {what} ({reason})")


def describe_error(error: BaseException) -> str:
    """Write an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def amount(value: float, unit: str = "") -> str:
    """Write a measurement with three digits and its unit; a dash where there is none."""
    if math.isnan(value):
        return "-"
    digits = f"{value:,.0f}" if abs(value) >= _THOUSAND else f"{value:#.3g}".rstrip(".")
    return digits + (f" {unit}" if unit else "")
