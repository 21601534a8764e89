"""Restarts as independent tasks."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from dask.delayed import Delayed
from dask.sizeof import sizeof
from distributed import get_worker
from numpy.typing import NDArray

from amclust import _native
from amclust._full_passes import AddNearest, NearestSums
from amclust._network import Network
from amclust._rows import Indices, TableRows
from amclust._silhouettes import Judged
from amclust.backends.base import Answers, Backend, Progress, Seeding, TrainingSet
from amclust.dask._engine import Engine


@dataclass(frozen=True)
class RemoteRows(TableRows):
    """Rows that were drawn, and the task whose result they are: workers can have them, too."""

    task: Delayed

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "task": None}


def training_set(table: Any, fields: dict[str, Any], has_missing: bool) -> TrainingSet:
    """Return the rows to train on, of a table that was drawn."""
    rows = TableRows(table)
    core = fields["geometry"].read(rows, has_missing=has_missing)
    judged = Judged(np.zeros(0, np.int64), np.zeros(0, np.float32), False)  # the client does that
    return TrainingSet(table=rows, rows=core, judged=judged, **fields)


@sizeof.register(TrainingSet)
def size_of_training_set(data: TrainingSet) -> int:
    """Return what it takes to send rows to another worker, which Dask cannot see."""
    return int(sizeof(data.table.X)) if isinstance(data.table, TableRows) else 0


@sizeof.register(Network)
def size_of_network(network: Network) -> int:
    """Return the bytes of the memories."""
    return int(network.memories.nbytes)


@sizeof.register(NearestSums)
def size_of_sums(found: NearestSums) -> int:
    """Return the bytes of the sums."""
    return int(found.sums.nbytes)


@sizeof.register(AddNearest)
def size_of_part(part: AddNearest) -> int:
    """Return the bytes of the memories that rows are added to."""
    return size_of_network(part.network)


def train_one(backend: Backend, data: TrainingSet, plan: _native.Plan) -> _native.Record:
    """Train one restart; it ends early where nobody waits for it any more."""
    (record,) = backend.train(data, [plan], _watch())
    return record


def _watch() -> Progress | None:
    """Return what ends training between two epochs if its task was cancelled."""
    try:
        worker = get_worker()
        key = worker.get_current_task()
    except ValueError:  # not in a worker
        return None

    def check(run: int, epoch: int, loss: float) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state != "executing":
            msg = "Nobody waits for this restart any more."
            raise RuntimeError(msg)

    return check


@dataclass(frozen=True, eq=False)
class DaskBackend:
    """Another backend whose restarts are trained by the workers of a cluster.

    What costs little (seeding and judging, on the rows that were drawn) is done at the client.
    """

    inner: Backend
    engine: Engine
    numbers: Iterator[int] = field(default_factory=itertools.count)  # of tasks

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> Sequence[Seeding]:
        """Return initial memories for each seed, by the method of each."""
        return self.inner.seed(data, n_clusters, methods, seeds, sample_seed)

    def measure(
        self, data: TrainingSet, memories: NDArray[np.float32], sample_seed: int
    ) -> Seeding:
        """Return given initial memories, with the scales that a seeding has."""
        return self.inner.measure(data, memories, sample_seed)

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows, each as a task of its own."""
        client, engine = self.engine.client, self.engine
        if client is None or not isinstance(data.table, RemoteRows):
            return self.inner.train(data, plans, progress)
        threads = client.nthreads()
        share = max(1, sum(threads.values()) // len(plans))
        fields = {
            field.name: getattr(data, field.name)
            for field in dataclasses.fields(data)
            if field.name not in ("table", "rows", "judged")
        }
        fields["threads"] = min(share, max(threads.values(), default=1))
        rows = engine.task(
            "clam-draw",
            f"rows-{next(self.numbers)}",
            training_set,
            data.table.task,
            fields,
            data.rows.has_missing,
        )
        tasks = [
            engine.task("clam-restart", next(self.numbers), train_one, self.inner, rows, plan)
            for plan in plans
        ]
        return engine.run(tasks, "restarts")

    def infer(
        self,
        network: Network,
        rows: _native.Rows,
        want: _native.Want,
        *,
        indices: Indices | None = None,
        threads: int = 1,
        fill_from_observed: bool = True,
    ) -> Answers:
        """Ask a network about rows in core units."""
        return self.inner.infer(
            network,
            rows,
            want,
            indices=indices,
            threads=threads,
            fill_from_observed=fill_from_observed,
        )
