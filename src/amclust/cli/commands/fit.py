"""``amclust fit``: learn clusters from a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from amclust.cli.commands import console, files, on_dask, options
from amclust.cli.commands.console import count, say

if TYPE_CHECKING:
    from amclust.cli.tables import Columns, Table
    from amclust.cli.tables.streaming import Order

SUMMARY = "cluster the rows of a table and keep the model"
USAGE = "table -k K [options]"
EXAMPLES = """
amclust demo --write-table wine.csv
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust fit wine.csv -k auto --id wine --drop cultivar --labels labels.csv
amclust fit wine.csv -k 3 --memories auto --id wine --drop cultivar
amclust fit wine.csv -k 3 --id wine --drop cultivar --drop-empty
amclust fit wine.csv -k 10 --size-min 16 --size-max 20 --id wine --drop cultivar
amclust fit wine.csv -k 2:6 --id wine --categorical cultivar --scale robust
cat wine.csv | amclust fit - -k 3 --use alcohol,hue,proline -o small.amc --json
amclust fit wine.csv -k 3 --id wine --drop cultivar --stream --chunk-rows 100 --passes 5
"""
KEYS = (
    "command, table, rows, missing, features, n_clusters, n_memories, n_features, sizes, "
    "silhouette, loss, beta, epochs, restarts, top_features, model, labels"
)


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    options.add_clusters(parser)
    options.add_output(parser, "write the model here (model.amc, say)")
    words = "write the cluster of every row here; - is standard output"
    parser.add_argument("--labels", metavar="FILE", help=words)
    options.add_stream(
        parser,
        "read a table that does not fit into memory in chunks, as partial_fit does, after a sample "
        "of all its rows: a single run, without restarts and epochs; sizes are counted only for "
        "--labels",
    )
    words = "times to go through the table with --stream (default: 1)"
    options.add_number(parser, "--passes", words)
    on_dask.add_option(parser, "--labels")
    options.add_top(parser)
    options.add_words(parser, KEYS)
    options.add_table(parser)
    options.add_model(parser)


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Cluster the rows of a table.

    Missing cells are fine: they are left out of the distances.
    """
    model = options.model_of(arguments, parser)
    if arguments.output == "-":
        parser.error("argument -o/--output: a model goes to a file, not to standard output")
    if arguments.json and arguments.labels == "-":
        parser.error("--json and --labels - would both go to standard output")
    if arguments.dask:
        on_dask.check(parser, arguments, "labels")
    options.check_stream(parser, arguments)
    arguments.passes = arguments.passes or 1
    if (
        arguments.stream
        and (arguments.passes > 1 or arguments.labels)
        and files.is_pipe(arguments.table)
    ):
        parser.error("a pipe can be read only once: no --passes and no --labels with --stream")
    fewest = arguments.clusters if isinstance(arguments.clusters, int) else 1
    if arguments.stream and arguments.chunk_rows < fewest:
        parser.error("argument --chunk-rows: a chunk needs as many rows as there are clusters")
    if arguments.dask:
        seen, sizes = _learn_on_dask(arguments, model)
    else:
        files.check_outputs(arguments, "output", "labels", tables=("labels",))
        seen = (_learn_from_stream if arguments.stream else _learn_from_all)(arguments, model)
        if arguments.output:
            files.save(model, arguments, seen.columns, seen.rows)
        # Those of a stream are known only after another look at all rows, for the labels.
        in_memory = not arguments.stream
        sizes = console.cluster_sizes(model.labels_, model.n_clusters_) if in_memory else None
        if arguments.labels:
            sizes = _write_labels(arguments, model, seen)
    if arguments.json:
        found = console.describe(model, sizes)
        found["top_features"] = console.describe_features(model, arguments.top, sizes)
        found |= {"rows": seen.rows, "missing": seen.missing, "features": seen.columns.names}
        console.say_json(arguments, "table", "labels", model=arguments.output, **found)
    elif not arguments.quiet and arguments.labels != "-":
        _say(arguments, model, seen, sizes)


class Seen(NamedTuple):
    """What a model has learned from."""

    chunks: Iterable[Table]  # all columns of the table may be left out but the names of the rows
    columns: Columns
    rows: int
    missing: int  # values


def _learn_from_all(arguments: argparse.Namespace, model: Any) -> Seen:
    matrix = files.matrix_of(arguments)
    files.learn(model.fit, matrix.frame)
    return Seen([matrix.row_names], matrix.columns, len(matrix), matrix.missing)


