"""Clusters of any shape: time and memory of assemblies, beside one memory a cluster.

Beside density-based peers too, which have to have fewer rows.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from math import log
from statistics import median
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN

from amclust import ClAM
from benchmarks.data import FloatArray, make_mixture
from benchmarks.framework.environment import UnavailableError, optional_module
from benchmarks.framework.lines import Entry, Line, Skipped, Target, interleave, seconds_of
from benchmarks.speed.resources import measured_apart

_N_CLUSTERS, _N_FEATURES = 10, 10
_MIN_CLUSTER = 100  # rows, of the peers


def _assemblies(features: FloatArray, seed: int) -> Any:
    model = ClAM(_N_CLUSTERS, n_memories="auto", n_init=1, random_state=seed)
    return model.fit_predict(features)


def _round(features: FloatArray, seed: int) -> Any:
    return ClAM(_N_CLUSTERS, n_init=1, random_state=seed).fit_predict(features)


def _hdbscan(features: FloatArray, seed: int) -> Any:
    return HDBSCAN(min_cluster_size=_MIN_CLUSTER, copy=True).fit_predict(features)


def _fast_hdbscan(features: FloatArray, seed: int) -> Any:
    make = optional_module("fast_hdbscan", "fast-hdbscan").HDBSCAN
    return make(min_cluster_size=_MIN_CLUSTER).fit_predict(features.astype(np.float64))


def assemblies(options: Namespace) -> Iterator[Entry]:
    """Compare the time of fits on made clusters, one start each."""
    sizes, peer_rows, repeats = (100_000, 1_000_000), 20_000, 5
    if options.quick:
        sizes, peer_rows, repeats = (10_000, 40_000), 4_000, 1
    rows = {size: make_mixture(size, _N_FEATURES, _N_CLUSTERS) for size in sizes}
    calls: dict[str, Callable[[int], Any]] = {
        f"{name} {size}": partial(call, rows[size])
        for size in sizes
        for name, call in {"assemblies": _assemblies, "round": _round}.items()
    }
    interleave(calls, range(1))
    rounds = interleave(calls, range(repeats))
    note = f'n_memories="auto" beside one memory a cluster, one start; {repeats} interleaved'
    for size in sizes:
        yield Line.of_pairs(
            f"{size}x{_N_FEATURES}, k={_N_CLUSTERS}",
            "s",
            seconds_of(rounds[f"assemblies {size}"]),
            seconds_of(rounds[f"round {size}"]),
            peer_name="ClAM, one memory a cluster",
            target=Target("ratio", "<=", 3.0),
            note=note,
        )
    few, many = (median(seconds_of(rounds[f"assemblies {size}"])) for size in sizes)
    yield Line(
        f"{sizes[1]} rows beside {sizes[0]}",
        many,
        few,
        f"{sizes[0]} rows",
        value=log(many / few) / log(sizes[1] / sizes[0]),
        target=Target("exponent", "<=", 1.05),
        unit="s",
        note=note,
    )
    yield _memory(*sizes, repeats)
    features = rows[sizes[0]][:peer_rows]
    for name, peer in {"HDBSCAN": _hdbscan, "fast_hdbscan": _fast_hdbscan}.items():
        try:
            interleave({name: partial(peer, features[:2000])}, range(1))
        except UnavailableError as error:
            yield Skipped(name, str(error))
            continue
        pair = {"ours": partial(_assemblies, features), name: partial(peer, features)}
        found = interleave(pair, range(1 if options.quick else 3))
        yield Line.of_pairs(
            f"{peer_rows}x{_N_FEATURES}, k={_N_CLUSTERS}",
            "s",
            seconds_of(found["ours"]),
            seconds_of(found[name]),
            peer_name=name,
            target=Target("ratio"),
            note=f"min_cluster_size={_MIN_CLUSTER}",
        )


def _memory(few: int, many: int, repeats: int) -> Line:
    """Compare what fits take beside the rows: it may grow by labels and the like, not by more.

    One process says little: what the allocator keeps differs by several MB.
    """
    found = {
        size: [measured_apart("fit-assemblies", size) for _ in range(repeats)]
        for size in (few, many)
    }
    small, large = (median(one["extra"] for one in found[size]) for size in (few, many))
    first, last = found[few][0], found[many][0]
    return Line(
        f"extra memory of {many} rows beside {few}",
        large / 1e6,
        small / 1e6,
        f"{few} rows",
        value=100.0 * (large - small) / (last["data"] - first["data"]),
        target=Target("growth", "<=", 25.0, "% of that of X"),
        unit="MB",
        note=f'n_memories="auto", X of {last["data"] / 1e6:.0f} MB, float32; {last["way"]}; '
        f"medians of {repeats} processes each",
    )
