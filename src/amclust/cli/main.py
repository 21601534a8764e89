"""The command line: ``amclust <command>``. The commands are in `amclust.cli.commands`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

from amclust._version import __version__
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
# As shells report a program stopped by Ctrl-C, whose reader went away (| head), or that was ended.
INTERRUPTED, READER_GONE, TERMINATED = 130, 141, 143


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


class Terminated(KeyboardInterrupt):
    """SIGTERM, after which there is the same to clean up as after Ctrl-C."""


@contextlib.contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Raise `Terminated` at SIGTERM, unless somebody else takes care of it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def stop(*_: object) -> NoReturn:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, with the arguments of the process where none are given.

    Return 0 when all went well, 1 after an error, 2 where an argument does not go with the table,
    130 after Ctrl-C, 143 after SIGTERM. Arguments that are wrong in themselves exit with 2.
    """
    console.replace_closed_streams()
    arguments = build_parser().parse_args(argv)
    try:
        with console.plain_warnings(), _termination_as_interrupt():
            arguments.run(arguments)
        sys.stdout.flush()
    except Terminated:
        console.note("terminated")
        return TERMINATED
    except KeyboardInterrupt:
        console.note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        console.abandon_output()
        return READER_GONE
    except Exception as error:  # people are told what is wrong, not where
        if os.environ.get("AMCLUST_TRACEBACK"):
            raise
        console.note(f"error: {console.reason(error)}")
        console.abandon_output()
        return int(getattr(error, "exit_code", 1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
