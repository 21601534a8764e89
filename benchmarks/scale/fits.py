"""Many rows: a fit and its labels beside dask-ml's, and the memory that they take.

``python -m benchmarks.scale.fits METHOD ROWS BLOCK_ROWS MEMORY`` measures one, in a process
and with workers of its own; it prints a JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from math import nan
from statistics import median
from typing import Any

import numpy as np
from distributed import Client
from numpy.typing import NDArray

from benchmarks.folders import REPOSITORY
from benchmarks.framework.environment import UnavailableError, optional_module
from benchmarks.framework.lines import Entry, Line, Skipped, Target
from benchmarks.partitions import inertia
from benchmarks.scale.rows import (
    N_CLUSTERS,
    Made,
    held,
    make_clam,
    processes,
    watched_memory,
)

_PEER = "dask-ml KMeans"


def many_rows(options: Namespace, measured: dict[str, Any]) -> Iterator[Entry]:
    """Compare time and inertia, and the memory at a quarter of the rows."""
    few, many, memory = Made(5_000_000), Made(20_000_000), "1GB"
    if options.quick:
        few, many, memory = Made(5000, 2500), Made(20_000, 10_000), "1GB"
    yield from compare(few, many, memory, 1 if options.quick else 2)


def compare(few: Made, many: Made, memory: str, repeats: int) -> Iterator[Entry]:
    small = _measure("clam", few, memory)
    ours = [_measure("clam", many, memory)]
    try:
        peer = _measure("dask-ml", many, memory)
    except UnavailableError as error:
        yield Skipped(f"{many.title}, {_PEER}", str(error))
        peer = dict.fromkeys(ours[0], nan)
    ours += [_measure("clam", many, memory) for _ in range(repeats - 1)]  # before and after it
    workers = f"two processes of {memory}, {many.n_blocks} blocks of {many.block_rows} rows"
    for what, target in {
        "fit and labels": Target("ratio", "<=", 0.3),
        "fit": Target("ratio"),
        "labels": Target("ratio"),
    }.items():
        seconds = [one[what] for one in ours]
        yield Line(
            f"{many.title}, {what}",
            median(seconds),
            peer[what],
            _PEER,
            value=median(seconds) / peer[what],
            target=target,
            unit="s",
            samples={"ours": seconds, "peer": [peer[what]]},
            note=f"{workers}, rows made anew in every pass, which takes {ours[0]['making']:.3g} s; "
            f"defaults of both, {peer['passes']:.0f} rounds of Lloyd's after k-means||",
        )
    yield Line(
        f"{many.title}, inertia a row",
        ours[0]["inertia"],
        peer["inertia"],
        _PEER,
        value=ours[0]["inertia"] / peer["inertia"],
        target=Target("ratio", "<=", 1.0),
        note="of all rows to the centres they are labelled with, both in the rows' coordinates",
    )
    for who, target in {
        "client": Target("ratio", "<=", 1.1),
        "worker": Target("ratio"),
    }.items():
        peak = [one[f"{who} memory"] for one in ours]
        yield Line(
            f"memory of the {who}, {many.n_rows} rows",
            median(peak),
            small[f"{who} memory"],
            f"{few.n_rows} rows",
            value=median(peak) / small[f"{who} memory"],
            target=target,
            unit="MB",
            note="resident, at the peak; the scheduler is in the process of the client, which was "
            f"at {ours[0]['client before']:.0f} MB before",
        )
    for who in ("client", "worker"):
        yield Line(
            f"memory of the {who}, {many.n_rows} rows",
            median(one[f"{who} memory"] for one in ours),
            peer[f"{who} memory"],
            _PEER,
            value=ours[0][f"{who} memory"] / peer[f"{who} memory"],
            target=Target("ratio"),
            unit="MB",
        )


def _measure(method: str, made: Made, memory: str) -> dict[str, float]:
    given = [method, str(made.n_rows), str(made.block_rows), memory]
    command = [sys.executable, "-m", "benchmarks.scale.fits", *given]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{method} failed: {done.stderr.strip().splitlines()[-1:]}"
        raise UnavailableError(message)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- in a process of its own ----------------------------------------------------------------------


def _clam(client: Client, rows: Any, **given: Any) -> Any:
    # The loss that its peer minimises, too.
    return make_clam(client, objective="reconstruction", **given).fit(rows)


def _dask_ml(client: Client, rows: Any, **given: Any) -> Any:
    make = optional_module("dask_ml.cluster", "dask-ml").KMeans
    with client.as_current():
        return make(N_CLUSTERS, random_state=0, **given).fit(rows)


METHODS: dict[str, Callable[..., Any]] = {"clam": _clam, "dask-ml": _dask_ml}
# A short run before the one that is timed: it imports what is needed.
_SHORT = {"clam": {"n_init": 1}, "dask-ml": {"max_iter": 1, "init_max_iter": 1}}


def run(method: str, made: Made, memory: str) -> dict[str, float]:
    """Fit and label with workers of their own; give times, inertia and memory."""
    with processes(2, memory) as client:
        METHODS[method](client, Made(4000, 1000).array(), **_SHORT[method])
        start = time.perf_counter()
        client.compute(made.array().map_blocks(_nothing, dtype=float).sum()).result()
        making = time.perf_counter() - start
        with watched_memory() as before:
            time.sleep(0.2)
        rows = made.array()
        with watched_memory() as peak:
            start = time.perf_counter()
            model = METHODS[method](client, rows)
            fitted = time.perf_counter()
            labels = held(client, model.labels_)
            end = time.perf_counter()
        total = sum_inertia(client, rows, labels, model.cluster_centers_)
    return {
        "fit": fitted - start,
        "labels": end - fitted,
        "fit and labels": end - start,
        "making": making,
        "inertia": total / made.n_rows,
        "passes": float(getattr(model, "n_iter_", nan)),
        "client before": before.client,
        "client memory": peak.client,
        "worker memory": peak.worker,
    }


def sum_inertia(client: Client, rows: Any, labels: Any, centers: NDArray[Any]) -> float:
    """Sum the squared distances to the centres that rows are labelled with, block by block."""
    found = rows.map_blocks(_inertia, labels[:, None], centers=centers, chunks=(1, 1), dtype=float)
    return float(client.compute(found.sum()).result())


def _nothing(block: NDArray[Any]) -> NDArray[np.float64]:
    return np.zeros((1, 1))


def _inertia(
    block: NDArray[Any], labels: NDArray[Any], centers: NDArray[Any]
) -> NDArray[np.float64]:
    return np.array([[inertia(block, labels[:, 0], centers)]])


if __name__ == "__main__":
    kind, n_rows, block_rows, limit = sys.argv[1:]
    print(json.dumps(run(kind, Made(int(n_rows), int(block_rows)), limit)))
