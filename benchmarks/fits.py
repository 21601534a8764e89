"""Whether two versions of amclust find the same: some fits of every kind, to the last bit.

python -m benchmarks.fits record fits.npz     in each of two checkouts, on the same machine
python -m benchmarks.fits compare old.npz new.npz
python -m benchmarks.fits time old/.venv/bin/python .venv/bin/python     both in turns, as ratios

A case is fitted with public parameters only, so that the file runs in any version.
"""

import argparse
import subprocess
import sys
import time
import timeit
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs

from amclust import ClAM, ClAMSearch

Facts = dict[str, NDArray[Any]]
Case = Callable[[], Facts]
OBJECTIVES = ("silhouette", "completion", "reconstruction")


def _facts(model: Any, X: Any = None) -> Facts:
    """Return what a fit found, and what it says of rows."""
    runs = model.runs_
    facts = {
        "centers": model.cluster_centers_,
        "labels": model.labels_,
        "loss_curve": model.loss_curve_,
        "silhouette": np.array(model.silhouette_),
        "beta": np.array(model.beta_),
        "weights": model.weights_,
        **{f"runs.{name}": runs[name] for name in runs.dtype.names},
    }
    if X is not None:
        asked = {"proba": "predict_proba", "distances": "transform"}
        asked |= {name: name for name in ("energy", "entropy", "recall")}
        facts |= {name: np.asarray(getattr(model, method)(X)) for name, method in asked.items()}
        filled = model.complete(X)
        facts["complete"] = filled.toarray() if sparse.issparse(filled) else np.asarray(filled)
    if hasattr(model, "recorded_memories_"):
        facts["recorded"] = model.recorded_memories_
    if hasattr(model, "n_clusters_evidence_"):
        facts["evidence"] = model.n_clusters_evidence_["adjusted"]
        facts["votes"] = model.n_clusters_evidence_["votes"]
    return facts


def _with_missing(X: NDArray[Any], share: float = 0.1) -> NDArray[Any]:
    X = X.astype(float).copy()
    X[np.random.default_rng(3).random(X.shape) < share] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0.0
    return X


def _clam(X: Any, *, sample_weight: Any = None, ask: bool = True, **parameters: Any) -> Facts:
    chosen = {"n_clusters": 3, "n_init": 4, "max_epochs": 60} | parameters
    model = ClAM(**chosen, random_state=0).fit(X, sample_weight=sample_weight)
    return _facts(model, X if ask else None)


def _partial(X: Any, **parameters: Any) -> Facts:
    model = ClAM(3, random_state=0, **parameters)
    for start in range(0, len(X), 60):
        model.partial_fit(X[start : start + 60])
    return _facts(model, X)


def _after_fit(X: Any) -> Facts:
    model = ClAM(3, random_state=0, n_init=2).fit(X)
    return _facts(model.partial_fit(X[::2]), X)


def _search(X: Any, **parameters: Any) -> Facts:
    space = {"beta_factor": [0.5, 1.0, 2.0], "learning_rate": [0.05, 0.2]}
    arguments = {"space": space, "n_init": 2, "max_epochs": 40, "budget": 400}
    search = ClAMSearch(**{"n_clusters": 3} | arguments | parameters, random_state=0).fit(X)
    table = search.results_dict_
    more = {f"results.{name}": table[name] for name in ("run", "epochs", "loss", "silhouette")}
    return _facts(search.best_estimator_, X) | more


def _deep() -> Facts:
    from amclust.torch import DeepClAM

    X = load_digits().data[:300].astype(np.float32) / 16
    model = DeepClAM(5, latent_dim=5, encoder=[32], pretrain_epochs=3, max_epochs=3, random_state=0)
    model.fit(X)
    return {"labels": model.labels_, "centers": model.cluster_centers_}


