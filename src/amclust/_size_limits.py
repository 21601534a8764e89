"""Clusters whose sizes have limits: a stage that follows training.

A limit on sizes is a price on each memory. Of all partitions within the limits the one with the
least sum of squared distances gives every row the memory for which distance - price is least
(optimal transport), and a price times beta is a log-weight of the network. So the stage alternates:
prices for the memories as they are (training/size_limits.hpp in the core: exact, by shortest paths
over the few rows that are nearly undecided), and memories at the means of their rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils._param_validation import InvalidParameterError

from amclust import _native
from amclust._full_passes import SIZE_QUANTUM, means_of, quantum_of
from amclust._metrics import name_metric
from amclust._network import Network, Want
from amclust._options import MAX_BETA
from amclust._rows import Indices, Weights, draw_places
from amclust._runs import TrainedRun
from amclust._silhouettes import silhouettes
from amclust.backends import TrainingSet
from amclust.backends.native import nearest_sums

Prices = NDArray[np.float64]
Labels = NDArray[np.int32]

# Restarts of larger tables are compared on so many rows.
SAMPLED_ROWS = 16_384
# Rows and memories whose distances are looked at together.
MAX_PAIRS = 2**22
# Rows take part whose margin is among this part of the least (of a sample, and of all rows), and
# where these are too few, those with margins so many times as large.
SAMPLE_PART, UNDECIDED_PART, FARTHER = 0.25, 0.05, 4.0
# Alternations on a sample and on all rows; they end where one gains less than this part.
SAMPLE_ROUNDS, ROUNDS, TOLERANCE = 30, 5, 1e-3
# Memories jump so often for each of them, and at most; less where they have many pairs with rows.
JUMPS, MAX_JUMPS, JUMPED_PAIRS = 4, 64, 2**20
# Beta is multiplied by this, so often at most, until the dynamics gives so many rows their label.
COOLING, MAX_COOLINGS, AGREEMENT = 4.0, 8, 0.99
# Sums of weights are known to this part.
ROUNDING = 1e-9


@dataclass(frozen=True)
class SizeLimits:
    """How many rows, or what weight of them, each cluster has at least and at most."""

    least: float
    most: float

    def of_part(self, part: float, slack: float) -> SizeLimits:
        """Return the limits for a part of the rows; `slack`: the largest weight of one of them."""
        if slack == 1.0:  # whole numbers stay whole
            return SizeLimits(np.floor(part * self.least), np.ceil(part * self.most))
        return SizeLimits(max(0.0, part * self.least - slack), part * self.most + slack)

    def of_equal(self, weight: float) -> SizeLimits:
        """Return the limits in rows, where all of them have this weight."""
        close = 1.0 - ROUNDING, 1.0 + ROUNDING
        return SizeLimits(
            np.ceil(self.least / weight * close[0]), np.floor(self.most / weight * close[1])
        )


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Rows that count for sizes, as the core reads them."""

    rows: _native.Rows
    indices: Indices  # which of them
    weights: NDArray[np.float64] | None  # None: all count 1
    limits: SizeLimits
    threads: int

    @cached_property
    def sum_weights(self) -> NDArray[np.float32] | None:
        """The weights as sums can count them, with mean 1."""
        if self.weights is None:
            return None
        counted = np.rint(self.weights / (self.weights.mean() * SIZE_QUANTUM)) * SIZE_QUANTUM
        return counted.astype(np.float32)

    def some(self, places: Indices) -> CountedRows:
        """Return some of the rows, with the limits of so large a part."""
        if self.weights is None:
            part, slack, weights = len(places) / len(self.indices), 1.0, None
        else:
            weights = self.weights[places]
            part, slack = float(weights.sum() / self.weights.sum()), float(weights.max())
        return CountedRows(
            self.rows, self.indices[places], weights, self.limits.of_part(part, slack), self.threads
        )


