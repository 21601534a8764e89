"""What tables and figures look at: the records, by what they are about."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

from benchmarks.framework import number
from paper import sets
from paper.published import Row
from paper.records import Record, Records, Run
from paper.settings import Settings

NOT_RUN, NOT_DEFINED = "not run", "—"


class Origin(NamedTuple):
    """Which records a table or figure is made of; empty: all."""

    experiment: str
    protocols: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()

    @property
    def options(self) -> str:
        """Write it as options of the command line."""
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
        """Give the record of a run; None where there is none."""
        return self.find(Run(*run))

    def toys(self, name: str, method: str, quantity: str) -> list[float]:
        """Give a quantity of a method on every drawing of a toy; NaN where it has none."""
        records = self.records("toys", name=name, method=method)
        return [record.number(quantity) for record in records]

    def timing(self, name: str) -> Record | None:
        """Give the timings on a set."""
        return self.one("timings", name, "all", "paper")

    def partitions(self, name: str, method: str, protocol: str) -> list[Record]:
        """Give the records of a method on a set, by seeds."""
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
    """Put the paper's number below ours."""
    return ours if paper is None else f"{ours}<br>*{number(paper, digits)}*"
