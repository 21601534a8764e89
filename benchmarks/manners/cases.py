"""What is measured: processor time beside a busy process, predictions, interrupts, starts."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from amclust import ClAM, ClAMSearch
from benchmarks.framework.cases import Case
from benchmarks.framework.running import Unfinished

NEIGHBOUR, PREDICT, INTERRUPT, START = "neighbour", "predict", "interrupt", "start"
ROWS = (1, 100, 10_000)
COMMANDS = ("--version", "--help", "fit --help")
# Whoever is busy beside us; it ends with us, too.
BUSY = "import os\nhome = os.getppid()\nwhile os.getppid() == home: pass"

Floats = NDArray[np.float64]
Call = Callable[[], Any]


class Key(NamedTuple):
    group: str
    name: str


def blobs(n: int, d: int, k: int = 5) -> Floats:
    X: Floats = make_blobs(n, d, centers=k, random_state=0)[0]
    return X


def holes(X: Floats) -> Floats:
    X = X.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X


def clam(n_clusters: Any = 5, **more: Any) -> ClAM:
    return ClAM(n_clusters, **{"n_init": 4, "random_state": 0, **more})


# Each makes its rows and what it needs, and returns what is measured.


def _fit(X: Floats, n_clusters: Any = 5, **more: Any) -> Call:
    return lambda: clam(n_clusters, **more).fit(X)


def _partial_fit() -> Call:
    X = blobs(20_000, 10)
    return lambda: clam().partial_fit(X[:10_000]).partial_fit(X[10_000:])


def _asked(method: str, X: Floats, **given: Any) -> Call:
    model = clam(n_init=1).fit(X[:2_000])
    return lambda: getattr(model, method)(X, **given)


CALLS: dict[str, Callable[[], Call]] = {
    "fit, 200 x 10": lambda: _fit(blobs(200, 10)),
    "fit, 200,000 x 20": lambda: _fit(blobs(200_000, 20)),
    "fit, k = 300": lambda: _fit(blobs(20_000, 10, 300), 300, n_init=1),
    'fit, n_clusters="auto", 1,000 x 20': lambda: _fit(blobs(1_000, 20), "auto"),
    'fit, n_memories="auto"': lambda: _fit(blobs(2_000, 4), n_memories="auto"),
    'fit, metric="mahalanobis"': lambda: _fit(blobs(3_000, 40), metric="mahalanobis"),
    "fit, missing values": lambda: _fit(holes(blobs(2_000, 40))),
    "fit, sizes within limits": lambda: _fit(blobs(2_000, 5), size_min=300),
    "partial_fit": _partial_fit,
    "search": lambda: lambda: ClAMSearch([3, 5], budget=2_000, random_state=0).fit(blobs(500, 10)),
    "predict": lambda: _asked("predict", blobs(200_000, 20)),
    "predict_proba": lambda: _asked("predict_proba", blobs(200_000, 20)),
    "complete": lambda: _asked("complete", holes(blobs(10_000, 40)), return_std=True),
    "score": lambda: _asked("score", blobs(10_000, 20)),
}


def _report() -> Call:
    X = holes(np.random.default_rng(0).normal(size=(20_000, 30)))
    model = clam(n_init=1).fit(X)
    return lambda: model.report(X, Path(tempfile.mkdtemp(), "report.html"))


def _noise(n: int, d: int) -> Floats:
    return np.random.default_rng(0).normal(size=(n, d))


# What takes long, to be interrupted.
LONG: dict[str, Callable[[], Call]] = {
    "k-means++, k = 5,000": lambda: _fit(
        _noise(400_000, 10).astype(np.float32), 5_000, n_init=1, objective="reconstruction"
    ),
    'metric="mahalanobis"': lambda: _fit(blobs(20_000, 200), metric="mahalanobis"),
    "missing values": lambda: _fit(holes(blobs(20_000, 120))),
    'n_clusters="auto"': lambda: _fit(_noise(20_000, 60), "auto"),
    "n_memories=1500": lambda: _fit(_noise(50_000, 20), n_memories=1500),
    "size_min": lambda: _fit(_noise(20_000, 10), 60, size_min=200, size_max=500),
    "complete": lambda: _asked("complete", holes(blobs(100_000, 150)), return_std=True),
    "search": lambda: lambda: ClAMSearch([3, 4, 5], random_state=0).fit(_noise(20_000, 30)),
    "report": _report,
}
# Seconds into a call.
MOMENTS = (0.3, 0.9, 2.0, 4.0)


def cases(options: Namespace) -> list[Case[Key]]:
    repeats = 2 if options.quick else 5
    times = {"repeats": repeats}
    return [
        *(Case(Key(NEIGHBOUR, name), times) for name in CALLS),
        *(_prediction(n, threads, 40 * repeats) for n in ROWS for threads in (None, 1)),
        *(Case(Key(INTERRUPT, name), {"moments": MOMENTS[:repeats]}) for name in LONG),
        *(Case(Key(START, command), {"repeats": 3 * repeats}) for command in COMMANDS),
    ]


def _prediction(n: int, threads: int | None, repeats: int) -> Case[Key]:
    given = {"rows": n, "threads": threads, "repeats": repeats}
    words = "all threads" if threads is None else "one thread"
    return Case(Key(PREDICT, f"{n:,} x 10, {words}"), given)


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    given = case.definition
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.key.group == NEIGHBOUR:
            return beside_neighbour(CALLS[case.key.name](), given["repeats"])
        if case.key.group == PREDICT:
            return beside_k_means(given["rows"], given["threads"], given["repeats"])
        if case.key.group == INTERRUPT:
            return interrupted(LONG[case.key.name](), given["moments"])
        return started(case.key.name, given["repeats"])


def processor_seconds(call: Call) -> float:
    """Return what a call takes of all processors, for itself and for the system."""
    before = os.times()
    call()
    after = os.times()
    return after.user - before.user + after.system - before.system


@contextlib.contextmanager
def busy_neighbour() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", BUSY]) as neighbour:
        try:
            yield
        finally:
            neighbour.kill()


def beside_neighbour(call: Call, repeats: int) -> dict[str, Any]:
    """Measure calls alone and beside a busy process, in turns.

    A clock of processor time ticks a hundred times a second: short calls are made often.
    """
    call()
    began = time.perf_counter()
    call()
    often = max(1, round(0.3 / max(1e-6, time.perf_counter() - began)))

    def all_calls() -> None:
        for _ in range(often):
            call()

    alone, beside = [], []
    for _ in range(repeats):
        alone.append(processor_seconds(all_calls) / often)
        with busy_neighbour():
            beside.append(processor_seconds(all_calls) / often)
    return {"alone": float(np.median(alone)), "beside": float(np.median(beside))}


def beside_k_means(n: int, threads: int | None, repeats: int) -> dict[str, Any]:
    """Measure predictions in turns with those of scikit-learn's KMeans.

    The least times: whatever else runs on the machine only adds to them, to KMeans' most.
    """
    X = blobs(10_000, 10, 8)
    models = {
        "amclust": ClAM(8, n_init=2, random_state=0).fit(X),
        "k_means": KMeans(8, n_init=2, random_state=0).fit(X),
    }
    found: dict[str, list[float]] = {name: [] for name in models}
    with threadpool_limits(threads):
        for _ in range(repeats):
            for name, model in models.items():
                began = time.perf_counter()
                model.predict(X[:n])
                found[name].append(time.perf_counter() - began)
    return {name: min(seconds) for name, seconds in found.items()}


def interrupted(call: Call, moments: list[float]) -> dict[str, Any]:
    """Interrupt a call at several moments; how long it went on, at most."""
    late = []
    for moment in moments:
        sent = []

        def interrupt(sent: list[float] = sent) -> None:
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(moment, interrupt)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            timer.start()
            call()
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            late.append(time.perf_counter() - sent[0])
        finally:
            signal.signal(signal.SIGINT, before)
    return {"seconds": max(late), "moments": len(late)}


def started(command: str, repeats: int) -> dict[str, Any]:
    """Time the command line from its start to its end: the least, as others only add to it."""
    words = [sys.executable, "-c", "import sys; from amclust.cli import main; sys.exit(main())"]
    seconds, processor = [], []
    for _ in range(repeats):
        began, before = time.perf_counter(), os.times()
        subprocess.run([*words, *command.split()], check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
        after = os.times()
        used = after.children_user + after.children_system
        processor.append(used - before.children_user - before.children_system)
    return {"seconds": min(seconds), "processor": float(np.median(processor))}
