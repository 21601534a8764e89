"""``amclust fit``: learn clusters from a table."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from amclust._commands import _options
from amclust._commands._answers import answer_frame, write_frames
from amclust._commands._console import count, say, say_json
from amclust._commands._input import (
    check_outputs,
    choose_columns,
    matrix_of,
    read,
    read_in_chunks,
    source_of,
)
from amclust._commands._summary import cluster_sizes, describe, say_quality, say_sizes

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
    parser.add_argument("--labels", metavar="FILE", help="write the cluster of every row here")
    _options.add_stream(
        parser,
        "read a table that does not fit into memory piece by piece, as partial_fit does: a single "
        "run, in which restarts and epochs do not count",
    )
    parser.add_argument(
        "--passes",
        metavar="N",
        type=_options.positive,
        default=1,
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
    if arguments.stream and arguments.table == "-" and (arguments.passes > 1 or arguments.labels):
        parser.error("standard input can be read only once: no --passes and no --labels with it")
    check_outputs(arguments, "output", "labels")
    fit = _fit_stream if arguments.stream else _fit_whole
    columns, rows, missing, sizes = fit(arguments, model)
    if arguments.output:
        from amclust._model_file import save_model

        extra = {"columns": columns.to_json(), "source": source_of(arguments, rows)}
        model.set_params(verbose=0)  # the progress was that of this fit
        save_model(model, arguments.output, extra=extra, overwrite=arguments.force)
    if arguments.json:
        say_json(
            {
                "command": "fit",
                "table": arguments.table,
                "rows": rows,
                "missing": missing,
                "features": columns.features,
                **describe(model, sizes),
                "model": arguments.output,
                "labels": arguments.labels,
            }
        )
    elif not arguments.quiet and arguments.labels != "-":
        _say(arguments, model, rows, missing, sizes)
    return 0


def _fit_whole(arguments: argparse.Namespace, model: Any) -> tuple[Any, int, int, Any]:
    frame = read(arguments)
    columns = choose_columns(arguments, frame)
    X = matrix_of(columns, frame)
    model.fit(X)
    if arguments.labels:
        table = answer_frame(columns, frame, {"label": model.labels_})
        write_frames(iter([table]), arguments.labels, overwrite=arguments.force)
    sizes = cluster_sizes(model.labels_, model.n_clusters_)
    return columns, len(frame), int(X.isna().to_numpy().sum()), sizes


def _fit_stream(arguments: argparse.Namespace, model: Any) -> tuple[Any, int, int, Any]:
    """Learn from one piece after the other: the same answer as `partial_fit` over the pieces."""
    from amclust._progress import ProgressLine, finish

    chunks = read_in_chunks(arguments)
    columns = choose_columns(arguments, chunks)
    line = ProgressLine()
    rows = missing = 0
    for turn in range(arguments.passes):
        rows = missing = 0
        for frame in chunks:
            X = matrix_of(columns, frame, first_row=rows)
            columns.ids(frame, first_row=rows)
            model.partial_fit(X)
            rows += len(frame)
            missing += int(X.isna().to_numpy().sum())
            if not arguments.quiet and line.is_due():
                line.show(f"ClAM: pass {turn + 1} of {arguments.passes}, {count(rows, 'row')}")
    finish(not arguments.quiet, f"ClAM: {count(arguments.passes, 'pass')}, {count(rows, 'row')}")
    sizes = cluster_sizes(model.labels_, model.n_clusters_)
    if arguments.labels:
        sizes = 0 * sizes

        def labelled() -> Any:
            nonlocal sizes
            done = 0
            for frame in chunks:
                labels = model.predict(matrix_of(columns, frame, first_row=done))
                done += len(frame)
                sizes = sizes + cluster_sizes(labels, model.n_clusters_)
                yield answer_frame(columns, frame, {"label": labels})

        write_frames(labelled(), arguments.labels, overwrite=arguments.force, pieces=True)
    return columns, rows, missing, sizes


def _say(arguments: argparse.Namespace, model: Any, rows: int, missing: int, sizes: Any) -> None:
    holes = f", {count(missing, 'missing cell')}" if missing else ""
    table = "standard input" if arguments.table == "-" else arguments.table
    say(f"{table}: {count(rows, 'row')}, {count(model.n_features_in_, 'feature')}{holes}")
    if arguments.stream:
        say(
            f"{count(model.n_clusters_, 'cluster')}, {count(arguments.passes, 'pass')} of the table"
        )
    else:
        say_quality(model)
    say()
    say_sizes(sizes)
    if arguments.stream and not arguments.labels:
        say("(rows of the last piece; --labels counts them all)")
    if arguments.output or arguments.labels:
        say()
    if arguments.labels:
        say(f"{arguments.labels}: the cluster of every row")
    if arguments.output:
        say(f"{arguments.output}: the model, for amclust predict, complete, report and info")
