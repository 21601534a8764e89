"""From records to what people read: a table a measure, and ClAM beside k-means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from statistics import fmean
from typing import NamedTuple

from benchmarks.quality.cells import Record, unpack_labels
from benchmarks.quality.grids import Grid, mean_and_deviation, number, signed
from benchmarks.quality.methods import METHODS
from benchmarks.quality.scoring import stability
from benchmarks.quality.sets import HELD_OUT


class Measure(NamedTuple):
    """A quantity of a record, and how it is shown."""

    title: str
    value: Callable[[Record], float]
    digits: int = 3


MEASURES = (
    Measure("silhouette", lambda record: record.silhouette),
    Measure("ARI", lambda record: record.ari),
    Measure("NMI", lambda record: record.nmi),
    Measure("living clusters", lambda record: record.living, 1),
    Measure("share of the largest cluster", lambda record: record.largest, 2),
    Measure("seconds", lambda record: record.seconds, 2),
)


class Series:
    """The records of one method on one set, over the seeds."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = sorted(records, key=lambda record: record.seed)

    def __bool__(self) -> bool:
        return bool(self.records)

    @property
    def silhouettes(self) -> list[float]:
        """The silhouette for every seed."""
        return [record.silhouette for record in self.records]

    @property
    def silhouette(self) -> float:
        """Mean over the seeds."""
        return fmean(self.silhouettes)

    @property
    def ari(self) -> float:
        """Mean over the seeds."""
        return fmean(record.ari for record in self.records)

    @property
    def alive(self) -> bool:
        """Whether every partition has the clusters that were asked for."""
        return all(record.living == record.n_clusters for record in self.records)

    @cached_property
    def stability(self) -> float:
        """Mean adjusted Rand index between the partitions of different seeds."""
        return stability([unpack_labels(record.labels) for record in self.records])


class Pair(NamedTuple):
    """ClAM's default and k-means on one set."""

    set: str
    clam: Series
    k_means: Series

    @property
    def silhouette_gain(self) -> float:
        """ClAM's mean silhouette less k-means'."""
        return self.clam.silhouette - self.k_means.silhouette

    @property
    def ari_gain(self) -> float:
        """ClAM's mean ARI less k-means'."""
        return self.clam.ari - self.k_means.ari

    @property
    def stability_gain(self) -> float:
        """ClAM's stability less k-means', without the rounding errors of a mean."""
        return round(self.clam.stability - self.k_means.stability, 9)


class Summary:
    """Records by set and method, in the order in which they are shown."""

    def __init__(
        self, records: Iterable[Record], sets: Sequence[str], methods: Sequence[str]
    ) -> None:
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            groups.setdefault((record.set, record.method), []).append(record)
        self.series = {key: Series(group) for key, group in groups.items()}
        self.methods = [m for m in methods if any((s, m) in self.series for s in sets)]
        self.sets = [s for s in sets if any((s, m) in self.series for m in self.methods)]

    def __getitem__(self, key: tuple[str, str]) -> Series:
        return self.series.get(key, Series(()))

    @property
    def pairs(self) -> list[Pair]:
        """ClAM and k-means where both have been run."""
        pairs = [Pair(name, self[name, "clam"], self[name, "kmeans"]) for name in self.sets]
        return [pair for pair in pairs if pair.clam and pair.k_means]

    def grids(self) -> list[Grid]:
        """Give a table for each measure, the stability last."""
        title = "stability: mean ARI between the partitions of different seeds"
        stability = self._grid(title, lambda series: number(series.stability))
        return [*(self._measure_grid(measure) for measure in MEASURES), stability]

    def _measure_grid(self, measure: Measure) -> Grid:
        return self._grid(
            f"{measure.title}, mean ± standard deviation over the seeds",
            lambda series: mean_and_deviation(
                [measure.value(record) for record in series.records], measure.digits
            ),
        )

    def _grid(self, title: str, entry: Callable[[Series], str]) -> Grid:
        columns = ["", *(METHODS[method].title for method in self.methods)]
        rows = [[s, *(entry(self[s, m]) for m in self.methods)] for s in self.sets]
        return Grid(title, columns, rows)

    def comparison(self) -> Grid:
        """Set ClAM beside k-means, with the means over the sets seen and not seen in choosing."""
        seen = [pair for pair in self.pairs if pair.set not in HELD_OUT]
        held_out = [pair for pair in self.pairs if pair.set in HELD_OUT]
        rows = []
        for name, group in (("sets chosen by", seen), ("sets held out", held_out)):
            rows += [_mean_row(pair.set, [pair]) for pair in group]
            rows += [_mean_row(f"mean, {name}", group)] if len(group) > 1 else []
        if seen and held_out:
            rows.append(_mean_row("mean, all these sets", self.pairs))
        columns = ["", "silhouette", "k-means", "gain", "ARI", "k-means", "gain"]
        return Grid("ClAM beside k-means", [*columns, "stability", "k-means"], rows)


def _mean_row(name: str, pairs: Sequence[Pair]) -> list[str]:
    return [
        name,
        number(fmean(pair.clam.silhouette for pair in pairs)),
        number(fmean(pair.k_means.silhouette for pair in pairs)),
        signed(fmean(pair.silhouette_gain for pair in pairs), 4),
        number(fmean(pair.clam.ari for pair in pairs)),
        number(fmean(pair.k_means.ari for pair in pairs)),
        signed(fmean(pair.ari_gain for pair in pairs)),
        number(fmean(pair.clam.stability for pair in pairs)),
        number(fmean(pair.k_means.stability for pair in pairs)),
    ]
