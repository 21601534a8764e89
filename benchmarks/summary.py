"""Records of clusterings by set and method: what tables and targets are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.framework.cases import Record, unpack_labels
from benchmarks.framework.pages import mean_and_deviation
from benchmarks.partitions import stability


class Measure(NamedTuple):
    """A quantity of a record, by its name among the results or computed, and how it is shown."""

    title: str
    of: str | Callable[[Record[Any]], float]
    digits: int = 3

    def __call__(self, record: Record[Any]) -> float:
        return record.number(self.of) if isinstance(self.of, str) else self.of(record)


class Series:
    """The records of one method on one set, over the seeds."""

    def __init__(self, records: Iterable[Record[Any]] = ()) -> None:
        self.records = {one.key.seed: one for one in sorted(records, key=lambda one: one.key.seed)}

    def __bool__(self) -> bool:
        return bool(self.records)

    @property
    def has_all_clusters(self) -> bool:
        found = (record.results for record in self.records.values())
        return all(one["living"] == one["n_clusters"] for one in found)

    @cached_property
    def stability(self) -> float:
        """Mean adjusted Rand index between the partitions of different seeds."""
        return stability([unpack_labels(one.results["labels"]) for one in self.records.values()])

    def values(self, measure: Callable[[Record[Any]], float]) -> list[float]:
        return [measure(record) for record in self.records.values()]

    def mean(self, quantity: str) -> float:
        """Give the mean of a result over the seeds, or the stability."""
        if quantity == "stability":
            return self.stability
        return fmean(self.values(Measure("", quantity)))

    def show(self, measure: Measure) -> str:
        return mean_and_deviation(self.values(measure), measure.digits)

    def over(self, seeds: Iterable[int]) -> Series:
        return Series(self.records[seed] for seed in seeds)


class Summary:
    """The series of sets and methods that have some, in the order in which they are shown."""

    def __init__(
        self, records: Iterable[Record[Any]], sets: Sequence[str], methods: Sequence[str]
    ) -> None:
        groups: dict[tuple[str, str], list[Record[Any]]] = {}
        for record in records:
            groups.setdefault((record.key.set, record.key.method), []).append(record)
        self.series = {key: Series(group) for key, group in groups.items()}
        self.methods = [m for m in methods if any((s, m) in groups for s in sets)]
        self.sets = [s for s in sets if any((s, m) in groups for m in self.methods)]

    def __getitem__(self, key: tuple[str, str]) -> Series:
        return self.series.get(key, Series())
