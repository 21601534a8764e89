"""Runs: where they start and what they found, and the fit that is made of them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._geometry import Geometry
from amclust._network import Network, Want
from amclust._objectives import Objective, find_objective
from amclust._rows import TableRows
from amclust._silhouettes import sample_rows
from amclust.backends.base import (
    EnergyFunction,
    EnergySeeding,
    Seeding,
)

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


@dataclass(frozen=True, eq=False)
class OptimizerState:
    """What `partial_fit` goes on from.

    Attributes
    ----------
    moments : float32 ndarray of shape (2, n_memories, n_features)
        Adam's moments of the memories.

    weight_moments : float32 ndarray of shape (2, n_memories)
        Those of the log-weights.

    steps : int
        Steps made so far.

    mean_square, total_square : float
        Scatter of rows around the initial memories, and around their mean: what the parts of the
        silhouette objective are measured in.

    seed : int
        The seed of the run.

    objective : str
        What was minimised.

    energy_moments : float32 ndarray of shape (2, n_parameters)
        Adam's moments of what is learned of an energy.
    """

    moments: NDArray[np.float32]
    weight_moments: NDArray[np.float32]
    steps: int
    mean_square: float
    total_square: float
    seed: int
    objective: str
    energy_moments: NDArray[np.float32] = field(
        default_factory=lambda: np.zeros((2, 0), np.float32)
    )

    def __repr__(self) -> str:
        return f"OptimizerState({self.steps:,} steps)"


def unmoved(network: Network, X: Any, objective: str) -> OptimizerState:
    """Return the state of an optimiser that has made no step from a network, among rows of it."""
    shape = network.memories.shape
    rows = network.read(TableRows(X))
    some = sample_rows(rows.n_rows)
    values = _native.load_rows(rows, some).astype(np.float64)
    total = float(np.nanvar(values, axis=0).sum())
    near = network.infer(rows, Want.SQUARE_DISTANCES, indices=some).square_distances.min(axis=1)
    learned = np.zeros((2, 0), np.float32)
    if network.energy_function is not None:
        from amclust.backends.torch import learned_values
        from amclust.torch.energies import Energy

        assert isinstance(network.energy_function, Energy)
        learned = np.zeros((2, len(learned_values(network.energy_function))), np.float32)
    moments, weight_moments = np.zeros((2, *shape), np.float32), np.zeros((2, shape[0]), np.float32)
    square = float(near.mean(dtype=np.float64))
    return OptimizerState(moments, weight_moments, 0, square, total, 0, objective, learned)


def single_run(network: Network, silhouette: float, n_nonempty: int) -> NDArray[np.void]:
    """Return the table of runs of a network that was trained elsewhere."""
    beta = network.beta / network.geometry.distance_unit
    run = (0, beta, np.nan, silhouette, n_nonempty, 0, True, True)
    return np.array([run], dtype=RUN_DTYPE)


@dataclass(frozen=True)
class UntrainedRun:
    """A restart that was judged by its start, and went no further."""

    seed: int
    beta: float  # in core units
    silhouette: float
    n_nonempty: int


class Refined(NamedTuple):
    """What became of a run after training, in units of its own."""

    memories: NDArray[np.float32]
    log_weights: NDArray[np.float32]
    beta: float


@dataclass
class TrainedRun:
    """One restart: what it was to do, what it found, and how good that is."""

    plan: _native.Plan
    record: _native.Record
    seed: int
    silhouette: float = np.nan
    n_nonempty: int = 0  # clusters that have rows
    largest_share: float = np.nan  # the part of the rows that is in the largest cluster
    recorded: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # memories by epoch
    mean: _native.Record | None = None  # of training that went on and took the mean of memories
    moved: NDArray[np.float32] | None = None  # memories, where empty clusters were given rows
    cooled: float | None = None  # and the inverse temperature at which these keep them
    held: NDArray[np.float32] | None = None  # log-weights, where these hold sizes within limits
    refined: Refined | None = None  # where likelihood counts

    @property
    def beta(self) -> float:
        """Inverse temperature, in core units."""
        if self.refined is not None:
            return self.refined.beta
        return self.plan.network.beta if self.cooled is None else self.cooled

    @property
    def objective(self) -> Objective:
        """What was minimised."""
        return find_objective(self.plan.objective.name)

    def network(self, geometry: Geometry) -> Network:
        """Return the network that was found."""
        found = self.record if self.mean is None else self.mean
        log_weights = found.log_weights.astype(np.float64)
        if self.held is not None:
            log_weights = self.held.astype(np.float64)
        elif self.plan.learn_weights:  # only ratios matter: make the mean weight 1
            log_weights -= np.log(np.mean(np.exp(log_weights)))
        network = network_at_start(self.plan, geometry)
        if self.refined is not None:
            return dataclasses.replace(network, **self.refined._asdict())
        return dataclasses.replace(
            network,
            memories=found.memories if self.moved is None else self.moved,
            log_weights=log_weights.astype(np.float32),
            beta=self.beta,
            energy_function=energy_function(geometry, len(log_weights), found.energy),
        )

    def optimizer(self, seeding: Scatter) -> OptimizerState:
        """Return what more training goes on from."""
        return OptimizerState(
            self.record.moments,
            self.record.weight_moments,
            self.record.steps,
            seeding.mean_square,
            seeding.total_square,
            self.seed,
            self.plan.objective.name,
            self.record.energy_moments,
        )


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run starts: memories, and the scales of the rows around them.

    The temperature follows from `mean_distance` and `median_gap`, in the distances of the energy
    (for those of the core, the former is `mean_square`).
    """

    memories: NDArray[np.float32]
    mean_square: float
    median_gap: float
    total_square: float
    mean_distance: float
    compact: bool = False  # the memories have a bounded reach
    separated: bool = False  # hardly any row is near the border of two clusters
    energy: NDArray[np.float32] | None = None  # what was learned of the energy; None: nothing yet

    @classmethod
    def of(cls, seeding: Seeding) -> Start:
        """Return what a backend found."""
        mean_distance, compact, separated = seeding.mean_square, False, False
        if isinstance(seeding, EnergySeeding):
            mean_distance, compact = seeding.mean_distance, seeding.compact
        else:
            separated = seeding.separated
        return cls(
            seeding.memories,
            seeding.mean_square,
            seeding.median_gap,
            seeding.total_square,
            mean_distance,
            compact,
            separated,
        )


