"""The command line: ``amclust <command>``."""

from amclust.cli.main import COMMANDS, build_parser, main

__all__ = ["COMMANDS", "build_parser", "main"]
