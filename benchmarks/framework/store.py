"""The store: one JSON-lines file a benchmark, which git and people can read."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic

from benchmarks.framework.cases import Case, K, Record, to_json
from benchmarks.framework.pages import describe_error, warn_once, write_text

# What reading a line or a file that is none of ours, or only half of one, may raise.
UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
_NO_JSON = (json.JSONDecodeError, UnicodeDecodeError)


class Store(Generic[K]):
    """The records of a benchmark, in the file `path`; `key` is the NamedTuple that names a case.

    The file has a line for each environment, which records refer to by its id, then a line for
    each record, sorted by key::

        {"id": "13f69156", "environment": {"commit": "4cc4309", ...}}
        {"case": {"set": "iris", "seed": 0}, "environment": "13f69156", "date": "...",
         "seconds": 0.1, "data": null, "definition": {...}, "results": {...}}

    `put` appends a line and has it on disk when it returns; `compact`, at the end of a run, sorts
    the lines and drops those that were replaced. A line that cannot be read, as the last one of a
    killed process, counts as missing, with a warning. Only one process may write; workers report
    to it (see `running.execute`).
    """

    def __init__(self, path: Path, key: Callable[..., K]) -> None:
        self.path = path
        self._make_key = key
        self._records: dict[K, Record[K]] = {}
        self._written: set[str] = set()
        self._ends_in_newline = self._understood = True
        self._read()

    def find(self, key: K) -> Record[K] | None:
        """Give the record of a key, whatever its definition; None where there is none."""
        return self._records.get(key)

    def get(self, case: Case[K]) -> Record[K] | None:
        """Give the record of a case; None where there is none, or one that is out of date."""
        record = self.find(case.key)
        return record if record is not None and record.is_of(case) else None

    def missing(self, cases: Iterable[Case[K]]) -> list[Case[K]]:
        """Give the cases that have no record, or one that is out of date."""
        return [case for case in cases if self.get(case) is None]

    def all(self) -> list[Record[K]]:
        return [self._records[key] for key in sorted(self._records, key=tuple)]

    def environments(self) -> dict[str, dict[str, Any]]:
        """Give the environments that records come from, by id."""
        found = {environment_id(one.environment): one.environment for one in self.all()}
        return dict(sorted(found.items()))

    def put(self, record: Record[K]) -> None:
        """Keep a record, and forget what was kept of its case half-done."""
        name = environment_id(record.environment)
        lines = [] if self._ends_in_newline else [""]
        if name not in self._written:
            lines.append(to_json({"id": name, "environment": record.environment}))
        lines += [_record_line(record), ""]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8", newline="\n") as file:
            file.write("\n".join(lines))
            file.flush()
            os.fsync(file.fileno())
        self._ends_in_newline = True
        self._written.add(name)
        self._records[record.key] = record
        self.unfinished_path(record.case).unlink(missing_ok=True)

    def compact(self) -> None:
        """Write the file anew: every environment and record once, sorted.

        Lines that are no JSON, half-written ones, are dropped. While one is JSON that this key
        cannot be made of, the file stays as it is: the mistake may be the key's.
        """
        if not self.path.is_file():
            return
        self._read()
        if not self._understood:
            return
        environments = self.environments()
        lines = [to_json({"id": key, "environment": one}) for key, one in environments.items()]
        lines += [_record_line(record) for record in self.all()]
        text = "".join(f"{line}\n" for line in lines)
        if self.path.read_bytes() != text.encode():
            write_text(self.path, text)
        self._written = set(environments)
        self._ends_in_newline = True

    def unfinished_path(self, case: Case[K]) -> Path:
        """Give the file that a case keeps its state in while it is not done."""
        key = "-".join(map(str, case.key)).replace("/", "-")
        return self.path.parent / "unfinished" / f"{self.path.stem}.{key}.{case.hash}.json"

    def check_writable(self) -> None:
        """Make the folder and a file in it; OSError where that cannot be."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=self.path.parent):
            pass

    def _read(self) -> None:
        """Read the file; of several lines for a key the last one counts."""
        content = self.path.read_bytes() if self.path.is_file() else b""
        self._ends_in_newline = content.endswith(b"\n") or not content
        self._understood = True
        environments: dict[str, dict[str, Any]] = {}
        for place, line in enumerate(content.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                values = json.loads(line.decode())
                if "id" in values:
                    environments[values["id"]] = dict(values["environment"])
                    continue
                key, data = self._make_key(**values["case"]), values["data"]
                self._records[key] = Record(
                    Case(key, dict(values["definition"]), data),
                    dict(values["results"]),
                    float(values["seconds"]),
                    environments[values["environment"]],
                    values["date"],
                )
            except UNREADABLE as error:
                self._understood &= isinstance(error, _NO_JSON)
                what = f"line {place} of {self.path} is no record, it counts as missing"
                warn_once(what, describe_error(error))
        self._written = set(environments)


def environment_id(environment: dict[str, Any]) -> str:
    return hashlib.sha256(to_json(environment).encode()).hexdigest()[:8]


def _record_line(record: Record[K]) -> str:
    return to_json(
        {
            "case": record.key._asdict(),
            "environment": environment_id(record.environment),
            "date": record.date,
            "seconds": record.seconds,
            "data": record.case.data,
            "definition": record.case.definition,
            "results": record.results,
        }
    )
