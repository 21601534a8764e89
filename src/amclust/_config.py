"""What this installation runs on."""

from __future__ import annotations

<<<<<<< HEAD
import functools
import os
import threading
from contextlib import AbstractContextManager
from numbers import Integral

from threadpoolctl import ThreadpoolController

=======
>>>>>>> main
from amclust import _native
from amclust._threads import available_cores, n_threads
from amclust._version import __version__


<<<<<<< HEAD
def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def n_threads(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into a number of threads; None means all cores."""
    cores = available_cores()
    if n_jobs is None:
        return cores
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        msg = f"n_jobs must be None or an int other than 0, got {n_jobs!r}."
        raise ValueError(msg)
    wanted = int(cores + 1 + n_jobs if n_jobs < 0 else n_jobs)
    # More threads than this only stand in each other's way.
    return max(1, min(wanted, max(8, 2 * cores)))


class _SingleThreadedBlas:
    """One thread for BLAS while any thread wants that.

    The limit is that of the whole process, and only the thread that set it can lift it. So the
    first in sets it, and waits for the others before it lifts it; who comes meanwhile waits too.
    Otherwise one would lift it under another, or leave it behind for good.
    """

    def __init__(self) -> None:
        self._changed, self._inside, self._lifting = threading.Condition(), 0, False
        self._own = threading.local()

    def __enter__(self) -> None:
        self._own.depth = getattr(self._own, "depth", 0) + 1
        if self._own.depth > 1:
            return
        self._own.limit = None
        with self._changed:
            self._changed.wait_for(lambda: not self._lifting)
            if not self._inside:
                self._own.limit = _blas().limit(limits=1)
                self._own.limit.__enter__()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        self._own.depth -= 1
        if self._own.depth:
            return
        with self._changed:
            self._inside -= 1
            if self._own.limit is not None:
                self._lifting = True
                try:
                    self._changed.wait_for(lambda: not self._inside)
                finally:
                    self._lifting = False
                    self._own.limit.__exit__(None, None, None)
            self._changed.notify_all()


_SINGLE_THREADED = _SingleThreadedBlas()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Let BLAS take one thread: the same bits for any number of them."""
    return _SINGLE_THREADED


@functools.cache
def _blas() -> ThreadpoolController:
    # To look for the libraries takes milliseconds, which a small fit has not: it is done once.
    return ThreadpoolController().select(user_api="blas")


=======
>>>>>>> main
def show_config() -> dict[str, str | int]:
    """Tell what this installation of amclust runs on.

    Returns
    -------
    config : dict
        ``version`` of the package, ``instruction_set`` that the native core chose on this
        machine ("avx512", "avx2" or "baseline"), ``cores`` this process may use, and ``threads``
        that a call without `n_jobs` does.

    Examples
    --------
    >>> import amclust
    >>> sorted(amclust.show_config())
    ['cores', 'instruction_set', 'threads', 'version']
    """
    return {
        "version": __version__,
        "instruction_set": _native.instruction_set(),
        "cores": available_cores(),
        "threads": n_threads(None),
    }
