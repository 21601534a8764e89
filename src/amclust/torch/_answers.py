"""What a network with an energy of its own says about rows; the core answers for the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from amclust import _native
from amclust._rows import Indices
from amclust.backends.base import EnergyAnswers
from amclust.torch import functional as F
from amclust.torch.energies import Energy

if TYPE_CHECKING:
    from amclust._network import Network

Want = _native.Want

# Entries of a (rows, memories, features) array.
MAX_CELLS = 2**23


@torch.no_grad()
def infer(
    network: Network,
    rows: _native.Rows,
    want: _native.Want,
    indices: Indices | None,
    *,
    fill_from_observed: bool,
) -> EnergyAnswers:
    """Ask a network about rows in core units; answers are in core units, on the host."""
    found: dict[str, list[NDArray[Any]]] = {}
    asked = Asked(network, fill_from_observed=fill_from_observed)
    for x, missing in blocks(rows, indices, asked.energy, asked.memories):
        for name, values in asked.answers(x, missing, want):
            found.setdefault(name, []).append(values.numpy())
    joined = {
        name: np.concatenate(values, axis=1 if name == "trajectory" else 0)
        for name, values in found.items()
    }
    labels = joined.get("labels")
    if labels is not None and Want.COUNTS in want:
        joined["counts"] = np.bincount(labels[labels >= 0], minlength=network.n_memories).astype(
            np.float64
        )
    if Want.ROW_SCALE in want and rows.energy == "cosine":
        joined["row_scale"] = _native_row_scale(network, rows, indices)
    return EnergyAnswers(**joined)


class Asked:
    """A network as tensors."""

    def __init__(self, network: Network, *, fill_from_observed: bool) -> None:
        assert isinstance(network.energy_function, Energy)
        self.energy = network.energy_function
        self.memories = torch.tensor(network.memories)
        self.fill = torch.tensor(network.geometry.fill)
        self.beta, self.log_weights = network.beta, torch.tensor(network.log_weights)
        self.dynamics: dict[str, Any] = {
            "energy": self.energy,
            "log_weights": self.log_weights,
            "n_steps": network.n_steps,
            "step_size": network.step_size,
        }
        self.fill_from_observed = fill_from_observed

    def answers(
        self, x: Tensor, missing: Tensor | None, want: _native.Want
    ) -> Iterator[tuple[str, Tensor]]:
        """Yield what is wanted of rows, by name."""
        # What is filled is where states live already; the observed values stay as they are.
        x = self.energy.place(x) if missing is None else self.filled(x, missing)
        net = self.memories, self.beta
        plain: dict[str, Any] = {"energy": self.energy, "log_weights": self.log_weights}
        if Want.LABELS in want or Want.COUNTS in want:
            yield "labels", F.assign(x, *net, **self.dynamics).to(torch.int32)
        if Want.MEMBERSHIPS in want:
            yield "memberships", F.memberships(x, *net, **plain)
        if Want.ENERGY in want:
            yield "energy", F.energy(x, *net, **plain)
        if Want.ENTROPY in want:
            yield "entropy", F.entropy(x, *net, **plain)
        if Want.SQUARE_DISTANCES in want:
            yield "square_distances", self.energy.distances(x, self.memories).clamp(min=0)
        if Want.STATE in want:
            yield "state", F.recall(x, *net, **self.dynamics)
        if Want.TRAJECTORY in want:
            yield "trajectory", F.recall(x, *net, **self.dynamics, return_trajectory=True)
        if Want.FILLED in want:
            yield "filled", x

    def filled(self, x: Tensor, missing: Tensor) -> Tensor:
        """Fill missing values, from where the observed ones point or from the mask value."""
        if self.fill_from_observed:
            return F.complete(x, self.memories, self.beta, missing=missing, **self.dynamics)
        state = F.recall(
            x,
            self.memories,
            self.beta,
            hidden=missing,
            missing=missing,
            fill=self.fill,
            **self.dynamics,
        )
        return torch.where(missing, state, x)


def blocks(
    rows: _native.Rows, indices: Indices | None, energy: Energy, memories: Tensor
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Yield rows a part at a time, and where they have no value."""
    every = np.arange(rows.n_rows) if indices is None else indices
    k, d = memories.shape
    width = max(d, energy.embed(memories[:1]).shape[-1])
    size = max(1, MAX_CELLS // (k * width))
    for start in range(0, len(every), size):
        part = np.ascontiguousarray(every[start : start + size], dtype=np.int64)
        x = torch.from_numpy(_native.load_rows(rows, part))
        missing = x.isnan() if rows.has_missing else None
        if missing is not None and not bool(missing.any()):
            missing = None
        yield x, missing


def _native_row_scale(
    network: Network, rows: _native.Rows, indices: Indices | None
) -> NDArray[np.float32]:
    from amclust.backends.native import NativeBackend

    return NativeBackend().infer(network, rows, Want.ROW_SCALE, indices=indices).row_scale
