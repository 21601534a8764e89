"""What a backend does, and the rows it does it on."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from amclust import _native
from amclust._geometry import Geometry
from amclust._rows import Indices, Weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from amclust._network import Network

Progress = Callable[[int, int, float], None]


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The rows to train on.

    Attributes
    ----------
    rows : _native.Rows
        All rows, in core units.

    geometry : Geometry
        These units.

    indices : ndarray or None
        The rows that are trained on; None: all.

    weights : ndarray or None
        Of these rows, with mean 1; None: all 1.

    counts : ndarray or None
        The same as given: how many rows each stands for.

    judged, judged_counts : ndarrays
        The rows on which restarts are judged, and how many each stands for.

    threads : int
        How many threads to use. Results do not depend on it.
    """

    rows: _native.Rows
    geometry: Geometry
    indices: Indices | None
    weights: Weights | None
    counts: Weights | None
    judged: Indices
    judged_counts: Weights
    threads: int

    @property
    def n_rows(self) -> int:
        """How many rows are trained on."""
        return self.rows.n_rows if self.indices is None else len(self.indices)


class Backend(Protocol):
    """What computes."""

    def seed(
        self,
        data: TrainingSet,
        n_clusters: int,
        methods: Sequence[str],
        seeds: Sequence[int],
        sample_seed: int,
    ) -> list[_native.Seeding]:
        """Return initial memories for each seed, by the method of each."""

    def measure(
        self, data: TrainingSet, memories: NDArray[np.float32], sample_seed: int
    ) -> _native.Seeding:
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
    ) -> _native.Answers:
        """Ask a network about rows in core units."""


def find_backend(name: str, device: Any) -> Backend:
    """Return the backend that trains."""
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