def cases() -> Iterator[tuple[str, Case]]:
    iris, wine, digits = load_iris().data, load_wine().data, load_digits().data
    blobs = make_blobs(3_000, 8, centers=6, random_state=1)[0]
    large = make_blobs(20_000, 6, centers=5, random_state=2)[0]
    many = make_blobs(1_500, 2, centers=30, cluster_std=0.4, random_state=3)[0]
    weights = np.random.default_rng(0).integers(0, 4, len(iris)).astype(float)
    counts = np.random.default_rng(5).poisson(0.6, (600, 60)).astype(float)
    counts[:200, :10] += 2
    counts[200:400, 10:20] += 2
    counts[400:, 20:30] += 2
    text, missing = sparse.csr_matrix(counts), _with_missing(iris)
    for name in OBJECTIVES:
        for metric in ("euclidean", "cosine", "mahalanobis"):
            yield f"{name} {metric}", partial(_clam, iris, objective=name, metric=metric)
        yield f"{name} learned weights", partial(_clam, iris, objective=name, weights="learn")
        yield f"{name} sample weights", partial(_clam, iris, objective=name, sample_weight=weights)
        yield f"{name} missing", partial(_clam, missing, objective=name)
        yield f"{name} missing cosine", partial(_clam, missing, objective=name, metric="cosine")
        yield f"{name} batches", partial(_clam, blobs, objective=name, n_clusters=6)
        yield f"{name} CSR", partial(_clam, text, objective=name)
        yield f"{name} CSR cosine", partial(_clam, text, objective=name, metric="cosine")
        more = partial(_clam, many, objective=name, n_clusters=30)
        yield f"{name} more memories than features", more
        torch: dict[str, Any] = {"objective": name, "backend": "torch"}
        yield f"torch {name}", partial(_clam, iris, **torch)
        yield f"torch {name} missing", partial(_clam, missing, **torch)
        yield f"torch {name} cosine", partial(_clam, iris, metric="cosine", **torch)
    yield "defaults wine", partial(_clam, wine, n_init=10, max_epochs=200)
    yield "float32", partial(_clam, wine.astype(np.float32))
    yield "fixed weights", partial(_clam, wine, weights=[1.0, 2.0, 0.5])
    yield "robust scale", partial(_clam, wine, scale="robust")
    yield "no scale", partial(_clam, digits, scale=None, n_clusters=10, max_epochs=30, ask=False)
    yield "one cluster", partial(_clam, wine, n_clusters=1)
    masks = {"objective": "completion", "mask_value": "min", "mask_prob": 0.3}
    yield "mask value", partial(_clam, missing, **masks)
    yield "given beta", partial(_clam, wine, beta=0.4, step_size=0.1, n_steps=10)
    yield "given memories", partial(_clam, wine, init=wine[[0, 70, 150]])
    yield "random seeds, by loss", partial(_clam, wine, init="random", selection="loss")
    yield "few rows a batch", partial(_clam, wine, batch_size=32)
    yield "recorded epochs", partial(_clam, wine, record_epochs=[0, 1, 5, 20], max_epochs=40)
    yield "number of clusters", partial(_clam, wine, n_clusters="auto")
    yield "number of clusters, missing", partial(_clam, missing, n_clusters=[2, 3, 4, 5])
    five: dict[str, Any] = {"n_clusters": 5, "ask": False}
    yield "large", partial(_clam, large, **five)
    yield "large, weights", partial(_clam, large, **five, sample_weight=np.arange(len(large)) % 3)
    yield "partial_fit", partial(_partial, iris)
    yield "partial_fit completion", partial(_partial, missing, objective="completion")
    learned = {"metric": "cosine", "weights": "learn"}
    yield "partial_fit cosine, learned weights", partial(_partial, iris, **learned)
    yield "partial_fit after fit", partial(_after_fit, wine)
    yield "search", partial(_search, wine)
    yield "search, several k", partial(_search, wine, n_clusters=[2, 3], budget=800)
    yield "search, missing", partial(_search, missing)
    yield "torch batches", partial(_clam, blobs, n_clusters=6, backend="torch", max_epochs=10)
    yield "torch partial_fit", partial(_partial, iris, backend="torch")
    yield "torch search", partial(_search, iris, estimator=ClAM(backend="torch"))
    yield "deep", _deep


def record(path: str) -> None:
    import torch

    torch.set_num_threads(1)
    found = {}
    for name, case in cases():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found |= {f"{name}: {fact}": np.asarray(value) for fact, value in case().items()}
        print(f"{time.perf_counter() - start:6.2f} s  {name}", flush=True)
    np.savez_compressed(path, **found)


