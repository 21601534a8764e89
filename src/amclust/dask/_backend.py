"""Restarts as independent tasks."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from dask.delayed import Delayed
from dask.sizeof import sizeof
from distributed import get_worker
from numpy.typing import NDArray

from amclust import _native
from amclust._categories import MixedTable
from amclust._completion import Completion
from amclust._full_passes import AddNearest
from amclust._geometry import Geometry, Whitening
from amclust._network import Network
from amclust._recipe import Recipe
from amclust._rows import Indices, TableRows, Weights
from amclust._silhouettes import Judged
from amclust.backends.base import (
    Answers,
    Backend,
    Progress,
    Seeding,
    TrainingSet,
    read_to_train,
)
from amclust.backends.native import NearestSums
from amclust.dask._engine import Engine


@dataclass(frozen=True)
class RemoteRows(TableRows):
    """Rows that were drawn, and the task that gives them and their weights to workers, too."""

    task: Delayed

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "task": None}


def training_set(
    drawn: tuple[Any, Weights | None], fields: dict[str, Any], has_missing: bool
) -> TrainingSet:
    """Return the rows to train on, of those that were drawn."""
    rows = TableRows(drawn[0])
    core = read_to_train(
        fields["geometry"], rows, fields["indices"], has_missing, fields["threads"]
    )
    judged = Judged(np.zeros(0, np.int64), np.zeros(0, np.float32), False)  # the client does that
    return TrainingSet(table=rows, rows=core, judged=judged, **fields)


@sizeof.register(MixedTable)
def size_of_mixed_table(table: MixedTable) -> int:
    """Return what rows with categories take, which Dask cannot see."""
    return int(table.numbers.nbytes + table.codes.nbytes)


@sizeof.register(TrainingSet)
def size_of_training_set(data: TrainingSet) -> int:
    """Return what it takes to send rows to another worker, which Dask cannot see."""
    rows = int(sizeof(data.table.X)) if isinstance(data.table, TableRows) else 0
    return rows + size_of_arrays(data.geometry)


@sizeof.register(Geometry)
@sizeof.register(Whitening)
@sizeof.register(Completion)
def size_of_arrays(value: Geometry | Whitening | Completion | None) -> int:
    """Return the bytes of arrays, those inside of parts too."""
    size = 0
    for part in () if value is None else vars(value).values():
        if isinstance(part, np.ndarray):
            size += part.nbytes
        elif isinstance(part, Geometry | Whitening | Completion):
            size += size_of_arrays(part)
    return size


@sizeof.register(Network)
def size_of_network(network: Network) -> int:
    """Return the bytes of the memories, and of what is known of missing values."""
    return int(network.memories.nbytes) + size_of_arrays(network.geometry)


@sizeof.register(NearestSums)
def size_of_sums(found: NearestSums) -> int:
    """Return the bytes of the sums."""
    return int(found.sums.nbytes)


@sizeof.register(AddNearest)
def size_of_part(part: AddNearest) -> int:
    """Return the bytes of the memories that rows are added to."""
    return size_of_network(part.network)


def train_one(
    backend: Backend, data: TrainingSet, threads: int, plan: _native.Plan
) -> _native.Record:
    """Train one restart; it ends early where nobody waits for it any more."""
    (record,) = backend.train(dataclasses.replace(data, threads=threads), [plan], _watch())
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
    recipe: Recipe
    numbers: Iterator[int] = field(default_factory=itertools.count)  # of tasks
    # Rows to train on, by the worker that was asked to hold them.
    spread: WeakKeyDictionary[TrainingSet, dict[str, Delayed]] = field(
        default_factory=WeakKeyDictionary
    )

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> Sequence[Seeding]:
        """Return initial memories for each seed, by the method of each."""
        if self._trains_in_workers(data):  # rows are on their way while the client seeds
            spherical = data.geometry.spherical
            self._spread(data, self.recipe.n_trained(len(seeds), data.n_rows, spherical=spherical))
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
        if not self._trains_in_workers(data):
            return self.inner.train(data, plans, progress)
        engine, n_threads = self.engine, self.engine.n_threads()
        share = max(1, sum(n_threads.values()) // len(plans))
        threads = min(share, max(n_threads.values(), default=1))
        # A scheduler that goes by where rows lie would let the worker that has them train all.
        places = self._spread(data, len(plans))
        tasks = []
        for at, plan in enumerate(plans):
            worker, rows = places[at % len(places)]
            number, given = next(self.numbers), (self.inner, rows, threads, plan)
            tasks.append(engine.task("clam-restart", number, train_one, *given, worker=worker))
        return engine.run(tasks, "restarts")

    def _trains_in_workers(self, data: TrainingSet) -> bool:
        return self.engine.client is not None and isinstance(data.table, RemoteRows)

    def _spread(self, data: TrainingSet, n_runs: int) -> Sequence[tuple[str | None, Delayed]]:
        """Bring rows to as many workers as so many runs need; return those and the rows' tasks."""
        workers = self.engine.n_threads()
        held = self.spread.setdefault(data, {})
        for lost in held.keys() - workers.keys():
            del held[lost]
        missing = [worker for worker in workers if worker not in held]
        for worker in missing[: max(0, n_runs - len(held))]:
            held[worker] = self._rows(data, worker)
        if not held:  # all are lost: whichever comes next
            return [(None, self._rows(data, None))]
        return list(held.items())[:n_runs]

    def _rows(self, data: TrainingSet, worker: str | None) -> Delayed:
        """Return the task that holds the rows to train on, in a worker if one is named."""
        table = data.table
        assert isinstance(table, RemoteRows)
        fields = {
            field.name: getattr(data, field.name)
            for field in dataclasses.fields(data)
            if field.name not in ("table", "rows", "judged")
        }
        name, given = f"rows-{next(self.numbers)}", (table.task, fields, data.has_missing)
        task = self.engine.task("clam-draw", name, training_set, *given, worker=worker)
        return self.engine.held(task)

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