@dataclass(frozen=True, eq=False)
class Held:
    """A partition within limits, and the network and the prices that it belongs to."""

    network: Network  # its log-weights are not those of the prices
    prices: Prices
    labels: Labels  # of the rows that count
    sizes: NDArray[np.float64]
    cost: float  # sum of weight * distance, as the energy has distances
    margin: float  # of so many rows as may take part


# --- what users may ask for -----------------------------------------------------------------------


class GivenLimits(NamedTuple):
    """The parameters of an estimator."""

    size_min: int | None
    size_max: int | None

    def __str__(self) -> str:
        values = self._asdict().items()
        return " and ".join(f"{name}={value}" for name, value in values if value is not None)


def given_limits(model: Any) -> GivenLimits | None:
    """Return the limits of an estimator, if it has any; refuse what does not go with them."""
    given = {name: getattr(model, name) for name in GivenLimits._fields}
    for name, value in given.items():
        if isinstance(value, bool | np.bool_):
            msg = (
                f"The {name!r} parameter of ClAM must be None or an int of at least "
                f"{int(name == 'size_max')}. Got {value!r} instead."
            )
            raise InvalidParameterError(msg)
    if all(value is None for value in given.values()):
        return None
    words = GivenLimits(**given)
    least, most = words
    if least is not None and most is not None and least > most:
        msg = f"size_min={least} must not be larger than size_max={most}."
        raise ValueError(msg)
    if model.n_memories is not None:
        msg = (
            f"{words} limit round clusters, of one memory each: n_memories must be None, got "
            f"n_memories={model.n_memories!r}."
        )
        raise ValueError(msg)
    if model.weights is not None and not isinstance(model.weights, str):
        msg = (
            f"weights cannot be an array with {words}: the weights of the memories are what holds "
            "the sizes. Use weights=None."
        )
        raise ValueError(msg)
    if model.metric == "epanechnikov" or getattr(model.metric, "compact", False):
        msg = (
            f"{words} limit clusters that have all rows, but with metric="
            f"{name_metric(model.metric)} rows may be noise, in no cluster. Use another metric."
        )
        raise ValueError(msg)
    return words


def check_unlimited(model: Any, what: str) -> None:
    """Refuse sizes to be limited where that cannot be done."""
    given = given_limits(model)
    if given is not None:
        msg = (
            f"{given} cannot be held by {what}: limits are on the sizes in a whole table in "
            "memory. Use the fit of amclust.ClAM on all rows, or leave size_min and size_max out."
        )
        raise ValueError(msg)


def check_heaviest(given: GivenLimits, weights: Weights | None) -> None:
    """Refuse a row that is too heavy for any cluster."""
    heaviest = 1.0 if weights is None else float(weights.max(initial=0.0))
    if given.size_max is not None and heaviest > given.size_max:
        msg = (
            f"size_max={given.size_max:,} cannot be met: a row has a sample_weight of "
            f"{heaviest:,.10g}, and belongs to one cluster."
        )
        raise ValueError(msg)


def possible_numbers(given: GivenLimits, numbers: Sequence[int], total: float) -> list[int]:
    """Return those numbers of clusters that can have sizes within limits; refuse if there are none.

    `total`: the number of rows, or their weight.
    """
    least, most = given.size_min or 0, given.size_max
    slack = ROUNDING * total
    possible = [
        k
        for k in numbers
        if k * least <= total + slack and (most is None or k * most >= total - slack)
    ]
    if possible:
        return possible
    k = numbers[0]
    if len(numbers) > 1:
        msg = (
            f"No n_clusters of {list(numbers)} can hold {total:,.10g} rows (or their weight) with "
            f"{given}."
        )
    elif most is not None and k * most < total:
        msg = (
            f"size_max={most:,} cannot be met: n_clusters={k} clusters of that size hold "
            f"{k * most:,} rows (or weight), of which there are {total:,.10g}. Use a size_max of "
            f"at least {-int(-total // k):,}, or more clusters."
        )
    else:
        msg = (
            f"size_min={least:,} cannot be met: n_clusters={k} clusters of that size have "
            f"{k * least:,} rows (or weight), of which there are {total:,.10g}. Use a size_min of "
            f"at most {int(total // k):,}, or fewer clusters."
        )
    raise ValueError(msg)


