"""Rows that are never in one place, clusters of processes, and what these are watched by."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import dask
import dask.array as da
import numpy as np
import psutil
from dask.utils import key_split
from distributed import Client, LocalCluster, SchedulerPlugin, wait
from numpy.typing import NDArray

from amclust.dask import ClAM

N_FEATURES = N_CLUSTERS = 20
BLOCK_ROWS = 250_000
# A worker whose memory is not what is measured.
ROOMY = "3GB"


@dataclass(frozen=True)
class Made:
    """Rows of round clusters that overlap a little; each block is drawn by a seed of its own."""

    n_rows: int
    block_rows: int = BLOCK_ROWS

    @property
    def n_blocks(self) -> int:
        return -(-self.n_rows // self.block_rows)

    @property
    def title(self) -> str:
        return f"{self.n_rows}x{N_FEATURES}, k={N_CLUSTERS}"

    def block(self, number: int) -> NDArray[np.float64]:
        """Draw one block."""
        shape = np.random.default_rng(0)
        shares = shape.dirichlet(np.full(N_CLUSTERS, 3.0))
        centers = shape.standard_normal((N_CLUSTERS, N_FEATURES))
        n_rows = min(self.block_rows, self.n_rows - number * self.block_rows)
        generator = np.random.default_rng([1, number])
        rows = generator.standard_normal((n_rows, N_FEATURES))
        rows += centers[generator.choice(N_CLUSTERS, n_rows, p=shares)]
        return rows

    def array(self) -> da.Array:
        """Return all rows, not drawn yet."""
        lengths = [
            min(self.block_rows, self.n_rows - at) for at in range(0, self.n_rows, self.block_rows)
        ]
        # Another array each time: nothing of an earlier one is found again in the workers.
        name = f"made-{dask.base.tokenize(self, time.perf_counter_ns())}"
        graph = {(name, at, 0): (self.block, at) for at in range(self.n_blocks)}
        chunks = (tuple(lengths), (N_FEATURES,))
        return da.Array(graph, name, chunks, dtype=np.float64)

    def local(self) -> NDArray[np.float64]:
        """Return all rows, in the memory of this process."""
        return np.concatenate([self.block(at) for at in range(self.n_blocks)])


def make_clam(client: Client | None = None, **given: Any) -> ClAM:
    """Return the estimator that is measured: as it comes, in the coordinates of the rows."""
    return ClAM(N_CLUSTERS, scale=None, random_state=0, client=client, **given)


@contextmanager
def processes(n_workers: int, memory_limit: str = ROOMY) -> Iterator[Client]:
    """Start workers of one thread each, with amclust imported."""
    # Two that are killed closer together than this (15 s as it comes) are not both replaced.
    patient = {"distributed.deploy.lost-worker-timeout": "1h"}
    with (
        warnings.catch_warnings(),
        dask.config.set(patient),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        warnings.filterwarnings("ignore", "X is not persisted")
        warnings.filterwarnings("ignore", "Sending large graph")
        warm_up(client)
        yield client


def warm_up(client: Client) -> None:
    """Fit and label a few rows, so that every worker has imported what it needs."""
    client.run(_import)
    made = Made(4000, 1000)
    held(client, make_clam(client).fit(made.array()).labels_)


def _import() -> None:
    import amclust.dask  # noqa: F401


def held(client: Client, collection: Any) -> Any:
    """Compute a collection and leave it with the workers."""
    persisted = client.persist(collection)
    with client.as_current():
        wait(persisted)
    return persisted


# --- memory ---------------------------------------------------------------------------------------

_POLL_SECONDS = 0.02
_MEGABYTE = 1e6


@dataclass
class Memory:
    """The largest resident memory of this process, and of the largest one it started, in MB."""

    client: float = 0.0
    worker: float = 0.0

    def look(self, process: psutil.Process) -> None:
        self.client = max(self.client, process.memory_info().rss / _MEGABYTE)
        for child in process.children(recursive=True):
            with suppress(psutil.Error):  # it has ended
                self.worker = max(self.worker, child.memory_info().rss / _MEGABYTE)


@contextmanager
def watched_memory() -> Iterator[Memory]:
    """Look at the memory of this process and its workers, many times a second."""
    memory, done = Memory(), threading.Event()

    def poll() -> None:
        process = psutil.Process()
        while not done.wait(_POLL_SECONDS):
            memory.look(process)

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield memory
    finally:
        done.set()
        thread.join()


# --- tasks ----------------------------------------------------------------------------------------


@dataclass
class Tally(SchedulerPlugin):
    """Counts, by the prefix of keys, what a scheduler in this process does."""

    tasks: Counter[str] = field(default_factory=Counter)
    transitions: Counter[str] = field(default_factory=Counter)
    result_bytes: Counter[str] = field(default_factory=Counter)
    largest: Counter[str] = field(default_factory=Counter)  # result, in bytes
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def transition(self, key: Any, start: str, finish: str, *args: Any, **given: Any) -> None:
        prefix = key_split(key)
        self.transitions[prefix] += 1
        if (start, finish) == ("processing", "memory"):
            self.tasks[prefix] += 1
            n_bytes = given.get("nbytes") or 0
            self.result_bytes[prefix] += n_bytes
            self.largest[prefix] = max(self.largest[prefix], n_bytes)
            for one in given.get("startstops") or ():
                if one["action"] == "compute":
                    self.seconds[prefix] += one["stop"] - one["start"]


@contextmanager
def plugged(client: Client, plugin: SchedulerPlugin) -> Iterator[Any]:
    """Let a plugin see what the scheduler does, which lies in this process."""
    scheduler = client.cluster.scheduler
    name = f"{type(plugin).__name__}-{id(plugin)}"
    _in_loop(client, lambda: scheduler.add_plugin(plugin, name=name))
    try:
        yield plugin
    finally:
        _in_loop(client, lambda: scheduler.remove_plugin(name=name))


def _in_loop(client: Client, call: Callable[[], Any]) -> Any:
    async def run() -> Any:
        return call()

    return client.sync(run)


def moved_bytes(client: Client) -> Counter[str]:
    """Return how many bytes workers have got from each other so far, by the prefix of keys."""
    total: Counter[str] = Counter()
    for found in client.run(_received).values():
        total.update(found)
    return total


def _received(dask_worker: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for transfer in dask_worker.transfer_incoming_log:
        for key, n_bytes in transfer["keys"].items():
            total[key_split(key)] += n_bytes
    return dict(total)
