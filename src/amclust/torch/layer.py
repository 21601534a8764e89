"""The memory network as a module: memories and temperature are its parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from amclust.torch import functional as F
from amclust.torch._dynamics import BACKWARD, Backward
from amclust.torch.energies import Energy, Weighted, find_energy
from amclust.torch.energies._base import keep
from amclust.torch.energies._weighted import log_strengths


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
        self.reset_parameters(generator)
        self.to(device=device, dtype=dtype)

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
        """The inverse temperature."""
        return self.log_beta.exp()

    @property
    def weights(self) -> Tensor | None:
        """The strengths of the memories; None: all the same."""
        return None if self.log_weights is None else self.log_weights.exp()

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Carry rows to the memories.

        Parameters
        ----------
        x : Tensor of shape (..., dim)
            The rows.
        missing : bool Tensor like ``x``, default=None
            Where rows have no value (``x.isnan()``, say); None: nowhere.

        Returns
        -------
        Tensor like ``x``
        """
        rows, absent = self._rows(x, missing)
        state = self._ask(F.recall, rows, missing=absent, backward=self.backward, **self._steps)
        return state.reshape(x.shape)

    def complete(self, x: Tensor, missing: Tensor) -> Tensor:
        """Return the rows with their missing values filled in."""
        rows, absent = self._rows(x, missing)
        return self._completed(rows, absent).reshape(x.shape)

    def assign(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the memory that every row is carried to, (...); -1: noise."""
        rows, absent = self._rows(x, missing)
        labels = self._ask(F.assign, rows, missing=absent, **self._steps)
        return labels.reshape(x.shape[:-1])

    def memberships(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return how much every row belongs to every memory, (..., n_memories)."""
        p = self._ask(F.memberships, self._state(x, missing))
        return p.reshape(*x.shape[:-1], self.n_memories)

    def energy(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return the energy of every row, (...)."""
        return self._ask(F.energy, self._state(x, missing)).reshape(x.shape[:-1])

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
        return x.reshape(-1, self.dim), missing

    def _state(self, x: Tensor, missing: Tensor | None) -> Tensor:
        rows, absent = self._rows(x, missing)
        if absent is not None:
            rows = self._completed(rows, absent)
        return self.energy_function.place(rows)

    def _completed(self, rows: Tensor, missing: Tensor | None) -> Tensor:
        if missing is None:
            return rows
        return self._ask(F.complete, rows, missing=missing, backward=self.backward, **self._steps)


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
