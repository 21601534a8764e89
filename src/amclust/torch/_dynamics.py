"""The attractor dynamics: where a network carries states, and what it makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from amclust.torch._backward import BACKWARD, carry
from amclust.torch.energies import Energy, find_energy

Backward = Literal["store", "checkpoint", "implicit"]


def energy(
    state: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
) -> Tensor:
    """Return the energy of states.

    Parameters
    ----------
    state : Tensor of shape (..., n, d)
        The states.
    memories : Tensor of shape (..., k, d)
        The memories. Leading dimensions broadcast with those of the states.
    beta : float or Tensor
        Inverse temperature; a tensor has the shape of the leading dimensions.
    energy : Energy or str, default=None
        What draws states to memories, or its name ("euclidean", "cosine", "manhattan",
        "epanechnikov", "mahalanobis", "kernel", "weighted"; see :mod:`amclust.torch.energies`);
        None: :class:`~amclust.torch.energies.Euclidean`.
    log_weights : Tensor of shape (..., k), default=None
        Logarithms of the memories' weights; None: all weigh the same.

    Returns
    -------
    Tensor of shape (..., n)

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> F.energy(torch.tensor([[1.0], [0.0]]), torch.tensor([[0.0]]), beta=2.0)
    tensor([1., -0.])
    """
    network = make_network(state, memories, beta, energy, log_weights)
    out: Tensor = network.energy(state, memories, beta, log_weights)
    return out


def memberships(
    state: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
) -> Tensor:
    """Return how much states belong to memories: a softmax over their attractions.

    Parameters
    ----------
    state, memories, beta, energy, log_weights
        As in :func:`energy`.

    Returns
    -------
    Tensor of shape (..., n, k)

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> F.memberships(torch.tensor([[0.0]]), torch.tensor([[-1.0], [1.0]]), beta=3.0)
    tensor([[0.5000, 0.5000]])
    """
    return make_network(state, memories, beta, energy, log_weights).memberships(state)


def entropy(
    state: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
) -> Tensor:
    """Return the entropy of the memberships, in nats: 0 well inside a cluster.

    Parameters
    ----------
    state, memories, beta, energy, log_weights
        As in :func:`energy`.

    Returns
    -------
    Tensor of shape (..., n)

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> F.entropy(torch.tensor([[0.0]]), torch.tensor([[-1.0], [1.0]]), beta=3.0)
    tensor([0.6931])
    """
    p = memberships(state, memories, beta, energy=energy, log_weights=log_weights)
    # The derivative of p log p at 0 is infinite, though what it stands for vanishes there.
    return -(p * p.clamp(min=torch.finfo(p.dtype).tiny).log()).sum(-1)


def step(
    state: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    step_size: float = 0.5,
    moves: Tensor | None = None,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
) -> Tensor:
    """Carry states one step on: down the energy, to the memories.

    Parameters
    ----------
    state, memories, beta, energy, log_weights
        As in :func:`energy`.
    step_size : float, default=0.5
        How much of the way to go; the energy does not rise up to 1.
    moves : bool Tensor of shape (..., n, d), default=None
        The coordinates that move while the others are held; None: all.

    Returns
    -------
    Tensor of shape (..., n, d)

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> F.step(torch.tensor([[1.0, 1.0]]), torch.zeros(1, 2), 1.0, step_size=0.25)
    tensor([[0.7500, 0.7500]])
    """
    network = make_network(state, memories, beta, energy, log_weights)
    check_masks(state, moves=moves)
    return network.step(state, step_size, moves)


def recall(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    n_steps: int = 10,
    step_size: float = 0.5,
    hidden: Tensor | None = None,
    missing: Tensor | None = None,
    fill: float | Tensor = 0.0,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
    backward: Backward = "store",
    return_trajectory: bool = False,
) -> Tensor:
    """Carry rows to the memories.

    Parameters
    ----------
    x : Tensor of shape (..., n, d)
        The rows.
    memories, beta, energy, log_weights
        As in :func:`energy`.
    n_steps : int, default=10
        Number of steps.
    step_size : float, default=0.5
        How much of the way to go in a step.
    hidden : bool Tensor of shape (..., n, d), default=None
        Coordinates that are not shown to the network: they start at ``fill`` and move, the others
        are held. None: all are shown, and all move.
    missing : bool Tensor of shape (..., n, d), default=None
        Where rows have no value (``x.isnan()``, say). With ``hidden`` they are hidden too; without,
        they are completed first (:func:`complete`). None: rows are complete.
    fill : float or Tensor of shape (d,), default=0.0
        Where hidden coordinates start.
    backward : {"store", "checkpoint", "implicit"}, default="store"
        How gradients get through the steps. "store" keeps all states; "checkpoint" keeps about
        2 √n_steps of them and computes the others again; "implicit" keeps one and solves for the
        gradient at the fixed point, which is right where the dynamics has converged.
    return_trajectory : bool, default=False
        Return all states, the first one included.

    Returns
    -------
    Tensor of shape (..., n, d), or (n_steps + 1, ..., n, d) with ``return_trajectory``

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> memories = torch.tensor([[0.0, 0.0], [4.0, 4.0]])
    >>> F.recall(torch.tensor([[3.0, 5.0]]), memories, beta=1.0, n_steps=20)
    tensor([[4.0000, 4.0000]])
    >>> half = torch.tensor([[False, True]])
    >>> F.recall(torch.tensor([[4.0, torch.nan]]), memories, 1.0, n_steps=20, hidden=half)
    tensor([[4.0000, 4.0000]])
    """
    network = make_network(x, memories, beta, energy, log_weights)
    dynamics = make_dynamics(n_steps, step_size, backward)
    check_masks(x, hidden=hidden, missing=missing)
    x = network.place(x, missing)
    moves = hidden
    if hidden is not None:
        moves = hidden if missing is None else hidden | missing
        x = torch.where(moves, fill, x)
    elif missing is not None:
        x = completed(x, network, missing, dynamics)
    if return_trajectory:
        return _trajectory(lambda state: network.step(state, step_size, moves), x, n_steps)
    return carried(x, network, moves, dynamics)


def complete(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    missing: Tensor,
    n_steps: int = 10,
    step_size: float = 0.5,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
    backward: Backward = "store",
) -> Tensor:
    """Fill in missing values; what is known stays as it is.

    They start where the memories have them that the observed values point to, and follow the
    dynamics from there.

    Parameters
    ----------
    x, memories, beta, n_steps, step_size, energy, log_weights, backward
        As in :func:`recall`.
    missing : bool Tensor of shape (..., n, d)
        Where rows have no value; there ``x`` may hold anything, NaN too.

    Returns
    -------
    Tensor of shape (..., n, d)

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> x = torch.tensor([[4.5, torch.nan]])
    >>> F.complete(x, torch.tensor([[0.0, 0.0], [4.0, 4.0]]), 1.0, missing=x.isnan())
    tensor([[4.5000, 4.0000]])
    """
    network = make_network(x, memories, beta, energy, log_weights)
    dynamics = make_dynamics(n_steps, step_size, backward)
    check_masks(x, missing=missing)
    filled = completed(network.place(x, missing), network, missing, dynamics)
    length = network.energy.length(x, missing)
    return torch.where(missing, filled if length is None else filled * length, x)


def assign(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    n_steps: int = 10,
    step_size: float = 0.5,
    missing: Tensor | None = None,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
) -> Tensor:
    """Return the memory that every row is carried to.

    Parameters
    ----------
    x, memories, beta, n_steps, step_size, missing, energy, log_weights
        As in :func:`recall`.

    Returns
    -------
    int64 Tensor of shape (..., n)
        -1 for noise, rows out of reach of all memories (log-sum-ReLU energy), and for rows with NaN
        or infinity that are not masked as ``missing``.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> memories = torch.tensor([[0.0, 0.0], [4.0, 4.0]])
    >>> F.assign(torch.tensor([[3.0, 5.0], [1.0, 0.0]]), memories, beta=1.0)
    tensor([1, 0])
    """
    network = make_network(x, memories, beta, energy, log_weights)
    with torch.no_grad():
        state = recall(
            x,
            memories,
            beta,
            n_steps=n_steps,
            step_size=step_size,
            missing=missing,
            energy=energy,
            log_weights=log_weights,
        )
        attraction = network.energy.attraction(state, memories)
        lost = attraction.isnan().any(-1)
        if network.energy.compact:
            lost |= network.memberships(state).sum(-1) == 0
        return torch.where(lost, -1, attraction.argmax(-1))


class Network(NamedTuple):
    """Memories and the energy that they make."""

    memories: Tensor
    beta: float | Tensor
    energy: Energy
    log_weights: Tensor | None

    def memberships(self, state: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return how much states belong to memories."""
        return self.energy.memberships(state, self.memories, self.beta, self.log_weights, seen)

    def step(self, state: Tensor, step_size: float, moves: Tensor | None) -> Tensor:
        """Return the states a step later."""
        parts = self.energy.responsibilities(state, self.memories, self.beta, self.log_weights)
        pull = self.energy.pull(state, self.memories, parts.to(state.dtype), moves)
        if moves is None:
            return self.energy.place(state + step_size * pull)
        return state + step_size * torch.where(moves, pull, 0.0)

    def place(self, x: Tensor, missing: Tensor | None) -> Tensor:
        """Return rows where states live, with the type and all leading dimensions of a state."""
        leading = [x.shape[:-2], self.memories.shape[:-2]]
        if isinstance(self.beta, Tensor):
            leading.append(self.beta.shape)
        if self.log_weights is not None:
            leading.append(self.log_weights.shape[:-1])
        x = x.to(self.memories.dtype)
        x = x.expand(torch.broadcast_shapes(*leading) + x.shape[-2:])
        return self.energy.place(x, missing)


