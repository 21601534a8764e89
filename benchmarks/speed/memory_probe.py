"""Peak memory of one call, measured in a process of its own.

``python -m benchmarks.speed.memory_probe METHOD ROWS FEATURES`` prints one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from amclust import ClAM
from benchmarks.data import FloatArray, make_mixture

_N_CLUSTERS = 10
_TRAINING_ROWS = 10_000
_FEW_EPOCHS = 3  # the peak does not depend on how long it goes on
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


class Peak(NamedTuple):
    """Extra memory of a call over the state right before it."""

    extra_bytes: int
    data_bytes: int
    way: str


def _fit_default(features: FloatArray) -> Callable[[], object]:
    model = ClAM(_N_CLUSTERS, max_epochs=_FEW_EPOCHS, random_state=0)
    return lambda: model.fit(features)


def _fit_completion(features: FloatArray) -> Callable[[], object]:
    model = ClAM(_N_CLUSTERS, objective="completion", max_epochs=_FEW_EPOCHS, random_state=0)
    return lambda: model.fit(features)


def _predict(features: FloatArray) -> Callable[[], object]:
    model = ClAM(_N_CLUSTERS, max_epochs=_FEW_EPOCHS, random_state=0)
    model.fit(features[:_TRAINING_ROWS])
    return lambda: model.predict(features)


def _kmeans_fit(features: FloatArray) -> Callable[[], object]:
    model = KMeans(_N_CLUSTERS, n_init=1, max_iter=_FEW_EPOCHS, random_state=0)
    return lambda: model.fit(features)


def _kmeans_predict(features: FloatArray) -> Callable[[], object]:
    model = KMeans(_N_CLUSTERS, n_init=1, max_iter=_FEW_EPOCHS, random_state=0)
    model.fit(features[:_TRAINING_ROWS])
    return lambda: model.predict(features)


METHODS: dict[str, Callable[[FloatArray], Callable[[], object]]] = {
    "fit-default": _fit_default,
    "fit-completion": _fit_completion,
    "predict": _predict,
    "kmeans-fit": _kmeans_fit,
    "kmeans-predict": _kmeans_predict,
}


def measure(call: Callable[[], object], data_bytes: int) -> Peak:
    """Run a call and tell how far the resident memory rose above where it stood."""
    _give_back_freed_memory()
    try:
        _CLEAR_REFS.write_text(_RESET_PEAK, encoding="ascii")
    except OSError:
        before = _lifetime_peak()
        call()
        return Peak(_lifetime_peak() - before, data_bytes, "lifetime peak (a lower bound)")
    before = _status_bytes("VmRSS")
    call()
    return Peak(_status_bytes("VmHWM") - before, data_bytes, "peak since a reset")


def _give_back_freed_memory() -> None:
    """Freed memory that is still resident would hide as much of the call's own."""
    gc.collect()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # a libc other than glibc
            ctypes.CDLL(None).malloc_trim(0)


def _status_bytes(field: str) -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    message = f"{_STATUS} has no field {field}"
    raise RuntimeError(message)


def _lifetime_peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def main() -> int:
    """Measure the method named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.memory_probe")
    parser.add_argument("method", choices=tuple(METHODS))
    parser.add_argument("rows", type=int)
    parser.add_argument("features", type=int)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    features = make_mixture(options.rows, options.features, _N_CLUSTERS)
    peak = measure(METHODS[options.method](features), features.nbytes)
    sys.stdout.write(json.dumps(peak._asdict()) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
