"""``python -m benchmarks.deep``: DeepClAM beside its peers, from the same autoencoders."""

import math
import os
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

import torch

from benchmarks import summary
from benchmarks.data import IMAGES
from benchmarks.deep import cases as deep
from benchmarks.deep.cases import DCEC, DEC, DEEP_CLAM, K_MEANS, METHODS, Key
from benchmarks.deep.pretrained import AUTOENCODERS
from benchmarks.framework.cases import Case, Record
from benchmarks.framework.command import Benchmark
from benchmarks.framework.environment import describe_environment
from benchmarks.framework.lines import Line, Target, print_entries
from benchmarks.framework.pages import Grid, replace_between, say
from benchmarks.framework.store import Store
from benchmarks.summary import Measure, Series

NMI = Measure("NMI", "nmi")
ACCURACY = Measure("accuracy", "accuracy")
RATIO = Measure(
    "loss ratio",
    lambda record: record.number("reconstruction") / record.number("reconstruction_before"),
)
SCORES = (NMI, ACCURACY, Measure("ARI", "ari"), Measure("silhouette", "silhouette"))
SCORES += (Measure("recalled", "silhouette_recalled"), RATIO)
MEASURES = (
    *SCORES,
    Measure("loss before", "reconstruction_before", 4),
    Measure("loss after", "reconstruction", 4),
    Measure("clusters", "living", 1),
    Measure("batches", "updates", 0),
    Measure("seconds", lambda record: record.seconds, 0),
)
# The digits are small and always there, for trying things out.
DEFAULT_SETS = ("usps", "fashion_mnist")
PEERS = (K_MEANS, DEC, DCEC)
MAX_RATIO = 1.10
MIN_SEEDS = 3

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amclust-benchmarks"
MARKS = ("<!-- the tables of python -m benchmarks.deep -->", "<!-- their end -->")
_CONVOLUTIONAL = (
    "**USPS, all from the same convolutional autoencoder** "
    "(`--autoencoder convolutional --methods kmeans dcec graph deepclam`)"
)
# Set, autoencoder for all methods that can have it, and what stands above the table.
_TABLES = (
    ("usps", "mlp", "**USPS**"),
    ("fashion_mnist", "mlp", "**Fashion-MNIST, 10,000 images**"),
    ("usps", "convolutional", _CONVOLUTIONAL),
    ("fashion_mnist", "convolutional", "**Fashion-MNIST, the same**"),
    ("digits", "mlp", "**digits** (`--sets digits --methods kmeans dec idec graph deepclam`)"),
)


class Summary(summary.Summary):
    """Records by set and method, of the autoencoder that was chosen for all or a method's own."""

    def __init__(
        self, records: Iterable[Record[Key]], sets: Sequence[str], autoencoder: str
    ) -> None:
        kinds = {name: method.kind(autoencoder) for name, method in METHODS.items()}
        found = (one for one in records if one.key.autoencoder == kinds[one.key.method])
        super().__init__(found, sets, tuple(METHODS))
        self.autoencoder = autoencoder

    def grid(self, name: str, measures: Sequence[Measure] = MEASURES) -> Grid:
        """Give the table of a set: mean ± standard deviation over the seeds."""
        found = {self.title(method): self[name, method] for method in self.methods}
        rows = [[title, *map(one.show, measures)] for title, one in found.items() if one]
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
                    yield Line.of_means(
                        f"{name}: {measure.title}",
                        ours.over(seeds).values(measure),
                        theirs.over(seeds).values(measure),
                        peer_name=summary.title(peer, " on its {} autoencoder"),
                        target=Target("gain", ">", 0.0),
                        ratio=math.nan,
                        **_validity(ours.over(seeds)),
                    )
        ratio, target = fmean(ours.values(RATIO)), Target("ratio", "<=", MAX_RATIO)
        what = f"{name}: reconstruction over pre-training's"
        yield Line(what, ratio, math.nan, "", ratio, target, ratio=ratio, **_validity(ours))


def _validity(ours: Series) -> dict[str, bool | str]:
    note = "" if ours.has_all_clusters else "some of DeepClAM's partitions have empty clusters"
    if len(ours.records) < MIN_SEEDS:
        note = f"{len(ours.records)} seeds of at least {MIN_SEEDS}"
    return {"valid": not note, "note": note}


def cases(options: Namespace) -> list[Case[Key]]:
    torch.set_num_threads(options.threads)
    settings = deep.QUICK if options.quick else deep.FULL
    return [
        deep.make_case(Key(name, METHODS[method].kind(options.autoencoder), method, seed), settings)
        for seed in options.seeds
        for name in IMAGES
        if name in (options.sets or DEFAULT_SETS)
        for method in METHODS
        if method in (options.methods or METHODS)
    ]


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    records = [record for record in store.all() if record.key in keys]
    found = Summary(records, tuple(IMAGES), options.autoencoder)
    for name in found.sets:
        say(f"\n{found.grid(name).as_text()}")
    print_entries("targets", target_lines(found))


def write_page(path: Path, store: Store[Key]) -> None:
    parts = []
    for name, kind, title in _TABLES:
        grid = Summary(store.all(), [name], kind).grid(name, SCORES)
        if grid.rows:
            parts.append(f"{title}\n\n{grid.as_markdown()}")
    replace_between(path, MARKS, "\n\n".join(parts))


_KIND = "for all methods but DCEC, which has a convolutional one (default: mlp)"
_WHERE = "folder of the pre-trained autoencoders (default: %(default)s)"
main = Benchmark(
    "deep",
    "deep.md",
    "Compare DeepClAM with its peers, all from the same pre-trained autoencoders. Only cases "
    "without a record are run.",
    Key,
    cases,
    deep.perform,
    report,
    write_page,
    options={
        "--autoencoder": {"choices": AUTOENCODERS, "default": "mlp", "help": _KIND},
        "--threads": {"type": int, "default": 2, "help": "of torch (default: 2)"},
        "--cache": {"type": Path, "default": _CACHE, "help": _WHERE},
    },
    choices={"sets": tuple(IMAGES), "methods": tuple(METHODS)},
    seeds=3,
    jobs=False,
    quick=True,
    alone=lambda case: True,  # torch has the threads that it was given
    tell=("nmi", "accuracy", "ari", "silhouette", "reconstruction_before", "reconstruction"),
    environment=lambda options: describe_environment(threads=options.threads),
).main

if __name__ == "__main__":
    raise SystemExit(main())
