"""Peak extra memory of fit and predict as a share of X, each in a process of its own.

``python -m benchmarks.speed.sections.memory CALL ROWS`` is that process; it prints a JSON object.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import resource
import subprocess
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sklearn.cluster import KMeans

from amclust import ClAM
from benchmarks.data import FloatArray, make_mixture
from benchmarks.folders import REPOSITORY
from benchmarks.framework import Entry, Line, Target

_FEATURES, _CLUSTERS = 100, 10
_TRAINING_ROWS = 10_000
_EPOCHS = 3  # the peak does not depend on how long it goes on
_MAX_SHARE = 25.0
_STATUS, _CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# What is called, ours and the peer's call of the same purpose.
COMPARED = (
    ("fit, default objective", "fit-default", "kmeans-fit"),
    ('fit, objective="completion"', "fit-completion", "kmeans-fit"),
    ("predict", "predict", "kmeans-predict"),
)


def run(options: Namespace) -> Iterator[Entry]:
    """Probe every call on a float32 C-ordered X."""
    rows = 100_000 if options.quick else 1_000_000
    names = dict.fromkeys(name for _, *pair in COMPARED for name in pair)
    peaks = {name: _probe_apart(name, rows) for name in names}
    for what, ours, peer in COMPARED:
        share = peaks[ours]["share"]
        yield Line(
            what=f"extra memory of {what}",
            unit="% of X",
            ours=share,
            peer=peaks[peer]["share"],
            peer_name="KMeans",
            value=share,
            target=Target("share", "<=", _MAX_SHARE, "%"),
            note=f"X of {peaks[ours]['data'] / 1e6:.0f} MB, float32, C-ordered; "
            f"{peaks[ours]['way']}",
        )


def _probe_apart(name: str, rows: int) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, name, str(rows)]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _prepare(name: str, features: FloatArray) -> Callable[[], object]:
    """Give the call to measure, after what comes before it."""
    if name.startswith("kmeans"):
        model = KMeans(_CLUSTERS, n_init=1, max_iter=_EPOCHS, random_state=0)
    else:
        objective = "completion" if name == "fit-completion" else "auto"
        model = ClAM(_CLUSTERS, objective=objective, max_epochs=_EPOCHS, random_state=0)
    if name.endswith("predict"):
        model.fit(features[:_TRAINING_ROWS])
        return lambda: model.predict(features)
    return lambda: model.fit(features)


def _measure(call: Callable[[], object]) -> tuple[int, str]:
    """Run a call and tell how far the resident memory rose above where it stood."""
    gc.collect()
    if sys.platform == "linux":
        # Freed memory that is still resident would hide as much of the call's own.
        with contextlib.suppress(OSError, AttributeError):  # a libc other than glibc
            ctypes.CDLL(None).malloc_trim(0)
    try:
        _CLEAR_REFS.write_text("5", encoding="ascii")  # resets the peak
    except OSError:
        before = _lifetime_peak()
        call()
        return _lifetime_peak() - before, "lifetime peak (a lower bound)"
    before = _status_bytes("VmRSS")
    call()
    return _status_bytes("VmHWM") - before, "peak since a reset"


def _status_bytes(field: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _lifetime_peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _main(name: str, rows: str) -> None:
    warnings.simplefilter("ignore")
    features = make_mixture(int(rows), _FEATURES, _CLUSTERS)
    extra, way = _measure(_prepare(name, features))
    peak = {"share": 100.0 * extra / features.nbytes, "data": features.nbytes, "way": way}
    sys.stdout.write(json.dumps(peak) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
