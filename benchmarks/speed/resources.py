"""What the machine gives: arithmetic beside BLAS, memory beside the table, time of the import.

``python -m benchmarks.speed.resources CALL ROWS`` measures the memory of a call, in a process of
its own; it prints a JSON object.
"""

import contextlib
import ctypes
import gc
import json
import resource
import subprocess
import sys
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from math import nan
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from amclust import ClAM
from amclust._native import EPOCH_ROWS
from benchmarks.data import (
    FASHION_MNIST_SHAPE,
    FloatArray,
    load_fashion_mnist,
    make_documents,
    make_mixture,
)
from benchmarks.folders import REPOSITORY
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.lines import Entry, Line, Target, timed
from benchmarks.protocol import PROTOCOLS, Protocol, paper_clam

_N_CLUSTERS = 10

# --- arithmetic -----------------------------------------------------------------------------------

_SQUARE = 2048
_BLAS_SECONDS = 0.3


def flops(options: Namespace) -> Iterator[Entry]:
    """Measure the floating-point rate of the training loop and two rates of BLAS, in turn."""
    features, source = _images(options)
    protocol = PROTOCOLS["fashion_mnist"]
    few, many = (1, 5) if options.quick else (8, 40)
    repeats = 1 if options.quick else 5
    n_features = features.shape[1]
    # Rows, inner size and columns of the products, and the part of their rate to reach.
    products = {
        f"BLAS {protocol.batch_size}x{n_features} by {n_features}x{_N_CLUSTERS}": (
            (protocol.batch_size, n_features, _N_CLUSTERS),
            1.0,
        ),
        f"BLAS {_SQUARE}x{_SQUARE}": ((_SQUARE, _SQUARE, _SQUARE), 0.25),
    }
    ours: list[float] = []
    rates: dict[str, list[float]] = {title: [] for title in products}
    _fit_seconds(features[:1000], protocol, 1)
    for _ in range(repeats):
        for title, (shape, _) in products.items():
            rates[title].append(_blas_rate(*shape))
        ours.append(_our_rate(features, protocol, few, many))
    for title, (_, limit) in products.items():
        yield Line.of_pairs(
            "training loop, 60000x784, k=10, T=5",
            "GFLOP/s",
            ours,
            rates[title],
            peer_name=title,
            target=Target("ratio", ">=", limit),
            note=f"{source}; seconds an epoch from fits of {few} and {many} epochs; "
            f"median of {repeats} interleaved; {operations_a_sample(n_features, protocol)}"
            " operations a sample; BLAS with one thread or all, the faster",
        )


def operations_a_sample(n_features: int, protocol: Protocol) -> int:
    """Count the operations of design section 1: visible forward and back, then the recursion.

    >>> operations_a_sample(784, PROTOCOLS["fashion_mnist"])
    78160
    """
    hidden = round(protocol.mask_prob * n_features)
    visible = 2 * _N_CLUSTERS * n_features
    return 2 * visible + 12 * _N_CLUSTERS * hidden * protocol.n_steps


def _images(options: Namespace) -> tuple[FloatArray, str]:
    """Fashion-MNIST, or noise of its shape: the rate is the shape's, not the images'."""
    try:
        return load_fashion_mnist(options.fashion_mnist_dir), "Fashion-MNIST"
    except UnavailableError:
        generator = np.random.default_rng(0)
        noise = generator.standard_normal(FASHION_MNIST_SHAPE, dtype=np.float32)
        return noise, "noise of Fashion-MNIST's shape"


def _our_rate(features: FloatArray, protocol: Protocol, few: int, many: int) -> float:
    """GFLOP/s of one epoch; what a fit does only once cancels in the difference.

    Zero where noise swallowed the difference: not a rate anybody may claim.
    """
    difference = _fit_seconds(features, protocol, many) - _fit_seconds(features, protocol, few)
    if difference <= 0.0:
        return 0.0
    n_samples, n_features = features.shape
    rows = min(n_samples, EPOCH_ROWS)  # what one epoch goes through
    operations = rows * operations_a_sample(n_features, protocol)
    return float(operations * (many - few) / difference / 1e9)


