"""A fit as tasks that callbacks of scikit-learn see begin and end (`set_callbacks`, from 1.9 on).

A fit has restarts and these have epochs, a search has rungs and these have runs. To show epochs,
training pauses after each and goes on as if it had not: callbacks change no bit of what is found,
unless one asks to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._network import Network
from amclust._rows import Indices
from amclust._runs import TrainedRun
from amclust.backends.base import Answers, Backend, Progress, Seeding, TrainingSet

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9 has none, and `set_callbacks` is not there

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing that estimators could support."""


__all__ = ["CallbackSupportMixin", "Task", "WatchedBackend"]

# What makes an estimator ready to answer, computed where a callback asks for it.
Attributes = Callable[[], dict[str, Any]]


@dataclass(eq=False)
class Task:
    """A part of a fit that has begun; nobody may watch it."""

    estimator: Any
    context: Any = None  # None: this scikit-learn has no callbacks
    given: dict[str, Any] = field(default_factory=dict)  # X, y and metadata of the fit

    @classmethod
    def of_fit(
        cls, estimator: Any, n_parts: int | None, X: Any, y: Any, sample_weight: Any
    ) -> Task:
        """Begin a fit of so many parts; None: nobody knows how many there will be."""
        begin = getattr(estimator, "_init_callback_context", None)
        if begin is None:
            return cls(estimator)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        task = cls(
            estimator,
            begin(max_subtasks=n_parts, sequential_subtasks=False),
            {"X": X, "y": y, "metadata": metadata},
        )
        return task._begun()

    @property
    def watched(self) -> bool:
        """Whether a callback sees the parts of this task."""
        return self.context is not None and bool(getattr(self.estimator, "_skl_callbacks", ()))

    @property
    def n_parts(self) -> int | None:
        """How many parts this task has; None: nobody knows."""
        parts: int | None = self.context.max_subtasks
        return parts

    def part(self, name: str, number: int, n_parts: int = 0, *, ordered: bool = True) -> Task:
        """Begin a part of this task; the parts of that are begun in order, or have numbers."""
        if not self.watched:
            return Task(self.estimator)
        context = self.context.subcontext(
            task_name=name,
            task_id=None if self.context.sequential_subtasks else number,
            max_subtasks=n_parts,
            sequential_subtasks=ordered,
        )
        return Task(self.estimator, context, self.given)._begun()

    def _begun(self) -> Task:
        self.context.call_on_fit_task_begin(estimator=self.estimator, **self.given)
        return self

    def end(self, attributes: Attributes | None = None) -> bool:
        """End this task; True: a callback asks to stop the others of its kind.

        The attributes are what an estimator is fitted by that stopped here.
        """
        if self.context is None:
            return False
        stop: bool = self.context.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=attributes, **self.given
        )
        return stop


