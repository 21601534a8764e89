"""A run: what is asked for, and the record that is kept of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.deep.settings import short_hash
from benchmarks.store import plain, write_text


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
    """

    run: Run
    definition: dict[str, Any]
    environment: dict[str, Any]
    seconds: float
    results: dict[str, Any]

    @property
    def key(self) -> str:
        """Name the definition by a few characters."""
        return short_hash(plain(self.definition))

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Record:
        """Read what `as_json` gave."""
        run = Run(**content["run"])
        parts = (content[name] for name in ("definition", "environment", "seconds", "results"))
        return cls(run, *parts)

    def as_json(self) -> dict[str, Any]:
        """Give the record as plain values."""
        return {
            "run": self.run._asdict(),
            "key": self.key,
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
        if not path.is_file():
            return None
        return Record.from_json(json.loads(path.read_text(encoding="utf-8")))

    def has(self, run: Run, definition: dict[str, Any]) -> bool:
        """Whether a run is done, with this definition."""
        record = self.get(run)
        return record is not None and record.key == short_hash(plain(definition))

    def put(self, record: Record) -> None:
        """Keep a record, and forget what was kept of it half-done."""
        write_text(self.path(record.run), as_lines(record.as_json()))
        self.unfinished(record.run, record.definition).unlink(missing_ok=True)

    def all(self, experiment: str) -> list[Record]:
        """Read all records of an experiment, by name."""
        paths = sorted((self.folder / experiment).glob("*.json"))
        return [Record.from_json(json.loads(path.read_text(encoding="utf-8"))) for path in paths]

    def unfinished(self, run: Run, definition: dict[str, Any]) -> Path:
        """Give the file that a run keeps its state in while it is not done."""
        name = run.file_name.replace("/", ".").removesuffix(".json")
        return self.folder / "unfinished" / f"{name}.{short_hash(plain(definition))}.json"


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
