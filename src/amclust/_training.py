"""From data to trained memories: seeding, temperature, all restarts in one call, and the choice."""

from __future__ import annotations

from dataclasses import dataclass
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


def seed_runs(
    problem: Problem, init: str | NDArray[np.float32], seeds: NDArray[np.int64], sample_seed: int
) -> list[dict[str, Any]]:
    """Give every run its initial memories, with the scales that set the temperature."""
    p = problem
    if not isinstance(init, str):
        mean_square, gap = _native.scales(
            p.data, p.rows, p.weights, init, sample_seed, p.units.fill
        )
        one = {"memories": init, "mean_square": mean_square, "median_gap": gap}
        return [dict(one) for _ in seeds]
    found = _native.seed(
        p.data,
        p.rows,
        p.weights,
        p.n_clusters,
        init,
        [int(s) for s in seeds],
        sample_seed,
        p.units.fill,
        p.threads,
    )
    check_distinct(min(s["distinct"] for s in found), p.n_clusters, p.data.rows, first=True)
    return found


def train_runs(
    problem: Problem,
    seedings: list[dict[str, Any]],
    seeds: NDArray[np.int64],
    beta: float | None,
    settings: dict[str, Any],
    progress: Any,
) -> list[TrainedRun]:
    """Train all runs in one native call. ``beta`` is in the core's units; None: from the data."""
    betas = [
        beta
        if beta is not None
        else choose_beta(settings["objective"], s["mean_square"], s["median_gap"])
        for s in seedings
    ]
    runs = [
        {
            **settings,
            "seed": int(seed),
            "beta": b,
            "memories": seeding["memories"],
            "fill": problem.units.fill,
            "scatter_unit": max(seeding["mean_square"], 1e-12),
        }
        for seed, b, seeding in zip(seeds, betas, seedings, strict=True)
    ]
    p = problem
    records = _native.train(p.data, p.rows, p.weights, p.n_clusters, runs, p.threads, progress)
    return [
        TrainedRun(int(seed), float(b), record)
        for seed, b, record in zip(seeds, betas, records, strict=True)
    ]


def _ask(
    problem: Problem,
    run: TrainedRun,
    settings: dict[str, Any],
    want: str,
    rows: NDArray[np.int64] | None,
) -> NDArray[Any]:
    """Ask a trained network one thing about rows."""
    out: NDArray[Any] = _native.infer(
        problem.data,
        rows,
        problem.units.fill,
        run.record["memories"],
        run.record["log_weights"],
        run.beta,
        settings["step_size"],
        settings["n_steps"],
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


def judge_runs(
    problem: Problem, runs: list[TrainedRun], settings: dict[str, Any], sample_seed: int
) -> None:
    """Fill in every run's silhouette and its number of living clusters.

    With a single run the latter is left to its labels, if a sample does not show all clusters.
    """
    p = problem
    rows, weights = silhouette_sample(p, sample_seed)
    labels = np.stack([_ask(p, run, settings, "labels", rows) for run in runs])
    sampled = len(rows) < p.n_rows
    for run, labels_of_run in zip(runs, labels, strict=True):
        run.living = len(np.unique(labels_of_run))
        if sampled and len(runs) > 1 and run.living < p.n_clusters:
            # The others may live outside the sample.
            run.living = int(np.count_nonzero(_ask(p, run, settings, "counts", p.rows)))
    if p.n_clusters > 1:
        scores = _native.silhouette(p.data, rows, weights, labels, p.n_clusters, p.threads)
        for run, score in zip(runs, scores, strict=True):
            run.silhouette = float(score)


def choose_run(runs: list[TrainedRun], selection: str) -> int:
    """Return the best run; one with more living clusters always goes before one with fewer."""

    def rank(index: int) -> tuple[int, float]:
        run = runs[index]
        score = -run.record["loss"]
        if selection == "silhouette" and not np.isnan(run.silhouette):
            score = run.silhouette
        return (run.living, score)

    return max(range(len(runs)), key=rank)


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
