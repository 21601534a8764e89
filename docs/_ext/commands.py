"""The reference of the command line, from the very parsers that it runs with.

::

    ```{commands}
    ```

gives a section a command: what it does, its usage, its arguments and its examples.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import amclust
from amclust.cli import build_parser

# The exit codes, which follow in every epilog, are the same for all commands.
CODES = "\nexit codes:"


class Commands(SphinxDirective):
    """All commands of ``amclust``, in the order of its ``--help``."""

    def run(self) -> list[nodes.Node]:
        """Make the sections; they are made anew when the command line has changed."""
        package = Path(amclust.__file__).parent
        for source in (package / "cli/program.py", *package.glob("cli/commands/*.py")):
            self.env.note_dependency(str(source))
        return [self._section(name, parser) for name, parser in subparsers(build_parser())]

    def _section(self, name: str, parser: argparse.ArgumentParser) -> nodes.section:
        section = nodes.section(ids=[f"amclust-{name}"], names=[f"amclust {name}"])
        section += nodes.title("", "", nodes.literal("", f"amclust {name}"))
        self.state.document.note_explicit_target(section, section)
        if parser.description:
            section += [nodes.paragraph("", text) for text in parser.description.split("\n\n")]
        section += _code(parser.format_usage().removeprefix("usage: ").strip())
        for group in parser._action_groups:
            actions = [action for action in group._group_actions if _is_shown(action)]
            if actions:
                section += nodes.rubric("", (group.title or "").capitalize())
                if group.description:
                    section += nodes.paragraph("", group.description)
                section += _definitions(actions, parser)
        if parser.epilog:
            section += _code(parser.epilog.partition(CODES)[0].strip())
        return section


def subparsers(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Give the commands of a parser by name."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _is_shown(action: argparse.Action) -> bool:
    hidden = action.help == argparse.SUPPRESS
    return not hidden and not isinstance(action, argparse._HelpAction)


def _definitions(
    actions: list[argparse.Action], parser: argparse.ArgumentParser
) -> nodes.definition_list:
    formatter = parser._get_formatter()
    items = nodes.definition_list(classes=["options"])
    for action in actions:
        term = nodes.term("", "", nodes.literal("", formatter._format_action_invocation(action)))
        text = formatter._expand_help(action) if action.help else ""
        items += nodes.definition_list_item(
            "", term, nodes.definition("", nodes.paragraph("", text))
        )
    return items


def _code(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx of the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
