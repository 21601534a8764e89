"""A case, which is what is measured, and the record of what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from benchmarks.framework.values import short_hash


class Key(Protocol):
    """What names a case among those of its benchmark: a NamedTuple of texts and integers."""

    def __hash__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def _asdict(self) -> dict[str, Any]: ...


K = TypeVar("K", bound=Key)


@dataclass(frozen=True)
class Case(Generic[K]):
    """What is measured.

    The `key` names it, for instance by set, method and seed. The `definition` says everything that
    is chosen about it, as plain values: a record with another one is out of date. `data` is a
    fingerprint of the data, None where they are made or not at hand.
    """

    key: K
    definition: dict[str, Any] = field(default_factory=dict)
    data: str | None = None

    @cached_property
    def hash(self) -> str:
        """Name the definition by a few characters."""
        return short_hash(self.definition)

    def __str__(self) -> str:
        return " ".join(map(str, self.key))


@dataclass(frozen=True)
class Record(Generic[K]):
    """What came of a case.

    `results` are plain values, `seconds` what it took without what an interrupt threw away,
    `environment` is that of `describe_environment`, and `date` in ISO format and UTC (empty where
    nobody wrote it down).
    """

    case: Case[K]
    results: dict[str, Any]
    seconds: float
    environment: dict[str, Any]
    date: str = ""

    @property
    def key(self) -> K:
        return self.case.key

    def number(self, name: str) -> float:
        """Give one of the results; NaN for a number that JSON could not hold."""
        value = self.results[name]
        return math.nan if value is None else float(value)

    def is_of(self, case: Case[K]) -> bool:
        """Whether this is still what the case asks for; unknown data are not compared."""
        same_data = None in (self.case.data, case.data) or self.case.data == case.data
        return self.key == case.key and self.case.hash == case.hash and same_data
