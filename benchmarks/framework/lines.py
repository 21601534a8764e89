"""Comparisons: timed in turns, each a line with its target and whether it is reached."""

from __future__ import annotations

import math
import operator
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from statistics import fmean, median
from typing import Any, Generic, TypeVar

from sklearn.exceptions import ConvergenceWarning

from benchmarks.framework.cases import plain
from benchmarks.framework.pages import amount, say

Result = TypeVar("Result")

# OpenMP and BLAS threads spin for some milliseconds after a call; the next call must not pay.
_SETTLE_SECONDS = 0.05
_RELATIONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}
COLUMNS = ("what", "ours", "peer", "ratio", "target", "reached")
_ROW = "{:<50}  {:<13}  {:<38}  {:<9}  {:<42}  {:<7}"


@dataclass(frozen=True)
class Timed(Generic[Result]):
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
    return [entry.seconds for entry in rounds]


def median_ratio(ours: Iterable[float], peers: Iterable[float]) -> float:
    """Median of the ratios of measurements made side by side."""
    return median(mine / theirs for mine, theirs in zip(ours, peers, strict=True))


@dataclass(frozen=True)
class Target:
    """A bound on one quantity, for instance ``ratio <= 0.1``; NaN never keeps it.

    Without a relation there is no bound: the quantity is shown and counts for nothing.
    """

    quantity: str
    relation: str = ""
    limit: float = 0.0
    unit: str = ""

    @property
    def is_bound(self) -> bool:
        return bool(self.relation)

    def holds(self, value: float) -> bool:
        return self.is_bound and _RELATIONS[self.relation](value, self.limit)

    def __str__(self) -> str:
        if not self.is_bound:
            return self.quantity
        return f"{self.quantity} {self.relation} {self.limit:g}{self.unit}"


@dataclass(frozen=True)
class Line:
    """One comparison.

    `ours` and `peer` are the two measurements in `unit`, the peer's NaN where there is nothing to
    compare with; `value` is the quantity that the target bounds, and `ratio` the median of paired
    ratios where measurements come in pairs (None: ``ours / peer``). It is not `valid` when the
    number was got in a way that does not count, which the `note` says. `samples` are the raw
    measurements.
    """

    what: str
    ours: float
    peer: float
    peer_name: str
    value: float
    target: Target
    unit: str = ""
    ratio: float | None = None
    valid: bool = True
    note: str = ""
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def of_pairs(
        cls, what: str, unit: str, ours: Sequence[float], peer: Sequence[float], **others: Any
    ) -> Line:
        """Compare measurements made side by side: medians, and the median of their ratios."""
        ratio = median_ratio(ours, peer)
        others |= {"value": ratio, "ratio": ratio, "samples": {"ours": ours, "peer": peer}}
        return cls(what, median(ours), median(peer), unit=unit, **others)

    @classmethod
    def of_means(
        cls, what: str, ours: Sequence[float], peer: Sequence[float], **others: Any
    ) -> Line:
        mine, theirs = fmean(ours), fmean(peer)
        samples = {"ours": ours, "peer": peer}
        return cls(what, mine, theirs, value=mine - theirs, samples=samples, **others)

    @property
    def reached(self) -> bool:
        """Whether the target is met by a measurement that counts."""
        return self.valid and self.target.holds(self.value)

    @property
    def shown_ratio(self) -> float:
        """The ratio to print: ours to the peer's."""
        if self.ratio is not None:
            return self.ratio
        return self.ours / self.peer if self.peer else math.nan

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts of the `COLUMNS` of its row."""
        target = str(self.target)
        if self.target.quantity != "ratio":
            target += f" ({amount(self.value)}{self.target.unit})"
        return (
            self.what,
            amount(self.ours, self.unit),
            f"{amount(self.peer, self.unit)} {self.peer_name}".strip(),
            amount(self.shown_ratio),
            target,
            ("yes" if self.reached else "NO") if self.target.is_bound else "-",
        )

    def as_json(self) -> dict[str, Any]:
        content: dict[str, Any] = plain(asdict(self) | {"ratio": self.shown_ratio})
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Line:
        """Read what `as_json` gave; a number that JSON could not hold is NaN."""
        numbers = {
            name: math.nan if content[name] is None else content[name]
            for name in ("ours", "peer", "value", "ratio")
        }
        return cls(**{**content, **numbers, "target": Target(**content["target"])})


@dataclass(frozen=True)
class Skipped:
    """A comparison that could not be made on this machine."""

    what: str
    skipped: str

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


Entry = Line | Skipped


def print_entries(title: str, entries: Iterable[Entry], *, notes: bool = True) -> list[Entry]:
    """Print comparisons as they come, then count the targets; give what was printed."""
    say(f"\n== {title} ==\n{_ROW.format(*COLUMNS).rstrip()}")
    printed: list[Entry] = []
    for entry in entries:
        printed.append(entry)
        if isinstance(entry, Skipped):
            say(f"{entry.what:<50}  SKIPPED: {entry.skipped}")
            continue
        say(_ROW.format(*entry.cells).rstrip())
        if notes and entry.note:
            say(f"    {entry.note}")
    lines = [entry for entry in printed if isinstance(entry, Line)]
    bounds, skipped = sum(line.target.is_bound for line in lines), len(printed) - len(lines)
    reached = sum(line.reached for line in lines)
    say(f"\n{reached} of {bounds} targets reached, {skipped} skipped")
    return printed
