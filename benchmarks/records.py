"""What a benchmark says: one line a comparison, with its target and whether it is reached."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Relation = Literal["<=", "<", ">=", ">"]

_RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}


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
    what : str
        What was measured.
    unit : str
        Unit of ``ours`` and ``peer``.
    ours, peer : float
        The two measurements; ``peer`` is NaN where there is nothing to compare with.
    peer_name : str
        Who the peer is.
    value : float
        The quantity that the target bounds.
    target : Target
        The bound.
    ratio : float or None
        Median of paired ratios where measurements come in pairs, else ``ours / peer``.
    valid : bool
        False when the number was got in a way that does not count (see ``note``).
    note : str
        How it was measured, and what a reader must know.
    samples : mapping of str to sequence
        The raw measurements.
    """

    what: str
    unit: str
    ours: float
    peer: float
    peer_name: str
    value: float
    target: Target
    ratio: float | None = None
    valid: bool = True
    note: str = ""
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)

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
        return {
            "what": self.what,
            "unit": self.unit,
            "ours": _finite(self.ours),
            "peer": _finite(self.peer),
            "peer_name": self.peer_name,
            "ratio": _finite(self.shown_ratio),
            "quantity": self.target.quantity,
            "value": _finite(self.value),
            "target": str(self.target),
            "valid": self.valid,
            "reached": self.reached,
            "note": self.note,
            "samples": {name: list(values) for name, values in self.samples.items()},
        }


@dataclass(frozen=True)
class Skipped:
    """A comparison that could not be made on this machine."""

    what: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return {"what": self.what, "skipped": self.reason}


Entry = Line | Skipped


@dataclass
class SectionResult:
    """Everything one section has said so far."""

    name: str
    entries: list[Entry] = field(default_factory=list)
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Give the section as plain values."""
        return {"seconds": self.seconds, "entries": [entry.as_json() for entry in self.entries]}


def _finite(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None
