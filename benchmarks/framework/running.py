"""Running what is missing: one case after the other, or a few at a time."""

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic

from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.framework.cases import Case, K, Record, to_json
from benchmarks.framework.environment import describe_environment
from benchmarks.framework.pages import describe_error, say, warn_once, write_text
from benchmarks.framework.store import UNREADABLE, Store

_SECONDS_BETWEEN_WRITES = 15.0
_DIGITS = 6


class Unfinished:
    """What a case has found so far, kept on disk so that an interrupt costs seconds.

    It is in the file `path`; without one nothing is kept. What was found on data with another
    fingerprint is not gone on with. `state` is what an interrupted run left, None at a fresh start;
    `seconds` what the case has taken, its interrupted part included. A case that times itself, for
    instance without reading its data, sets it.
    """

    def __init__(self, path: Path | None = None, data: str | None = None) -> None:
        self._path, self._data = path, data
        self.state: dict[str, Any] | None = None
        self._before = 0.0
        self._given: float | None = None
        if path is not None and path.is_file():
            self._restore(path)
        self._began = self._written = time.perf_counter()

    @property
    def seconds(self) -> float:
        if self._given is not None:
            return self._given
        return self._before + time.perf_counter() - self._began

    @seconds.setter
    def seconds(self, value: float) -> None:
        self._given = value

    def keep(self, state: dict[str, Any]) -> None:
        """Write the state, unless it was written a moment ago."""
        waited = time.perf_counter() - self._written
        if self._path is not None and waited > _SECONDS_BETWEEN_WRITES:
            content = {"seconds": self.seconds, "data": self._data, "state": state}
            write_text(self._path, to_json(content))
            self._written = time.perf_counter()

    def _restore(self, path: Path) -> None:
        """Take up what an interrupted run left, unless it is damaged or of other data."""
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            if None in (kept["data"], self._data) or kept["data"] == self._data:
                self._before, self.state = float(kept["seconds"]), dict(kept["state"])
        except UNREADABLE as error:
            warn_once(f"{path} is damaged, its case starts anew", describe_error(error))


@dataclass(frozen=True)
class Failure(Generic[K]):
    """A case that could not be performed, and why."""

    case: Case[K]
    reason: str


Perform = Callable[[Case[K], Unfinished], Mapping[str, Any]]


def execute(
    cases: Sequence[Case[K]],
    perform: Perform[K],
    unfinished_path: Callable[[Case[K]], Path],
    *,
    jobs: int = 1,
    alone: Callable[[Case[K]], bool] = lambda case: False,
    environment: dict[str, Any] | None = None,
) -> Iterator[Record[K] | Failure[K]]:
    """Perform cases, and keep nothing of them but the states of those that are interrupted.

    See `complete` for the parameters; `unfinished_path` gives the file of a case's state. Yields
    records and failures as they come: a case that fails leaves the others alone.
    """
    here = environment or describe_environment()
    shared = [case for case in cases if not alone(case)]
    if jobs == 1:
        yield from (_attempt(case, perform, unfinished_path(case), here, 1) for case in shared)
    elif shared:
        tasks = (
            delayed(_attempt)(case, perform, unfinished_path(case), here, 1) for case in shared
        )
        yield from Parallel(jobs, return_as="generator_unordered")(tasks)
    timed = (case for case in cases if alone(case))
    yield from (_attempt(case, perform, unfinished_path(case), here, None) for case in timed)


def complete(
    cases: Sequence[Case[K]],
    perform: Perform[K],
    store: Store[K],
    *,
    jobs: int = 1,
    alone: Callable[[Case[K]], bool] = lambda case: False,
    environment: dict[str, Any] | None = None,
    fresh: bool = False,
    tell: Sequence[str] = (),
) -> list[Failure[K]]:
    """Perform the cases that the store misses, keep each when it is done, and say so.

    `perform` is called with a case and its `Unfinished`, and gives what was found, as plain values;
    with several `jobs`, each in one thread, it must be a function of a module other than
    ``__main__``, or a partial of one. Cases of which `alone` holds, because they are timed, come
    last and have the machine, and all threads, for themselves. The store is whole whenever the
    process ends. `environment` describes code and machine (default: the present ones), with `fresh`
    also what the store has is performed, and `tell` names results that a line of the log shows.
    What could not be done is returned.
    """
    todo = list(cases) if fresh else store.missing(cases)
    say(f"{len(cases)} cases, {len(cases) - len(todo)} of them in {store.path.name}")
    failures: list[Failure[K]] = []
    outcomes = execute(
        todo, perform, store.unfinished_path, jobs=jobs, alone=alone, environment=environment
    )
    try:
        # Closed at an interrupt, wherever it comes: that ends the workers.
        with closing(outcomes):  # type: ignore[type-var]
            for done, outcome in enumerate(outcomes, start=1):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                    end = f"FAILED: {outcome.reason}"
                else:
                    store.put(outcome)
                    told = (name for name in tell if name in outcome.results)
                    found = "".join(f"{name} {outcome.number(name):.4g}  " for name in told)
                    end = f"{found}{outcome.seconds:.1f} s"
                say(f"{done:>5}/{len(todo)}  {outcome.case}  {end}")
    finally:
        store.compact()
    return failures


def _attempt(
    case: Case[K],
    perform: Perform[K],
    unfinished_path: Path,
    environment: dict[str, Any],
    threads: int | None,
) -> Record[K] | Failure[K]:
    unfinished = Unfinished(unfinished_path, case.data)
    try:
        with threadpool_limits(threads), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            results = dict(perform(case, unfinished))
    except (ValueError, ArithmeticError, MemoryError, RuntimeError) as error:
        return Failure(case, describe_error(error))
    seconds = round(unfinished.seconds, _DIGITS)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return Record(case, results, seconds, environment, date)
