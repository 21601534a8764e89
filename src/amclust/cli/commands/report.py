"""``amclust report``: a page about the clusters of a table."""

from __future__ import annotations

import argparse
import os
from functools import partial
from importlib.util import find_spec

from amclust.cli.commands import _options
from amclust.cli.commands._console import say, say_json
from amclust.cli.commands._input import (
    as_fitted,
    check_outputs,
    choose_columns,
    columns_of,
    learn,
    load,
    matrix_of,
    name_of,
    read,
)

EXAMPLES = """
amclust demo --write-table wine.csv
amclust report wine.csv -k 3 --id wine --drop cultivar -o report.html
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust report wine.csv --model wine.amc --title "Three kinds of wine" -o again.html
"""


def add(commands: _options.Commands) -> None:
    """Add the command."""
    parser = _options.add_command(
        commands,
        "report",
        "write a page about the clusters of a table",
        "Write one HTML page, which needs no network, about the clusters of a table: their sizes, "
        "what distinguishes them, pictures, doubtful rows, and k-means beside them. The model is "
        "fitted to the table, or given by --model.",
        usage="table -k K [options]\n       amclust report table --model model.amc [options]",
        examples=EXAMPLES,
    )
    _options.add_clusters(parser, required=False)
    parser.add_argument("--model", metavar="FILE", help="model file (.amc) instead of a fit")
    _options.add_output(parser, "the page (default: report.html)")
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    _options.add_words(parser, "command, table, rows, model, report, bytes")
    _options.add_table(parser)
    _options.add_model(parser)
    parser.set_defaults(run=partial(run, parser))


def run(parser: _options.Parser, arguments: argparse.Namespace) -> int:
    """Fit or load a model and write the page."""
    if (arguments.clusters is None) == (arguments.model is None):
        parser.error("give -k to fit a model, or --model with a model file (not both)")
    if arguments.output == "-":
        parser.error("argument -o/--output: a page goes to a file, not to standard output")
    arguments.output = arguments.output or "report.html"
    check_outputs(arguments, "output")
    if find_spec("plotly") is None:
        msg = 'a report needs plotly: pip install "amclust[plot]"'
        raise ModuleNotFoundError(msg, name="plotly")
    from amclust.report import write_report

    if arguments.model is None:
        model = _options.model_of(arguments, parser)
        frame = read(arguments)
        columns = choose_columns(arguments, frame)
        X = matrix_of(columns, frame)
        learn(model.fit, X)
    else:
        saved = load(arguments.model)
        model, frame = saved.model, read(arguments)
        columns = columns_of(saved, arguments, frame)
        X = as_fitted(model, matrix_of(columns, frame))
    named = columns.id is not None and columns.id in frame.columns
    write_report(
        model,
        X,
        arguments.output,
        ids=columns.ids(frame) if named else None,
        title=arguments.title,
        source=name_of(arguments),
        random_state=arguments.seed,
        overwrite=arguments.force,
    )
    if arguments.json:
        say_json(
            {
                "command": "report",
                "table": arguments.table,
                "rows": len(frame),
                "model": arguments.model,
                "report": arguments.output,
                "bytes": os.path.getsize(arguments.output),
            }
        )
    elif not arguments.quiet:
        say(f"{arguments.output}: open it in a browser")
    return 0