class Dynamics(NamedTuple):
    """How far states are carried, and how gradients get back."""

    n_steps: int = 10
    step_size: float = 0.5
    backward: str = "store"


def carried(x: Tensor, network: Network, moves: Tensor | None, dynamics: Dynamics) -> Tensor:
    """Return where the dynamics carries states; ``moves``: these coordinates only."""

    def advance(state: Tensor) -> Tensor:
        return network.step(state, dynamics.step_size, moves)

    return carry(advance, x, dynamics.n_steps, dynamics.backward, moves)


def completed(x: Tensor, network: Network, missing: Tensor, dynamics: Dynamics) -> Tensor:
    """Return placed rows with their missing values filled in."""
    known = torch.where(missing, 0.0, x)
    there = network.memberships(known, ~missing).to(known.dtype)
    start = there @ network.energy.place(network.memories)
    return carried(torch.where(missing, start, known), network, missing, dynamics)


def _trajectory(advance: Callable[[Tensor], Tensor], start: Tensor, n_steps: int) -> Tensor:
    states = [start]
    for _ in range(n_steps):
        states.append(advance(states[-1]))
    return torch.stack(states)


def make_network(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    energy: Energy | str | None,
    log_weights: Tensor | None,
) -> Network:
    """Return the network of what the functions are given, if that fits together."""
    for name, tensor in (("x", x), ("memories", memories)):
        if tensor.ndim < 2:
            message = f"{name} must have shape (..., n, d), got {tuple(tensor.shape)}"
            raise ValueError(message)
    if x.shape[-1] != memories.shape[-1]:
        message = f"x has {x.shape[-1]} features, memories have {memories.shape[-1]}"
        raise ValueError(message)
    if memories.shape[-2] < 1:
        message = "memories must have at least 1 row, got 0"
        raise ValueError(message)
    if not isinstance(beta, Tensor) and not (beta > 0 and math.isfinite(beta)):
        message = f"beta must be a positive number, got {beta}"
        raise ValueError(message)
    found = find_energy(energy, dim=x.shape[-1], n_memories=memories.shape[-2])
    return Network(memories, beta, found, log_weights)


def make_dynamics(n_steps: int, step_size: float, backward: str) -> Dynamics:
    """Return how states are carried, if it is a way there is."""
    if n_steps < 0:
        message = f"n_steps must be at least 0, got {n_steps}"
        raise ValueError(message)
    if not 0 < step_size <= 1:
        message = f"step_size must be in (0, 1], got {step_size}"
        raise ValueError(message)
    if backward not in BACKWARD:
        message = f"backward must be one of {list(BACKWARD)}, got {backward!r}"
        raise ValueError(message)
    return Dynamics(n_steps, step_size, backward)


def check_masks(x: Tensor, **masks: Tensor | None) -> None:
    """Refuse masks that are not boolean, or not of the rows' shape."""
    for name, mask in masks.items():
        if mask is not None and (mask.dtype != torch.bool or mask.shape[-2:] != x.shape[-2:]):
            message = (
                f"{name} must be a bool tensor of x's shape {tuple(x.shape)}, got {mask.dtype} of "
                f"shape {tuple(mask.shape)}"
            )
            raise ValueError(message)
