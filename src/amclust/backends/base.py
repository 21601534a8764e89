"""What a backend does, and the rows it does it on."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from amclust import _native
from amclust._completion import DRAW_SEED
from amclust._geometry import Geometry
from amclust._metrics import check_metric
from amclust._rows import Indices, Rows, TableRows, Weights
from amclust._silhouettes import Judged

if TYPE_CHECKING:
    from amclust._network import Network

Progress = Callable[[int, int, float], None]

# So many rows are trained on draws of what they lack: the noise of draws falls with the number of
# rows, what means of missing values do to the memories does not.
MIN_DRAWN_ROWS = 4096
# Rows that are completed at a time for their labels.
CHUNK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The rows to train on."""

    table: Rows  # all of them, in original units
    rows: _native.Rows  # the same in core units
    geometry: Geometry  # these units
    indices: Indices | None  # the rows that are trained on; None: all
    weights: Weights | None  # of these rows, with mean 1; None: all 1
    counts: Weights | None  # the same as given: how many rows each stands for
    judged: Judged  # the rows on which restarts are judged
    has_missing: bool  # in the rows that are trained on
    threads: int  # results do not depend on it
    is_sample: bool  # whether rows that are trained on stand for others, too
    total_weight: float  # of all rows that those stand for which are trained on
    # The least and the largest value of each column, in original units, of all these rows.
    ranges: tuple[NDArray[np.float64], NDArray[np.float64]]
    others_missing: bool = False  # values are missing in rows that are not trained on
    missing_share: float = 0.0  # the part of all values that rows lack
    sample_weight: Weights | None = None  # of all rows of the table, as given; None: all 1

    @property
    def labelled_rows(self) -> _native.Rows:
        """All rows in core units, as labels are told of them: of those not trained on, too."""
        return self._completed if self._completes_apart else self.rows

    @property
    def _completes_apart(self) -> bool:
        """Whether labels are told of other completions than training sees."""
        drawn = self.has_missing and is_drawn(self.n_rows)
        return drawn or (self.others_missing and not self.has_missing)

    @cached_property
    def _completed(self) -> _native.Rows:
        return self._complete(self.table)

    def _complete(self, rows: Rows) -> _native.Rows:
        return self.geometry.read(rows, has_missing=True, threads=self.threads)

    def labels(self, network: Network) -> NDArray[np.int32]:
        """Return the clusters of all rows."""
        rows, n = self.table, self.table.n_rows
        if not self._completes_apart or "_completed" in vars(self) or rows.is_sparse:
            return network.core_labels(self.labelled_rows, n_jobs=self.threads)
        # Completions of some rows at a time: those that training sees are still there.
        found = []
        for first in range(0, n, CHUNK_ROWS):
            some = TableRows(rows.take(np.arange(first, min(first + CHUNK_ROWS, n))))
            found.append(network.core_labels(self._complete(some), n_jobs=self.threads))
        return np.concatenate(found)

    def rows_to_judge(self, judged: Judged) -> tuple[_native.Rows, Judged]:
        """Return rows that partitions are judged on, and which of these rows they are."""
        apart = self._completes_apart and "_completed" not in vars(self)
        if not apart or judged is not self.judged or not judged.is_sample or self.table.is_sparse:
            return self.labelled_rows, judged
        places = np.arange(len(judged.indices))
        return self._completed_to_judge, dataclasses.replace(judged, indices=places)

    @cached_property
    def _completed_to_judge(self) -> _native.Rows:
        return self._complete(TableRows(self.table.take(self.judged.indices)))

    def drawn_rows(self) -> _native.Rows:
        """Return rows that scatter as if nothing were missing, also where few are trained on."""
        if not self.has_missing or is_drawn(self.n_rows):
            return self.rows
        return _read_drawn(self.geometry, self.table, self.indices, self.threads)

    @property
    def n_rows(self) -> int:
        """How many rows are trained on."""
        return self.rows.n_rows if self.indices is None else len(self.indices)

    def __getstate__(self) -> dict[str, Any]:
        # The core's rows are views of the table: another process makes its own.
        made = ("_completed", "_completed_to_judge")
        state = {name: value for name, value in vars(self).items() if name not in made}
        return state | {"rows": self.has_missing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = read_to_train(
            state["geometry"], state["table"], state["indices"], state["rows"], state["threads"]
        )
        self.__dict__.update(state | {"rows": rows})


def read_to_train(
    geometry: Geometry, table: Rows, indices: Indices | None, has_missing: bool, threads: int
) -> _native.Rows:
    """Return rows in core units, as they are trained on: completed where that is known."""
    if has_missing and is_drawn(table.n_rows if indices is None else len(indices)):
        return _read_drawn(geometry, table, indices, threads)
    return geometry.read(table, has_missing=has_missing, threads=threads)


def _read_drawn(
    geometry: Geometry, table: Rows, indices: Indices | None, threads: int
) -> _native.Rows:
    """Return rows in core units; what they lack is drawn from where it is likely to be."""
    return geometry.read(table, has_missing=True, order=indices, seed=DRAW_SEED, threads=threads)


def is_drawn(n_rows: int) -> bool:
    """Whether so many rows are trained on draws of what they lack."""
    return n_rows >= MIN_DRAWN_ROWS


@dataclass(frozen=True, eq=False)
class EnergySeeding:
    """A seeding whose scales are those of an energy that the core does not have.

    `mean_square` and `total_square` are squares where the energy has its distances (of the features
    of a kernel, say), as the scatter is in the silhouette objective; `mean_distance` and
    `median_gap` are the distances by which it attracts, as the temperature needs them.
    """

    memories: NDArray[np.float32]
    mean_square: float
    median_gap: float
    total_square: float
    distinct: int
    mean_distance: float
    compact: bool  # its memories have a bounded reach


# Initial memories, in core units, and how far rows are from them.
Seeding = _native.Seeding | EnergySeeding


def _empty() -> NDArray[np.float32]:
    return np.zeros(0, np.float32)


@dataclass(frozen=True, eq=False)
class EnergyAnswers:
    """The answers of a network whose energy the core does not have; what was not asked is empty."""

    # The memory that each row falls to (-1: none), and how many rows carry each label.
    labels: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    counts: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    # How strongly each memory attracts each row.
    memberships: NDArray[np.float32] = field(default_factory=_empty)
    energy: NDArray[np.float32] = field(default_factory=_empty)
    entropy: NDArray[np.float32] = field(default_factory=_empty)  # of the memberships
    # The distances of rows to memories by which these attract: squares, by default.
    square_distances: NDArray[np.float32] = field(default_factory=_empty)
    # Where the dynamics carries the rows, and the states in between.
    state: NDArray[np.float32] = field(default_factory=_empty)
    trajectory: NDArray[np.float32] = field(default_factory=_empty)
    filled: NDArray[np.float32] = field(default_factory=_empty)  # rows without missing values
    row_scale: NDArray[np.float32] = field(default_factory=_empty)  # lengths of directions


# What a network says about rows, in core units.
Answers = _native.Answers | EnergyAnswers


class EnergyFunction(Protocol):
    """An energy that the core does not have: an `Energy` of `amclust.torch`."""

    compact: bool
    dim: int | None
    spherical: bool
    degree: float


class Backend(Protocol):
    """What computes."""

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> Sequence[Seeding]:
        """Return initial memories for each seed, by the method of each."""

    def measure(
        self, data: TrainingSet, memories: NDArray[np.float32], sample_seed: int
    ) -> Seeding:
        """Return given initial memories, with the scales that a seeding has."""

    def train(
        self, data: TrainingSet, plans: Sequence[_native.Plan], progress: Progress | None
    ) -> list[_native.Record]:
        """Train runs of any configurations on the same rows."""

    def infer(
        self,
        network: Network,
        rows: _native.Rows,
        want: _native.Want,
        *,
        indices: Indices | None = None,
        threads: int = 1,
        fill_from_observed: bool = True,
    ) -> Answers:
        """Ask a network about rows in core units."""


def find_backend(name: str, device: Any, metric: Any = "euclidean") -> Backend:
    """Return the backend that trains; it must have the metric."""
    check_metric(metric, name)
    if name == "native":
        if device is not None:
            msg = (
                f"device={device!r} needs backend='torch': backend='native' trains on the "
                "CPU. Set backend='torch', or leave device=None."
            )
            raise ValueError(msg)
        from amclust.backends.native import NativeBackend

        return NativeBackend()
    if importlib.util.find_spec("torch") is None:
        msg = "backend='torch' needs PyTorch: pip install \"amclust[torch]\""
        raise ModuleNotFoundError(msg, name="torch")
    from amclust.backends.torch import TorchBackend

    return TorchBackend(device)
