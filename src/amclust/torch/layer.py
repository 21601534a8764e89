"""The memory network as a module: memories and temperature are its parameters."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from amclust._geometry import ROUNDING, Geometry
from amclust.torch import functional as F
from amclust.torch._completion import hold
from amclust.torch._dynamics import BACKWARD, Backward
from amclust.torch._units import Units
from amclust.torch.energies import Cosine, Energy, Euclidean, Weighted, find_energy, metric_of
from amclust.torch.energies._base import keep
from amclust.torch.energies._weighted import log_strengths

if TYPE_CHECKING:
    from amclust._network import Network


class AssociativeMemory(nn.Module):
    r"""A dense associative memory that carries its input to one of k learned memories.

    Parameters
    ----------
    n_memories : int
        Number of memories, k.
    dim : int
        Number of features of the input.
    energy : Energy or str, default="euclidean"
        What draws states to memories: "euclidean", "cosine", "manhattan", "epanechnikov",
        "mahalanobis", "kernel", "weighted", or an object from :mod:`amclust.torch.energies`; its
        parameters become the layer's.
    beta : float, default=1.0
        Inverse temperature: large makes the basins sharp. It has the unit of an inverse squared
        distance, so it must suit the spread of the input.
    n_steps : int, default=10
        Number of steps that the input is carried.
    step_size : float, default=0.5
        How much of the way to go in a step, in (0, 1].
    learn_beta : bool, default=False
        Whether the temperature is learned (its logarithm is the parameter).
    weights : None, "learn" or sequence of float, default=None
        Strengths of the memories: all the same, learned, or given.
    backward : {"store", "checkpoint", "implicit"}, default="store"
        How gradients get through the steps, see :func:`~amclust.torch.functional.recall`.
    generator : torch.Generator, default=None
        Where the first memories are drawn from.
    device, dtype
        Of the parameters.

    Attributes
    ----------
    memories : Parameter of shape (n_memories, dim)
        Drawn from the standard normal distribution; :meth:`seed_` places them on rows.
    energy_function : Energy
        What draws states to memories.
    units : Units or None
        Of the rows of a fitted network, see :meth:`from_network`: the layer takes and gives rows in
        original units then, and completes missing values; memories and temperature are in core
        units. None: everything is in the same units.
    assembly : int64 Tensor of shape (n_memories,) or None
        The cluster of each memory; None: each is one of its own.
    max_energy : Tensor of shape (n_memories,) or None
        How high above the ground a row may lie that falls to each memory, in core units; one that
        lies higher is noise. None: none is.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import AssociativeMemory
    >>> memory = AssociativeMemory(2, 3, beta=4.0)
    >>> with torch.no_grad():
    ...     _ = memory.memories.copy_(torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]))
    >>> memory(torch.tensor([[0.9, 1.2, 0.8]])).round(decimals=2)
    tensor([[1., 1., 1.]], grad_fn=<...>)
    >>> memory.assign(torch.tensor([[0.9, 1.2, 0.8], [0.1, 0.0, 0.2]]))
    tensor([1, 0])
    >>> memory
    AssociativeMemory(
      n_memories=2, dim=3, beta=4, n_steps=10, step_size=0.5
      (energy_function): Euclidean()
    )
    """

    log_beta: Tensor
    log_weights: Tensor | None
    assembly: Tensor | None
    max_energy: Tensor | None
    ignored_means: Tensor | None

    def __init__(
        self,
        n_memories: int,
        dim: int,
        *,
        energy: Energy | str = "euclidean",
        beta: float = 1.0,
        n_steps: int = 10,
        step_size: float = 0.5,
        learn_beta: bool = False,
        weights: str | Sequence[float] | Tensor | None = None,
        backward: Backward = "store",
        generator: torch.Generator | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        _check_count("n_memories", n_memories, 1)
        _check_count("dim", dim, 1)
        _check_count("n_steps", n_steps, 0)
        _check_positive("beta", beta)
        if not 0 < step_size <= 1:
            message = f"step_size must be in (0, 1], got {step_size}"
            raise ValueError(message)
        if backward not in BACKWARD:
            message = f"backward must be 'store', 'checkpoint' or 'implicit', got {backward!r}"
            raise ValueError(message)
        self.n_memories, self.dim = n_memories, dim
        self.n_steps, self.step_size, self.backward = n_steps, step_size, backward
        self.memories = nn.Parameter(torch.empty(n_memories, dim))
        self.energy_function = find_energy(energy, dim=dim, n_memories=n_memories)
        if isinstance(self.energy_function, Weighted) and weights is not None:
            message = "weights must be None with an energy that is Weighted: it has the weights"
            raise ValueError(message)
        log_weights = _log_weights(weights, n_memories)
        self._first_beta = float(beta)
        self._first_weights = None if log_weights is None else log_weights.exp().tolist()
        keep(self, "log_beta", torch.empty(()), learn=learn_beta)
        keep(self, "log_weights", log_weights, learn=isinstance(weights, str))
        # What a fitted network has besides, see from_network.
        self.units: Units | None = None
        self.n_clusters, self.fills_from_mask, self._ground_shift = n_memories, False, 0.0
        for name in ("assembly", "max_energy", "ignored_means"):
            self.register_buffer(name, None)
        self.reset_parameters(generator)
        self.to(device=device, dtype=dtype)

    @classmethod
    def from_network(
        cls,
        network: Network,
        *,
        learn_beta: bool = False,
        learn_weights: bool = False,
        backward: Backward = "store",
    ) -> AssociativeMemory:
        """Return a fitted network as a layer, which can be trained further.

        Rows are in original units, NaN where values are missing: the network completes them, by
        regression if it has learned that. Labels and memberships are those of the clusters, as
        :class:`~amclust.ClAM` gives them. The units are not learned, and not in the state dict.

        Parameters
        ----------
        network : Network
            ``model.network_`` of a fitted :class:`~amclust.ClAM`.
        learn_beta, learn_weights : bool, default=False
            Whether the temperature and the strengths of the memories are learned with the memories.
        backward : {"store", "checkpoint", "implicit"}, default="store"
            How gradients get through the steps.

        Returns
        -------
        AssociativeMemory

        Examples
        --------
        >>> import numpy as np, torch
        >>> from amclust import ClAM
        >>> from amclust.torch import AssociativeMemory
        >>> X = np.array([[0.0, 10.0], [1.0, 30.0], [8.0, 70.0], [9.0, np.nan]])
        >>> model = ClAM(2, random_state=0).fit(X)
        >>> memory = AssociativeMemory.from_network(model.network_)
        >>> bool((memory.assign(torch.tensor(X)).numpy() == model.labels_).all())
        True
        """
        energy: Energy
        if network.energy_function is not None:
            assert isinstance(network.energy_function, Energy)
            energy = copy.deepcopy(network.energy_function)
        else:
            energy = Cosine() if network.geometry.spherical else Euclidean()
        weights = None
        if not isinstance(energy, Weighted):
            has_weights = learn_weights or bool(network.log_weights.any())
            weights = network.weights if has_weights else None
        layer = cls(
            network.n_memories,
            network.n_features,
            energy=energy,
            beta=network.beta,
            n_steps=network.n_steps,
            step_size=network.step_size,
            learn_beta=learn_beta,
            weights=None if weights is None else weights.tolist(),
            backward=backward,
        )
        if weights is not None:
            del layer.log_weights
            keep(layer, "log_weights", torch.tensor(network.log_weights), learn=learn_weights)
        with torch.no_grad():
            layer.memories.copy_(torch.tensor(network.memories))
        layer.units = Units(network.geometry)
        layer.n_clusters, layer.fills_from_mask = network.n_clusters, network.fills_from_mask
        if network.geometry.spherical and network.energy_function is None:
            layer._ground_shift = 1.0  # the energy of a direction is minus a cosine
        if not network.is_plain:
            hold(layer, "assembly", network.assembly.astype("int64"))
        for name in ("max_energy", "ignored_means"):
            if getattr(network, name) is not None:
                hold(layer, name, getattr(network, name))
        return layer

    def network_parts(self) -> dict[str, Any]:
        """Return what :class:`~amclust.Network` is made of, as it is now."""
        energy = copy.deepcopy(self.energy_function).to("cpu", torch.float32)
        geometry = None if self.units is None else self.units.geometry
        if geometry is None:
            geometry = Geometry(
                metric_of(energy, dim=self.dim),
                "float32",
                offset=np.zeros(self.dim),
                scale=np.ones(self.dim, np.float32),
                fill=np.zeros(self.dim, np.float32),
                length=1.0,
            )
        assembly = torch.arange(self.n_memories) if self.assembly is None else self.assembly
        logs = torch.zeros(self.n_memories) if self.log_weights is None else self.log_weights
        memories = self.memories.detach()
        if geometry.is_native:
            memories = self.energy_function.place(memories)
        return {
            "memories": _array(memories, np.float32),
            "log_weights": _array(logs, np.float32),
            "beta": float(self.beta.detach()),
            "step_size": self.step_size,
            "n_steps": self.n_steps,
            "geometry": geometry,
            "assembly": _array(assembly, np.int32),
            "fills_from_mask": self.fills_from_mask,
            "energy_function": None if geometry.is_native else energy,
            "max_energy": None if self.max_energy is None else _array(self.max_energy),
            "ignored_means": None if self.ignored_means is None else _array(self.ignored_means),
        }

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Draw the memories anew, from the standard normal distribution; the rest is as given."""
        with torch.no_grad():
            self.memories.copy_(torch.randn(self.memories.shape, generator=generator))
            self.log_beta.fill_(math.log(self._first_beta))
            if self.log_weights is not None:
                self.log_weights.copy_(torch.tensor(self._first_weights).log())

    @torch.no_grad()
    def seed_(self, x: Tensor, generator: torch.Generator | None = None) -> AssociativeMemory:
        """Place the memories on rows far from one another, as k-means++ does.

        Parameters
        ----------
        x : Tensor of shape (..., dim)
            Rows without missing values, at least as many as memories.
        generator : torch.Generator, default=None
            Where the rows are drawn from.

        Returns
        -------
        AssociativeMemory
            The layer itself.
        """
        rows, _ = self._rows(x.detach(), None)
        if not bool(rows.isfinite().all()):
            message = "x must be finite, got NaN or infinity"
            raise ValueError(message)
        if len(rows) < self.n_memories:
            message = (
                f"x has {len(rows)} row(s), n_memories={self.n_memories} need at least as many"
            )
            raise ValueError(message)
        chances = torch.ones(len(rows))
        nearest = torch.full((len(rows),), torch.inf, device=rows.device)
        for index in range(self.n_memories):
            pick = int(torch.multinomial(chances, 1, generator=generator))
            self.memories[index] = rows[pick].to(self.memories)
            nearest = nearest.minimum((rows - rows[pick]).square().sum(-1).to(nearest))
            # Where all rows are taken, any may be taken again.
            chances = nearest.cpu() if bool((nearest > 0).any()) else torch.ones(len(rows))
        return self

    @property
    def beta(self) -> Tensor:
        """The inverse temperature; it may be set, by a schedule for example."""
        return self.log_beta.exp()

    @beta.setter
    def beta(self, value: float | Tensor) -> None:
        beta = float(value)
        _check_positive("beta", beta)
        with torch.no_grad():
            self.log_beta.fill_(math.log(beta))

    @property
    def weights(self) -> Tensor | None:
        """The strengths of the memories; None: all the same."""
        return None if self.log_weights is None else self.log_weights.exp()

    @property
    def centers(self) -> Tensor:
        """The memories in the units of the rows."""
        placed = self.energy_function.place(self.memories)
        return placed if self.units is None else self.units.centers(placed).to(placed.dtype)

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Carry rows to the memories.

        Parameters
        ----------
        x : Tensor of shape (..., dim)
            The rows.
        missing : bool Tensor like ``x``, default=None
            Where rows have no value (``x.isnan()``, say); None: nowhere, or with `units` where they
            are NaN.

        Returns
        -------
        Tensor like ``x``
        """
        rows, absent = self._rows(x, missing)
        state = self._ask(F.recall, rows, missing=absent, backward=self.backward, **self._steps)
        if self.units is not None:
            state = self.units.centers(state).to(x.dtype)
        return state.reshape(x.shape)

    def complete(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the rows with their missing values filled in; with `units`, NaN is missing."""
        if self.units is not None:
            return self._completed_in_units(self.units, x, missing)
        if missing is None:
            message = "missing must be given: only a layer that has units takes NaN as missing"
            raise ValueError(message)
        rows, absent = self._rows(x, missing)
        return self._completed(rows, absent).reshape(x.shape)

    def assign(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the memory (its cluster) that every row is carried to, (...); -1: noise."""
        rows, absent = self._rows(x, missing)
        labels = self._ask(F.assign, rows, missing=absent, **self._steps)
        clusters = labels
        if self.assembly is not None:
            clusters = torch.where(labels < 0, labels, self.assembly[labels.clamp(min=0)])
        if self.max_energy is not None:
            with torch.no_grad():
                heights = self._heights(x, missing, rows, absent)
                clusters = torch.where(heights > self.max_energy[labels], -1, clusters)
        return clusters.reshape(x.shape[:-1])

    def memberships(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return how much every row belongs to every memory (cluster), (..., n_clusters)."""
        p = self._ask(F.memberships, self._state(*self._rows(x, missing)))
        if self.assembly is not None:
            p = p @ nn.functional.one_hot(self.assembly, self.n_clusters).to(p.dtype)
        return p.reshape(*x.shape[:-1], self.n_clusters)

    def energy(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the energy of every row, (...)."""
        energy = self._ask(F.energy, self._state(*self._rows(x, missing)))
        if self.units is not None:
            energy = energy * self.units.distance_unit
        return energy.reshape(x.shape[:-1])

    def extra_repr(self) -> str:
        """Return the parameters for the printed form."""
        known = self.log_beta.device.type != "meta"
        parts = [
            f"n_memories={self.n_memories}",
            f"dim={self.dim}",
            f"beta={self.beta.item():.4g}" if known else "beta=?",
            f"n_steps={self.n_steps}",
            f"step_size={self.step_size:g}",
        ]
        if isinstance(self.log_beta, nn.Parameter):
            parts.append("learn_beta=True")
        if self.log_weights is not None:
            learned = isinstance(self.log_weights, nn.Parameter)
            parts.append(f"weights={'learned' if learned else 'given'}")
        if self.backward != "store":
            parts.append(f"backward={self.backward!r}")
        return ", ".join(parts)

    @property
    def _steps(self) -> dict[str, Any]:
        return {"n_steps": self.n_steps, "step_size": self.step_size}

    def _ask(self, function: Callable[..., Tensor], rows: Tensor, **more: Any) -> Tensor:
        """Ask a function of tensors about rows, with the network that the layer is."""
        network = {"energy": self.energy_function, "log_weights": self.log_weights}
        return function(rows, self.memories, self.beta, **network, **more)

    def _rows(self, x: Tensor, missing: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the input as (n, dim)."""
        if x.shape[-1:] != (self.dim,):
            message = f"x must have dim={self.dim} features in its last dimension, got {x.shape}"
            raise ValueError(message)
        if missing is not None:
            if missing.shape != x.shape or missing.dtype != torch.bool:
                message = (
                    f"missing must be a bool tensor of x's shape {tuple(x.shape)}, got "
                    f"{missing.dtype} of shape {tuple(missing.shape)}"
                )
                raise ValueError(message)
            missing = missing.reshape(-1, self.dim)
        x = x.reshape(-1, self.dim)
        if self.units is None:
            return x, missing
        rows, missing = self.units(x, missing)
        return rows.to(self.memories.dtype), missing

    def _state(self, rows: Tensor, absent: Tensor | None) -> Tensor:
        if absent is None:
            return self.energy_function.place(rows)
        if self.units is None:
            return self.energy_function.place(self._completed(rows, absent))
        # As a network has it: what is observed counts as long as the whole.
        return self._completed(self.energy_function.place(rows, absent), absent)

    def _completed(self, rows: Tensor, missing: Tensor | None) -> Tensor:
        if missing is None:
            return rows
        return self._ask(F.complete, rows, missing=missing, backward=self.backward, **self._steps)

    def _completed_in_units(self, units: Units, x: Tensor, missing: Tensor | None) -> Tensor:
        """Return rows in original units, completed as the network completes them."""
        flat = x.reshape(-1, self.dim)
        gone = flat.isnan() if missing is None else missing.reshape(flat.shape) | flat.isnan()
        if units.completer is not None:
            return units.complete(flat, gone).reshape(x.shape)
        rows, absent = self._rows(x, missing)
        if absent is None:
            return x
        if self.fills_from_mask:
            fill = units.fill.to(rows.dtype)
            more: dict[str, Any] = {"missing": absent, "hidden": absent, "fill": fill}
            state = self._ask(F.recall, rows, backward=self.backward, **more, **self._steps)
            length = self.energy_function.length(rows, absent)
            filled = state if length is None else state * length
        else:
            filled = self._completed(rows, absent)
        found = units.centers(filled)
        if self.ignored_means is not None:
            memories = self._ask(F.assign, rows, missing=absent, **self._steps)
            ignored = units.scale == 0
            found[:, ignored] = self.ignored_means[memories].to(found.dtype)
        found = units.within(found).to(x.dtype)
        return torch.where(gone, found, flat).reshape(x.shape)

    def _heights(
        self, x: Tensor, missing: Tensor | None, rows: Tensor, absent: Tensor | None
    ) -> Tensor:
        """Return how high above the ground rows lie, by the values that they have."""
        logs = self.memories.new_zeros(self.n_memories)
        if self.log_weights is not None:
            logs = self.log_weights
        ground = -logs.double().logsumexp(-1) / self.beta - self._ground_shift
        heights = self._ask(F.energy, self._state(rows, absent)).double() - ground
        if self.units is not None and self.units.whitening is None:
            flat = x.reshape(-1, self.dim)
            mask = None if missing is None else missing.reshape(-1, self.dim)
            observed, gone = self.units.observed(flat, mask)
            observed = observed.to(self.memories.dtype)
            if gone is None:
                gone = torch.zeros_like(observed, dtype=torch.bool)
            counted = self.units.counted.double()
            there = (~gone).double() @ counted
            own = self._ask(F.energy, self._state(observed, gone)).double() - ground
            scaled = own * counted.sum() / there.clamp(min=ROUNDING)
            heights = torch.where(there > ROUNDING, scaled, heights)
        return heights.clamp(min=0.0)


def _array(values: Tensor, kind: Any = np.float64) -> Any:
    return values.detach().cpu().double().numpy().astype(kind)


def _log_weights(weights: str | Sequence[float] | Tensor | None, n_memories: int) -> Tensor | None:
    if weights is None:
        return None
    if isinstance(weights, str):
        if weights != "learn":
            message = f"weights must be None, 'learn' or a sequence of numbers, got {weights!r}"
            raise ValueError(message)
        return log_strengths(n_memories)
    found = log_strengths(weights)
    if len(found) != n_memories:
        message = f"weights must have n_memories={n_memories} entries, got {len(found)}"
        raise ValueError(message)
    return found


def _check_positive(name: str, value: Any) -> None:
    if not (isinstance(value, Real) and 0 < float(value) < math.inf):
        message = f"{name} must be a positive number, got {value!r}"
        raise ValueError(message)


def _check_count(name: str, value: Any, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        message = f"{name} must be an integer of at least {least}, got {value!r}"
        raise ValueError(message)
