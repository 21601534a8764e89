"""The records, a JSON-lines file for each experiment, and what tables and figures ask of them."""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.framework import cases
from benchmarks.framework.pages import number
from benchmarks.framework.store import Store
from paper import sets
from paper.published import Row
from paper.settings import Settings

NOT_RUN, NOT_DEFINED = "not run", "—"


class Run(NamedTuple):
    """One method, on one set, under one protocol, from one seed; for one experiment."""

    experiment: str
    set: str
    method: str
    protocol: str
    seed: int = 0


Case = cases.Case[Run]
Record = cases.Record[Run]


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


# --- what tables and figures ask ------------------------------------------------------------------


class Origin(NamedTuple):
    """Which records a table or figure is made of; empty: all."""

    experiment: str
    protocols: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    @property
    def options(self) -> str:
        parts = {
            "--experiments": (self.experiment,),
            "--protocols": self.protocols,
            "--methods": self.methods,
        }
        return " ".join(f"{name} {' '.join(values)}" for name, values in parts.items() if values)

    def includes(self, run: Run) -> bool:
        """Whether a run of the experiment is among them."""
        return (not self.protocols or run.protocol in self.protocols) and (
            not self.methods or run.method in self.methods
        )


class View(Records):
    """The records of a folder, as tables and figures ask for them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.folder)
        self.settings = settings

    def records(self, experiment: str, *, name: str = "", method: str = "") -> list[Record]:
        """Give the records of an experiment, of one set or of one method where asked for."""
        return [
            record
            for record in self.store(experiment).all()
            if name in ("", record.key.set) and method in ("", record.key.method)
        ]

    def one(self, *run: Any) -> Record | None:
        return self.find(Run(*run))

    def toys(self, name: str, method: str, quantity: str) -> list[float]:
        """Give a quantity of a method on every drawing of a toy; NaN where it has none."""
        records = self.records("toys", name=name, method=method)
        return [record.number(quantity) for record in records]

    def timing(self, name: str) -> Record | None:
        return self.one("timings", name, "all", "paper")

    def partitions(self, name: str, method: str, protocol: str) -> list[Record]:
        found = self.records("partitions", name=name, method=method)
        return [record for record in found if record.key.protocol == protocol]

    def seeds(self, name: str, method: str, protocol: str) -> dict[int, dict[str, Any]]:
        """Give what was chosen for each seed, but where every partition was a single cluster."""
        found = self.partitions(name, method, protocol)
        return {one.key.seed: one.results["living"] for one in found if one.results["living"]}

    def chosen(self, name: str, method: str, rule: str = "best") -> dict[str, Any] | None:
        """Give what the paper's protocol chose: by silhouette alone, or living clusters first."""
        record = self.one("partitions", name, method, "paper")
        return record.results[rule] if record else None

    @cached_property
    def table_sets(self) -> list[str]:
        """The rows of the tables, with what stands in for a set that has no record."""
        ran = {record.key.set for record in self.records("partitions")}
        stand_ins = {name: other for name, other in sets.STAND_INS.items() if name not in ran}
        return [stand_ins.get(name, name) for name in sets.TABLE_SETS]


def published(table: dict[str, Row], name: str, method: str) -> float | None:
    """Give the paper's number, none for a set that only stands in for one of the paper's."""
    if sets.paper_set(name) != name:
        return None
    return table[name].get(method)


def beside_paper(ours: str, paper: float | None, digits: int = 3) -> str:
    return ours if paper is None else f"{ours}<br>*{number(paper, digits)}*"
