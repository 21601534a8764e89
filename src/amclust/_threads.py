"""How many threads there may be: of the core's pool, and of the libraries beside it."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections.abc import Iterator
from numbers import Integral
from types import TracebackType
from typing import Any

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import LibController, ThreadpoolController, register

from amclust import _native


def available_cores() -> int:
    """Return how many cores this process may use, by its affinity and its control group."""
    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return min(allowed, _cpu_count(allowed, os.environ.get("LOKY_MAX_CPU_COUNT")))


@functools.cache
def _cpu_count(allowed: int, most: str | None) -> int:
    """Return what joblib counts, which reads files: anew where what else it counts by is another.

    A quota is that of the first time.
    """
    return int(joblib.cpu_count())


def n_threads(n_jobs: int | None) -> int:
    """Return how many threads a call may use.

    `n_jobs` says so, by scikit-learn's rules; where it is None, the nearest of what surrounds the
    call: joblib, threadpoolctl, OMP_NUM_THREADS, the cores that the process may use.
    """
    cores = available_cores()
    if n_jobs is None:
        n_jobs = _joblib_threads() or _native.thread_limit() or _openmp_threads()
    if n_jobs is None:
        return cores
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        msg = f"n_jobs must be None or an int other than 0, got {n_jobs!r}."
        raise ValueError(msg)
    wanted = int(cores + 1 + n_jobs if n_jobs < 0 else n_jobs)
    # More threads than this only stand in each other's way.
    return max(1, min(wanted, max(8, 2 * cores)))


def _joblib_threads() -> int | None:
    """Return what joblib says of a call that has no n_jobs of its own; None: nothing."""
    backend, n_jobs = get_active_backend()
    if n_jobs is not None:  # parallel_config(n_jobs=...)
        return int(n_jobs)
    if not backend.nesting_level:
        return None
    # One of several jobs. A process of loky finds its share in OMP_NUM_THREADS; others are not told
    # how many they are.
    is_process = threading.current_thread() is threading.main_thread()
    return None if is_process and _openmp_threads() else 1


def _openmp_threads() -> int | None:
    """Return OMP_NUM_THREADS, of the outermost level; None: it is not set, or to nonsense."""
    outermost = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(outermost) or None if outermost.isdecimal() else None


class PoolController(LibController):
    """The core's pool, for threadpoolctl: what limits OpenMP limits it, in the same thread."""

    user_api = "openmp"
    internal_api = "amclust"
    filename_prefixes = ("_native",)
    check_symbols = ("amclust_thread_limit", "amclust_set_thread_limit")

    def get_num_threads(self) -> int:
        """Return how many threads a call without n_jobs would use."""
        return int(self.dynlib.amclust_thread_limit()) or _unlimited()

    def set_num_threads(self, num_threads: int) -> None:
        """Limit calls without n_jobs; as many as without a limit are none."""
        unlimited = num_threads == _unlimited()
        self.dynlib.amclust_set_thread_limit(0 if unlimited else num_threads)

    def get_version(self) -> str:
        """Return the version of amclust."""
        from amclust._version import __version__

        return __version__

    def set_additional_attributes(self) -> None:
        """Tell nothing else."""


def _unlimited() -> int:
    return _openmp_threads() or available_cores()


register(PoolController)


class _OneThread:
    """A limit of all of BLAS that several threads may ask for: the last to leave lifts it.

    To look for the libraries takes milliseconds, which a small fit has not: it is done once.
    """

    def __init__(self) -> None:
        self.libraries: list[Any] | None = None
        self.forget()

    def forget(self) -> None:
        self.lock, self.depth, self.before = threading.Lock(), 0, list[int]()

    def lift_in_child(self) -> None:
        """Lift the limit of threads that a fork has left behind."""
        before, inside = self.before, self.depth > 0
        self.forget()
        if inside:
            self._set(before)

    def __enter__(self) -> None:
        with self.lock:
            if not self.depth:
                if self.libraries is None:
                    blas = ThreadpoolController().select(user_api="blas")
                    self.libraries = blas.lib_controllers
                self.before = [library.num_threads for library in self.libraries]
                self._set([1] * len(self.before))
            self.depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self.lock:
            self.depth = max(0, self.depth - 1)  # 0: a fork has forgotten
            if not self.depth:
                self._set(self.before)

    def _set(self, numbers: list[int]) -> None:
        for library, number in zip(self.libraries or [], numbers, strict=False):
            # Newer threadpoolctl heeds one thread alone, whoever was the first.
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)
            library.set_num_threads(number)
            if hasattr(library, "clear_controlling_thread"):
                library.clear_controlling_thread(force=True)


_BLAS = _OneThread()


class _Fork:
    """Whether this process was forked when it had torch: that leaves torch's threads behind."""

    left_torch = False

    def note(self) -> None:
        _BLAS.lift_in_child()  # another thread may have been inside, which the child does not have
        self.left_torch = self.left_torch or "torch" in sys.modules


_FORK = _Fork()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FORK.note)


def torch_left_behind() -> bool:
    """Return whether torch would wait for threads that only the parent of this process has."""
    return _FORK.left_torch


def single_threaded_blas() -> contextlib.AbstractContextManager[None]:
    """Let BLAS take one thread.

    It gives the same bits for any number of them, and its threads wait by spinning: beside a busy
    process that takes twenty times as long.
    """
    return _BLAS


@contextlib.contextmanager
def single_threaded() -> Iterator[None]:
    """Let OpenMP take one thread, too."""
    with _BLAS, _openmp().limit(limits=1):
        yield


@functools.cache
def _openmp() -> Any:
    return ThreadpoolController().select(user_api="openmp")
