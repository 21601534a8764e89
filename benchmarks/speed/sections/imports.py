"""Time of ``import amclust`` over importing scikit-learn's clustering, and what it loads."""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from statistics import median

from benchmarks.folders import REPOSITORY
from benchmarks.framework import Entry, Line, Target

FORBIDDEN = ("torch", "matplotlib", "pandas")
_PEER = "import sklearn.cluster"
# A finder in front of all others; None in sys.modules would upset scipy, which looks there.
_WITHOUT_FORBIDDEN = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {FORBIDDEN!r}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import amclust
"""


def run(options: Namespace) -> Iterator[Entry]:
    """Import both in fresh processes, in turn."""
    repeats = 3 if options.quick else 11
    modules = ("amclust", "sklearn.cluster")
    for module in modules:
        _import_milliseconds(module)  # writes the bytecode and warms the file cache
    rounds = [[_import_milliseconds(module) for module in modules] for _ in range(repeats)]
    ours, peer = (list(times) for times in zip(*rounds, strict=True))
    yield Line(
        what="import amclust",
        unit="ms",
        ours=median(ours),
        peer=median(peer),
        peer_name=_PEER,
        value=median(mine - theirs for mine, theirs in rounds),
        target=Target("difference", "<=", 50.0, " ms"),
        note=f"median of {repeats} interleaved fresh processes, after one untimed import of each",
        samples={"ours": ours, "peer": peer},
    )
    # scikit-learn itself loads pandas where that is installed: what counts is what amclust adds.
    loaded, by_peer = (_forbidden_loaded_by(module) for module in modules)
    needless = _python(_WITHOUT_FORBIDDEN).returncode == 0
    yield Line(
        what=f"import amclust adds {', '.join(FORBIDDEN)}",
        unit="loaded",
        ours=float(len(loaded)),
        peer=float(len(by_peer)),
        peer_name=_PEER,
        value=float(len({*loaded} - {*by_peer})),
        target=Target("added", "<=", 0.0),
        valid=needless,
        note=f"ours loads {loaded or 'none'}, sklearn.cluster by itself {by_peer or 'none'}; with "
        f"all three made unimportable amclust {'still imports' if needless else 'DOES NOT IMPORT'}",
    )


def _import_milliseconds(module: str) -> float:
    start = "import time; start = time.perf_counter()"
    code = f"{start}; import {module}; print(1000 * (time.perf_counter() - start))"
    return float(_python(code).stdout)


def _forbidden_loaded_by(module: str) -> list[str]:
    code = f"import sys, {module}; print(*[m for m in {FORBIDDEN!r} if m in sys.modules])"
    return _python(code).stdout.split()


def _python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=REPOSITORY, check=False, stdout=subprocess.PIPE, text=True)