Scatter = Start | OptimizerState


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fit found."""

    network: Network
    optimizer: OptimizerState
    runs: list[TrainedRun | UntrainedRun]
    chosen: int
    labels: NDArray[np.int32]
    total_weight: float | None = None  # of all rows; None: values are missing, or rows were drawn
    collapsed: bool = False  # most rows are in one cluster, which was not so before training
    # Sum over all rows of a table, in core units, where some were trained on, or sizes have limits.
    square_distances: float | None = None
    trained_in: Geometry | None = None  # units of training; None: those of the network

    @property
    def best(self) -> TrainedRun:
        """The chosen run."""
        run = self.runs[self.chosen]
        assert isinstance(run, TrainedRun)
        return run

    @property
    def inertia(self) -> float | None:
        """Sum of squared distances to the memories, where that was minimised."""
        run, geometry = self.best, self.network.geometry
        found = self.square_distances
        if found is None and self.total_weight is not None:
            found = run.record.loss * geometry.n_features * self.total_weight
        minimised = run.plan.exact or run.held is not None
        if found is None or not minimised or geometry.spherical:
            return None
        return float(found * geometry.distance_unit)

    @property
    def table(self) -> NDArray[np.void]:
        """One row per restart, in original units."""
        unit = self.network.geometry.distance_unit
        table = np.zeros(len(self.runs), dtype=RUN_DTYPE)
        for index, run in enumerate(self.runs):
            loss, epochs, converged = np.nan, 0, False
            if isinstance(run, TrainedRun):
                record = run.record
                loss, epochs, converged = record.loss, record.n_epochs, record.converged
            table[index] = (
                run.seed,
                run.beta / unit,
                loss,
                run.silhouette,
                run.n_nonempty,
                epochs,
                converged,
                index == self.chosen,
            )
        return table


def network_at_start(plan: _native.Plan, geometry: Geometry) -> Network:
    """Return the network that a run starts from."""
    start = plan.network
    n_memories = len(start.memories)
    return Network(
        start.memories,
        start.log_weights,
        start.beta,
        start.step_size,
        start.n_steps,
        geometry,
        np.arange(n_memories, dtype=np.int32),
        find_objective(plan.objective.name).fills_from_mask,
        energy_function(geometry, n_memories, plan.energy),
    )


def energy_function(
    geometry: Geometry, n_memories: int, learned: NDArray[np.float32]
) -> EnergyFunction | None:
    """Return the energy of a metric, with what was learned of it; None: the core has it."""
    if geometry.is_native:
        return None
    from amclust.backends import torch

    return torch.energy_function(geometry, n_memories, learned)


def learned_values(energy: Any) -> NDArray[np.float32]:
    """Return what was learned of an energy that the core does not have."""
    from amclust.backends import torch

    return torch.learned_values(energy)
