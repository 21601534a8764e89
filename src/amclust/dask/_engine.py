"""What runs tasks: a client's cluster, or Dask's local scheduler."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakSet

import dask
from dask.delayed import Delayed, delayed
from distributed import Client, Future, as_completed, default_client, futures_of

from amclust._progress import ProgressLine

# Of so many results one is made at a time, in their order.
MERGED_AT_ONCE = 16


def find_client(client: Client | None) -> Client | None:
    """Return the given client or the current one; None: there is none."""
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        return None


def failed_tasks(dask_scheduler: Any, token: str) -> list[str]:
    """Return the tasks of a fit that failed, or wait for such as did; called in the scheduler."""
    tasks = dask_scheduler.tasks.values()
    return sorted(str(t.key) for t in tasks if t.state == "erred" and token in str(t.key))


def same(value: Any) -> Any:
    """Return what is given."""
    return value


@dataclass(frozen=True, eq=False)
class Engine:
    """Runs the tasks of one fit. They are pure, so that one that is lost can be run again."""

    client: Client | None
    verbose: int = 0
    # Fits at the same time do not share tasks: to end one leaves the other alone.
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    failed: list[str] = field(default_factory=list)  # the names of tasks that failed, to tell them
    kept: WeakSet[Future] = field(default_factory=WeakSet)  # results that stay with the workers

    def task(
        self,
        name: str,
        number: int | str,
        function: Callable[..., Any],
        *given: Any,
        worker: str | None = None,
    ) -> Delayed:
        """Return a task that is not run yet; its key begins with the name.

        It is for a worker, if one is named: others have it where that one is gone, or busy.
        """
        where = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        with dask.annotate(**where):
            called: Delayed = delayed(function, pure=True, traverse=False)(
                *given, dask_key_name=f"{name}-{self.token}-{number}"
            )
        return called

    def n_threads(self) -> dict[str, int]:
        """Return the number of threads of each worker; those of fits at once begin with others."""
        assert self.client is not None
        found = sorted(self.client.nthreads().items())
        first = int(self.token, 16) % max(1, len(found))
        return dict(found[first:] + found[:first])

    def run(self, tasks: Sequence[Delayed], what: str) -> list[Any]:
        """Return the results of tasks, in their order; all end where one fails."""
        if self.client is None:
            found = dask.compute(*tasks, traverse=False)
            return list(found)
        return self.gather(self.start(tasks), what)

    def held(self, task: Delayed) -> Delayed:
        """Start a task, and return one whose result stays with the workers for those after it."""
        if self.client is None:
            return task
        (persisted,) = self._persisted([task])
        return persisted

    def _persisted(self, tasks: Sequence[Delayed]) -> list[Delayed]:
        """Start tasks whose results stay with the workers."""
        assert self.client is not None
        persisted: list[Delayed] = self.client.persist(list(tasks), optimize_graph=False)
        self.kept.update(futures_of(persisted))
        return persisted

    def given(self, name: str, what: str, values: Sequence[Any]) -> list[Any]:
        """Return tasks for values of this process, which workers then get once; None stays."""
        if self.client is None or all(value is None for value in values):
            return list(values)
        tasks = [self.task(name, f"{what}-{at}", same, v) for at, v in enumerate(values)]
        return self._persisted(tasks)

    @contextmanager
    def ended_on_failure(self) -> Iterator[None]:
        """Let go of what workers hold where a fit fails: its error may be kept for long."""
        try:
            yield
        except BaseException:
            if self.client is not None:
                self.cancel(list(self.kept))
            raise

    def merged(
        self,
        name: str,
        tasks: Sequence[Delayed],
        merge: Callable[..., Any],
        what: str,
        beside: Delayed | None = None,
    ) -> tuple[Any, Delayed | None]:
        """Return what is made of all results by a tree: few at a time, those next to each other.

        A task beside them is begun at the same time, so that blocks which both need are computed
        once. It is returned with its result held.
        """
        level, number = list(tasks), 0
        while len(level) > 1:
            parts = [level[at : at + MERGED_AT_ONCE] for at in range(0, len(level), MERGED_AT_ONCE)]
            level = []
            for part in parts:
                level.append(self.task(name, f"merged-{number}", merge, *part))
                number += 1
        (root,) = level
        if self.client is None:
            return self._both(root, beside)
        # All at once: what is done and let go of in between would be computed again.
        others = [] if beside is None else [beside]
        seen = tasks if self.verbose and len(tasks) > 1 else []  # of one task the tree is that
        held = self.client.persist([root, *others, *seen], optimize_graph=False)
        futures = [future for task in held for future in futures_of(task)]
        n_kept = 1 + len(others)
        self.kept.update(futures[1:n_kept])
        watched = futures[n_kept:]  # only to see how many are done: the tree alone needs them
        del held[n_kept:], futures[n_kept:]
        try:
            if self.verbose:
                self._watch(watched, what, release=True)
            return self.gather(futures[:1], what)[0], held[-1] if others else None
        except BaseException:
            self.cancel([*futures, *watched])
            raise

    def _both(self, root: Delayed, beside: Delayed | None) -> tuple[Any, Delayed | None]:
        """Compute a task, and one beside it, without a client."""
        if beside is None:
            return self.run([root], "")[0], None
        found, value = self.run([root, beside], "")
        return found, self.task(beside.key, "held", same, value)

    # --- with a client ----------------------------------------------------------------------------

    def start(self, tasks: Sequence[Delayed]) -> list[Future]:
        """Hand tasks to the scheduler."""
        assert self.client is not None
        # Nothing is fused: a block that is lost is computed again, and nothing else.
        futures: list[Future] = self.client.compute(list(tasks), optimize_graph=False)
        return futures

    def gather(self, futures: Sequence[Future], what: str) -> list[Any]:
        """Wait for results; all tasks end where one fails or the user interrupts."""
        assert self.client is not None
        try:
            if self.verbose:
                self._watch(futures, what)
            found: list[Any] = self.client.gather(list(futures), direct=self._is_direct)
        except BaseException as error:
            if isinstance(error, Exception):
                self._note_failed()
            self.cancel(futures)
            raise
        return found

    def _note_failed(self) -> None:
        """Ask the scheduler which tasks failed; one that does not say so hides no error."""
        assert self.client is not None
        with suppress(Exception):
            self.failed.extend(self.client.run_on_scheduler(failed_tasks, token=self.token))

    @cached_property
    def _is_direct(self) -> bool | None:
        """Whether workers are asked for results, not the scheduler; None: as the client does.

        Those of this machine are: large results take half of the time.
        """
        assert self.client is not None
        workers = self.client.nthreads()
        if self.client.direct_to_workers is None and all("//127.0.0.1:" in at for at in workers):
            return True
        return None

    def cancel(self, futures: Sequence[Future]) -> None:
        """End tasks that are not needed any more."""
        assert self.client is not None
        if self.client.status == "running":
            self.client.cancel(list(futures), force=True)

    def _watch(self, futures: Sequence[Future], what: str, *, release: bool = False) -> None:
        assert self.client is not None
        line = ProgressLine()
        # Of this client, which need not be the current one.
        for n_done, future in enumerate(as_completed(futures, loop=self.client.loop), 1):
            if release:
                future.release()
            if line.is_due():
                share = line.share(n_done / len(futures))
                line.show(f"ClAM: {what}, {share} of {len(futures)} tasks")
        line.clear()
