"""``amclust complete``: fill the missing cells of a table."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import count, say

SUMMARY = "fill the missing cells of a table"
USAGE = "model.amc table [options]\n       amclust complete table -k K [options]"
EXAMPLES = """
amclust demo --write-table wine.csv
amclust complete wine.csv -k 3 --id wine --drop cultivar -o filled.csv
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust complete wine.amc wine.csv --stream > also_filled.csv
"""


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    words = "model file and table, or the table alone with -k; - is standard input"
    parser.add_argument("files", nargs="+", metavar="[model.amc] table", help=words)
    options.add_output(parser, "write the filled table here (default: -, standard output)")
    options.add_clusters(parser, required=False)
    options.add_stream(parser, "read and write in chunks; needs a model file")
    options.add_words(
        parser, "command, table, model, rows, filled, left (numbers of cells), output; needs -o"
    )
    options.add_columns(parser, options.KNOWN_COLUMNS)
    options.add_reading(parser)
    options.add_model(parser)


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    r"""Fill the missing cells of a table with what a model recalls from the rest of their row.

    All other cells stay as they are. The model is given, or fitted to the same table. Text files
    are written in UTF-8, with the delimiter that was read, lines that end in \n and quotes only
    where needed.
    """
    *models, arguments.table = arguments.files
    if len(models) > 1:
        parser.error(f"one model file and one table, got {len(arguments.files)} files")
    if not models and arguments.clusters is None:
        parser.error("name a model file before the table, or give -k to fit one")
    if models and arguments.clusters is not None:
        parser.error("the model file has its number of clusters: leave out -k, or the file")
    if not models and arguments.stream:
        parser.error("--stream needs a model file, which amclust fit --stream makes")
    options.check_stream(parser, arguments)
    if models:
        files.check_order(parser, models[0], arguments.table)
    to_file = arguments.output not in (None, "-")
    if arguments.json and not to_file:
        parser.error("--json needs -o FILE: the table itself goes to standard output")
    arguments.model = models[0] if models else None
    files.check_outputs(arguments, "output", tables=("output",), in_place=True)
    if models:
        parts = _with_file(arguments, models[0])
    else:
        parts = _with_fit(arguments, options.model_of(arguments, parser))
    rows = cells = 0
    left: Counter[str] = Counter()

    def chunks() -> Iterator[Any]:
        nonlocal rows, cells
        for model, columns, chunk, values, X in parts:
            rows += len(chunk)
            cells += columns.count_missing(values)
            left.update(columns.count_unknown(chunk))
            yield columns.fill(chunk, model.complete(X))

    files.write_chunks(chunks(), arguments.output or "-", arguments)
    if arguments.json:
        console.say_json(
            arguments, "table", "model", "output", rows=rows, filled=cells, left=left.total()
        )
        return
    if to_file and not arguments.quiet:
        say(f"{arguments.output}: {count(rows, 'row')}, {count(cells, 'missing cell')} filled")
    if left and not arguments.quiet:
        from amclust.cli.tables.errors import listed

        where = f"{'column' if len(left) == 1 else 'columns'} {listed(list(left))}"
        cells_left = count(left.total(), "missing cell")
        console.note(f"{cells_left} left in {where}, not used by the model")


def _with_file(arguments: argparse.Namespace, path: str) -> Iterator[tuple[Any, ...]]:
    saved = files.load(path, arguments.threads)
    for chunk in files.chunks_for(arguments, saved, all_columns=True):
        yield saved.model, *chunk


def _with_fit(arguments: argparse.Namespace, model: Any) -> Iterator[tuple[Any, ...]]:
    from amclust._rows import empty_rows
    from amclust.cli.tables import choose_columns

    table = files.read(arguments)
    columns = choose_columns(table, files.choice_of(arguments, table.names))
    values, X = files.rows_for(None, columns, table)
    files.tell_empty(len(empty_rows(values)), len(values), trained=True)
    yield files.learn(model.fit, X), columns, table, values, X
