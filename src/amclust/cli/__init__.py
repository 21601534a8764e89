"""The command line: ``amclust <command>``.

It starts in a tenth of a second: what a command needs is imported when it runs, and Ctrl-C ends it
in a line from the beginning.
"""

from __future__ import annotations

import signal
import sys

from amclust.cli._signals import Listener, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from amclust.cli.program import COMMANDS, build_parser

__all__ = ["COMMANDS", "build_parser", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, with the arguments of the process where none are given.

    Return 0 when all went well, 1 after an error, 2 where an argument does not go with the table,
    130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP. Arguments that are wrong in themselves
    exit with 2.
    """
    try:
        listener = Listener()
        with listener.listening():
            from amclust.cli.program import run

            return run(argv, listener)
    except KeyboardInterrupt as error:  # Python's own, where it came before we listened
        stopped = error if isinstance(error, Stopped) else Stopped(signal.SIGINT)
        if sys.stderr is not None:  # it may be closed
            sys.stderr.write(f"amclust: {stopped.word}\n")
        return stopped.exit_code


def __getattr__(name: str) -> Any:
    if name not in __all__:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from amclust.cli import program

    return getattr(program, name)
