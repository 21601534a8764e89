"""The records of the evaluation: a JSON-lines file for each experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import framework
from benchmarks.framework import Store


class Run(NamedTuple):
    """One method, on one set, under one protocol, from one seed; for one experiment."""

    experiment: str
    set: str
    method: str
    protocol: str
    seed: int = 0


Case = framework.Case[Run]
Record = framework.Record[Run]


class Records:
    """The folder of the records: a store for each experiment, all behind one front."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stores: dict[str, Store[Run]] = {}

    def store(self, experiment: str) -> Store[Run]:
        """Give the store of an experiment, read once."""
        if experiment not in self._stores:
            path = self.path / f"{experiment}.jsonl"
            self._stores[experiment] = Store(path, partial(_run_of, experiment))
        return self._stores[experiment]

    def find(self, run: Run) -> Record | None:
        """Give the record of a run, whatever its definition; None where there is none."""
        return self.store(run.experiment).find(run)

    def all(self) -> Iterator[Record]:
        """Give every record; none where there is no folder."""
        for path in sorted(self.path.glob("*.jsonl")):
            yield from self.store(path.stem).all()

    def budgets(self) -> set[str]:
        """Say which budgets the records were made with: one, if all is well."""
        return {record.case.definition.get("budget", "full") for record in self.all()}

    def missing(self, cases: Sequence[Case]) -> list[Case]:
        """Give the cases that have no record, or one that is out of date."""
        return [case for case in cases if self.store(case.key.experiment).get(case) is None]

    def put(self, record: Record) -> None:
        self.store(record.key.experiment).put(record)

    def compact(self) -> None:
        for store in self._stores.values():
            store.compact()

    def unfinished_path(self, case: Case) -> Path:
        return self.store(case.key.experiment).unfinished_path(case)


def _run_of(expected: str, /, **values: Any) -> Run:
    run = Run(**values)
    if run.experiment != expected:
        raise ValueError(f"it is of the experiment {run.experiment!r}")
    return run
