"""The results file: a line a cell, with the code and the machine that it comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks.deep.cells import Cell, Record
from benchmarks.deep.settings import short_hash
from benchmarks.quality.results import describe_environment
from benchmarks.store import plain, write_text


@dataclass
class Results:
    """Everything that has been measured.

    Attributes
    ----------
    environments : dict of str to dict
        Commit, versions and machine, by the key that records carry.
    records : dict of Cell to Record
        The cells.
    summary : dict
        Tables and targets of the last report.
    """

    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    records: dict[Cell, Record] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read a results file; none is the same as an empty one."""
        if not path.is_file():
            return cls()
        content = json.loads(path.read_text(encoding="utf-8"))
        records = (Record.from_json(record) for record in content["cells"])
        return cls(
            content["environments"], {record.cell: record for record in records}, content["summary"]
        )

    def save(self, path: Path) -> None:
        """Write the file, with the environments that a cell refers to."""
        used = {record.environment for record in self.records.values()}
        parts = {
            "environments": _lines(
                "{}", [_entry(key, self.environments[key]) for key in sorted(used)]
            ),
            "summary": _lines("{}", [_entry(key, value) for key, value in self.summary.items()]),
            "cells": _lines(
                "[]", [_json(self.records[cell].as_json()) for cell in sorted(self.records)]
            ),
        }
        body = ",\n".join(f'"{name}": {part}' for name, part in parts.items())
        write_text(path, f"{{\n{body}\n}}\n")

    def add_environment(self, threads: int) -> str:
        """Describe the present code and machine, and give the key."""
        environment = describe_environment()
        environment["versions"]["torch"] = torch.__version__
        environment["threads"] = threads
        key = short_hash(environment)[:8]
        self.environments[key] = environment
        return key


def _json(content: Any) -> str:
    return json.dumps(plain(content), allow_nan=False)


def _entry(key: str, value: Any) -> str:
    return f'"{key}": {_json(value)}'


def _lines(brackets: str, lines: list[str]) -> str:
    opening, closing = brackets
    body = ",\n".join(lines)
    return f"{opening}\n{body}\n{closing}" if body else brackets
