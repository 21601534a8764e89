"""What a benchmark says: one line a comparison, with its target and whether it is reached."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, median
from typing import Any, Literal

from benchmarks.framework.printing import amount, say
from benchmarks.framework.timing import median_ratio
from benchmarks.framework.values import plain

Relation = Literal["<=", "<", ">=", ">"]

_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}
COLUMNS = ("what", "ours", "peer", "ratio", "target", "reached")
_WIDTHS = (50, 13, 38, 9, 42, 7)


@dataclass(frozen=True)
class Target:
    """A bound on one quantity, for instance ``ratio <= 0.1``."""

    quantity: str
    relation: Relation
    limit: float
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Tell whether a measured value keeps the bound; NaN never does."""
        return not math.isnan(value) and _RELATIONS[self.relation](value, self.limit)

    def __str__(self) -> str:
        """Write the bound as people read it."""
        return f"{self.quantity} {self.relation} {self.limit:g}{self.unit}"


@dataclass(frozen=True)
class Line:
    """One comparison.

    Attributes
    ----------
    ours, peer : float
        The two measurements in `unit`; ``peer`` is NaN where there is nothing to compare with.
    value : float
        The quantity that the target bounds.
    ratio : float or None
        Median of paired ratios where measurements come in pairs; None: ``ours / peer``.
    valid : bool
        False when the number was got in a way that does not count (see ``note``).
    note : str
        How it was measured, and what a reader must know.
    samples : mapping of str to sequence
        The raw measurements.
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
        samples = {"ours": ours, "peer": peer}
        others |= {"value": ratio, "ratio": ratio, "samples": samples}
        return cls(what, median(ours), median(peer), unit=unit, **others)

    @classmethod
    def of_means(
        cls, what: str, ours: Sequence[float], peer: Sequence[float], **others: Any
    ) -> Line:
        """Compare means by their difference."""
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

    def as_json(self) -> dict[str, Any]:
        """Give the line as plain values."""
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
    reason: str

    def as_json(self) -> dict[str, Any]:
        """Give the entry as plain values."""
        return {"what": self.what, "skipped": self.reason}


Entry = Line | Skipped


def print_header(title: str) -> None:
    """Start a table."""
    say()
    say(f"== {title} ==")
    say(_row(COLUMNS))


def print_entry(entry: Entry, *, with_note: bool = True) -> None:
    """Print one comparison, its note below."""
    if isinstance(entry, Skipped):
        say(f"{entry.what:<50}  SKIPPED: {entry.reason}")
        return
    say(_row(line_cells(entry)))
    if with_note and entry.note:
        say(f"    {entry.note}")


def print_entries(title: str, entries: Sequence[Entry], *, with_note: bool = True) -> None:
    """Print a table of comparisons, and count the targets; nothing where there are none."""
    if not entries:
        return
    print_header(title)
    for entry in entries:
        print_entry(entry, with_note=with_note)
    lines = [entry for entry in entries if isinstance(entry, Line)]
    reached = sum(line.reached for line in lines)
    say()
    say(f"{reached} of {len(lines)} targets reached, {len(entries) - len(lines)} skipped")


def line_cells(line: Line) -> tuple[str, ...]:
    """Write a comparison as the `COLUMNS` of its row."""
    target = str(line.target)
    if line.target.quantity != "ratio":
        target += f" ({amount(line.value)}{line.target.unit})"
    return (
        line.what,
        amount(line.ours, line.unit),
        f"{amount(line.peer, line.unit)} {line.peer_name}".strip(),
        amount(line.shown_ratio),
        target,
        "yes" if line.reached else "NO",
    )


def _row(cells: Iterable[str]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return "  ".join(padded).rstrip()