def _learn_from_stream(arguments: argparse.Namespace, model: Any) -> Seen:
    """Learn from one chunk after the other by `partial_fit`, in whatever order rows come.

    Of a file a sample is read first. What can be read only once has that of the rows so far.
    """
    import numpy as np

    from amclust._progress import ProgressLine, finish
    from amclust._rows import empty_rows
    from amclust.cli.tables import choose_columns
    from amclust.cli.tables.streaming import WINDOW_CHUNKS, Order, Sample, in_turns

    chunks = files.in_chunks(arguments)
    columns = choose_columns(chunks, files.choice_of(arguments, chunks.first().names))
    chunks.narrow(columns)
    rng = np.random.default_rng(arguments.seed)
    sample, order, line = Sample(arguments.chunk_rows, rng), Order(), ProgressLine()
    rows = missing = n_empty = 0

    def read(what: str) -> Iterator[Any]:
        """Yield the rows of each chunk that have values; count all of them."""
        nonlocal rows, missing, n_empty
        rows = missing = n_empty = 0
        for chunk in chunks:
            values, _ = files.rows_for(None, columns, chunk, first_row=rows)
            columns.ids(chunk, first_row=rows)
            empty = empty_rows(values)
            n_empty += len(empty)
            rows += len(chunk)
            missing += columns.count_missing(values)
            yield np.delete(values, empty, axis=0)
            if not arguments.quiet and line.is_due():
                line.show(f"ClAM: {what}, {count(rows, 'row')}")

    def offered(values: Any) -> Any:
        sample.add(values)
        order.add(values)
        return values

    if chunks.rereadable:
        for values in read("a sample"):
            offered(values)
    for turn in range(arguments.passes):
        source = read(f"pass {turn + 1} of {arguments.passes}")
        if not chunks.rereadable:
            begun = [offered(values) for values in islice(source, WINDOW_CHUNKS)]
            source = chain(begun, map(offered, source))
        if not turn:
            first = (
                sample.rows() if len(sample) else files.rows_for(None, columns, chunks.first())[0]
            )
            words = "the sample" if chunks.rereadable else f"its beginning ({count(rows, 'row')})"
            files.learn(model.partial_fit, columns.frame(first), words)
        for values in in_turns(source, sample, rng, arguments.chunk_rows):
            model.partial_fit(columns.frame(values))
    finish(
        not arguments.quiet,
        f"ClAM: {count(arguments.passes, 'pass')}, {count(rows, 'row')}",
    )
    files.tell_empty(n_empty, rows, trained=True)
    _tell_order(order, columns, arguments, sampled=chunks.rereadable)
    return Seen(chunks, columns, rows, missing)


def _tell_order(
    order: Order, columns: Columns, arguments: argparse.Namespace, *, sampled: bool
) -> None:
    """Warn of rows whose order tells something about them."""
    found = order.part()
    if found is None:
        return
    column, part = found
    answer = (
        "it was learned in a shuffled order, with a sample of the whole table beside; in memory, "
        "without --stream, the order does not count at all"
        if sampled
        else "what comes late counts less; from a file a sample of all rows would be learned first"
    )
    console.note(
        f"warning: the rows of {files.name_of(arguments)} come in an order: the chunk of a row "
        f"tells {part:.0%} of the variance of column {columns.names[column]!r}: {answer}"
    )


def _learn_on_dask(arguments: argparse.Namespace, model: Any) -> tuple[Seen, Any]:
    """Learn from parts that workers read; return the clusters' sizes too, if anybody asks."""
    files.check_outputs(arguments, "output")
    # The cluster ends first: nobody writes into a folder any more that is removed.
    with on_dask.folder_of(arguments, "labels") as folder, on_dask.cluster(arguments) as engine:
        parts, columns, rows, missing = on_dask.learn(arguments, model, engine)
        if arguments.output:
            files.save(model, arguments, columns, rows)
        sizes = None
        if folder is not None or arguments.json or not arguments.quiet:
            sizes = on_dask.label(arguments, model, parts, columns, engine, folder).sizes
    return Seen([], columns, rows, missing), sizes


def _write_labels(arguments: argparse.Namespace, model: Any, seen: Seen) -> Any:
    """Write the cluster of every row; return the clusters' sizes."""
    sizes = console.cluster_sizes([], model.n_clusters_)

    def labelled() -> Iterator[Table]:
        nonlocal sizes
        for chunk in seen.chunks:
            # A stream has changed the model since the chunk was seen.
            labels = model.labels_
            if arguments.stream:
                labels = model.predict(files.rows_for(model, seen.columns, chunk)[1])
            sizes = sizes + console.cluster_sizes(labels, model.n_clusters_)
            yield files.answers_beside(seen.columns, chunk, {"label": labels})

    files.write_chunks(labelled(), arguments.labels, arguments)
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
        console.say_quality(model)
    if sizes is not None:
        say()
        console.say_sizes(sizes, seen.rows)
    console.say_features(model, arguments.top, sizes)
    if arguments.output or arguments.labels:
        say()
    if arguments.labels:
        say(f"{arguments.labels}: the cluster of every row")
    if arguments.output:
        say(f"{arguments.output}: the model, for amclust predict, complete, report and info")
