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
_LARGEST_DIFFERENCE = 50.0

# A finder in front of all others; None in sys.modules would upset scipy, which looks there.
_BLOCK = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {FORBIDDEN!r}:
            raise ImportError(name)
"""


def run(options: Namespace) -> Iterator[Entry]:
    """Import both in fresh processes, in turn."""
    repeats = 3 if options.quick else 11
    for module in ("amclust", "sklearn.cluster"):
        _import_milliseconds(module)  # writes the bytecode and warms the file cache
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(repeats):
        ours.append(_import_milliseconds("amclust"))
        peer.append(_import_milliseconds("sklearn.cluster"))
    yield Line(
        what="import amclust",
        unit="ms",
        ours=median(ours),
        peer=median(peer),
        peer_name="import sklearn.cluster",
        value=median(mine - theirs for mine, theirs in zip(ours, peer, strict=True)),
        target=Target("difference", "<=", _LARGEST_DIFFERENCE, " ms"),
        note=f"median of {repeats} interleaved fresh processes, after one untimed import of each",
        samples={"ours": ours, "peer": peer},
    )
    yield _loaded_line()


def _loaded_line() -> Line:
    """Count what amclust adds: scikit-learn itself loads pandas where that is installed."""
    ours = _forbidden_loaded_by("amclust")
    peer = _forbidden_loaded_by("sklearn.cluster")
    added = [module for module in ours if module not in peer]
    needless = _imports_without_forbidden()
    return Line(
        what=f"import amclust adds {', '.join(FORBIDDEN)}",
        unit="loaded",
        ours=float(len(ours)),
        peer=float(len(peer)),
        peer_name="import sklearn.cluster",
        value=float(len(added)),
        target=Target("added", "<=", 0.0),
        valid=needless,
        note=f"ours loads {ours or 'none'}, sklearn.cluster by itself {peer or 'none'}; with all "
        f"three made unimportable amclust {'still imports' if needless else 'DOES NOT IMPORT'}",
    )


def _import_milliseconds(module: str) -> float:
    start = "import time; start = time.perf_counter()"
    return float(_python(f"{start}; import {module}; print(1000 * (time.perf_counter() - start))"))


def _forbidden_loaded_by(module: str) -> list[str]:
    code = f"import sys, {module}; print(*[m for m in {FORBIDDEN!r} if m in sys.modules])"
    return _python(code).split()


def _imports_without_forbidden() -> bool:
    """Import amclust where importing any of the forbidden modules raises ImportError."""
    code = f"{_BLOCK}\nsys.meta_path.insert(0, Block())\nimport amclust"
    return subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=False).returncode == 0


def _python(code: str) -> str:
    """Run code in a fresh interpreter."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
