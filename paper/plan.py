"""What a full run does, in which order, and what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paper.experiments import EXPERIMENTS
from paper.runs import Run
from paper.settings import Settings

_HOUR = 3600.0


Seconds = dict[Run, float]


def expected_seconds(runs: Iterable[Run], settings: Settings) -> Seconds:
    """Guess what every run takes, on one core."""
    return {run: EXPERIMENTS[run.experiment].expected_seconds(run, settings) for run in runs}


def in_order(seconds: Seconds) -> list[Run]:
    """Put what is cheap first, so that a run that is stopped has told the most."""
    return sorted(seconds, key=lambda run: seconds[run])


def describe(seconds: Seconds, todo: Sequence[Run], jobs: int) -> str:
    """Give the plan as text: a line for each experiment, protocol and method."""
    runs = in_order(seconds)
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.experiment, run.protocol, run.method), []).append(run)
    left = set(todo)
    lines = [f"{'experiment':<12}{'protocol':<10}{'method':<16}{'runs':>6}{'to do':>7}{'hours':>8}"]
    for group, members in groups.items():
        missing = [run for run in members if run in left]
        hours = sum(seconds[run] for run in missing) / _HOUR
        experiment, protocol, method = group
        lines.append(
            f"{experiment:<12}{protocol:<10}{method:<16}{len(members):>6}{len(missing):>7}"
            f"{hours:>8.2f}"
        )
    alone = sum(seconds[run] for run in todo if EXPERIMENTS[run.experiment].alone)
    shared = sum(seconds[run] for run in todo) - alone
    lines.append(
        f"{len(todo)} of {len(runs)} runs to do: {shared / _HOUR:.1f} core-hours in {jobs} jobs "
        f"and {alone / _HOUR:.1f} hours of timings, about "
        f"{(shared / jobs + alone) / _HOUR:.1f} hours"
    )
    return "\n".join(lines)


def longest(seconds: Seconds, todo: Sequence[Run], count: int = 12) -> str:
    """Name the longest runs."""
    runs = sorted(todo, key=lambda run: -seconds[run])[:count]
    return "\n".join(f"  {run}  {seconds[run] / 60:.0f} min" for run in runs)
