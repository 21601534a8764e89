"""A run: what is asked for, and the record that is kept of it."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.deep.settings import short_hash
from benchmarks.printing import say
from benchmarks.store import plain, write_text

# What reading a file that is none of ours, or only half of one, may raise.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
_NO_EXPERIMENTS = ("unfinished", "_static")


class Run(NamedTuple):
    """One method, on one set, under one protocol, from one seed; for one experiment."""

    experiment: str
    set: str
    method: str
    protocol: str
    seed: int = 0

    @property
    def file_name(self) -> str:
        """Where its record is, in the folder of the records."""
        return f"{self.experiment}/{self.set}.{self.method}.{self.protocol}.{self.seed}.json"

    def __str__(self) -> str:
        """Name the run in a line of the log."""
        return f"{self.experiment:<10} {self.set:<16} {self.method:<14} {self.protocol} {self.seed}"


@dataclass(frozen=True)
class Record:
    """What came of a run.

    Attributes
    ----------
    run : Run
        What was asked for.
    definition : dict
        Everything that was chosen about it, as plain values.
    environment : dict
        Commit, versions, machine.
    seconds : float
        What it took, without what an interrupt threw away.
    results : dict
        What the experiment found; plain values.
    budget : str
        "full" or "quick". Not part of the definition, which says what it comes to.
    data : str or None
        Fingerprint of the set; None for points that are made, and in the oldest records.
    """

    run: Run
    definition: dict[str, Any]
    environment: dict[str, Any]
    seconds: float
    results: dict[str, Any]
    budget: str = "full"
    data: str | None = None

    @property
    def key(self) -> str:
        """Name the definition by a few characters."""
        return short_hash(plain(self.definition))

    def is_of(self, definition: dict[str, Any]) -> bool:
        """Whether this is what was chosen about the run."""
        return self.key == short_hash(plain(definition))

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Record:
        """Read what `as_json` gave."""
        return cls(
            Run(**content["run"]),
            dict(content["definition"]),
            dict(content["environment"]),
            float(content["seconds"]),
            dict(content["results"]),
            content.get("budget", "full"),
            content.get("data"),
        )

    def as_json(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return {
            "run": self.run._asdict(),
            "key": self.key,
            "budget": self.budget,
            "data": self.data,
            "definition": self.definition,
            "environment": self.environment,
            "seconds": round(self.seconds, 3),
            "results": self.results,
        }


class Records:
    """The folder of the records: one file a run.

    Half-done runs are in its folder ``unfinished`` and go on from there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, run: Run) -> Path:
        """Give the file of a run."""
        return self.folder / run.file_name

    def get(self, run: Run) -> Record | None:
        """Read the record of a run, whatever its definition; None where there is none."""
        path = self.path(run)
        return self._read(path) if path.is_file() else None

    def put(self, record: Record) -> None:
        """Keep a record, and forget what was kept of it half-done."""
        write_text(self.path(record.run), as_lines(record.as_json()))
        self.unfinished(record.run, record.definition).unlink(missing_ok=True)

    def all(self, experiment: str) -> list[Record]:
        """Read all records of an experiment, by name."""
        found = (self._read(path) for path in sorted((self.folder / experiment).glob("*.json")))
        return [record for record in found if record is not None]

    def experiments(self) -> list[str]:
        """Name the experiments that have a folder here; none where there is nothing at all."""
        if not self.folder.is_dir():
            return []
        folders = (path.name for path in self.folder.iterdir() if path.is_dir())
        return sorted(name for name in folders if name not in _NO_EXPERIMENTS)

    def budgets(self) -> set[str]:
        """Say which budgets the records were made with: one, if all is well."""
        return {record.budget for name in self.experiments() for record in self.all(name)}

    def check_writable(self) -> None:
        """Make the folder and a file in it; OSError where that cannot be."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.folder):
            pass

    def _read(self, path: Path) -> Record | None:
        """Read a file; None, and a warning, where it is no record."""
        try:
            record = Record.from_json(json.loads(path.read_text(encoding="utf-8")))
            if self.path(record.run) != path:
                raise ValueError(f"it is that of {record.run.file_name}")
        except UNREADABLE as error:
            warn(f"{path} is no record, it counts as missing", describe(error))
            return None
        return record

    def unfinished(self, run: Run, definition: dict[str, Any]) -> Path:
        """Give the file that a run keeps its state in while it is not done."""
        name = run.file_name.replace("/", ".").removesuffix(".json")
        return self.folder / "unfinished" / f"{name}.{short_hash(plain(definition))}.json"


@cache
def warn(what: str, reason: str) -> None:
    """Say that something is wrong, once: files are read by the plan and by the page."""
    say(f"WARNING: {what} ({reason})")


def describe(error: BaseException) -> str:
    """Write an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def as_lines(content: dict[str, Any]) -> str:
    """Write JSON with a line for each entry of the two outer levels."""
    return "{\n" + ",\n".join(_entry(name, part) for name, part in content.items()) + "\n}\n"


def _entry(name: str, part: Any) -> str:
    if not isinstance(part, dict) or not part:
        return f"{json.dumps(name)}: {_json(part)}"
    lines = ",\n".join(f"  {json.dumps(key)}: {_json(value)}" for key, value in part.items())
    return f"{json.dumps(name)}: {{\n{lines}\n}}"


def _json(content: Any) -> str:
    return json.dumps(plain(content), allow_nan=False)
