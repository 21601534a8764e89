"""``amclust complete``: fill the missing cells of a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

from amclust.cli.commands import _options
from amclust.cli.commands._answers import write_frames
from amclust.cli.commands._console import count, say, say_json
from amclust.cli.commands._input import (
    as_fitted,
    check_order,
    check_outputs,
    choose_columns,
    chunks_of,
    count_missing,
    learn,
    load,
    matrix_of,
    read,
)

EXAMPLES = """
amclust demo --write-table wine.csv
amclust complete wine.csv -k 3 --id wine --drop cultivar -o filled.csv
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust complete wine.amc wine.csv --stream > also_filled.csv
"""


def add(commands: _options.Commands) -> None:
    """Add the command."""
    parser = _options.add_command(
        commands,
        "complete",
        "fill the missing cells of a table",
        "Fill the missing cells of a table with what a model recalls from the other cells of their "
        "row; all other cells stay as they are. The model is given, or fitted to the same table. "
        "Text files are written in UTF-8, with the delimiter that was read, lines that end in \\n "
        "and quotes only where needed.",
        usage="model.amc table [options]\n       amclust complete table -k K [options]",
        examples=EXAMPLES,
    )
    parser.add_argument(
        "files",
        nargs="+",
        metavar="[model.amc] table",
        help="model file and table, or the table alone with -k; - is standard input",
    )
    _options.add_output(parser, "write the filled table here (default: -, standard output)")
    _options.add_clusters(parser, required=False)
    _options.add_stream(parser, "read and write in chunks; needs a model file")
    _options.add_words(
        parser, "command, table, model, rows, filled (number of cells), output; needs -o"
    )
    _options.add_columns(parser, _options.KNOWN_COLUMNS)
    _options.add_reading(parser)
    _options.add_model(parser)
    parser.set_defaults(run=partial(run, parser))


def run(parser: _options.Parser, arguments: argparse.Namespace) -> int:
    """Fill a table."""
    *models, arguments.table = arguments.files
    if len(models) > 1:
        parser.error(f"one model file and one table, got {len(arguments.files)} files")
    if not models and arguments.clusters is None:
        parser.error("name a model file before the table, or give -k to fit one")
    if models and arguments.clusters is not None:
        parser.error("the model file has its number of clusters: leave out -k, or the file")
    if not models and arguments.stream:
        parser.error("--stream needs a model file, which amclust fit --stream makes")
    _options.check_stream(parser, arguments)
    if models:
        check_order(parser, models[0], arguments.table)
    to_file = arguments.output not in (None, "-")
    if arguments.json and not to_file:
        parser.error("--json needs -o FILE: the table itself goes to standard output")
    arguments.model = models[0] if models else None
    check_outputs(arguments, "output", tables=("output",), in_place=True)
    if models:
        parts = _with_file(arguments, models[0])
    else:
        parts = _with_fit(arguments, _options.model_of(arguments, parser))
    rows = cells = 0

    def frames() -> Iterator[Any]:
        nonlocal rows, cells
        for columns, frame, X, model in parts:
            rows += len(frame)
            cells += count_missing(columns, X)
            yield columns.fill(frame, model.complete(as_fitted(model, X)))

    write_frames(
        frames(),
        arguments.output or "-",
        overwrite=arguments.force,
        in_chunks=arguments.stream,
    )
    if arguments.json:
        say_json(
            {
                "command": "complete",
                "table": arguments.table,
                "model": arguments.model,
                "rows": rows,
                "filled": cells,
                "output": arguments.output,
            }
        )
    elif to_file and not arguments.quiet:
        say(f"{arguments.output}: {count(rows, 'row')}, {count(cells, 'missing cell')} filled")
    return 0


def _with_file(arguments: argparse.Namespace, path: str) -> Iterator[tuple[Any, ...]]:
    saved = load(path)
    for columns, frame, X in chunks_of(arguments, saved):
        yield columns, frame, X, saved.model


def _with_fit(arguments: argparse.Namespace, model: Any) -> Iterator[tuple[Any, ...]]:
    frame = read(arguments)
    columns = choose_columns(arguments, frame)
    X = matrix_of(columns, frame)
    yield columns, frame, X, learn(model.fit, X)
