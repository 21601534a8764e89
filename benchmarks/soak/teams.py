"""Many threads of one process that fit and predict at once."""

import threading
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from amclust import ClAM

KINDS: list[dict[str, Any]] = [
    {},
    {"metric": "cosine"},
    {"metric": "mahalanobis"},
    {"scale": "robust"},
    {"n_memories": 12},
    {"objective": "completion"},
]


def _fitted(kind: dict[str, Any], X: Any, seed: int, n_jobs: int) -> tuple[bytes, ...]:
    made = ClAM(4, n_init=2, max_epochs=10, random_state=seed, n_jobs=n_jobs, **kind).fit(X)
    answers = made.cluster_centers_, made.labels_, made.predict(X), made.energy(X)
    return tuple(np.ascontiguousarray(answer).tobytes() for answer in answers)


def measure(threads: int, seconds: float) -> dict[str, Any]:
    """Fit and predict in so many threads for so long; compare all bits with those of one."""
    X = make_blobs(400, 6, centers=4, random_state=0)[0]
    X[::7, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = {
            (number, seed): _fitted(kind, X, seed, 1)
            for number, kind in enumerate(KINDS)
            for seed in range(3)
        }
        shared = ClAM(4, n_init=2, max_epochs=10, random_state=0, n_jobs=2).fit(X)
        answer = shared.predict(X).tobytes()
        found: Counter[str] = Counter()
        lock, end = threading.Lock(), time.monotonic() + seconds

        def work(number: int) -> None:
            own: Counter[str] = Counter()
            rng = np.random.default_rng(number)
            while time.monotonic() < end:
                kind, seed = int(rng.integers(len(KINDS))), int(rng.integers(3))
                try:
                    same = _fitted(KINDS[kind], X, seed, 1 + int(rng.integers(3)))
                    own["differing"] += same != expected[kind, seed]
                    own["fits"] += 1
                    for _ in range(20):  # of one model, by all
                        own["differing"] += shared.predict(X).tobytes() != answer
                        own["predictions"] += 1
                except Exception:  # noqa: BLE001 - what there must not be is counted
                    own["errors"] += 1
            with lock:
                found.update(own)

        workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return {name: found[name] for name in ("fits", "predictions", "differing", "errors")}
