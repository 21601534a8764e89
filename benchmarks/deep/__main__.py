"""``python -m benchmarks.deep``: run the cases that are missing, print, write the page."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch

from benchmarks.deep.cases import Key, make_case, perform
from benchmarks.deep.methods import METHODS
from benchmarks.deep.pretrained import Shelf
from benchmarks.deep.sets import DEFAULT_SETS, SETS
from benchmarks.deep.settings import AUTOENCODERS, FULL, QUICK, Settings
from benchmarks.deep.summary import SCORES, Summary, target_lines
from benchmarks.folders import REPOSITORY, RESULTS
from benchmarks.framework import (
    Case,
    Record,
    Store,
    add_page_options,
    add_run_options,
    complete,
    describe_environment,
    guarded,
    make_parser,
    page_of,
    print_entries,
    replace_between,
    say,
)

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "amclust-benchmarks"
MARKS = ("<!-- the tables of python -m benchmarks.deep -->", "<!-- their end -->")
# Set, autoencoder for all methods that can have it, and what stands above the table.
_TABLES = (
    ("usps", "mlp", "**USPS**"),
    ("fashion_mnist", "mlp", "**Fashion-MNIST, 10,000 images**"),
    (
        "usps",
        "convolutional",
        (
            "**USPS, all from the same convolutional autoencoder** "
            "(`--autoencoder convolutional --methods kmeans dcec graph deepclam`)"
        ),
    ),
    ("fashion_mnist", "convolutional", "**Fashion-MNIST, the same**"),
    ("digits", "mlp", "**digits** (`--sets digits --methods kmeans dec idec graph deepclam`)"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Complete the chosen cases, print the tables and the targets; see `guarded` for the code."""
    options = _parser().parse_args(arguments)
    options.sets = options.sets or DEFAULT_SETS
    options.methods = [name for name in METHODS if name in (options.methods or METHODS)]
    if options.quick and options.output == options.committed[0]:
        # A quick run has other settings, so it must not take the place of a full one.
        options.output = options.cache / "quick.jsonl"
    threads = torch.get_num_threads()
    torch.set_num_threads(options.threads)
    try:
        return guarded(partial(_work, options))
    finally:
        torch.set_num_threads(threads)


def _work(options: argparse.Namespace) -> int:
    store, page = Store(options.output, Key), page_of(options)
    failed = False
    if not options.page_only:
        settings = QUICK if options.quick else FULL
        cases = _cases(options, settings)
        shelf = Shelf(options.cache, say)
        failed = bool(
            complete(
                cases,
                partial(perform, settings=settings, data_dir=options.data_dir, shelf=shelf),
                store,
                alone=lambda case: True,  # torch has the threads that it was given
                environment=describe_environment(threads=options.threads),
                fresh=options.fresh,
                tell=_tell,
            )
        )
        _report(store, {case.key for case in cases}, options)
        say(f"records in {options.output}")
    if page is not None:
        write_page(page, store)
        say(f"page in {page}")
    return int(failed)


def _cases(options: argparse.Namespace, settings: Settings) -> list[Case[Key]]:
    """List the cases, a seed and a set after the other, so that all methods of one come early."""
    return [
        make_case(Key(name, METHODS[method].kind(options.autoencoder), method, seed), settings)
        for seed in options.seeds
        for name in SETS
        for method in options.methods
        if name in options.sets
    ]


def _tell(record: Record[Key]) -> str:
    found = record.results
    return (
        f"NMI {found['nmi']:.4f}  accuracy {found['accuracy']:.4f}  ARI {found['ari']:.4f}  "
        f"silhouette {record.number('silhouette'):.3f}  "
        f"loss {found['reconstruction_before']:.5f} -> {found['reconstruction']:.5f}  "
        f"clusters {found['living']}/{found['n_clusters']}  {found['updates']} batches"
    )


def _report(store: Store[Key], keys: set[Key], options: argparse.Namespace) -> None:
    """Print the tables and the targets of what was chosen."""
    records = [record for record in store.all() if record.key in keys]
    summary = Summary(records, options.sets, options.methods, options.autoencoder)
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


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(
        "benchmarks.deep",
        "Compare DeepClAM with its peers, all from the same pre-trained autoencoders. Only cases "
        "without a record are run.",
    )
    choices = {"sets": SETS, "methods": tuple(METHODS)}
    add_run_options(parser, choices=choices, seeds=3, jobs=False, quick=True)
    parser.add_argument(
        "--autoencoder",
        choices=AUTOENCODERS,
        default="mlp",
        help="for all methods but DCEC, which has a convolutional one (default: mlp)",
    )
    parser.add_argument("--threads", type=int, default=2, help="of torch (default: 2)")
    parser.add_argument(
        "--cache",
        type=Path,
        default=_CACHE,
        help="folder of the pre-trained autoencoders (default: %(default)s)",
    )
    page = REPOSITORY / "docs" / "deep.md"
    add_page_options(parser, output=RESULTS / "deep.jsonl", page=page)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
