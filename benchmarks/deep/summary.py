"""From records to what people read: a table a set, mean ± standard deviation over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from benchmarks.deep.cells import Record
from benchmarks.deep.methods import METHODS
from benchmarks.quality.grids import Grid, mean_and_deviation


class Measure(NamedTuple):
    """A quantity of a record, and how it is shown."""

    title: str
    value: Callable[[Record], float]
    digits: int = 3


NMI = Measure("NMI", lambda record: record.nmi)
ACCURACY = Measure("accuracy", lambda record: record.accuracy)
RATIO = Measure("ratio", lambda record: record.reconstruction_ratio)
MEASURES = (
    NMI,
    ACCURACY,
    Measure("ARI", lambda record: record.ari),
    Measure("silhouette", lambda record: record.silhouette),
    Measure("recalled", lambda record: record.silhouette_recalled),
    Measure("loss before", lambda record: record.reconstruction_before, 4),
    Measure("loss after", lambda record: record.reconstruction, 4),
    RATIO,
    Measure("living", lambda record: record.living, 1),
    Measure("batches", lambda record: record.updates, 0),
    Measure("seconds", lambda record: record.seconds, 0),
)


class Series:
    """The records of one method on one set, over the seeds."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.records = {record.seed: record for record in sorted(records, key=lambda r: r.seed)}

    def __bool__(self) -> bool:
        return bool(self.records)

    @property
    def seeds(self) -> list[int]:
        """The seeds there are."""
        return list(self.records)

    @property
    def kind(self) -> str:
        """The kind of autoencoder, the same for all seeds."""
        return next(iter(self.records.values())).autoencoder

    @property
    def alive(self) -> bool:
        """Whether every partition has the clusters that were asked for."""
        return all(record.living == record.n_clusters for record in self.records.values())

    def values(self, measure: Measure) -> list[float]:
        """Give a quantity for every seed."""
        return [measure.value(record) for record in self.records.values()]

    def mean(self, measure: Measure) -> float:
        """Give the mean of a quantity over the seeds."""
        return fmean(self.values(measure))

    def over(self, seeds: Iterable[int]) -> Series:
        """Give the part with these seeds."""
        return Series(self.records[seed] for seed in seeds)


class Summary:
    """Records by set and method, in the order in which they are shown.

    Parameters
    ----------
    records : iterable of Record
        What there is.
    sets, methods : sequence of str
        What is shown, where there are records.
    autoencoder : str
        The kind that was chosen for all; methods that got another are marked.
    """

    def __init__(
        self,
        records: Iterable[Record],
        sets: Sequence[str],
        methods: Sequence[str],
        autoencoder: str,
    ) -> None:
        groups: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            groups.setdefault((record.set, record.method), []).append(record)
        self.series = {key: Series(group) for key, group in groups.items()}
        self.sets = [name for name in sets if any(key[0] == name for key in self.series)]
        self.methods = methods
        self.autoencoder = autoencoder

    def __getitem__(self, key: tuple[str, str]) -> Series:
        return self.series.get(key, Series(()))

    def grids(self) -> list[Grid]:
        """Give a table for each set."""
        return [self._grid(name) for name in self.sets]

    def _grid(self, name: str) -> Grid:
        rows = []
        for method in self.methods:
            series = self[name, method]
            if series:
                cells = (mean_and_deviation(series.values(one), one.digits) for one in MEASURES)
                rows.append([self.title(method, series), *cells, str(len(series.seeds))])
        columns = ["", *(measure.title for measure in MEASURES), "seeds"]
        return Grid(f"{name}, {self.autoencoder} autoencoder", columns, rows)

    def title(self, method: str, series: Series) -> str:
        """Name a method, and its autoencoder where that is its own."""
        title = METHODS[method].title
        return title if series.kind == self.autoencoder else f"{title} ({series.kind})"
