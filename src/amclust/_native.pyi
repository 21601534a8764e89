"""The compiled core."""

from collections.abc import Callable, Sequence
import enum
from typing import Annotated

import numpy
from numpy.typing import NDArray


class Rows:
    """Rows where they lie: dense or CSR, float32 or float64."""

    @property
    def n_rows(self) -> int: ...

    @property
    def n_features(self) -> int: ...

    @property
    def energy(self) -> str: ...

    @property
    def has_missing(self) -> bool: ...

    def in_units(self, energy: str, offset: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], scale: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], has_missing: bool) -> Rows:
        """
        Return the same rows, read as (x - offset) * scale and placed where the energy has them.
        """

class Statistics:
    """Statistics of columns, over their observed values."""

    @property
    def weight(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def mean(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def variance(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def min(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def max(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def missing(self) -> int:
        """How many values are missing."""

    @property
    def infinite_row(self) -> int:
        """The first row with an infinity; -1: none."""

    @property
    def infinite_column(self) -> int: ...

    @property
    def empty_row(self) -> int:
        """The first row without any value; -1: none."""

    @property
    def zero_row(self) -> int:
        """The first row that has no direction; -1: none."""

def dense_rows(rows: object) -> Rows: ...

def csr_rows(values: object, indices: object, indptr: object, n_features: int) -> Rows: ...

def statistics(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, threads: int) -> Statistics: ...

def distinct_rows(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))]]: ...

def load_rows(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

class Network:
    """A network in core units."""

    def __init__(self, memories: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], energy: str, beta: float, step_size: float, n_steps: int) -> None: ...

    @property
    def memories(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def log_weights(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def energy(self) -> str: ...

    @property
    def beta(self) -> float: ...

    @property
    def step_size(self) -> float: ...

    @property
    def n_steps(self) -> int: ...

class ObjectiveSettings:
    """What is minimised."""

    @property
    def name(self) -> str: ...

    @name.setter
    def name(self, arg: str, /) -> None: ...

    @property
    def seed(self) -> int:
        """Of masks, of the order of rows and of re-seeding."""

    @seed.setter
    def seed(self, arg: int, /) -> None: ...

    @property
    def mask_prob(self) -> float: ...

    @mask_prob.setter
    def mask_prob(self, arg: float, /) -> None: ...

    @property
    def fill(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """Where hidden and missing values start, in core units."""

    @fill.setter
    def fill(self, arg: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

    @property
    def anchor(self) -> float: ...

    @anchor.setter
    def anchor(self, arg: float, /) -> None: ...

    @property
    def tie(self) -> float: ...

    @tie.setter
    def tie(self, arg: float, /) -> None: ...

class ScheduleSettings:
    """The learning rate over the epochs, and when to stop."""

    @property
    def learning_rate(self) -> float: ...

    @learning_rate.setter
    def learning_rate(self, arg: float, /) -> None: ...

    @property
    def lr_factor(self) -> float: ...

    @lr_factor.setter
    def lr_factor(self, arg: float, /) -> None: ...

    @property
    def min_lr(self) -> float: ...

    @min_lr.setter
    def min_lr(self, arg: float, /) -> None: ...

    @property
    def tol(self) -> float: ...

    @tol.setter
    def tol(self, arg: float, /) -> None: ...

    @property
    def max_epochs(self) -> int: ...

    @max_epochs.setter
    def max_epochs(self, arg: int, /) -> None: ...

    @property
    def patience(self) -> int: ...

    @patience.setter
    def patience(self, arg: int, /) -> None: ...

    @property
    def early_stopping(self) -> bool: ...

    @early_stopping.setter
    def early_stopping(self, arg: bool, /) -> None: ...

class Plan:
    """One training: what it starts from and how it goes."""

    def __init__(self, network: Network) -> None: ...

    def copy(self) -> Plan: ...

    @property
    def network(self) -> Network: ...

    @network.setter
    def network(self, arg: Network, /) -> None: ...

    @property
    def objective(self) -> ObjectiveSettings: ...

    @objective.setter
    def objective(self, arg: ObjectiveSettings, /) -> None: ...

    @property
    def schedule(self) -> ScheduleSettings: ...

    @schedule.setter
    def schedule(self, arg: ScheduleSettings, /) -> None: ...

    @property
    def batch_size(self) -> int: ...

    @batch_size.setter
    def batch_size(self, arg: int, /) -> None: ...

    @property
    def learn_weights(self) -> bool: ...

    @learn_weights.setter
    def learn_weights(self, arg: bool, /) -> None: ...

    @property
    def reseed(self) -> bool: ...

    @reseed.setter
    def reseed(self, arg: bool, /) -> None: ...

    @property
    def whole_epochs(self) -> bool: ...

    @whole_epochs.setter
    def whole_epochs(self, arg: bool, /) -> None: ...

    @property
    def keep_last(self) -> bool: ...

    @keep_last.setter
    def keep_last(self, arg: bool, /) -> None: ...

    @property
    def pause_at(self) -> int:
        """Stop after this many epochs; `earlier` goes on from there."""

    @pause_at.setter
    def pause_at(self, arg: int, /) -> None: ...

    @property
    def earlier(self) -> Record | None:
        """The record of this very run so far."""

    @earlier.setter
    def earlier(self, arg: Record | None, /) -> None: ...

    def resume(self, moments: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weight_moments: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, energy_moments: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> None:
        """
        Go on with the optimiser of other training that ended in these memories.
        """

    @property
    def steps(self) -> int: ...

    @property
    def moments(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None, None))]:
        """Adam's, of the training that this one goes on from; else zeros."""

    @property
    def weight_moments(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def energy_moments(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def energy(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """
        Parameters of an energy that the core does not have; empty: as the energy has them.
        """

    @energy.setter
    def energy(self, arg: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], /) -> None: ...

class Seeding:
    """Initial memories, and how far rows are from them."""

    @property
    def memories(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def mean_square(self) -> float:
        """Mean squared distance of a row to its memory."""

    @property
    def median_gap(self) -> float:
        """
        Median difference between the squared distances to the second nearest and the nearest memory.
        """

    @property
    def total_square(self) -> float:
        """Mean squared distance of a row to the mean of all."""

    @property
    def distinct(self) -> int:
        """Fewer than memories: there are no more distinct rows."""

class BatchGradient:
    """Loss and gradients of one batch."""

    @property
    def loss(self) -> float: ...

    @property
    def wins(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def by_memories(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def by_log_weights(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

def seed(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, n_clusters: int, methods: Sequence[str], seeds: Sequence[int], sample_seed: int, fill: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> list[Seeding]: ...

def measure(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, memories: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], sample_seed: int, fill: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Seeding: ...

def train(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, plans: Sequence[Plan], threads: int, progress: Callable[[int, int, float], None] | None = None) -> list[Record]: ...

def evaluate(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, plan: Plan, hidden: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None, threads: int = 1) -> BatchGradient: ...

def draw_masks(seed: int, epoch: int, rows: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], mask_prob: float, missing: Annotated[NDArray[numpy.uint8], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...

EPOCH_ROWS: int = 16384

def objective_names() -> list[str]:
    """The objectives that the core has."""

def energy_names() -> list[str]:
    """The energies that the core has."""

class Record:
    """What came of one training, and where it stands."""

    @property
    def memories(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]:
        """Of the best epoch."""

    @property
    def log_weights(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def loss_curve(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def n_epochs(self) -> int: ...

    @property
    def loss(self) -> float:
        """Of the best epoch."""

    @property
    def best_epoch(self) -> int: ...

    @property
    def reseeded(self) -> int:
        """How often an empty cluster began anew."""

    @property
    def converged(self) -> bool: ...

    @property
    def improving(self) -> bool: ...

    @property
    def last_memories(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def last_log_weights(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def moments(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None, None))]: ...

    @property
    def weight_moments(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def steps(self) -> int: ...

    @property
    def energy(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """
        Parameters of an energy that the core does not have, of the best epoch.
        """

    @property
    def last_energy(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def energy_moments(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    def __getstate__(self) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.float32], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]: ...

    def __setstate__(self, arg: tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], /) -> None: ...

class EpochRows:
    """Which rows the batches of an epoch take."""

    @property
    def ids(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """
        Places among the training rows, one row a batch; 0 past the end of a batch.
        """

    @property
    def sizes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

class Run:
    """
    One training whose losses and gradients are computed outside of the core.
    """

    def __init__(self, plan: Plan, n_rows: int, weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

    @property
    def epoch(self) -> int:
        """Epochs so far."""

    @property
    def done(self) -> bool: ...

    @property
    def n_batches(self) -> int: ...

    @property
    def learning_rate(self) -> float: ...

    @property
    def reseeding(self) -> bool:
        """Whether empty clusters begin anew after this epoch."""

    def next_epoch(self) -> EpochRows: ...

    def is_best(self, loss: float, living: int) -> bool:
        """
        Note the loss of an epoch; True: the memories it measured are the best so far.
        """

    def draw_reseeds(self, badness: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], count: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]:
        """Return the rows on which so many empty clusters begin anew."""

    def end_epoch(self, loss: float) -> None: ...

    def finish(self, memories: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], log_weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], last_memories: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], last_log_weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], moments: Annotated[NDArray[numpy.float32], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], weight_moments: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: int, energy: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, last_energy: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, energy_moments: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)] | None = None) -> Record: ...

class Want(enum.Flag):
    """What to ask of a network."""

    LABELS = 1

    COUNTS = 2

    MEMBERSHIPS = 4

    ENERGY = 8

    ENTROPY = 16

    SQUARE_DISTANCES = 32

    STATE = 64

    TRAJECTORY = 128

    FILLED = 256

    ROW_SCALE = 512

class Answers:
    """What a network says about rows, in core units."""

    @property
    def labels(self) -> Annotated[NDArray[numpy.int32], dict(shape=(None,))]: ...

    @property
    def counts(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
        """How many rows carry each label."""

    @property
    def memberships(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def energy(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def entropy(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]: ...

    @property
    def square_distances(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def state(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def trajectory(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None, None))]: ...

    @property
    def filled(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None, None))]: ...

    @property
    def row_scale(self) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))]:
        """Lengths of the rows (cosine)."""

def infer(network: Network, rows: Rows, fill: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)], want: Want, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None = None, threads: int = 1, fill_from_observed: bool = True) -> Answers: ...

def silhouette(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None, None), order='C', device='cpu', writable=False)], k: int, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

def silhouette_values(rows: Rows, indices: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float32], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, labels: Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], k: int, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

class NClustersSettings:
    def __init__(self) -> None: ...

    @property
    def one_cluster(self) -> float: ...

    @one_cluster.setter
    def one_cluster(self, arg: float, /) -> None: ...

    @property
    def resample(self) -> float: ...

    @resample.setter
    def resample(self, arg: float, /) -> None: ...

    @property
    def resampled_rows(self) -> int: ...

    @resampled_rows.setter
    def resampled_rows(self, arg: int, /) -> None: ...

    @property
    def min_resamples(self) -> int: ...

    @min_resamples.setter
    def min_resamples(self, arg: int, /) -> None: ...

    @property
    def max_resamples(self) -> int: ...

    @max_resamples.setter
    def max_resamples(self, arg: int, /) -> None: ...

    @property
    def overclustering(self) -> int: ...

    @overclustering.setter
    def overclustering(self, arg: int, /) -> None: ...

    @property
    def outliers(self) -> float: ...

    @outliers.setter
    def outliers(self, arg: float, /) -> None: ...

    @property
    def first_rounds(self) -> int: ...

    @first_rounds.setter
    def first_rounds(self, arg: int, /) -> None: ...

    @property
    def merging_rounds(self) -> int: ...

    @merging_rounds.setter
    def merging_rounds(self, arg: int, /) -> None: ...

    @property
    def scored_rounds(self) -> int: ...

    @scored_rounds.setter
    def scored_rounds(self, arg: int, /) -> None: ...

class NClustersEvidence:
    @property
    def silhouette(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def reference(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def adjusted(self) -> Annotated[NDArray[numpy.float64], dict(shape=(None,))]: ...

    @property
    def votes(self) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))]: ...

    @property
    def n_clusters(self) -> int | None: ...

def estimate_n_clusters(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Sequence[int], settings: NClustersSettings, seed: int, threads: int) -> NClustersEvidence: ...

def merged_partitions(rows: Annotated[NDArray[numpy.float32], dict(shape=(None, None), order='C', device='cpu', writable=False)], numbers: Sequence[int], settings: NClustersSettings, seed: int) -> Annotated[NDArray[numpy.int32], dict(shape=(None, None))]: ...

def instruction_set() -> str: ...

def use_instruction_set(name: str) -> bool: ...