def compare(old: str, new: str) -> int:
    """Print the cases that differ, and by how much; return how many they are."""
    with np.load(old) as first, np.load(new) as second:
        names = {*first.files, *second.files}
        facts = {name: (first.get(name), second.get(name)) for name in names}
    differences: dict[str, list[str]] = {}
    for fact, values in sorted(facts.items()):
        name, _, part = fact.partition(": ")
        there = _difference(*values)
        differences.setdefault(name, []).extend([f"{part} {there}"] if there else [])
    different = {name: parts for name, parts in differences.items() if parts}
    for name, parts in different.items():
        print(f"{name}: {'; '.join(parts)}")
    print(f"{len(differences)} cases, {len(different)} of them differ")
    return len(different)


def _difference(old: NDArray[Any] | None, new: NDArray[Any] | None) -> str:
    """Say how two arrays differ; nothing where they are the same."""
    if old is None or new is None:
        return "only in one"
    if old.shape != new.shape:
        return f"{old.shape} -> {new.shape}"
    if np.array_equal(old, new, equal_nan=old.dtype.kind == "f"):
        return ""
    amount = np.abs(old.astype(float) - new.astype(float))
    return f"differs in {np.count_nonzero(amount > 0)} of {old.size}, by {np.nanmax(amount):.2g}"


def timed_cases() -> dict[str, Callable[[], object]]:
    digits, wine = load_digits().data, load_wine().data
    usps = digits.repeat(4, axis=0).astype(np.float32)
    large = make_blobs(400_000, 20, centers=20, random_state=0)[0].astype(np.float32)
    counts = sparse.csr_matrix(np.random.default_rng(0).poisson(0.02, (2_000, 2_000)).astype(float))
    short: dict[str, Any] = {"n_init": 1, "max_epochs": 5}
    of_large = ClAM(20, **short, random_state=0).fit(large[:5_000])
    of_digits = ClAM(10, **short, random_state=0).fit(digits)

    def fit(X: Any, k: int, **parameters: Any) -> Callable[[], object]:
        return lambda: ClAM(k, random_state=0, **parameters).fit(X)

    return {
        **{f"digits, {one}": fit(digits, 10, objective=one, max_epochs=60) for one in OBJECTIVES},
        "digits, one restart, one thread": fit(digits, 10, n_init=1, n_jobs=1),
        "digits, cosine": fit(digits + 1, 10, metric="cosine", max_epochs=60),
        "digits, missing": fit(_with_missing(digits), 10, n_init=2, max_epochs=30),
        "7,188 x 64, silhouette": fit(usps, 10, n_init=4, max_epochs=30),
        "wine, ten restarts": fit(wine, 3),
        "2,000 x 2,000 CSR": fit(counts, 5, n_init=2, max_epochs=20),
        "400,000 x 20": fit(large, 20, n_init=1),
        "400,000 x 20, predict": lambda: of_large.predict(large),
        "400,000 x 20, memberships": lambda: of_large.predict_proba(large),
        "one row, predict": lambda: [of_digits.predict(digits[:1]) for _ in range(300)],
    }


def measure(repeats: int) -> None:
    for name, call in timed_cases().items():
        print(f"{min(timeit.repeat(call, number=1, repeat=repeats)):.6f} {name}")


def time_versions(old: str, new: str, rounds: int) -> None:
    best: list[dict[str, float]] = [{}, {}]
    for _ in range(rounds):
        for found, python in zip(best, (old, new), strict=True):
            interpreter, here = Path(python).absolute(), str(Path(__file__).absolute())
            command = [str(interpreter), "-W", "ignore", here, "measure"]
            # The checkout of an interpreter is where its environment stands.
            folder = interpreter.parents[2]
            for line in subprocess.check_output(command, cwd=folder, text=True).splitlines():
                seconds, _, name = line.partition(" ")
                found[name] = min(found.get(name, np.inf), float(seconds))
    for name, before in best[0].items():
        after = best[1][name]
        print(f"{after / before:5.2f}  {before:8.4f} s -> {after:8.4f} s  {name}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fits", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    work = {"record": record, "compare": compare, "time": time_versions, "measure": measure}
    commands.add_parser("record").add_argument("path")
    for name in ("compare", "time"):
        command = commands.add_parser(name)
        command.add_argument("old")
        command.add_argument("new")
    command.add_argument("--rounds", type=int, default=5)
    commands.add_parser("measure").add_argument("--repeats", type=int, default=3)
    arguments = vars(parser.parse_args())
    return 1 if work[arguments.pop("command")](**arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
