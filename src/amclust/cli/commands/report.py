"""``amclust report``: a page about the clusters of a table."""

from __future__ import annotations

import argparse
import os

from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import say

SUMMARY = "write a page about the clusters of a table"
USAGE = "table -k K [options]\n       amclust report table --model model.amc [options]"
EXAMPLES = """
amclust demo --write-table wine.csv
amclust report wine.csv -k 3 --id wine --drop cultivar -o report.html
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust report wine.csv --model wine.amc --title "Three kinds of wine" -o again.html
"""


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    options.add_clusters(parser, required=False)
    parser.add_argument("--model", metavar="FILE", help="model file (.amc) instead of a fit")
    options.add_output(parser, "the page (default: report.html)")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    options.add_words(parser, "command, table, rows, model, report, bytes")
    options.add_table(parser)
    options.add_model(parser)
    parser.set_defaults(stream=False)


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Write one HTML page, which needs no network, about the clusters of a table.

    It shows their sizes, what distinguishes them, pictures, doubtful rows, and k-means beside them.
    The model is fitted to the table, or given by --model.
    """
    if (arguments.clusters is None) == (arguments.model is None):
        parser.error("give -k to fit a model, or --model with a model file (not both)")
    if arguments.output == "-":
        parser.error("argument -o/--output: a page goes to a file, not to standard output")
    arguments.output = arguments.output or "report.html"
    files.check_outputs(arguments, "output")
    from amclust.report import check_packages, write_report

    check_packages()
    if arguments.model is None:
        model = options.model_of(arguments, parser)
        matrix = files.matrix_of(arguments)
        X, ids = matrix.frame, matrix.columns.ids(matrix.row_names)
        files.learn(model.fit, X)
    else:
        saved = files.load(arguments.model, arguments.threads)
        model = saved.model
        [(columns, table, _, X)] = files.chunks_for(arguments, saved, all_columns=False)
        ids = columns.ids(table) if columns.id in table.names else None
    write_report(
        model,
        X,
        arguments.output,
        ids=None if ids is None else ids.to_pylist(),
        title=arguments.title,
        source=files.name_of(arguments),
        random_state=arguments.seed,
        overwrite=arguments.force,
    )
    if arguments.json:
        size = os.path.getsize(arguments.output)
        page = arguments.output
        console.say_json(arguments, "table", "model", rows=len(X), report=page, bytes=size)
    elif not arguments.quiet:
        say(f"{arguments.output}: open it in a browser")
