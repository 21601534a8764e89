"""Many predictions and fits in one process: does resident memory stay where it is?"""

import gc
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from amclust import ClAM

# After so large a part of the work memory is measured for the first time, and then so often.
WARM, LOOKS = 0.02, 50


def resident() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure(predictions: int, fits: int) -> dict[str, Any]:
    """Predict one row at a time, and fit small tables of several kinds."""
    X = make_blobs(300, 5, centers=4, random_state=0)[0]
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = ClAM(4, n_init=2, max_epochs=20, random_state=0, n_jobs=1).fit(X)
    labels = model.predict(X)
    wrong = 0

    def predict(number: int) -> None:
        nonlocal wrong
        row = number % len(X)
        wrong += int(model.predict(X[row : row + 1])[0] != labels[row])

    kinds: list[dict[str, Any]] = [
        {},
        {"metric": "cosine"},
        {"scale": "robust"},
        {"weights": "learn"},
    ]

    def fit(number: int) -> None:
        chosen = kinds[number % len(kinds)]
        table = holes if number % 3 == 0 else X
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = ClAM(4, n_init=2, max_epochs=10, random_state=number % 7, n_jobs=2, **chosen)
            made.fit(table).predict(table)

    results: dict[str, Any] = {}
    for name, work, count in (("predictions", predict, predictions), ("fits", fit, fits)):
        before, after = _watch(work, count)
        results |= {name: count, f"{name}_before": before, f"{name}_after": after}
        results[f"{name}_growth"] = after - before
    return results | {"wrong": wrong}


def _watch(work: Any, count: int) -> tuple[float, float]:
    """Do work so often; return the memory after the first part, and the most after that."""
    warm = max(1, int(WARM * count))
    every = max(1, (count - warm) // LOOKS)
    before = most = 0.0
    for number in range(count):
        work(number)
        if number + 1 == warm:
            gc.collect()
            before = most = resident()
        elif number >= warm and (number + 1 - warm) % every == 0:
            gc.collect()
            most = max(most, resident())
    return before, most
