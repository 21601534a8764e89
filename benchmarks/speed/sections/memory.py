"""Peak extra memory of fit and predict as a share of X, each in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.folders import REPOSITORY
from benchmarks.framework import Entry, Line, Target
from benchmarks.speed.memory_probe import Peak
from benchmarks.speed.settings import Settings

_FEATURES = 100
_LARGEST_SHARE = 25.0


class Call(NamedTuple):
    """A call of ours and the peer's call of the same purpose, by the probe's names."""

    what: str
    ours: str
    peer: str


CALLS = (
    Call("fit, default objective", "fit-default", "kmeans-fit"),
    Call('fit, objective="completion"', "fit-completion", "kmeans-fit"),
    Call("predict", "predict", "kmeans-predict"),
)


def run(settings: Settings) -> Iterator[Entry]:
    """Probe every call on a float32 C-ordered X."""
    rows = settings.pick(full=1_000_000, quick=100_000)
    probes = dict.fromkeys(name for call in CALLS for name in (call.ours, call.peer))
    peaks = {name: _probe(name, rows) for name in probes}
    for call in CALLS:
        yield _line(call, peaks[call.ours], peaks[call.peer])


def _line(call: Call, ours: Peak, peer: Peak) -> Line:
    mine, theirs = _share(ours), _share(peer)
    return Line(
        what=f"extra memory of {call.what}",
        unit="% of X",
        ours=mine,
        peer=theirs,
        peer_name="KMeans",
        value=mine,
        target=Target("share", "<=", _LARGEST_SHARE, "%"),
        note=f"X of {ours.data_bytes / 1e6:.0f} MB, float32, C-ordered; {ours.way}",
    )


def _share(peak: Peak) -> float:
    return 100.0 * peak.extra_bytes / peak.data_bytes


def _probe(method: str, rows: int) -> Peak:
    command = [sys.executable, "-m", "benchmarks.speed.memory_probe", method]
    finished = subprocess.run(
        [*command, str(rows), str(_FEATURES)],
        cwd=REPOSITORY,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Peak(**json.loads(finished.stdout))
