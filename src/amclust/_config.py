"""What this installation runs on."""

from __future__ import annotations

from amclust import _native
from amclust._threads import available_cores, n_threads
from amclust._version import __version__


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
