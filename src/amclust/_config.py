"""What this installation runs on."""

from __future__ import annotations

import functools
import os
from contextlib import AbstractContextManager
from numbers import Integral

from threadpoolctl import ThreadpoolController

from amclust import _native
from amclust._version import __version__


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


def single_threaded_blas() -> AbstractContextManager[object]:
    """Let BLAS take one thread: the same bits for any number of them.

    To look for the libraries takes milliseconds, which a small fit has not: it is done once.
    """
    limits: AbstractContextManager[object] = _blas().limit(limits=1)
    return limits


@functools.cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def show_config() -> dict[str, str | int]:
    """Tell what this installation of amclust runs on.

    Returns
    -------
    config : dict
        ``version`` of the package, ``instruction_set`` that the native core chose on this
        machine ("avx512", "avx2" or "baseline"), and ``cores`` this process may use.

    Examples
    --------
    >>> import amclust
    >>> sorted(amclust.show_config())
    ['cores', 'instruction_set', 'version']
    """
    return {
        "version": __version__,
        "instruction_set": _native.instruction_set(),
        "cores": available_cores(),
    }
