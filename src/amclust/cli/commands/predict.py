"""``amclust predict``: the cluster of every row of a table."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from amclust.cli.commands import console, files, on_dask, options
from amclust.cli.commands.console import count, say

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from amclust._estimator import ClAM
    from amclust.cli.tables import Table

SUMMARY = "tell the cluster of every row of a table"
USAGE = "model.amc table [options]"
EXAMPLES = """
amclust demo --write-table wine.csv
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust predict wine.amc wine.csv
amclust predict wine.amc wine.csv --energy --entropy --append -o labelled.parquet
cat wine.csv | amclust predict wine.amc - --proba --stream > memberships.csv
amclust predict wine.amc wine.csv --distances --json
"""


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    parser.add_argument("model", help="model file (.amc) of amclust fit or search")
    group = parser.add_argument_group("what to tell besides label")
    for flag, words in {
        "--proba": "probability_0, ...: memberships of the clusters",
        "--distances": "distance_0, ...: distances to the memories",
        "--energy": "high for rows far from all memories",
        "--entropy": "high for rows between clusters",
        "--append": "keep all columns of the table",
    }.items():
        group.add_argument(flag, action="store_true", help=words)
    words = "put this before the names of new columns"
    group.add_argument("--prefix", metavar="TEXT", default="", help=words)
    options.add_output(parser, "write the labels here (default: -, standard output, as CSV)")
    options.add_stream(parser, "read and write in chunks")
    on_dask.add_option(parser, "-o")
    options.add_words(parser, "command, table, model, rows, sizes, output; without -o also columns")
    options.add_table(parser, note=options.KNOWN_COLUMNS)


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Tell the cluster that every row falls to, and more where asked for.

    Columns are found by their names, in any order; columns that the model does not know do not
    matter.
    """
    if arguments.dask:
        on_dask.check(parser, arguments, "output")
    options.check_stream(parser, arguments)
    if arguments.dask:
        _run_on_dask(parser, arguments)
        return
    files.check_outputs(arguments, "output", tables=("output",), in_place=arguments.append)
    files.check_order(parser, arguments.model, arguments.table)
    to_file = arguments.output not in (None, "-")
    if arguments.json and arguments.output == "-":
        parser.error("--json and -o - would both go to standard output")
    saved = files.load(arguments.model, arguments.threads)
    sizes, rows = console.cluster_sizes([], saved.model.n_clusters_), 0

    def chunks() -> Iterator[Table]:
        nonlocal sizes, rows
        asked = files.chunks_for(arguments, saved, all_columns=arguments.append)
        for columns, chunk, _, X in asked:
            answers = ask(saved.model, X, arguments)
            labels = answers[f"{arguments.prefix}label"]
            sizes, rows = sizes + console.cluster_sizes(labels, len(sizes)), rows + len(labels)
            yield files.answers_beside(columns, chunk, answers, append=arguments.append)

    shown = {}
    if arguments.json and not to_file:
        found = [chunk.arrow.to_pydict() for chunk in chunks()]
        names = found[0]
        shown = {"columns": {name: [v for part in found for v in part[name]] for name in names}}
    else:
        files.write_chunks(chunks(), arguments.output or "-", arguments)
    if arguments.json:
        kept = ("table", "model", "output")
        console.say_json(arguments, *kept, rows=rows, sizes=sizes, **shown)
    elif to_file and not arguments.quiet:
        console.say_sizes(sizes, rows)
        say(f"\n{arguments.output}: {count(rows, 'row')}")


def _run_on_dask(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Let workers read the table in parts, and write as many files."""
    if arguments.output is None:
        parser.error("--dask: name a folder for what workers write, with -o labels")
    files.check_order(parser, arguments.model, arguments.table)
    saved = files.load(arguments.model, arguments.threads)
    with on_dask.folder_of(arguments, "output") as folder, on_dask.cluster(arguments) as engine:
        parts = on_dask.open_parts(arguments, engine)
        columns = files.columns_of(saved, arguments, parts)
        found = on_dask.label(arguments, saved.model, parts, columns, engine, folder)
    rows, sizes = found.rows, found.sizes
    files.tell_empty(found.n_empty, rows)
    if arguments.json:
        console.say_json(arguments, "table", "model", "output", rows=rows, sizes=sizes)
    elif not arguments.quiet:
        console.say_sizes(sizes, rows)
        say(f"\n{arguments.output}: {count(rows, 'row')}")


def ask(model: ClAM, X: Any, arguments: argparse.Namespace) -> dict[str, NDArray[Any]]:
    """Return what was asked about rows, by the names of the new columns."""
    answers: dict[str, NDArray[Any]] = {"label": model.predict(X)}
    if arguments.proba:
        answers |= {f"probability_{m}": p for m, p in enumerate(model.predict_proba(X).T)}
    if arguments.distances:
        answers |= {f"distance_{m}": d for m, d in enumerate(model.transform(X).T)}
    if arguments.energy:
        answers["energy"] = model.energy(X)
    if arguments.entropy:
        answers["entropy"] = model.entropy(X)
    return {f"{arguments.prefix}{name}": values for name, values in answers.items()}
