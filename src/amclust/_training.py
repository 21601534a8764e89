"""From data to trained memories: seeding, temperature, all restarts in one call, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._temperature import choose_beta
from amclust._units import Units
from amclust._validation import check_distinct

# Up to this many rows the silhouette that ranks runs is exact; above, it is of a fixed sample.
EXACT_SILHOUETTE_ROWS = 10_000
SAMPLED_SILHOUETTE_ROWS = 2_048
# Restarts take turns: trees find what k-means++ misses where clusters are small, and the other way.
SEEDING_TURNS = ("ward", "k-means++")
# A tree takes memory with the square of the clusters: above this, "auto" is k-means++ alone.
MOST_TREE_CLUSTERS = 512
# What one unit of silhouette is worth: so much of the scatter that the initial memories explain ...
ANCHOR = 2.0
# ... and so much distance of the memories from their clusters' centres, in units of the scatter
# inside the clusters.
TIE = 2.0
# The least part of all scatter that initial memories are taken to explain (random rows may be bad).
LEAST_EXPLAINED = 0.1

RUN_DTYPE = np.dtype(
    [
        ("seed", np.int64),
        ("beta", np.float64),
        ("loss", np.float64),
        ("silhouette", np.float64),
        ("living_clusters", np.int64),
        ("n_iter", np.int64),
        ("converged", np.bool_),
        ("chosen", np.bool_),
    ]
)


@dataclass
class Problem:
    """The rows to train on, as the core takes them."""

    data: _native.Dataset
    units: Units
    n_clusters: int
    rows: NDArray[np.int64] | None  # None: all rows
    weights: NDArray[np.float32] | None  # of these rows, with mean 1; None: all 1
    counts: NDArray[np.float32] | None  # the same as given: how many rows each stands for
    threads: int
    resumed: str | None = None  # the objective of the training that goes on here
    device: Any = None  # a torch.device to train on; None: the native core trains

    @property
    def n_rows(self) -> int:
        """How many rows are trained on."""
        return int(self.data.rows) if self.rows is None else len(self.rows)


@dataclass
class TrainedRun:
    """One restart: its seed, the network it found and how that went."""

    seed: int
    beta: float  # in the core's units
    record: dict[str, Any]
    silhouette: float = np.nan
    living: int = 0
    largest_share: float = np.nan  # the part of the rows that is in the largest cluster
    settings: dict[str, Any] = field(default_factory=dict)  # as the core took them
    recorded: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # memories by epoch


def seed_runs(
    problem: Problem, init: str | NDArray[np.float32], seeds: NDArray[np.int64], sample_seed: int
) -> list[dict[str, Any]]:
    """Give every run its initial memories, with the scales that set the temperature."""
    p = problem
    if not isinstance(init, str):
        scales = _native.scales(p.data, p.rows, p.weights, init, sample_seed, p.units.fill)
        names = ("mean_square", "median_gap", "total_square")
        one = {"memories": init, **dict(zip(names, scales, strict=True))}
        return [dict(one) for _ in seeds]
    found = _native.seed(
        p.data,
        p.rows,
        p.weights,
        p.n_clusters,
        seeding_methods(init, len(seeds), p.n_clusters),
        [int(s) for s in seeds],
        sample_seed,
        p.units.fill,
        p.threads,
    )
    check_distinct(min(s["distinct"] for s in found), p.n_clusters, p.data.rows, first=True)
    return found


def seeding_methods(init: str, n_runs: int, n_clusters: int) -> list[str]:
    """Return how each run is seeded."""
    if init != "auto":
        return [init] * n_runs
    if n_clusters > MOST_TREE_CLUSTERS:
        return ["k-means++"] * n_runs
    return [SEEDING_TURNS[run % len(SEEDING_TURNS)] for run in range(n_runs)]


def train_runs(
    problem: Problem,
    seedings: list[dict[str, Any]],
    seeds: NDArray[np.int64],
    beta: float | None,
    settings: dict[str, Any],
    progress: Any,
    record_epochs: Sequence[int] = (),
) -> list[TrainedRun]:
    """Train restarts of one configuration, in one call.

    To record the memories after some epochs, ascending, training pauses there and goes on as if it
    had not.
    """
    runs = [
        run_settings(problem, seeding, seed, beta, settings)
        for seed, seeding in zip(seeds, seedings, strict=True)
    ]
    recorded = [{0: run["memories"]} if 0 in record_epochs else {} for run in runs]
    paused = runs
    for epoch in (epoch for epoch in record_epochs if epoch > 0):
        found = train_settings(problem, [run | {"pause_at": epoch} for run in paused], progress)
        paused = [run | {"earlier": one.record} for run, one in zip(runs, found, strict=True)]
        for memories, one in zip(recorded, found, strict=True):
            if len(one.record["loss_curve"]) == epoch:  # else it stopped before
                memories[epoch] = one.record["last_memories"]
    trained = train_settings(problem, paused, progress)
    for run, memories in zip(trained, recorded, strict=True):
        run.recorded = memories
    return trained


def run_settings(
    problem: Problem,
    seeding: dict[str, Any],
    seed: int,
    beta: float | None,
    settings: dict[str, Any],
    beta_factor: float = 1.0,
) -> dict[str, Any]:
    """Return the settings of one run, as the core takes them.

    ``beta`` is in the core's units; None: from the data, times ``beta_factor``.
    """
    if beta is None:
        found = choose_beta(settings["objective"], seeding["mean_square"], seeding["median_gap"])
        beta = beta_factor * found
    inside, total = seeding["mean_square"], seeding["total_square"]
    explained = max(total - inside, LEAST_EXPLAINED * total, 1e-12)
    return {
        **settings,
        "anchor": ANCHOR / explained,
        "tie": TIE / max(inside, 1e-12),
        "seed": int(seed),
        "beta": float(beta),
        "memories": seeding["memories"],
        "fill": problem.units.fill,
    }


def train_settings(problem: Problem, runs: list[dict[str, Any]], progress: Any) -> list[TrainedRun]:
    """Train runs of any configurations on the same rows, in one call."""
    p = problem
    if p.device is None:
        records = _native.train(p.data, p.rows, p.weights, runs, p.threads, progress)
    else:
        from amclust.torch._training import train

        records = train(p.data, p.rows, p.weights, runs, p.device, progress)
    return [
        TrainedRun(run["seed"], run["beta"], record, settings=run)
        for run, record in zip(runs, records, strict=True)
    ]


def _ask(
    problem: Problem, run: TrainedRun, want: str, rows: NDArray[np.int64] | None
) -> NDArray[Any]:
    """Ask a trained network one thing about rows."""
    out: NDArray[Any] = _native.infer(
        problem.data,
        rows,
        run.settings["fill"],
        run.record["memories"],
        run.record["log_weights"],
        run.beta,
        run.settings["step_size"],
        run.settings["n_steps"],
        [want],
        problem.threads,
    )[want]
    return out


def silhouette_sample(
    problem: Problem, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.float32] | None]:
    """Return the rows, and how many each stands for, on which runs are ranked."""
    rows = np.arange(problem.n_rows) if problem.rows is None else problem.rows
    weights = problem.counts
    if len(rows) > EXACT_SILHOUETTE_ROWS:
        pick = np.random.default_rng(seed).choice(len(rows), SAMPLED_SILHOUETTE_ROWS, replace=False)
        pick.sort()
        rows, weights = rows[pick], None if weights is None else weights[pick]
    return np.ascontiguousarray(rows, dtype=np.int64), weights


def judge_runs(problem: Problem, runs: list[TrainedRun], sample_seed: int) -> None:
    """Fill in every run's silhouette, its living clusters and the share of the largest one."""
    p = problem
    rows, weights = silhouette_sample(p, sample_seed)
    labels = np.stack([_ask(p, run, "labels", rows) for run in runs])
    sampled = len(rows) < p.n_rows
    n_clusters = [len(run.record["memories"]) for run in runs]
    for run, labels_of_run, k in zip(runs, labels, n_clusters, strict=True):
        sizes = np.bincount(labels_of_run, weights)
        run.largest_share = float(sizes.max() / sizes.sum())
        run.living = len(np.unique(labels_of_run))
        if sampled and run.living < k:
            # The others may live outside the sample.
            run.living = int(np.count_nonzero(_ask(p, run, "counts", p.rows)))
    if max(n_clusters) > 1:
        scores = _native.silhouette(p.data, rows, weights, labels, max(n_clusters), p.threads)
        for run, score in zip(runs, scores, strict=True):
            run.silhouette = float(score)


def choose_run(runs: list[TrainedRun], selection: str) -> int:
    """Return the best of runs with the same number of clusters."""
    living, silhouettes, losses = np.array(
        [(run.living, run.silhouette, run.record["loss"]) for run in runs]
    ).T
    return int(order_runs(-living, silhouettes, losses, selection)[0])


def order_runs(
    dead: NDArray[Any], silhouettes: NDArray[Any], losses: NDArray[Any], selection: str
) -> NDArray[np.int64]:
    """Return the places of runs, the best first.

    One with fewer dead clusters always goes before one with more.
    """
    scores = -losses
    if selection == "silhouette":
        scores = np.where(np.isnan(silhouettes), scores, silhouettes)
    return np.lexsort((-scores, dead))


def run_table(runs: list[TrainedRun], chosen: int, units: Units) -> NDArray[np.void]:
    """One row a run, in the table's units."""
    area = units.length**2
    table = np.zeros(len(runs), dtype=RUN_DTYPE)
    for index, run in enumerate(runs):
        table[index] = (
            run.seed,
            run.beta / area,
            run.record["loss"],
            run.silhouette,
            run.living,
            len(run.record["loss_curve"]),
            run.record["converged"],
            index == chosen,
        )
    return table