def _fit_seconds(features: FloatArray, protocol: Protocol, epochs: int) -> float:
    model = paper_clam(_N_CLUSTERS, protocol, restarts=1, epochs=epochs)
    return timed(lambda: model.fit(features)).seconds


def _blas_rate(rows: int, inner: int, columns: int) -> float:
    """GFLOP/s of a float32 matrix product, with one thread or with all, whichever is faster.

    On small products the threads of BLAS wait for each other, on a busy machine a hundred times
    longer than the product takes: a peer must not be beaten by that.
    """
    with threadpool_limits(limits=1, user_api="blas"):
        one_thread = _product_rate(rows, inner, columns)
    return max(one_thread, _product_rate(rows, inner, columns))


def _product_rate(rows: int, inner: int, columns: int) -> float:
    """GFLOP/s of a float32 matrix product, repeated for a fixed time."""
    generator = np.random.default_rng(0)
    left = generator.standard_normal((rows, inner), dtype=np.float32)
    right = generator.standard_normal((inner, columns), dtype=np.float32)
    product = left @ right
    calls = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < _BLAS_SECONDS:
        np.matmul(left, right, out=product)
        calls += 1
    return 2 * rows * inner * columns * calls / elapsed / 1e9


# --- memory ---------------------------------------------------------------------------------------

_FEATURES, _FEW_FEATURES = 100, 10
_TRAINING_ROWS = 10_000
_EPOCHS = 3  # the peak does not depend on how long it goes on
_STATUS, _CLEAR_REFS = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Documents, words and topics of the text whose fit is measured, and the most that it may take.
_TEXT, _TEXT_BYTES = (20_000, 100_000, 50), 2e9
# What is called, ours and the peer's call of the same purpose.
_COMPARED = (
    ("fit, default objective", "fit-default", "kmeans-fit"),
    ('fit, objective="completion"', "fit-completion", "kmeans-fit"),
    ("predict", "predict", "kmeans-predict"),
)


def memory(options: Namespace) -> Iterator[Entry]:
    """Measure the peak of every call above a float32 C-ordered X, as a share of it."""
    rows = 100_000 if options.quick else 1_000_000
    names = dict.fromkeys(name for _, *pair in _COMPARED for name in pair)
    peaks = {name: measured_apart(name, rows) for name in names}
    for what, ours, peer in _COMPARED:
        found = peaks[ours]
        yield Line(
            f"extra memory of {what}",
            found["share"],
            peaks[peer]["share"],
            "KMeans",
            value=found["share"],
            target=Target("share", "<=", 25.0, "%"),
            unit="% of X",
            note=f"X of {found['data'] / 1e6:.0f} MB, float32, C-ordered; {found['way']}",
        )
    if options.quick:
        return
    found = measured_apart("fit-text", 0)
    n_documents, n_words, n_topics = _TEXT
    yield Line(
        f"memory of the process, a fit of {n_documents}x{n_words} tf-idf, k={n_topics}",
        found["peak"] / 1e6,
        nan,
        "",
        value=found["peak"] / 1e6,
        target=Target("memory", "<=", _TEXT_BYTES / 1e6, " MB"),
        unit="MB",
        note=f"X of {found['data'] / 1e6:.0f} MB; ten restarts",
    )


def measured_apart(
    name: str, rows: int, module: str = "benchmarks.speed.resources"
) -> dict[str, Any]:
    """Measure the memory of a call in a process of its own, which runs the module."""
    found: dict[str, Any] = json.loads(_python("-m", module, name, str(rows)))
    return found


def measure_memory(name: str, rows: int) -> dict[str, Any]:
    """Run a call and tell how far the resident memory rose above where it stood."""
    if name == "fit-text":
        return _measure_text()
    n_features = _FEW_FEATURES if name.endswith("assemblies") else _FEATURES
    features = make_mixture(rows, n_features, _N_CLUSTERS)
    return measure_call(_prepare(name, features), features)


