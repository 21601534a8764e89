"""From records to what people read: a table a set, and what DeepClAM has to reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from benchmarks.deep.cases import Key
from benchmarks.deep.methods import DCEC, DEC, DEEP_CLAM, K_MEANS, METHODS
from benchmarks.framework import Grid, Line, Record, Target, mean_and_deviation
from benchmarks.summary import Measure, Series, by_set_and_method, result

NMI = Measure("NMI", result("nmi"))
ACCURACY = Measure("accuracy", result("accuracy"))
RATIO = Measure(
    "loss ratio",
    lambda record: record.number("reconstruction") / record.number("reconstruction_before"),
)
SCORES = (
    NMI,
    ACCURACY,
    Measure("ARI", result("ari")),
    Measure("silhouette", result("silhouette")),
    Measure("recalled", result("silhouette_recalled")),
    RATIO,
)
MEASURES = (
    *SCORES,
    Measure("loss before", result("reconstruction_before"), 4),
    Measure("loss after", result("reconstruction"), 4),
    Measure("clusters", result("living"), 1),
    Measure("batches", result("updates"), 0),
    Measure("seconds", lambda record: record.seconds, 0),
)
PEERS = (K_MEANS, DEC, DCEC)
MAX_RATIO = 1.10
MIN_SEEDS = 3


class Summary:
    """Records by set and method, in the order in which they are shown.

    Parameters
    ----------
    records : iterable of Record
        What there is; those of other autoencoders than the chosen or a method's own are left out.
    sets, methods : sequence of str
        What is shown, where there are records.
    autoencoder : str
        The kind that was chosen for all; methods that got another are marked.
    """

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
                cells = (mean_and_deviation(series.values(one), one.digits) for one in measures)
                rows.append([self.title(method), *cells])
        columns = ["", *(measure.title for measure in measures)]
        return Grid(f"{name}, {self.autoencoder} autoencoder", columns, rows)

    def title(self, method: str) -> str:
        """Name a method, and its autoencoder where that is its own."""
        kind = METHODS[method].kind(self.autoencoder)
        return METHODS[method].title + ("" if kind == self.autoencoder else f" ({kind})")


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
                seeds = [seed for seed in summary[name, peer].seeds if seed in ours.seeds]
                if seeds:
                    pair = ours.over(seeds), summary[name, peer].over(seeds)
                    yield _against_peer(name, measure, _peer_title(summary, peer), *pair)
        yield _reconstruction(name, ours)


def _peer_title(summary: Summary, peer: str) -> str:
    kind = METHODS[peer].kind(summary.autoencoder)
    other = "" if kind == summary.autoencoder else f" on its {kind} autoencoder"
    return METHODS[peer].title + other


def _against_peer(name: str, measure: Measure, title: str, ours: Series, peer: Series) -> Line:
    note = _note(ours)
    return Line(
        what=f"{name}: {measure.title}",
        ours=ours.mean(measure),
        peer=peer.mean(measure),
        peer_name=title,
        value=ours.mean(measure) - peer.mean(measure),
        ratio=math.nan,
        target=Target("gain", ">", 0.0),
        valid=not note,
        note=note,
    )


def _reconstruction(name: str, ours: Series) -> Line:
    note = _note(ours)
    return Line(
        what=f"{name}: reconstruction over pre-training's",
        ours=ours.mean(RATIO),
        peer=math.nan,
        peer_name="",
        value=ours.mean(RATIO),
        target=Target("ratio", "<=", MAX_RATIO),
        ratio=ours.mean(RATIO),
        valid=not note,
        note=note,
    )


def _note(ours: Series) -> str:
    """Say why a comparison does not count, or nothing."""
    if len(ours.seeds) < MIN_SEEDS:
        return f"{len(ours.seeds)} seeds of at least {MIN_SEEDS}"
    return "" if ours.has_all_clusters else "some of DeepClAM's partitions have empty clusters"
