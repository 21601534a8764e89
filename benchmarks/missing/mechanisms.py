"""Why values are missing: ways to hide cells of a table, each a share of them.

A mechanism gives every cell a score and every column the share of cells that it loses; those with
the highest scores are hidden. With scores of a slope times a value plus logistic noise a cell is
hidden with a probability that is logistic in the value, at the threshold that meets the share.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.data import BoolArray, FloatArray

# Of the logistic curve, a standard deviation of the value.
SLOPE = 2.0
# Of the columns: those that others depend on, which lose nothing.
DRIVERS = 0.3
# Of two tables: the share of the columns that the larger has, and of the rows that are in both.
LARGER, JOINED = 0.6, 0.1


class Ranking(NamedTuple):
    """Scores of the cells, and the share of its observed cells that each column loses."""

    scores: FloatArray
    shares: FloatArray


def at_random(values: FloatArray, rate: float, generator: np.random.Generator) -> Ranking:
    """Every cell alike."""
    return Ranking(generator.logistic(size=values.shape), np.full(values.shape[1], rate))


def by_other(values: FloatArray, rate: float, generator: np.random.Generator) -> Ranking:
    """By the value of another column, which is observed; either large or small values hide."""
    columns = values.shape[1]
    # A constant column says nothing of others.
    varied = np.flatnonzero(values.std(axis=0) > 0.0)
    pool = varied if varied.size > 1 else np.arange(columns)
    count = min(max(1, round(DRIVERS * columns)), pool.size - 1)
    drivers = generator.choice(pool, count, replace=False)
    scores = generator.logistic(size=values.shape)
    signs = generator.choice([-SLOPE, SLOPE], columns)
    scores += signs * values[:, generator.choice(drivers, columns)]
    shares = np.full(columns, rate * columns / (columns - count))
    shares[drivers] = 0.0
    return Ranking(scores, shares)


def by_value(values: FloatArray, rate: float, generator: np.random.Generator) -> Ranking:
    """By the value itself: large ones are likelier missing."""
    noise = generator.logistic(size=values.shape)
    return Ranking(SLOPE * values + noise, np.full(values.shape[1], rate))


class Split(NamedTuple):
    """Two joined tables: how many columns the larger has, and the shares of rows that lack each."""

    columns: int
    lack_larger: float
    lack_smaller: float


def split_tables(n_columns: int, rate: float) -> Split:
    """Cut columns in two so that a share of the cells is missing, and some rows have both parts.

    As many rows lack either part, while a share `JOINED` of them can have both.
    """
    columns = min(math.ceil(LARGER * n_columns), n_columns - 1)
    larger = columns / n_columns
    incomplete = min(2.0 * rate, 1.0 - JOINED)
    if incomplete == 2.0 * rate or larger == 1.0 - larger:
        return Split(columns, rate, rate)
    lack_larger = (rate - incomplete * (1.0 - larger)) / (2.0 * larger - 1.0)
    return Split(columns, lack_larger, incomplete - lack_larger)


def in_blocks(values: FloatArray, rate: float, generator: np.random.Generator) -> Ranking:
    """Of two joined tables: a row lacks all columns of one, all of the other, or none."""
    rows, columns = values.shape
    split = split_tables(columns, rate)
    in_larger = np.isin(np.arange(columns), generator.permutation(columns)[: split.columns])
    # Rows from one end of a random order lack one part, those from the other end the other.
    place = generator.permutation(rows).astype(float)
    scores = np.where(in_larger, place[:, None], -place[:, None])
    return Ranking(scores, np.where(in_larger, split.lack_larger, split.lack_smaller))


Mechanism = Callable[[FloatArray, float, np.random.Generator], Ranking]
MECHANISMS: dict[str, Mechanism] = {
    "random": at_random,
    "other": by_other,
    "value": by_value,
    "blocks": in_blocks,
}


def definition(mechanism: str) -> dict[str, Any]:
    """Say what is chosen here about one of `MECHANISMS`."""
    chosen: dict[str, dict[str, Any]] = {
        "random": {},
        "other": {"slope": SLOPE, "drivers": DRIVERS},
        "value": {"slope": SLOPE},
        "blocks": {"larger": LARGER, "joined": JOINED},
    }
    return chosen[mechanism]


def draw_hidden(features: FloatArray, mechanism: str, rate: float, seed: int) -> BoolArray:
    """Choose cells to hide by one of `MECHANISMS`, a share `rate` of the observed ones.

    Cells that are NaN already are none of them. No row and no column that has a value loses all:
    where that would be, a cell comes back, and the next one of its column that may goes.
    """
    # A stream of its own for each, so that two mechanisms do not hide by the same noise.
    generator = np.random.default_rng([seed, *mechanism.encode()])
    observed = ~np.isnan(features)
    ranking = MECHANISMS[mechanism](_in_deviations(features), rate, generator)
    scores = np.where(observed, ranking.scores, -np.inf)
    present = observed.sum(axis=0)
    counts = np.clip(np.rint(ranking.shares * present), 0, np.maximum(present - 1, 0)).astype(int)
    order = np.argsort(-scores, axis=0, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(len(features))[:, None], axis=0)
    hidden = ranks < counts
    _give_rows_a_value(hidden, observed, scores, generator)
    return hidden


def _in_deviations(features: FloatArray) -> FloatArray:
    """Give each column mean 0 and variance 1; 0 where it is constant or has no value."""
    spread = np.nanstd(features, axis=0)
    centered = features - np.nanmean(features, axis=0)
    return np.nan_to_num(centered / np.where(spread > 0.0, spread, 1.0))


def _give_rows_a_value(
    hidden: BoolArray, observed: BoolArray, scores: FloatArray, generator: np.random.Generator
) -> None:
    """Show a cell of every row that lost all; of its column hide another one for it."""
    left = (observed & ~hidden).sum(axis=1)
    for row in np.flatnonzero((left == 0) & observed.any(axis=1)):
        column = generator.choice(np.flatnonzero(hidden[row]))
        hidden[row, column] = False
        left[row] = 1
        others = np.flatnonzero(observed[:, column] & ~hidden[:, column] & (left > 1))
        if others.size:
            other = others[scores[others, column].argmax()]
            hidden[other, column] = True
            left[other] -= 1