class WatchedBackend:
    """A backend that trains an epoch at a time, for callbacks to see each."""

    def __init__(
        self,
        backend: Backend,
        fit: Task,
        attributes: Callable[[TrainedRun, TrainingSet], dict[str, Any]],
    ) -> None:
        self._backend, self._fit, self._attributes = backend, fit, attributes
        self._restarts: dict[Any, Task] = {}  # those that have not ended
        self._ended: set[Any] = set()
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        if name == "_backend":  # of one that is being unpickled
            raise AttributeError(name)
        return getattr(self._backend, name)

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> Sequence[Seeding]:
        """Return initial memories for each seed, by the method of each."""
        return self._backend.seed(data, n_clusters, methods, seeds, sample_seed)

    def measure(
        self, data: TrainingSet, memories: NDArray[np.float32], sample_seed: int
    ) -> Seeding:
        """Return given initial memories, with the scales that a seeding has."""
        return self._backend.measure(data, memories, sample_seed)

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
        return self._backend.infer(
            network,
            rows,
            want,
            indices=indices,
            threads=threads,
            fill_from_observed=fill_from_observed,
        )

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows, and tell of every epoch."""
        keys = [_key(plan) for plan in plans]
        anew = [
            key in self._ended and plan.earlier is None
            for key, plan in zip(keys, plans, strict=True)
        ]
        counted = self._fit.n_parts is not None
        if (counted and any(anew)) or any(plan.keep == _native.Keep.MEAN for plan in plans):
            # What is made of a restart when it has ended is no epoch of it.
            return self._backend.train(data, plans, progress)
        self._begin(keys, plans)
        records = [plan.earlier for plan in plans]
        given = [(plan.pause_at, plan.earlier) for plan in plans]
        try:
            way = self._train_exact if plans[0].exact else self._train
            way(data, plans, keys, records, progress)
        finally:
            for plan, (pause_at, earlier) in zip(plans, given, strict=True):
                plan.pause_at, plan.earlier = pause_at, earlier
        return [record for record in records if record is not None]

    def _begin(self, keys: list[Any], plans: Sequence[_native.Plan]) -> None:
        known, first = self._fit.n_parts, not self._count
        for key, plan in zip(keys, plans, strict=True):
            if key not in self._restarts and not (key in self._ended and plan.earlier):
                epochs = plan.schedule.max_epochs
                self._restarts[key] = self._fit.part("restart", self._count, epochs)
                self._count += 1
        if first and known is not None:
            # Restarts that are judged by their starts are over at once.
            for number in range(self._count, known):
                self._fit.part("restart", number).end()

    def _train(
        self,
        data: TrainingSet,
        plans: Sequence[_native.Plan],
        keys: list[Any],
        records: list[_native.Record | None],
        progress: Progress | None,
    ) -> None:
        """Train to where the plans pause, and put the records in their places."""
        last = [min(plan.pause_at, plan.schedule.max_epochs) for plan in plans]

        def going_on(places: Iterable[int]) -> list[int]:
            return [
                place
                for place in places
                if keys[place] in self._restarts and _n_epochs(records[place]) < last[place]
            ]

        active = going_on(range(len(plans)))
        while active:
            epochs = [
                self._restarts[keys[place]].part("epoch", _n_epochs(records[place]))
                for place in active
            ]
            for place in active:
                plans[place].earlier = records[place]
                plans[place].pause_at = _n_epochs(records[place]) + 1
            found = self._backend.train(
                data, [plans[place] for place in active], _renumbered(progress, active)
            )
            stop_all = False
            for place, epoch, record in zip(active, epochs, found, strict=True):
                records[place] = record
                attributes = partial(self._attributes, TrainedRun(plans[place], record, 0), data)
                stop = epoch.end(attributes)
                finished = record.n_epochs >= plans[place].schedule.max_epochs
                if stop or record.converged or finished:
                    stop_all |= self._end(keys[place], attributes)
            active = going_on(active)
            if stop_all:
                for place in active:
                    self._end(keys[place])
                active = []

    def _train_exact(
        self,
        data: TrainingSet,
        plans: Sequence[_native.Plan],
        keys: list[Any],
        records: list[_native.Record | None],
        progress: Progress | None,
    ) -> None:
        """Train without a pause, after which sums would be rounded anew, and tell on the way."""

        def tell(run: int, epoch: int, loss: float) -> None:
            self._restarts[keys[run]].part("epoch", epoch).end()
            if progress is not None:
                progress(run, epoch, loss)

        records[:] = self._backend.train(data, plans, tell)
        for key, plan, record in zip(keys, plans, records, strict=True):
            assert record is not None
            finished = record.converged or record.n_epochs >= plan.schedule.max_epochs
            if finished and key in self._restarts:
                self._end(key, partial(self._attributes, TrainedRun(plan, record, 0), data))

    def _end(self, key: Any, attributes: Attributes | None = None) -> bool:
        self._ended.add(key)
        return self._restarts.pop(key).end(attributes)


def _key(plan: _native.Plan) -> Any:
    """Return what tells a restart from the others, also where it comes again to go on."""
    return plan.objective.seed, plan.objective.name, len(plan.network.memories)


def _n_epochs(record: _native.Record | None) -> int:
    return 0 if record is None else record.n_epochs


def _renumbered(progress: Progress | None, places: list[int]) -> Progress | None:
    """Return progress that knows runs by their places among all of them."""
    if progress is None:
        return None
    return lambda run, epoch, loss: progress(places[run], epoch, loss)
