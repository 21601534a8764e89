"""Whether exported networks answer as `predict` does, on all sets.

    python -m benchmarks.bridges                     # the tables of AMCLUST_DATA and scikit-learn
    python -m benchmarks.bridges --sets wine,ecoli --metrics euclidean,cosine,mahalanobis

Every set is fitted complete and with a fifth of its values missing, as float32 and float64, and
labelled by torch, by onnxruntime and by `predict`. Target: the same labels; at most 1 row in 1,000
differs, and all of them are ties: rows that `predict` labels otherwise, too, if they are moved by a
rounding error.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from amclust import ClAM, Network
from amclust._warnings import EmptyRowsWarning
from benchmarks.data import _BUNDLED as BUNDLED
from benchmarks.data import SETS, Table, load_table
from benchmarks.folders import DATA
from benchmarks.framework.environment import UnavailableError
from benchmarks.framework.pages import say
from benchmarks.quality.shapes import SHAPES, load_shapes

METRICS = ("euclidean", "cosine", "mahalanobis")
MISSING, MAX_DIFFERENT = 0.2, 1e-3
# Labels are those of ties if so many draws of rounding errors change them.
DRAWS, ROUNDING = 30, 2e-7
BATCH = 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join((*SETS, *SHAPES)))
    parser.add_argument("--metrics", default="euclidean")
    parser.add_argument("--restarts", type=int, default=2)
    parser.add_argument("--data-dir", type=Path, default=DATA)
    arguments = parser.parse_args()
    bad = 0
    say(f"{'':<52}{'rows':>8}{'torch':>8}{'onnx':>8}{'no ties':>8}")
    for name in arguments.sets.split(","):
        try:
            table = load(name, arguments.data_dir)
        except UnavailableError as error:
            say(f"{name}: {error}")
            continue
        for what, model, X in fitted(table, arguments.metrics.split(","), arguments.restarts):
            labels = model.predict(X)
            others = [torch_labels(model.network_, X), onnx_labels(model.network_, X)]
            different = [np.flatnonzero(found != labels) for found in others]
            decided = [rows[~ties(model, X, rows)] for rows in different]
            counts = [len(rows) for rows in different]
            missed = sum(map(len, decided))
            bad += bool(missed) or max(counts) > MAX_DIFFERENT * len(X)
            say(f"{name + what:<52}{len(X):>8,}{counts[0]:>8}{counts[1]:>8}{missed:>8}")
    say(f"{bad} of them miss the target")
    return int(bad > 0)


def load(name: str, folder: Path) -> Table:
    if name in BUNDLED:
        return Table(name, *BUNDLED[name](return_X_y=True))
    if name in SHAPES:
        shapes = load_shapes(name, folder)
        return Table(name, shapes.features, shapes.references[0])
    return load_table(name, folder)


def fitted(
    table: Table, metrics: list[str], restarts: int
) -> Iterator[tuple[str, ClAM, NDArray[Any]]]:
    for metric, missing, kind in product(metrics, (0.0, MISSING), ("float32", "float64")):
        X = table.features.astype(kind)
        X[np.random.default_rng(0).random(X.shape) < missing] = np.nan
        # A row without any value starts between the memories: of two, on the border.
        X = X[:, ~np.isnan(X).all(axis=0)]
        X = X[~np.isnan(X).all(axis=1)]
        if metric == "cosine":  # no direction
            X = X[(np.nan_to_num(X) != 0).any(axis=1)]
        memories = "auto" if table.name in SHAPES else None
        model = ClAM(
            table.n_clusters, n_memories=memories, metric=metric, n_init=restarts, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", EmptyRowsWarning)
            yield f", {metric}, {missing:.0%} missing, {kind}", model.fit(X), X


def torch_labels(network: Network, X: NDArray[Any]) -> NDArray[Any]:
    layer = network.to_torch()
    with torch.no_grad():
        return np.concatenate([layer.assign(some).numpy() for some in torch.tensor(X).split(BATCH)])


def onnx_labels(network: Network, X: NDArray[Any]) -> NDArray[Any]:
    session = onnxruntime.InferenceSession(network.to_onnx().SerializeToString())
    starts = range(0, len(X), BATCH)
    return np.concatenate(
        [session.run(["labels"], {"X": X[first : first + BATCH]})[0] for first in starts]
    )


def ties(model: ClAM, X: NDArray[Any], rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which rows get another label where rounding errors move them."""
    found = np.zeros(len(rows), bool)
    if not len(rows):
        return found
    generator, spread = np.random.default_rng(0), np.nan_to_num(np.nanstd(X, axis=0))
    first = model.predict(X[rows])
    size = ROUNDING * (spread + np.abs(X[rows]))
    for _ in range(DRAWS):
        moved = X[rows].astype(np.float64) + size * generator.normal(size=X[rows].shape)
        found |= model.predict(moved) != first
    return found


if __name__ == "__main__":
    sys.exit(main())
