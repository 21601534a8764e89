"""The command line: ``amclust <command>``. One function a command, each with its own parser."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from amclust._version import __version__


def _add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo",
        help="cluster scikit-learn's digits, beside k-means",
        description="Cluster scikit-learn's digits with ClAM and with k-means at the same number "
        "of restarts, print how they compare and draw the memories.",
        epilog="example: amclust demo --restarts 10 --output memories.png",
    )
    parser.add_argument(
        "--restarts", type=_positive, default=10, help="restarts of each (default: 10)"
    )
    parser.add_argument("--seed", type=_seed, default=0, help="random seed (default: 0)")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("digits_memories.png"),
        help="picture of the memories (default: %(default)s)",
    )
    parser.set_defaults(run=_demo)


def _demo(arguments: argparse.Namespace) -> int:
    from amclust._demo import run_demo

    run_demo(arguments.restarts, arguments.seed, arguments.output)
    return 0


def _seed(text: str) -> int:
    value = int(text) if text.isdigit() else -1
    if not 0 <= value < 2**32:
        msg = f"must be a whole number from 0 to {2**32 - 1}, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return value


def _positive(text: str) -> int:
    value = int(text) if text.isdigit() else 0
    if value < 1:
        msg = f"must be a whole number of at least 1, got {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return value


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="amclust", description="Clustering with dense associative memories."
    )
    parser.add_argument("--version", action="version", version=f"amclust {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    _add_demo(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, default=None
        Arguments; those of the process when None.

    Returns
    -------
    code : int
        0 when all went well, 1 after an error, 130 after Ctrl-C. Wrong arguments exit with 2.
    """
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        print("amclust: interrupted", file=sys.stderr)
        return 130
    except (OSError, ValueError, ImportError) as error:
        print(f"amclust: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
