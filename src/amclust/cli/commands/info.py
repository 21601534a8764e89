"""``amclust info``: what is in a model file."""

from __future__ import annotations

import argparse
import os
import textwrap
from typing import Any

from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import count, say

SUMMARY = "tell what is in a model file"
USAGE = "model.amc [--top N] [--json]"
EXAMPLES = """
amclust demo --write-table wine.csv
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust info wine.amc
amclust info wine.amc --top 3 --json
"""


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    parser.add_argument("model", help="model file (.amc)")
    options.add_top(parser)
    options.add_json(
        parser,
        "command, model, bytes, format_version, versions, n_clusters, n_memories, n_features, "
        "sizes, silhouette, loss, beta, epochs, restarts, top_features, parameters, features, "
        "source",
    )


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Tell what is in a model file.

    The file is data: nothing in it is executed, wherever it comes from.
    """
    from amclust._estimator import ClAM

    model, extra, header = files.load(arguments.model)
    features = model.network_.geometry.feature_names
    size = os.path.getsize(arguments.model)
    parameters = model.get_params()
    source = extra.get("source")
    sizes = None
    streamed = isinstance(source, dict) and source.get("streamed", False)
    if not streamed and (not isinstance(source, dict) or source.get("rows") == len(model.labels_)):
        # The labels of a model that was streamed are those of the last rows that it learned.
        sizes = console.cluster_sizes(model.labels_, model.n_clusters_)
    if arguments.json:
        console.say_json(
            arguments,
            "model",
            bytes=size,
            format_version=header["format_version"],
            versions=header["versions"],
            **console.describe(model, sizes),
            top_features=console.describe_features(model, arguments.top),
            parameters=parameters,
            features=features,
            source=source,
        )
        return
    version, written_as = header["versions"]["amclust"], header["format_version"]
    say(f"{arguments.model}: model of amclust {version}, format {written_as}, {size:,} bytes")
    if isinstance(source, dict):
        columns = extra.get("columns")
        name = columns.get("id") if isinstance(columns, dict) else None
        named = "" if name is None else f", named by the column {name!r}"
        say(f"fitted on {source.get('table')}: {count(int(source.get('rows', 0)), 'row')}{named}")
    console.say_quality(model)
    if sizes is not None:
        say()
        console.say_sizes(sizes, len(model.labels_))
    console.say_features(model, arguments.top)
    say()
    defaults = ClAM().get_params()
    changed = {name: v for name, v in parameters.items() if not _same(v, defaults[name])}
    rest = " (all others have their default)" if changed else ": all have their default"
    say(f"parameters{rest}")
    for name, value in changed.items():
        say(f"  {name} = {_short(value)}")
    say()
    if features is None:
        say(f"{count(model.n_features_in_, 'feature')} without names")
    else:
        say(f"{count(len(features), 'feature')}")
        for line in textwrap.wrap(", ".join(features), 96, break_long_words=False)[:20]:
            say(f"  {line}")


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
