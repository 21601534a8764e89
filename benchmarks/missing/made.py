"""Made data: do learned centres come nearer with more rows, and what a large fit costs.

``python -m benchmarks.missing.made CALL ROWS`` measures the memory of a fit, in a process of its
own; it prints a JSON object.
"""

import json
import sys
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from amclust import ClAM
from benchmarks.data import BoolArray, FloatArray, draw_removed, make_mixture
from benchmarks.framework.environment import load_average
from benchmarks.framework.lines import interleave, seconds_of
from benchmarks.kpod import k_pod
from benchmarks.missing.methods import RESTARTS
from benchmarks.speed.resources import measure_call, measured_apart

# --- clusters with correlated columns -------------------------------------------------------------

SIZES = (200, 2_000, 20_000)
RATES = (10, 20, 30, 40)  # per cent, at random
_CLUSTERS, _COLUMNS = 4, 8
# Of the centres from each other, in standard deviations of a cluster along a column.
_SPREAD = 3.0


class Clusters(NamedTuple):
    """Rows of Gaussian clusters with NaN, their true centres, and the columns' deviations."""

    features: FloatArray
    centers: FloatArray
    deviations: FloatArray


def definition() -> dict[str, Any]:
    """Say what is chosen here about clusters."""
    return {"clusters": _CLUSTERS, "columns": _COLUMNS, "spread": _SPREAD, "restarts": RESTARTS}


def draw_clusters(n_samples: int, rate: int, seed: int) -> Clusters:
    """Draw clusters of equal size that share a covariance, and hide cells at random.

    Centres and covariance depend on the seed alone, so that a size differs from another one by its
    rows only.
    """
    shape = np.random.default_rng([seed, 0])
    centers = _SPREAD * shape.standard_normal((_CLUSTERS, _COLUMNS)) / np.sqrt(2.0)
    mixing = shape.standard_normal((_COLUMNS, _COLUMNS))
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    generator = np.random.default_rng([seed, n_samples])
    members = generator.permutation(np.arange(n_samples) % _CLUSTERS)
    features = centers[members] + generator.standard_normal((n_samples, _COLUMNS)) @ mixing.T
    deviations = features.std(axis=0)
    hidden = _hide(features, rate, seed)
    return Clusters(np.where(hidden, np.nan, features), centers, deviations)


def _hide(features: FloatArray, rate: int, seed: int) -> BoolArray:
    rows, columns = features.shape
    return draw_removed((rows, columns), rate / 100.0, seed)


def centers_error(found: FloatArray, clusters: Clusters) -> float:
    """Root mean square of centres less the true ones that match best, in columns' deviations."""
    gaps = (found[:, None] - clusters.centers) / clusters.deviations
    squares = np.square(gaps).mean(axis=2)
    return float(np.sqrt(squares[linear_sum_assignment(squares)].mean()))


def learned_centers(method: str, clusters: Clusters, seed: int) -> FloatArray:
    """Give the centres of ClAM, or of k-POD in deviations and back."""
    features = clusters.features
    if method == "clam":
        return ClAM(_CLUSTERS, n_jobs=1, random_state=seed).fit(features).cluster_centers_
    mean, spread = np.nanmean(features, axis=0), np.nanstd(features, axis=0)
    rows = (features - mean) / spread
    found = k_pod(rows, _CLUSTERS, n_init=RESTARTS, stop="loss", random_state=seed)
    return found.centers * spread + mean


# --- a large table --------------------------------------------------------------------------------

ROWS, QUICK_ROWS = 100_000, 5_000
COLUMNS, COST_RATE, COST_CLUSTERS = 30, 20, 10
ROUNDS = 3
COMPLETE, MISSING = "complete", "missing"


def large_rows(rows: int, *, with_missing: bool) -> FloatArray:
    """Overlapping Gaussian clusters, float32; a part of the cells NaN where that is asked for."""
    features = make_mixture(rows, COLUMNS, COST_CLUSTERS)
    if with_missing:
        features[_hide(features, COST_RATE, 0)] = np.nan
    return features


def measure_cost(rows: int) -> dict[str, Any]:
    """Time fits with and without missing values in turn, with all cores, and their memory."""
    load = load_average()
    tables = {name: large_rows(rows, with_missing=name == MISSING) for name in (MISSING, COMPLETE)}
    for features in tables.values():
        _fit(features[:1_000], 0)  # pays for loading and for starting threads
    calls = {name: partial(_fit, features) for name, features in tables.items()}
    seconds = {name: seconds_of(found) for name, found in interleave(calls, range(ROUNDS)).items()}
    memory = {name: measured_apart(name, rows, "benchmarks.missing.made") for name in tables}
    return {"load": load, "seconds": seconds, "memory": memory}


def _fit(features: FloatArray, seed: int) -> None:
    ClAM(COST_CLUSTERS, random_state=seed).fit(features)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    table = large_rows(int(sys.argv[2]), with_missing=sys.argv[1] == MISSING)
    _fit(table[:1_000], 0)  # what libraries take once is not the table's
    sys.stdout.write(json.dumps(measure_call(lambda: _fit(table, 0), table)) + "\n")
