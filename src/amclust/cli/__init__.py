"""The command line: ``amclust <command>``."""

from amclust.cli.main import build_parser, main

__all__ = ["build_parser", "main"]
