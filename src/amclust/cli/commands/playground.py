"""``amclust playground``: memories to play with, in a browser."""

from __future__ import annotations

import argparse

from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import say

EXAMPLES = """
amclust playground --no-browser --output playground.html
"""


def add(commands: options.Commands) -> None:
    """Add the command."""
    parser = options.add_command(
        commands,
        "playground",
        "open a page with memories to drag about",
        "Open a page in the browser where memories can be dragged, added and removed, while their "
        "basins of attraction are drawn anew. It needs no network.",
        usage="[options]",
        examples=EXAMPLES,
    )
    options.add_output(parser, "write the page here (default: where amclust is installed)")
    parser.add_argument("--no-browser", action="store_true", help="do not open it")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object with command, page"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write or find the page and open it."""
    files.check_outputs(arguments, "output")
    from amclust._playground import open_playground

    page = open_playground(arguments.output, show=not arguments.no_browser)
    if arguments.json:
        console.say_json(command="playground", page=str(page))
    else:
        say(f"playground: {page}")
    return 0
