"""Imputers of mixed tables, for the peers that cannot take missing values."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (IterativeImputer)
from sklearn.impute import IterativeImputer, KNNImputer

from benchmarks.data import FloatArray, IntArray
from benchmarks.mixed.made import Mixed

Filled = tuple[FloatArray, IntArray]


def standardise(numbers: FloatArray) -> FloatArray:
    """Give columns mean 0 and variance 1 over what is there."""
    spread = np.nanstd(numbers, axis=0)
    return (numbers - np.nanmean(numbers, axis=0)) / np.where(spread > 0, spread, 1.0)


def one_hot(codes: IntArray) -> tuple[FloatArray, list[int]]:
    """Give 0 and 1 a level, NaN where it is missing, and where each column's levels begin."""
    blocks = [
        np.where(column[:, None] < 0, np.nan, column[:, None] == np.arange(column.max() + 1))
        for column in codes.T
    ]
    starts = np.cumsum([0, *(block.shape[1] for block in blocks)])
    return np.hstack(blocks), [int(start) for start in starts]


def by_mode(table: Mixed, seed: int) -> Filled:
    """Fill the median, and the level that is the most frequent."""
    numbers = standardise(table.numbers)
    numbers = np.where(np.isnan(numbers), np.nanmedian(numbers, axis=0), numbers)
    modes = np.array([np.bincount(column[column >= 0]).argmax() for column in table.codes.T])
    return numbers, np.where(table.codes < 0, modes, table.codes)


def by_neighbours(table: Mixed, seed: int) -> Filled:
    """Fill means and likeliest levels of the five nearest rows."""
    return _by_matrix(table, KNNImputer(n_neighbors=5).fit_transform)


def by_regressions(table: Mixed, seed: int) -> Filled:
    """Fill what Bayesian ridges of every column on all others say, and the likeliest levels."""
    return _by_matrix(table, IterativeImputer(random_state=seed).fit_transform)


def _by_matrix(table: Mixed, impute: Callable[[FloatArray], Any]) -> Filled:
    """Fill numbers and 0 and 1 a level together; a level is the one with the largest value."""
    numbers = standardise(table.numbers)
    levels, starts = one_hot(table.codes)
    filled = impute(np.hstack([numbers, levels]))
    found = filled[:, numbers.shape[1] :]
    codes = [found[:, start:end].argmax(axis=1) for start, end in pairwise(starts)]
    return (
        np.where(np.isnan(numbers), filled[:, : numbers.shape[1]], numbers),
        np.where(table.codes < 0, np.column_stack(codes), table.codes),
    )


FILLINGS: dict[str, Callable[[Mixed, int], Filled]] = {
    "mode": by_mode,
    "KNN": by_neighbours,
    "iterative": by_regressions,
}