def measure_call(call: Callable[[], object], features: FloatArray) -> dict[str, Any]:
    """Run a call and tell how far the memory rose, also as a share of the rows that it is given."""
    gc.collect()
    if sys.platform == "linux":
        # Freed memory that is still resident would hide as much of the call's own.
        with contextlib.suppress(OSError, AttributeError):  # a libc other than glibc
            ctypes.CDLL(None).malloc_trim(0)
    try:
        _CLEAR_REFS.write_text("5", encoding="ascii")  # resets the peak
        way, before, after = "peak since a reset", _status_bytes("VmRSS"), "VmHWM"
    except OSError:
        way, before, after = "lifetime peak (a lower bound)", _lifetime_peak(), ""
    call()
    extra = (_status_bytes(after) if after else _lifetime_peak()) - before
    share = 100.0 * extra / features.nbytes
    return {"extra": extra, "share": share, "data": features.nbytes, "way": way}


def _measure_text() -> dict[str, Any]:
    """Fit made documents and tell the most memory that the process ever had."""
    rows = make_documents(*_TEXT).tfidf
    size = rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes
    ClAM(_TEXT[-1], metric="cosine", random_state=0).fit(rows)
    return {"peak": _lifetime_peak(), "data": size}


def _prepare(name: str, features: FloatArray) -> Callable[[], object]:
    """Give the call to measure, after what comes before it."""
    if name.startswith("kmeans"):
        model = KMeans(_N_CLUSTERS, n_init=1, max_iter=_EPOCHS, random_state=0)
    else:
        objective = "completion" if name == "fit-completion" else "auto"
        n_memories = "auto" if name == "fit-assemblies" else None
        model = ClAM(
            _N_CLUSTERS,
            n_memories=n_memories,
            objective=objective,
            max_epochs=_EPOCHS,
            random_state=0,
        )
    if name.endswith("predict"):
        model.fit(features[:_TRAINING_ROWS])
        return lambda: model.predict(features)
    return lambda: model.fit(features)


def _status_bytes(field: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _lifetime_peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# --- import ---------------------------------------------------------------------------------------

_FORBIDDEN = ("torch", "matplotlib", "pandas")
_PEER = "import sklearn.cluster"
# A finder in front of all others; None in sys.modules would upset scipy, which looks there.
_WITHOUT_FORBIDDEN = f"""
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {_FORBIDDEN!r}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
import amclust
"""


def imports(options: Namespace) -> Iterator[Entry]:
    """Import amclust and scikit-learn's clustering in fresh processes, in turn."""
    repeats = 3 if options.quick else 11
    modules = ("amclust", "sklearn.cluster")
    for module in modules:
        _import_milliseconds(module)  # writes the bytecode and warms the file cache
    rounds = [[_import_milliseconds(module) for module in modules] for _ in range(repeats)]
    ours, peer = (list(times) for times in zip(*rounds, strict=True))
    yield Line(
        "import amclust",
        median(ours),
        median(peer),
        _PEER,
        value=median(mine - theirs for mine, theirs in rounds),
        target=Target("difference", "<=", 50.0, " ms"),
        unit="ms",
        note=f"median of {repeats} interleaved fresh processes, after one untimed import of each",
        samples={"ours": ours, "peer": peer},
    )
    # scikit-learn itself loads pandas where that is installed: what counts is what amclust adds.
    look = f"print(*[m for m in {_FORBIDDEN!r} if m in sys.modules])"
    loaded, by_peer = (_python("-c", f"import sys, {one}; {look}").split() for one in modules)
    try:
        needless = not _python("-c", _WITHOUT_FORBIDDEN)
    except subprocess.CalledProcessError:
        needless = False
    yield Line(
        f"import amclust adds {', '.join(_FORBIDDEN)}",
        float(len(loaded)),
        float(len(by_peer)),
        _PEER,
        value=float(len({*loaded} - {*by_peer})),
        target=Target("added", "<=", 0.0),
        unit="loaded",
        valid=needless,
        note=f"ours loads {loaded or 'none'}, sklearn.cluster by itself {by_peer or 'none'}; with "
        f"all three made unimportable amclust {'still imports' if needless else 'DOES NOT IMPORT'}",
    )


def _import_milliseconds(module: str) -> float:
    start = "import time; start = time.perf_counter()"
    code = f"{start}; import {module}; print(1000 * (time.perf_counter() - start))"
    return float(_python("-c", code))


def _python(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.stdout.write(json.dumps(measure_memory(sys.argv[1], int(sys.argv[2]))) + "\n")
