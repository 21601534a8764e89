"""``python -m benchmarks.deep``: DeepClAM beside its peers, from the same autoencoders."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

import torch

from benchmarks.deep import cases as deep
from benchmarks.deep.cases import Key
from benchmarks.deep.methods import METHODS
from benchmarks.deep.sets import DEFAULT_SETS, SETS
from benchmarks.deep.settings import AUTOENCODERS
from benchmarks.deep.summary import SCORES, Summary, target_lines
from benchmarks.framework import (
    Benchmark,
    Case,
    Record,
    Store,
    describe_environment,
    print_entries,
    replace_between,
    say,
)

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


def cases(options: Namespace) -> list[Case[Key]]:
    """List the cases, a seed and a set after the other, so that all methods of one come early."""
    torch.set_num_threads(options.threads)
    settings = deep.QUICK if options.quick else deep.FULL
    return [
        deep.make_case(Key(name, METHODS[method].kind(options.autoencoder), method, seed), settings)
        for seed in options.seeds
        for name in SETS
        if name in (options.sets or DEFAULT_SETS)
        for method in METHODS
        if method in (options.methods or METHODS)
    ]


def tell(record: Record[Key]) -> str:
    """Say what a line of the log says."""
    found = record.results
    return (
        f"NMI {found['nmi']:.4f}  accuracy {found['accuracy']:.4f}  ARI {found['ari']:.4f}  "
        f"silhouette {record.number('silhouette'):.3f}  "
        f"loss {found['reconstruction_before']:.5f} -> {found['reconstruction']:.5f}  "
        f"clusters {found['living']}/{found['n_clusters']}  {found['updates']} batches"
    )


def report(store: Store[Key], keys: set[Key], options: Namespace) -> None:
    """Print the tables and the targets of what was chosen."""
    records = [record for record in store.all() if record.key in keys]
    summary = Summary(records, SETS, tuple(METHODS), options.autoencoder)
    for name in summary.sets:
        say()
        say(summary.grid(name).as_text())
    print_entries("targets", list(target_lines(summary)))


def write_page(path: Path, store: Store[Key]) -> None:
    """Put the tables between the marks of a page."""
    parts = []
    for name, kind, title in _TABLES:
        grid = Summary(store.all(), [name], tuple(METHODS), kind).grid(name, SCORES)
        if grid.rows:
            parts.append(f"{title}\n\n{grid.as_markdown()}")
    replace_between(path, MARKS, "\n\n".join(parts))


def add_options(parser: ArgumentParser) -> None:
    """Choose autoencoder, threads and the folder of what is pre-trained."""
    parser.add_argument(
        "--autoencoder",
        choices=AUTOENCODERS,
        default="mlp",
        help="for all methods but DCEC, which has a convolutional one (default: mlp)",
    )
    parser.add_argument("--threads", type=int, default=2, help="of torch (default: 2)")
    where = "folder of the pre-trained autoencoders (default: %(default)s)"
    parser.add_argument("--cache", type=Path, default=_CACHE, help=where)


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
    add_options,
    choices={"sets": SETS, "methods": tuple(METHODS)},
    seeds=3,
    jobs=False,
    quick=True,
    alone=lambda case: True,  # torch has the threads that it was given
    tell=tell,
    environment=lambda options: describe_environment(threads=options.threads),
).main

if __name__ == "__main__":
    raise SystemExit(main())
