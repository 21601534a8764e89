"""``amclust fit``: learn clusters from a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from amclust._progress import ProgressLine, finish
from amclust.cli.commands import _options
from amclust.cli.commands._answers import answer_frame, write_frames
from amclust.cli.commands._console import count, say, say_json
from amclust.cli.commands._input import (
    check_outputs,
    choose_columns,
    count_missing,
    is_pipe,
    learn,
    matrix_of,
    read,
    read_in_chunks,
    save,
)
from amclust.cli.commands._summary import cluster_sizes, describe, say_quality, say_sizes

if TYPE_CHECKING:
    from amclust.cli.tables import Columns

EXAMPLES = """
amclust demo --write-table wine.csv
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust fit wine.csv -k auto --id wine --drop cultivar --labels labels.csv
amclust fit wine.csv -k 2:6 --id wine --one-hot cultivar --scale robust
cat wine.csv | amclust fit - -k 3 --use alcohol,hue,proline -o small.amc --json
amclust fit wine.csv -k 3 --id wine --drop cultivar --stream --chunk-rows 100 --passes 5
"""
KEYS = (
    "command, table, rows, missing, features, n_clusters, n_features, sizes, silhouette, loss, "
    "beta, epochs, restarts, model, labels"
)


def add(commands: _options.Commands) -> None:
    """Add the command."""
    parser = _options.add_command(
        commands,
        "fit",
        "cluster the rows of a table and keep the model",
        "Cluster the rows of a table. Missing cells are fine: they are left out of the distances.",
        usage="table -k K [options]",
        examples=EXAMPLES,
    )
    _options.add_clusters(parser)
    _options.add_output(parser, "write the model here (model.amc, say)")
    parser.add_argument(
        "--labels", metavar="FILE", help="write the cluster of every row here; - is standard output"
    )
    _options.add_stream(
        parser,
        "read a table that does not fit into memory in chunks, as partial_fit does: a single "
        "run, without restarts and epochs; sizes are counted only for --labels",
    )
    parser.add_argument(
        "--passes",
        metavar="N",
        type=_options.positive,
        help="times to go through the table with --stream (default: 1)",
    )
    _options.add_words(parser, KEYS)
    _options.add_table(parser)
    _options.add_model(parser)
    parser.set_defaults(run=partial(run, parser))


def run(parser: _options.Parser, arguments: argparse.Namespace) -> int:
    """Fit a model, keep what was asked for, say what was found."""
    model = _options.model_of(arguments, parser)
    if arguments.output == "-":
        parser.error("argument -o/--output: a model goes to a file, not to standard output")
    _options.check_stream(parser, arguments)
    arguments.passes = arguments.passes or 1
    if arguments.stream and (arguments.passes > 1 or arguments.labels) and is_pipe(arguments.table):
        parser.error("a pipe can be read only once: no --passes and no --labels with --stream")
    fewest = arguments.clusters if isinstance(arguments.clusters, int) else 1
    if arguments.stream and arguments.chunk_rows < fewest:
        parser.error("argument --chunk-rows: a chunk needs as many rows as there are clusters")
    check_outputs(arguments, "output", "labels", tables=("labels",))
    seen = (_learn_from_stream if arguments.stream else _learn_from_all)(arguments, model)
    if arguments.output:
        save(model, arguments, seen.columns, seen.rows)
    # Those of a stream are known only after another look at all rows, for the labels.
    sizes = None if arguments.stream else cluster_sizes(model.labels_, model.n_clusters_)
    if arguments.labels:
        sizes = _write_labels(arguments, model, seen)
    if arguments.json:
        say_json(
            {
                "command": "fit",
                "table": arguments.table,
                "rows": seen.rows,
                "missing": seen.missing,
                "features": seen.columns.features,
                **describe(model, sizes),
                "model": arguments.output,
                "labels": arguments.labels,
            }
        )
    elif not arguments.quiet and arguments.labels != "-":
        _say(arguments, model, seen, sizes)
    return 0


class Seen(NamedTuple):
    """What a model has learned from."""

    frames: Iterable[Any]
    columns: Columns
    rows: int
    missing: int  # cells


def _learn_from_all(arguments: argparse.Namespace, model: Any) -> Seen:
    frame = read(arguments)
    columns = choose_columns(arguments, frame)
    X = matrix_of(columns, frame)
    learn(model.fit, X)
    return Seen([frame], columns, len(frame), count_missing(columns, X))


def _learn_from_stream(arguments: argparse.Namespace, model: Any) -> Seen:
    """Learn from one chunk after the other: the same answer as `partial_fit` over the chunks."""
    chunks = read_in_chunks(arguments)
    columns = choose_columns(arguments, chunks)
    line = ProgressLine()
    rows = missing = 0
    for turn in range(arguments.passes):
        rows = missing = 0
        for frame in chunks:
            X = matrix_of(columns, frame, first_row=rows)
            columns.ids(frame, first_row=rows)
            learn(model.partial_fit, X, "the first chunk")
            rows += len(frame)
            missing += count_missing(columns, X)
            if not arguments.quiet and line.is_due():
                line.show(f"ClAM: pass {turn + 1} of {arguments.passes}, {count(rows, 'row')}")
    finish(not arguments.quiet, f"ClAM: {count(arguments.passes, 'pass')}, {count(rows, 'row')}")
    return Seen(chunks, columns, rows, missing)


def _write_labels(arguments: argparse.Namespace, model: Any, seen: Seen) -> Any:
    """Write the cluster of every row; return the clusters' sizes."""
    sizes = cluster_sizes([], model.n_clusters_)

    def labelled() -> Iterator[Any]:
        nonlocal sizes
        for frame in seen.frames:
            labels = model.predict(matrix_of(seen.columns, frame))
            sizes = sizes + cluster_sizes(labels, model.n_clusters_)
            yield answer_frame(seen.columns, frame, {"label": labels})

    write_frames(
        labelled(), arguments.labels, overwrite=arguments.force, in_chunks=arguments.stream
    )
    return sizes


def _say(arguments: argparse.Namespace, model: Any, seen: Seen, sizes: Any) -> None:
    missing = f", {count(seen.missing, 'missing cell')}" if seen.missing else ""
    table = "standard input" if arguments.table == "-" else arguments.table
    say(f"{table}: {count(seen.rows, 'row')}, {count(model.n_features_in_, 'feature')}{missing}")
    if arguments.stream:
        say(
            f"{count(model.n_clusters_, 'cluster')}, {count(arguments.passes, 'pass')} of the table"
        )
    else:
        say_quality(model)
    if sizes is not None:
        say()
        say_sizes(sizes)
    if arguments.output or arguments.labels:
        say()
    if arguments.labels:
        say(f"{arguments.labels}: the cluster of every row")
    if arguments.output:
        say(f"{arguments.output}: the model, for amclust predict, complete, report and info")
