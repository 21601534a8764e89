"""Made tables of numbers and categories: clusters that overlap, with missing values.

A row has a cluster. Its numbers are normal, with a mean and a spread by cluster and column, and
share one factor, so that columns are correlated within clusters; some columns are bent (an
exponential of the normal value), and each has units of its own. Its categories are drawn from
probabilities by cluster and column. Some columns of both kinds know nothing of clusters.

How far clusters are apart is chosen so that whoever knows all of this, and sees the same cells,
reaches a given ARI: nobody can do better on average.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.metrics import adjusted_rand_score

from benchmarks.data import BoolArray, FloatArray, IntArray

# What is drawn uniformly from one end to the other; of integers both ends are among them.
CLUSTERS, COLUMNS, LEVELS = (2, 8), (3, 20), (2, 8)
ROWS, ROWS_A_CLUSTER = 200, (60, 160)
MISSING = (0.0, 0.3)
BEST = (0.75, 0.99)  # the ARI of who knows all
FACTOR = (0.0, 0.6)  # the largest loading of a number on what columns share
SILENT, BENT = (0.0, 0.4), (0.0, 0.5)  # parts of columns
_MAX_RATIO = 4.0  # of cluster sizes
_SPREADS = 1.5  # of a cluster along a column, from its inverse to this
_MAX_BALANCE = 2.0  # of how much categories say of clusters beside numbers, from its inverse
_STEPS = 12


def definition() -> dict[str, Any]:
    """Say what is chosen here about tables."""
    return {
        "clusters": CLUSTERS,
        "columns": COLUMNS,
        "levels": LEVELS,
        "rows": [ROWS, *ROWS_A_CLUSTER],
        "missing": MISSING,
        "best": BEST,
        "factor": FACTOR,
        "silent": SILENT,
        "bent": BENT,
        "ratio": _MAX_RATIO,
        "spreads": _SPREADS,
        "balance": _MAX_BALANCE,
    }


class Mixed(NamedTuple):
    """Numbers with NaN, codes of levels with -1 for missing ones, clusters, and the best ARI."""

    numbers: FloatArray
    codes: IntArray
    clusters: IntArray
    best: float
    facts: dict[str, Any]

    @property
    def n_clusters(self) -> int:
        return int(self.clusters.max()) + 1

    def frame(self) -> pd.DataFrame:
        """Give a table as people have it: floats, and categories of text."""
        columns: dict[str, Any] = {
            f"number {at}": column for at, column in enumerate(self.numbers.T)
        }
        for at, column in enumerate(self.codes.T):
            levels = [f"level {level}" for level in range(int(column.max()) + 1)]
            columns[f"category {at}"] = pd.Categorical.from_codes(column, levels)
        return pd.DataFrame(columns)


class _Draws(NamedTuple):
    """What a table is made of, but for how far its clusters are apart."""

    clusters: IntArray
    parts: FloatArray
    directions: FloatArray  # (k, numbers): of the means
    spreads: FloatArray  # (k, numbers)
    loadings: FloatArray  # (numbers,)
    noise: FloatArray  # (rows, numbers)
    base: list[FloatArray]  # (levels,) a category
    logits: list[FloatArray]  # (k, levels) a category
    places: FloatArray  # (rows, categories), uniform: which level
    numbers_seen: BoolArray
    codes_seen: BoolArray
    balance: float


def mixed_table(seed: int) -> Mixed:
    """Make the table of a seed."""
    rng = np.random.default_rng([seed, 20])
    k = _integer(rng, CLUSTERS)
    n_numbers, n_categories = _integer(rng, COLUMNS), _integer(rng, COLUMNS)
    rows = ROWS + k * _integer(rng, ROWS_A_CLUSTER)
    missing = rng.uniform(*MISSING, 2)
    best, factor = rng.uniform(*BEST), rng.uniform(*FACTOR)
    silent, bent = rng.uniform(*SILENT), rng.uniform(*BENT)
    balance = np.exp(rng.uniform(-np.log(_MAX_BALANCE), np.log(_MAX_BALANCE)))
    draws = _draw(rng, k, rows, n_numbers, n_categories, missing, factor, silent, balance)
    least, most = 0.02, 12.0
    for _ in range(_STEPS):
        apart = np.sqrt(least * most)
        if _best_ari(draws, apart) < best:
            least = apart
        else:
            most = apart
    latent, codes = _cells(draws, most)
    numbers = np.where(draws.numbers_seen, latent, np.nan)
    is_bent = rng.random(n_numbers) < bent
    scale = np.nanstd(numbers, axis=0)
    numbers = np.where(is_bent, np.exp(numbers / scale), numbers)
    numbers = numbers * np.exp(rng.normal(0, 2, n_numbers)) + 10 * rng.normal(size=n_numbers)
    facts = {
        "shape": [rows, n_numbers, n_categories],
        "clusters": k,
        "missing": [float(part) for part in missing],
        "balance": float(balance),
    }
    return Mixed(
        numbers,
        np.where(draws.codes_seen, codes, -1),
        draws.clusters,
        _best_ari(draws, most),
        facts,
    )


def _integer(rng: np.random.Generator, ends: tuple[int, int]) -> int:
    return int(rng.integers(ends[0], ends[1] + 1))


def _draw(
    rng: np.random.Generator,
    k: int,
    rows: int,
    n_numbers: int,
    n_categories: int,
    missing: FloatArray,
    factor: float,
    silent: float,
    balance: float,
) -> _Draws:
    parts = np.exp(rng.uniform(0, np.log(_MAX_RATIO), k))
    parts /= parts.sum()
    clusters = rng.choice(k, rows, p=parts)
    clusters[:k] = np.arange(k)
    loud = rng.random(n_numbers) >= silent
    loadings = rng.uniform(-factor, factor, n_numbers)
    own = np.sqrt(1 - loadings**2) * rng.normal(size=(rows, n_numbers))
    shared = rng.normal(size=(rows, 1)) * loadings
    base, logits = [], []
    for _ in range(n_categories):
        levels = _integer(rng, LEVELS)
        base.append(rng.normal(size=levels))
        heard = rng.random() >= silent
        logits.append(heard * rng.normal(size=(k, levels)))
    seen = (
        rng.random((rows, n_numbers)) >= missing[0],
        rng.random((rows, n_categories)) >= missing[1],
    )
    # No row without a cell.
    seen[0][~(seen[0].any(axis=1) | seen[1].any(axis=1)), 0] = True
    return _Draws(
        clusters,
        parts,
        loud * rng.normal(size=(k, n_numbers)),
        np.exp(rng.uniform(-np.log(_SPREADS), np.log(_SPREADS), (k, n_numbers))),
        loadings,
        own + shared,
        base,
        logits,
        rng.random((rows, n_categories)),
        *seen,
        balance,
    )


def _probabilities(draws: _Draws, apart: float) -> list[FloatArray]:
    """Give each category's probabilities of levels, a row a cluster."""
    strength = 2.0 * apart * draws.balance
    pairs = zip(draws.base, draws.logits, strict=True)
    return [softmax(base + strength * logits, axis=1) for base, logits in pairs]


