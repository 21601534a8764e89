"""Faults: a worker is killed in each phase, and what comes of the fit."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from dask.utils import key_split
from distributed import Client, SchedulerPlugin

from benchmarks.framework.lines import Entry, Line, Target
from benchmarks.scale.rows import Made, held, make_clam, plugged, processes

# A phase, and the prefix of the tasks in the middle of which a worker is killed.
PREFIXES = {
    "statistics": "clam-statistics",
    "drawing": "clam-draw",
    "restarts": "clam-restart",
    "labelling": "clam-label",
}
_N_WORKERS = 2
# A run that takes so many times as long as an undisturbed one hangs.
_HANGS = 20
_LEAST_WAIT = 60.0
# After a task was given to a worker: it has begun by then, and takes longer.
_DELAY_SECONDS = 0.002


def faults(options: Namespace, measured: dict[str, Any]) -> Iterator[Entry]:
    """Kill a worker in each phase, several times, and compare bits and times."""
    if options.quick:
        yield from kill_in_each_phase(Made(10_000, 2500), 1, 1)
    else:
        yield from kill_in_each_phase(Made(10_000_000), 10, 5)


def kill_in_each_phase(made: Made, trials: int, undisturbed: int) -> Iterator[Entry]:
    with processes(_N_WORKERS) as client:
        calm = [_attempt(client, made, None, _LEAST_WAIT * _HANGS) for _ in range(undisturbed + 1)]
        expected, usual = calm[0].bits, median(one.seconds for one in calm[1:])
        patience = max(_LEAST_WAIT, _HANGS * usual)
        for phase, prefix in PREFIXES.items():
            found: list[Outcome] = []
            for trial in range(trials):
                # Spread over the phase: of its tasks the first, and later ones.
                killer = Killer(client, prefix, 1 + trial * _n_tasks(phase, made) // trials)
                found.append(_attempt(client, made, killer, patience))
                _recover(client)
                if found[-1].bits is None:
                    break  # its tasks may still be there: nothing after it counts
            yield from _lines(phase, made, found, expected, usual)
            if found[-1].bits is None:
                return


def _n_tasks(phase: str, made: Made) -> int:
    return 2 if phase == "restarts" else made.n_blocks


def _lines(
    phase: str, made: Made, found: list[Outcome], expected: str | None, usual: float
) -> Iterator[Entry]:
    killed = [one for one in found if one.killed]
    same = sum(one.bits == expected for one in killed)
    times = [one.seconds for one in found]
    note = (
        f"{made.title}, {made.n_blocks} blocks made in each pass by {_N_WORKERS} workers, one of "
        "them killed in the phase; fit and labels"
    )
    yield Line(
        f"{phase}: same bits",
        same,
        len(found),
        "times killed",
        value=same / len(found),
        target=Target("ratio", ">=", 1.0),
        note=note,
        valid=len(killed) == len(found),
    )
    for what, seconds in {"median": median(times), "worst": max(times)}.items():
        yield Line(
            f"{phase}: {what} time",
            seconds,
            usual,
            "undisturbed",
            value=seconds / usual,
            target=Target("ratio", "<=", 2.0),
            unit="s",
            note=note,
            samples={"ours": times, "peer": [usual]},
            valid=all(one.bits is not None for one in found),
        )


@dataclass(frozen=True)
class Outcome:
    """How long a fit took, a fingerprint of what it found (None: it hangs), who was killed."""

    seconds: float
    bits: str | None
    killed: bool


def _attempt(client: Client, made: Made, killer: Killer | None, patience: float) -> Outcome:
    """Fit and label rows that are made in each pass; a worker is killed meanwhile."""
    rows = made.array()
    found: list[str] = []
    work = threading.Thread(target=lambda: found.append(_fingerprint(client, rows)), daemon=True)
    if killer is not None:
        killer.pids = client.run(os.getpid)
    with plugged(client, killer or SchedulerPlugin()):
        start = time.perf_counter()
        work.start()
        work.join(patience)
        seconds = time.perf_counter() - start
    return Outcome(seconds, found[0] if found else None, killer is not None and killer.done)


def _fingerprint(client: Client, rows: Any) -> str:
    model = make_clam(client).fit(rows)
    labels = client.compute(model.labels_).result()
    content = np.ascontiguousarray(model.memories_).tobytes() + labels.tobytes()
    return hashlib.sha256(content).hexdigest()


def _recover(client: Client) -> None:
    """Wait until a new worker is there, with what it needs."""
    client.wait_for_workers(_N_WORKERS, timeout=_LEAST_WAIT)
    held(client, make_clam(client, n_init=1).fit(Made(4000, 1000).array()).labels_)


@dataclass
class Killer(SchedulerPlugin):
    """Kills the worker that has just been given the n-th task of a prefix, or the next one."""

    client: Client
    prefix: str
    number: int
    pids: dict[str, int] = field(default_factory=dict)
    seen: int = 0
    done: bool = False

    def transition(self, key: Any, start: str, finish: str, *args: Any, **given: Any) -> None:
        if self.done or finish != "processing" or key_split(key) != self.prefix:
            return
        self.seen += 1
        if self.seen >= self.number:
            loop = self.client.cluster.scheduler.loop
            loop.call_later(_DELAY_SECONDS, partial(self._kill, key))

    def _kill(self, key: Any) -> None:
        task = self.client.cluster.scheduler.tasks.get(key)
        worker = None if task is None else task.processing_on
        if worker is None or self.done or worker.address not in self.pids:
            return
        self.done = True
        os.kill(self.pids[worker.address], signal.SIGKILL)
