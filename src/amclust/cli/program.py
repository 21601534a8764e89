"""The command line: ``amclust <command>``. The commands are in `amclust.cli.commands`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence

from amclust._version import __version__
from amclust.cli._signals import Listener, Stopped
from amclust.cli.commands import (
    bench,
    complete,
    console,
    demo,
    fit,
    info,
    options,
    playground,
    predict,
    report,
    search,
)

COMMANDS = (fit, predict, complete, search, report, bench, info, demo, playground)
EXAMPLES = """
amclust demo --write-table wine.csv
amclust fit wine.csv -k 3 --id wine --drop cultivar -o wine.amc
amclust predict wine.amc wine.csv -o labels.csv
amclust complete wine.amc wine.csv -o filled.csv
amclust report wine.csv --model wine.amc -o report.html
"""
# As shells report a program whose reader went away (| head).
READER_GONE = 141


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="amclust",
        usage="amclust command ...      amclust --help lists the commands",
        description="Clustering with dense associative memories.",
        epilog=options.epilog(EXAMPLES, "Each command has more of them: amclust fit --help\n\n"),
        formatter_class=options.HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"amclust {__version__}")
    commands = parser.add_subparsers(
        title="commands", prog="amclust", required=True, metavar="command"
    )
    for command in COMMANDS:
        options.add_command(commands, command.__name__.rpartition(".")[2], command)
    return parser


def run(argv: Sequence[str] | None, listener: Listener) -> int:
    """Run the command line; return what the process ends with."""
    console.replace_closed_streams()
    arguments = build_parser().parse_args(argv)
    try:
        with console.plain_warnings():
            arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _stopped(listener)
    except BrokenPipeError:
        console.abandon_output()
        return READER_GONE
    except Exception as error:  # people are told what is wrong, not where
        if listener.stopped:  # what an interrupted import makes of it
            return _stopped(listener)
        if os.environ.get("AMCLUST_TRACEBACK"):
            raise
        console.note(f"error: {console.reason(error)}")
        console.abandon_output()
        return int(getattr(error, "exit_code", 1))
    return 0


def _stopped(listener: Listener) -> int:
    stopped = listener.stopped or Stopped(signal.SIGINT)
    console.note(stopped.word)
    return stopped.exit_code
