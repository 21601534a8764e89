"""``amclust playground``: memories to play with, in a browser."""

from __future__ import annotations

import argparse

from amclust.cli.commands import console, files, options
from amclust.cli.commands.console import say

SUMMARY = "open a page with memories to drag about"
USAGE = "[options]"
EXAMPLES = """
amclust playground --no-browser --output playground.html
"""


def add_options(parser: options.Parser) -> None:
    """Add what the command takes."""
    options.add_output(parser, "write the page here (default: where amclust is installed)")
    parser.add_argument("--no-browser", action="store_true", help="do not open it")
    options.add_json(parser, "command, page")


def run(parser: options.Parser, arguments: argparse.Namespace) -> None:
    """Open a page in the browser where memories can be dragged, added and removed.

    Their basins of attraction are drawn anew meanwhile. It needs no network.
    """
    files.check_outputs(arguments, "output")
    from amclust._playground import open_playground

    page = open_playground(arguments.output, show=not arguments.no_browser)
    if arguments.json:
        console.say_json(arguments, page=str(page))
    else:
        say(f"playground: {page}")
