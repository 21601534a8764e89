"""From records to what people read: a table a set, and what DeepClAM has to reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from benchmarks.deep.cases import Key
from benchmarks.deep.methods import DCEC, DEC, DEEP_CLAM, K_MEANS, METHODS
from benchmarks.framework import Grid, Line, Record, Target
from benchmarks.summary import Measure, Series, by_set_and_method

NMI = Measure("NMI", "nmi")
ACCURACY = Measure("accuracy", "accuracy")
RATIO = Measure(
    "loss ratio",
    lambda record: record.number("reconstruction") / record.number("reconstruction_before"),
)
SCORES = (
    NMI,
    ACCURACY,
    Measure("ARI", "ari"),
    Measure("silhouette", "silhouette"),
    Measure("recalled", "silhouette_recalled"),
    RATIO,
)
MEASURES = (
    *SCORES,
    Measure("loss before", "reconstruction_before", 4),
    Measure("loss after", "reconstruction", 4),
    Measure("clusters", "living", 1),
    Measure("batches", "updates", 0),
    Measure("seconds", lambda record: record.seconds, 0),
)
PEERS = (K_MEANS, DEC, DCEC)
MAX_RATIO = 1.10
MIN_SEEDS = 3


class Summary:
    """Records by set and method, of the autoencoder that was chosen for all or a method's own."""

    def __init__(
        self,
        records: Iterable[Record[Key]],
        sets: Sequence[str],
        methods: Sequence[str],
        autoencoder: str,
    ) -> None:
        self.series = by_set_and_method(
            one
            for one in records
            if one.key.autoencoder == METHODS[one.key.method].kind(autoencoder)
        )
        self.sets = [name for name in sets if any(key[0] == name for key in self.series)]
        self.methods = methods
        self.autoencoder = autoencoder

    def __getitem__(self, key: tuple[str, str]) -> Series:
        return self.series.get(key, Series())

    def grid(self, name: str, measures: Sequence[Measure] = MEASURES) -> Grid:
        """Give the table of a set: mean ± standard deviation over the seeds."""
        rows = []
        for method in self.methods:
            series = self[name, method]
            if series:
                rows.append([self.title(method), *map(series.show, measures)])
        columns = ["", *(measure.title for measure in measures)]
        return Grid(f"{name}, {self.autoencoder} autoencoder", columns, rows)

    def title(self, method: str, suffix: str = " ({})") -> str:
        """Name a method, and its autoencoder where that is its own."""
        kind = METHODS[method].kind(self.autoencoder)
        return METHODS[method].title + ("" if kind == self.autoencoder else suffix.format(kind))


def target_lines(summary: Summary) -> Iterator[Line]:
    """Hold the results against the targets, over the seeds that both methods have.

    A comparison over too few seeds or with empty clusters does not count.
    """
    for name in summary.sets:
        ours = summary[name, DEEP_CLAM]
        if not ours:
            continue
        for measure in (NMI, ACCURACY):
            for peer in PEERS:
                theirs = summary[name, peer]
                seeds = [seed for seed in theirs.records if seed in ours.records]
                if seeds:
                    note = _note(ours.over(seeds))
                    yield Line.of_means(
                        f"{name}: {measure.title}",
                        ours.over(seeds).values(measure),
                        theirs.over(seeds).values(measure),
                        peer_name=summary.title(peer, " on its {} autoencoder"),
                        ratio=math.nan,
                        target=Target("gain", ">", 0.0),
                        valid=not note,
                        note=note,
                    )
        ratio, note = fmean(ours.values(RATIO)), _note(ours)
        yield Line(
            what=f"{name}: reconstruction over pre-training's",
            ours=ratio,
            peer=math.nan,
            peer_name="",
            value=ratio,
            target=Target("ratio", "<=", MAX_RATIO),
            ratio=ratio,
            valid=not note,
            note=note,
        )


def _note(ours: Series) -> str:
    """Say why a comparison does not count, or nothing."""
    if len(ours.records) < MIN_SEEDS:
        return f"{len(ours.records)} seeds of at least {MIN_SEEDS}"
    return "" if ours.has_all_clusters else "some of DeepClAM's partitions have empty clusters"
