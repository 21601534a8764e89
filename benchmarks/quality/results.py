"""The results file: a line a cell, with the code and the machine that it comes from."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.folders import REPOSITORY
from benchmarks.machine import describe_machine
from benchmarks.quality.cells import Cell, Record
from benchmarks.store import plain, write_text

_PACKAGES = ("amclust", "numpy", "scipy", "scikit-learn", "kmedoids")


@dataclass
class Results:
    """Everything that has been measured.

    Attributes
    ----------
    environments : dict of str to dict
        Commit, versions and machine, by the key that records carry.
    records : dict of Cell to Record
        The cells.
    costs : dict of str to dict
        For every set the seconds of fits timed side by side.
    """

    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    records: dict[Cell, Record] = field(default_factory=dict)
    costs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Results:
        """Read a results file; none is the same as an empty one."""
        if not path.is_file():
            return cls()
        content = json.loads(path.read_text(encoding="utf-8"))
        records = (Record.from_json(record) for record in content["cells"])
        return cls(
            content["environments"], {record.cell: record for record in records}, content["costs"]
        )

    def save(self, path: Path) -> None:
        """Write the file, with the environments that something refers to."""
        used = {record.environment for record in self.records.values()}
        used |= {cost["environment"] for cost in self.costs.values()}
        parts = {
            "environments": _lines_of_mapping(
                {key: self.environments[key] for key in sorted(used)},
            ),
            "costs": _lines_of_mapping(self.costs),
            "cells": _lines(
                "[", (_json(self.records[cell].as_json()) for cell in sorted(self.records)), "]"
            ),
        }
        body = ",\n".join(f'"{name}": {part}' for name, part in parts.items())
        write_text(path, f"{{\n{body}\n}}\n")

    def add_environment(self) -> str:
        """Describe the present code and machine, and give the key."""
        environment = describe_environment()
        key = hashlib.sha256(_json(environment).encode()).hexdigest()[:8]
        self.environments[key] = environment
        return key


def describe_environment() -> dict[str, Any]:
    """Say which code runs, with which packages, and where.

    ``source`` names the content of ``src`` whatever the commit, so that it tells whether the
    library is the same.
    """
    machine = describe_machine()
    return {
        "commit": _git("rev-parse", "--short", "HEAD") + _dirty("src", "benchmarks/*.py"),
        "source": _git("rev-parse", "--short", "HEAD:src") + _dirty("src"),
        "python": machine.python,
        "versions": {name: machine.versions[name] for name in _PACKAGES},
        "processor": machine.processor,
        "system": machine.system,
    }


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _dirty(*paths: str) -> str:
    return "+changes" if _git("status", "--porcelain", "--", *paths) else ""


def _json(content: Any) -> str:
    return json.dumps(plain(content), allow_nan=False)


def _lines(opening: str, lines: Iterable[str], closing: str) -> str:
    body = ",\n".join(lines)
    return f"{opening}\n{body}\n{closing}" if body else opening + closing


def _lines_of_mapping(content: dict[str, Any]) -> str:
    return _lines("{", (f'"{key}": {_json(value)}' for key, value in content.items()), "}")
