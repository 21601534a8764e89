"""The command line that all benchmarks share: ``python -m benchmarks.NAME``."""

from __future__ import annotations

import argparse
import signal
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from benchmarks.folders import DATA
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.printing import describe_error, say

FAILED, REFUSED, INTERRUPTED, TERMINATED = 1, 2, 130, 143


class RefusedError(ValueError):
    """What is asked for cannot be, or would spoil what is there."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came."""


def guarded(work: Callable[[], int]) -> int:
    """Do what a command is for, and turn what may stop it into a line and an exit code.

    Parameters
    ----------
    work : callable
        Gives the exit code.

    Returns
    -------
    int
        0: all is done. 1: data are missing, a case failed, or a file could not be written. 2:
        refused, nothing was done. 130, 143: interrupted, terminated; all that was done is kept.
    """
    try:
        with _terminable():
            return work()
    except RefusedError as error:
        say(f"ERROR: {error}")
        return REFUSED
    except UnavailableError as error:
        say(f"UNAVAILABLE: {error}")
        return FAILED
    except OSError as error:
        say(f"ERROR: {describe_error(error)}")
        return FAILED
    except KeyboardInterrupt as error:
        say("interrupted; what was done is kept, and the same command goes on (--fresh: anew)")
        return TERMINATED if isinstance(error, TerminatedError) else INTERRUPTED


def make_parser(name: str, description: str) -> argparse.ArgumentParser:
    """Start the parser of ``python -m`` `name`, with the folder of the data sets."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {name}", description=description, formatter_class=_Help
    )
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=DATA,
        help="folder of the paper's tables (default: $AMCLUST_DATA, else %(default)s)",
    )
    return parser


def add_run_options(
    parser: argparse.ArgumentParser,
    *,
    choices: dict[str, Sequence[str]],
    seeds: int | None = None,
    jobs: bool = True,
    quick: bool = False,
) -> None:
    """Add what chooses the cases.

    Parameters
    ----------
    parser : ArgumentParser
        What the options are added to.
    choices : dict of str to sequence of str
        Options that take some of these names, for instance ``{"sets": SETS}``; None where the
        option is not given.
    seeds : int, optional
        How many seeds there are by default; without it there is no such option.
    jobs, quick : bool
        Whether cases may run beside each other, and whether there is a short run.
    """
    for option, allowed in choices.items():
        parser.add_argument(
            f"--{option}",
            nargs="+",
            choices=tuple(allowed),
            metavar=option.upper().removesuffix("S"),
            help=f"only these of: {', '.join(allowed)}",
        )
    if seeds is not None:
        parser.add_argument(
            "--seeds",
            type=_seeds,
            default=range(seeds),
            help=f"a count, or start:stop (default: {seeds})",
        )
    if jobs:
        parser.add_argument(
            "--jobs", type=count, default=1, help="cases at a time, each in one thread (default: 1)"
        )
    if quick:
        parser.add_argument("--quick", action="store_true", help="small budgets: does it all work?")
    parser.add_argument("--fresh", action="store_true", help="run also what has a record")


def add_page_options(parser: argparse.ArgumentParser, *, output: Path, page: Path) -> None:
    """Add where the records and the page are; `page_of` tells where the page goes."""
    parser.set_defaults(committed=(output, page))
    parser.add_argument(
        "--output", type=Path, default=output, help="file of the records (default: %(default)s)"
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help=f"(default: {page}; none with another --output)",
    )
    parser.add_argument("--page-only", action="store_true", help="write the page, run nothing")


def page_of(options: argparse.Namespace) -> Path | None:
    """Say where the page goes: that of the documentation is of the records that are committed."""
    output, page = options.committed
    if options.page is not None or options.output == output:
        return options.page or page
    if options.page_only:
        raise RefusedError("--page-only with another --output needs --page")
    return None


def count(text: str) -> int:
    """Read an integer of at least 1 from the command line."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, {text!r} is not")
    return int(text)


def _seeds(text: str) -> range:
    """Read ``10`` as 0 ... 9, and ``3:5`` as 3, 4."""
    first, colon, last = text.partition(":")
    seeds = range(int(first), int(last)) if colon else range(int(first))
    if not seeds or seeds[0] < 0:
        message = f"expected a count or start:stop of seeds from 0 on, got {text!r}"
        raise argparse.ArgumentTypeError(message)
    return seeds


class _Help(argparse.HelpFormatter):
    """Breaks no line within a name: they have hyphens."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


@contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end everything as Ctrl-C does, workers too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(*_: object) -> NoReturn:
    raise TerminatedError