def _cells(draws: _Draws, apart: float) -> tuple[FloatArray, IntArray]:
    """Give numbers before they are bent, and codes, with nothing missing."""
    means = apart / draws.balance * draws.directions
    numbers = means[draws.clusters] + draws.spreads[draws.clusters] * draws.noise
    codes = np.empty(draws.places.shape, np.int64)
    for at, levels in enumerate(_probabilities(draws, apart)):
        steps = levels.cumsum(axis=1)[draws.clusters]
        found = (draws.places[:, at, None] >= steps).sum(axis=1)
        codes[:, at] = np.minimum(found, levels.shape[1] - 1)
    return numbers, codes


def _best_ari(draws: _Draws, apart: float) -> float:
    """Score the likeliest clusters, given the cells that are seen and all that they come of."""
    numbers, codes = _cells(draws, apart)
    scores = np.tile(np.log(draws.parts), (len(numbers), 1))
    unique = 1 - draws.loadings**2
    seen = draws.numbers_seen
    weights = np.where(seen, 1 / unique, 0.0)
    shared = 1 + weights @ draws.loadings**2
    means = apart / draws.balance * draws.directions
    for cluster in range(len(draws.parts)):
        gaps = np.where(seen, (numbers - means[cluster]) / draws.spreads[cluster], 0.0)
        squares = (weights * gaps**2).sum(axis=1)
        squares -= ((weights * gaps) @ draws.loadings) ** 2 / shared
        scores[:, cluster] -= squares / 2 + seen @ np.log(draws.spreads[cluster])
    for at, levels in enumerate(_probabilities(draws, apart)):
        logs = np.log(levels[:, codes[:, at]].T)
        scores += np.where(draws.codes_seen[:, at, None], logs, 0.0)
    return float(adjusted_rand_score(draws.clusters, scores.argmax(axis=1)))