def counted_rows(data: TrainingSet, given: GivenLimits) -> CountedRows:
    """Return the rows of a table that count, with the limits in their weights."""
    weights = data.sample_weight
    n_rows = data.table.n_rows
    indices = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    counted = None if weights is None else weights[indices].astype(np.float64)
    # A cluster has a row at least.
    one = 1.0 if counted is None else float(counted.min())
    most = np.inf if given.size_max is None else float(given.size_max)
    limits = SizeLimits(max(float(given.size_min or 0), one), most)
    if counted is not None and (counted == counted[0]).all():
        limits, counted = limits.of_equal(float(counted[0])), None
    limits = dataclasses.replace(
        limits, most=min(limits.most, len(indices) if counted is None else float(counted.sum()))
    )
    return CountedRows(data.labelled_rows, indices, counted, limits, data.threads)


# --- prices ---------------------------------------------------------------------------------------


def hold_sizes(
    network: Network, counted: CountedRows, prices: Prices, margin: float | None
) -> Held:
    """Return the cheapest partition within limits for the memories of a network.

    `prices` are where the search begins; rows with a larger `margin` keep the memory that these
    give them, unless they turn out to be needed. None: as the first rows have margins.
    """
    n, k, weights = len(counted.indices), network.n_memories, counted.weights
    part = usual = UNDECIDED_PART if n > SAMPLED_ROWS else SAMPLE_PART
    while True:
        labels: Labels = np.empty(n, np.int32)
        own: NDArray[np.float32] = np.empty(n, np.float32)
        margins: NDArray[np.float32] = np.empty(n, np.float32)
        places, costs, widest = [], [], margin
        for first in range(0, n, max(1, MAX_PAIRS // k)):
            block = slice(first, first + max(1, MAX_PAIRS // k))
            distances = distances_of(network, counted, block)
            found = _native.cheapest(distances, prices, counted.threads)
            labels[block], margins[block], own[block] = found
            widest = _least(margins[block], part) if widest is None else widest
            undecided = np.flatnonzero(margins[block] <= widest)
            places.append(first + undecided)
            costs.append(distances[undecided])
        assert widest is not None  # there are rows
        some, costs_of_some = np.concatenate(places), np.concatenate(costs)
        held = _native.limit_sizes(
            costs_of_some,
            labels[some],
            None if weights is None else weights[some],
            prices,
            np.bincount(labels, weights, minlength=k).astype(np.float64),
            np.inf if len(some) == n else widest,
            counted.limits.least,
            counted.limits.most,
        )
        prices = np.array(held.prices)
        if held.complete or len(some) == n:
            break
        part *= FARTHER
        margin = np.inf
        if part < 0.5 and 2 * len(some) < n:
            margin = max(FARTHER * widest, _least(margins, part))
    labels[some] = held.labels
    own[some] = costs_of_some[np.arange(len(some)), held.labels]
    paid = own.astype(np.float64) if weights is None else own * weights
    sizes = np.bincount(labels, weights, minlength=k).astype(np.float64)
    return Held(network, prices, labels, sizes, float(paid.sum()), _least(margins, usual))


def distances_of(
    network: Network, counted: CountedRows, block: slice = slice(None)
) -> NDArray[np.float32]:
    """Return the distances by which memories attract rows, as costs."""
    found = network.infer(
        counted.rows,
        Want.SQUARE_DISTANCES,
        indices=counted.indices[block],
        n_jobs=counted.threads,
    )
    return np.ascontiguousarray(found.square_distances, dtype=np.float32)


def _least(margins: NDArray[np.float32], part: float) -> float:
    """Return a margin that this part of the rows are below of."""
    at = int(part * len(margins))
    return float(np.partition(margins, at)[at])


# --- memories -------------------------------------------------------------------------------------


def settle(
    data: TrainingSet,
    network: Network,
    counted: CountedRows,
    *,
    rounds: int,
    prices: Prices | None = None,
    margin: float | None = None,
) -> Held:
    """Alternate prices and means, until that gains hardly anything.

    Neither step makes the cost larger (of rows that lack values, what is filled in moves with the
    memories: the best round counts). Memories of an energy that is not the core's stay.
    """
    best = hold_sizes(
        network, counted, np.zeros(network.n_memories) if prices is None else prices, margin
    )
    for _ in range(rounds if network.geometry.is_native else 0):
        moved = dataclasses.replace(network, memories=_means(data, best, counted))
        held = hold_sizes(moved, counted, best.prices, best.margin)
        gained, network = best.cost - held.cost, moved
        if gained > 0:
            best = held
        if not gained > TOLERANCE * best.cost:
            break
    return best


def jump(data: TrainingSet, best: Held, counted: CountedRows, seed: int) -> Held:
    """Have memories jump to rows of other clusters, as long as that is tried and where it gains.

    Alternation ends at the next local optimum, and limits make many: which clusters share a crowd
    of rows is hardly changed by it. Each try is as dear as a restart that is trained already, so
    tables of more pairs of rows and memories have fewer.
    """
    n, k = len(counted.indices), len(best.prices)
    if k == 1 or not best.network.geometry.is_native:
        return best
    rng = np.random.default_rng(seed)
    for _ in range(min(JUMPS * k, MAX_JUMPS, JUMPED_PAIRS // (n * k))):
        row = int(rng.integers(n))
        memory = int(rng.integers(k - 1))
        memory += memory >= best.labels[row]
        memories = np.array(best.network.memories)
        memories[memory] = _row(best.network, counted, row)
        moved = dataclasses.replace(best.network, memories=memories)
        # Prices of other memories hardly say what those of the one that has moved will be.
        held = settle(data, moved, counted, rounds=SAMPLE_ROUNDS, prices=best.prices)
        if held.cost < best.cost:
            best = held
    return best


def _row(network: Network, counted: CountedRows, place: int) -> NDArray[np.float32]:
    found = network.infer(counted.rows, Want.FILLED, indices=counted.indices[[place]])
    return np.asarray(found.filled[0])


def _means(data: TrainingSet, held: Held, counted: CountedRows) -> NDArray[np.float32]:
    quantum = quantum_of(data, len(counted.indices))
    found = nearest_sums(
        held.network,
        counted.rows,
        counted.indices,
        counted.sum_weights,
        quantum,
        counted.threads,
        held.labels,
    )
    return means_of(held.network, found, quantum, counted.rows)


# --- runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LimitedRuns:
    """Runs that are within limits, and what the cheapest of them says of all rows."""

    runs: list[TrainedRun]
    chosen: int
    labels: Labels  # of all rows
    cost: float  # in core units


def hold_runs(
    data: TrainingSet,
    runs: list[TrainedRun],
    given: GivenLimits,
    *,
    seed: int,
    free_beta: bool,
) -> LimitedRuns:
    """Bring runs within limits, on a sample where rows are many, and the cheapest on all rows.

    `free_beta`: the temperature is not the user's.
    """
    counted = counted_rows(data, given)
    n, some = len(counted.indices), counted
    if n > SAMPLED_ROWS:
        some = counted.some(draw_places(n, SAMPLED_ROWS, seed))
    held = [settle(data, run.network(data.geometry), some, rounds=SAMPLE_ROUNDS) for run in runs]
    chosen = int(np.argmin([one.cost for one in held]))
    best = held[chosen]
    if some is counted:
        best = jump(data, best, counted, seed)
    else:
        best = settle(
            data,
            best.network,
            counted,
            rounds=ROUNDS,
            prices=best.prices,
            margin=_margin(best, some),
        )
    _check_held(best, counted, given)
    held[chosen] = best
    found = [
        _with_prices(data, run, one, free_beta and at == chosen)
        for at, (run, one) in enumerate(zip(runs, held, strict=True))
    ]
    return LimitedRuns(found, chosen, _all_labels(data, best, counted), best.cost)


def _margin(held: Held, some: CountedRows) -> float:
    """Return a margin for all rows that a sample has few rows below of."""
    margins = _native.cheapest(distances_of(held.network, some), held.prices, some.threads)[1]
    return _least(np.asarray(margins), UNDECIDED_PART)


def _all_labels(data: TrainingSet, held: Held, counted: CountedRows) -> Labels:
    """Return labels of rows that do not count, too: they go by the prices."""
    n_rows = data.table.n_rows
    if len(counted.indices) == n_rows:
        return held.labels
    labels = np.empty(n_rows, np.int32)
    labels[counted.indices] = held.labels
    others = np.setdiff1d(np.arange(n_rows), counted.indices)
    labels[others] = _by_prices(held, dataclasses.replace(counted, indices=others))
    return labels


def _by_prices(held: Held, some: CountedRows) -> Labels:
    distances = distances_of(held.network, some)
    return np.asarray(_native.cheapest(distances, held.prices, some.threads)[0])


def _with_prices(data: TrainingSet, run: TrainedRun, held: Held, free_beta: bool) -> TrainedRun:
    """Return a run whose network has the prices as log-weights, judged by what these say of rows.

    Where beta is free it rises until the dynamics, too, gives rows their label.
    """
    judged = CountedRows(
        data.labelled_rows, data.judged.indices, None, SizeLimits(0, np.inf), data.threads
    )
    labels, counts = _by_prices(held, judged), data.judged.counts
    beta, best_beta, best_share = run.beta, run.beta, -1.0
    for _ in range(MAX_COOLINGS if free_beta else 0):
        network = dataclasses.replace(
            held.network, beta=beta, log_weights=log_weights(held.prices, beta)
        )
        told = network.core_labels(judged.rows, indices=judged.indices, n_jobs=data.threads)
        share = float(np.average(told == labels, weights=counts))
        if share > best_share:
            best_beta, best_share = beta, share
        if share >= AGREEMENT or beta * COOLING > MAX_BETA:
            break
        beta *= COOLING
    sizes = np.bincount(labels, counts, minlength=len(held.prices))
    silhouette = np.nan
    if len(held.prices) > 1:
        silhouette = float(silhouettes(judged.rows, data.judged, labels[None], data.threads)[0])
    return dataclasses.replace(
        run,
        moved=held.network.memories,
        cooled=best_beta,
        held=log_weights(held.prices, best_beta),
        silhouette=silhouette,
        n_nonempty=int(np.count_nonzero(held.sizes)),
        largest_share=float(sizes.max() / sizes.sum()),
    )


def log_weights(prices: Prices, beta: float) -> NDArray[np.float32]:
    """Return the log-weights that have prices at a temperature; the mean weight is 1."""
    found = beta * prices
    return (found - logsumexp(found) + np.log(len(found))).astype(np.float32)


def _check_held(held: Held, counted: CountedRows, given: GivenLimits) -> None:
    """Refuse limits that whole rows do not meet."""
    slack = ROUNDING * held.sizes.sum()
    limits = counted.limits
    if limits.least - slack <= held.sizes.min() and held.sizes.max() <= limits.most + slack:
        return
    heaviest = 1.0 if counted.weights is None else float(counted.weights.max())
    msg = (
        f"{given} cannot be met by whole rows: no way was found to bring all of {len(held.sizes)} "
        f"clusters within these limits (the sizes came to {held.sizes.min():.6g} at least and "
        f"{held.sizes.max():.6g} at most; the heaviest row has a weight of {heaviest:.6g}). Give "
        "more room between them, or lighter rows."
    )
    raise ValueError(msg)
