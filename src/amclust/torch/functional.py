"""Dense associative memories as pure functions of tensors.

Rows and states are (..., n, d), memories (..., k, d): leading dimensions broadcast, so that many
networks are one call. All functions are differentiable, draw only from the generator they are
given, and take any :class:`~amclust.torch.energies.Energy`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from amclust.torch._dynamics import Backward, Dynamics, make_network
from amclust.torch._soft_silhouette import DenseRows, soft_silhouette_loss
from amclust.torch.energies import Energy

__all__ = [
    "assign",
    "complete",
    "completion_loss",
    "cut_loss",
    "draw_hidden",
    "energy",
    "entropy",
    "memberships",
    "overlap_shares",
    "recall",
    "reconstruction_loss",
    "silhouette_loss",
    "step",
]

Reduction = Literal["mean", "sum", "none"]

# A row belongs to a memory as exp(-this * distance / the distance that is its width).
_DECAY = 4.0


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
    network = make_network(state, memories, beta, energy, log_weights, moves=moves)
    return network.step(state, moves, step_size)


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
        gradient at the fixed point, which is right where the dynamics has converged; where it has
        not, it warns.
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
    dynamics = Dynamics(n_steps, step_size, backward)
    network = make_network(x, memories, beta, energy, log_weights, dynamics, hidden, missing)
    x = network.place(x, missing)
    moves = hidden
    if hidden is not None:
        moves = hidden if missing is None else hidden | missing
        x = torch.where(moves, fill, x)
    elif missing is not None:
        x = network.completed(x, missing)
    if not return_trajectory:
        return network.carried(x, moves)
    states = [x]
    for _ in range(n_steps):
        states.append(network.step(states[-1], moves))
    return torch.stack(states)


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
    dynamics = Dynamics(n_steps, step_size, backward)
    network = make_network(x, memories, beta, energy, log_weights, dynamics, missing=missing)
    filled = network.completed(network.place(x, missing), missing)
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
    dynamics = Dynamics(n_steps, step_size)
    network = make_network(x, memories, beta, energy, log_weights, dynamics, missing=missing)
    with torch.no_grad():
        state = network.place(x, missing)
        if missing is not None:
            state = network.completed(state, missing)
        state = network.carried(state)
        attraction = network.energy.attraction(state, memories)
        lost = attraction.isnan().any(-1)
        if network.energy.compact:
            lost |= network.memberships(state).sum(-1) == 0
        return torch.where(lost, -1, attraction.argmax(-1))


def draw_hidden(
    shape: Sequence[int],
    mask_prob: float,
    *,
    missing: Tensor | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw which coordinates of rows to hide.

    Parameters
    ----------
    shape : sequence of int
        Shape of the rows, (..., n, d).
    mask_prob : float
        The part of a row's observed coordinates to hide; at least one of them is hidden and at
        least one is not, where there are two.
    missing : bool Tensor of shape (..., n, d), default=None
        Where rows have no value: there is nothing to hide.
    generator : torch.Generator, default=None
        Where the draws come from; its device is where the mask is made.
    device : torch.device or str, default=None
        Where the mask is wanted; None: where it is made.

    Returns
    -------
    bool Tensor of the given shape

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> F.draw_hidden((3, 8), 0.25, generator=torch.Generator().manual_seed(0)).sum(-1)
    tensor([2, 2, 2])
    """
    if not 0 < mask_prob < 1:
        message = f"mask_prob must be between 0 and 1, got {mask_prob}"
        raise ValueError(message)
    source = device if generator is None else generator.device
    scores = torch.rand(tuple(shape), generator=generator, device=source)
    if device is not None:
        scores = scores.to(device)
    observed = torch.full((*shape[:-1], 1), shape[-1], device=scores.device)
    if missing is not None:
        scores = torch.where(missing, 2.0, scores)
        observed = (~missing).sum(-1, keepdim=True)
    count = (mask_prob * observed + 0.5).floor().clamp(min=1).minimum(observed - 1)
    rank = scores.argsort(-1).argsort(-1)
    return rank < count


def completion_loss(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    hidden: Tensor | None = None,
    mask_prob: float = 0.15,
    generator: torch.Generator | None = None,
    missing: Tensor | None = None,
    fill: float | Tensor = 0.0,
    sample_weight: Tensor | None = None,
    reduction: Reduction = "mean",
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
    n_steps: int = 10,
    step_size: float = 0.5,
    backward: Backward = "store",
) -> Tensor:
    """Hide coordinates, let the dynamics complete them, and compare (the paper's loss).

    Parameters
    ----------
    x : Tensor of shape (..., n, d)
        The rows.
    memories, beta, energy, log_weights
        As in :func:`energy`.
    hidden : bool Tensor of shape (..., n, d), default=None
        What to hide; None: drawn by :func:`draw_hidden` with ``mask_prob`` and ``generator``.
    mask_prob : float, default=0.15
        The part of the coordinates to hide.
    generator : torch.Generator, default=None
        Where masks are drawn from.
    missing : bool Tensor of shape (..., n, d), default=None
        Where rows have no value: these move along and are never compared. None: nowhere.
    fill : float or Tensor of shape (d,), default=0.0
        Where hidden and missing coordinates start.
    sample_weight : Tensor of shape (..., n), default=None
        Weights of the rows.
    reduction : {"mean", "sum", "none"}, default="mean"
        The weighted mean over the rows, the weighted sum, or the rows' losses as they are.
    n_steps, step_size, backward
        As in :func:`recall`.

    Returns
    -------
    Tensor of shape (...), or (..., n) for reduction "none"
        Mean squared errors of the hidden coordinates.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> x = torch.tensor([[1.0, 1.0], [3.0, 3.0]])
    >>> memories = torch.tensor([[1.0, 1.0], [3.0, 2.0]])
    >>> hidden = torch.tensor([[False, True], [False, True]])
    >>> F.completion_loss(x, memories, 2.0, hidden=hidden, n_steps=30)
    tensor(0.5000)
    """
    dynamics = Dynamics(n_steps, step_size, backward)
    network = make_network(x, memories, beta, energy, log_weights, dynamics, hidden, missing)
    x = network.place(x, missing)
    if hidden is None:
        hidden = draw_hidden(
            x.shape, mask_prob, missing=missing, generator=generator, device=x.device
        )
    moves = hidden if missing is None else hidden | missing
    state = network.carried(torch.where(moves, fill, x), moves)
    return _reduce(_mean_square(state - x, hidden), sample_weight, reduction)


def reconstruction_loss(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    missing: Tensor | None = None,
    fill: float | Tensor = 0.0,
    sample_weight: Tensor | None = None,
    reduction: Reduction = "mean",
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
    n_steps: int = 10,
    step_size: float = 0.5,
    backward: Backward = "store",
) -> Tensor:
    """Let the dynamics carry rows away and compare what is left of them (nothing is hidden).

    Parameters
    ----------
    x, memories, beta, missing, fill, sample_weight, reduction, energy, log_weights
        As in :func:`completion_loss`. Missing values start at ``fill``.
    n_steps, step_size, backward
        As in :func:`recall`.

    Returns
    -------
    Tensor of shape (...), or (..., n) for reduction "none"
        Mean squared errors of the observed coordinates.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> x = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    >>> F.reconstruction_loss(x, torch.tensor([[1.0, 0.0]]), 1.0, n_steps=30)
    tensor(0.5000)
    """
    dynamics = Dynamics(n_steps, step_size, backward)
    network = make_network(x, memories, beta, energy, log_weights, dynamics, missing=missing)
    x = network.place(x, missing)
    state = network.carried(x if missing is None else torch.where(missing, fill, x))
    seen = torch.ones_like(x, dtype=torch.bool) if missing is None else ~missing
    return _reduce(_mean_square(state - x, seen), sample_weight, reduction)


def silhouette_loss(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    *,
    anchor: float | Tensor = 0.0,
    tie: float | Tensor = 0.0,
    missing: Tensor | None = None,
    sample_weight: Tensor | None = None,
    energy: Energy | str | None = None,
    log_weights: Tensor | None = None,
    n_steps: int = 10,
    step_size: float = 0.5,
) -> Tensor:
    """Return minus the soft silhouette of the clusters that the memberships make, in linear time.

    The mean squared distance of a row to a soft cluster follows from the cluster's mean and
    variance, so no distances between rows are needed. Gradients reach the memories through the
    memberships, and the rows.

    Parameters
    ----------
    x, memories, beta, sample_weight, energy, log_weights
        As in :func:`completion_loss`.
    anchor : float or Tensor, default=0.0
        What a unit of scatter inside the clusters costs; without any, the silhouette may shed
        outliers. A tensor has the shape of the leading dimensions.
    tie : float or Tensor, default=0.0
        What a unit of squared distance between memories and their clusters' centres costs. With
        an energy on the sphere it is the directions of the centres that count, for the scatter too:
        what the memories' places add to the rows' squared distances from these.
    missing : bool Tensor of shape (..., n, d), default=None
        Where rows have no value: the memories fill it in (:func:`complete`), without gradients.
    n_steps, step_size
        As in :func:`complete`.

    Returns
    -------
    Tensor of shape (...)
        About -1 for compact clusters far apart.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> x = torch.tensor([[0.0], [0.1], [5.0], [5.1]])
    >>> F.silhouette_loss(x, torch.tensor([[0.0], [5.0]]), beta=1.0)
    tensor(-0.4900)
    """
    if memories.shape[-2] < 2:
        message = f"a silhouette needs at least 2 memories, got {memories.shape[-2]}"
        raise ValueError(message)
    dynamics = Dynamics(n_steps, step_size)
    network = make_network(x, memories, beta, energy, log_weights, dynamics, missing=missing)
    x = network.place(x, missing)
    if missing is not None:
        with torch.no_grad():
            x = network.completed(x, missing)
    p = network.memberships(x)
    patterns = network.energy.embed(network.energy.place(memories)).to(p.dtype)
    x = network.energy.embed(x).to(p.dtype)
    weight = x.new_ones(x.shape[:-1]) if sample_weight is None else sample_weight
    spherical = network.energy.spherical
    return soft_silhouette_loss(DenseRows(x), p, patterns, weight, anchor, tie, spherical=spherical)


def overlap_shares(
    x: Tensor,
    memories: Tensor,
    *,
    n_nearest: int = 3,
    missing: Tensor | None = None,
    energy: Energy | str | None = None,
) -> Tensor:
    """Share out every row among the memories nearest to it, by a width of its own.

    Parameters
    ----------
    x : Tensor of shape (..., n, d)
        The rows.
    memories : Tensor of shape (..., m, d)
        The memories, more than ``n_nearest``.
    n_nearest : int, default=3
        How many memories share a row; the distance to the next one is the row's width.
    missing : bool Tensor of shape (..., n, d), default=None
        Where rows have no value: distances are those of the other coordinates. None: nowhere.
    energy : Energy or str, default=None
        As in :func:`energy`: its distances are taken.

    Returns
    -------
    Tensor of shape (..., n, m)
        Numbers of at least 0 that sum to 1 in every row, ``n_nearest`` of them positive.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> memories = torch.tensor([[0.0], [1.0], [2.0], [9.0]])
    >>> F.overlap_shares(torch.tensor([[0.5]]), memories, n_nearest=2)
    tensor([[0.5000, 0.5000, 0.0000, 0.0000]])
    """
    n_memories = memories.shape[-2]
    if not 1 <= n_nearest < n_memories:
        message = (
            f"n_nearest must be at least 1 and below the number of memories, {n_memories}, got "
            f"{n_nearest}"
        )
        raise ValueError(message)
    network = make_network(x, memories, 1.0, energy, None, Dynamics(), None, missing)
    seen = None if missing is None else ~missing
    x = network.place(x, missing)
    if missing is not None:
        x = torch.where(missing, 0.0, x)
    distances = network.energy.distances(x, memories, seen)
    near, places = distances.topk(n_nearest + 1, dim=-1, largest=False)
    width = near[..., -1:].clamp(min=torch.finfo(distances.dtype).tiny)
    shares = torch.softmax(-_DECAY * near[..., :-1] / width, dim=-1)
    return torch.zeros_like(distances).scatter(-1, places[..., :-1], shares)


def cut_loss(
    x: Tensor,
    memories: Tensor,
    assembly: Tensor,
    *,
    n_nearest: int = 3,
    missing: Tensor | None = None,
    sample_weight: Tensor | None = None,
    energy: Energy | str | None = None,
) -> Tensor:
    """Return how much assemblies of memories share rows with one another.

    Rows that lie between memories tie them together (:func:`overlap_shares`). The loss is the mean
    normalised cut of this graph: the part of an assembly's rows that others have.

    Parameters
    ----------
    x : Tensor of shape (..., n, d)
        The rows.
    memories : Tensor of shape (..., m, d)
        The memories.
    assembly : Tensor of shape (..., m) or (..., m, k)
        The cluster of each memory, as whole numbers, or how much it belongs to each cluster, as
        numbers that sum to 1: gradients reach these too.
    n_nearest, missing, energy
        As in :func:`overlap_shares`.
    sample_weight : Tensor of shape (..., n), default=None
        Weights of the rows.

    Returns
    -------
    Tensor of shape (...)
        Between 0 (no row between two clusters) and 1.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch import functional as F
    >>> x = torch.tensor([[0.0], [0.5], [1.0], [7.0], [7.5], [8.0]])
    >>> memories = torch.tensor([[0.0], [1.0], [7.0], [8.0]])
    >>> F.cut_loss(x, memories, torch.tensor([0, 0, 1, 1]), n_nearest=2)
    tensor(0.)
    >>> bool(F.cut_loss(x, memories, torch.tensor([0, 1, 0, 1]), n_nearest=2) > 0.2)
    True
    """
    shares = overlap_shares(x, memories, n_nearest=n_nearest, missing=missing, energy=energy)
    if not assembly.is_floating_point():
        assembly = torch.nn.functional.one_hot(assembly.long()).to(shares.dtype)
    if assembly.shape[-2] != memories.shape[-2]:
        message = (
            f"assembly must have an entry for each of {memories.shape[-2]} memories, got "
            f"{assembly.shape[-2]}"
        )
        raise ValueError(message)
    parts = shares @ assembly.to(shares.dtype)  # how much rows belong to clusters
    weights = torch.ones_like(parts[..., 0]) if sample_weight is None else sample_weight
    weights = weights.to(parts.dtype).unsqueeze(-1)
    inside, total = (weights * parts.square()).sum(-2), (weights * parts).sum(-2)
    there = total > 0  # numbers that no memory has are no clusters
    cuts = torch.where(there, 1.0 - inside / torch.where(there, total, 1.0), 0.0)
    return cuts.sum(-1) / there.sum(-1)


def _mean_square(differences: Tensor, where: Tensor) -> Tensor:
    squares = torch.where(where, differences, 0.0).square().sum(-1)
    return squares / where.sum(-1).clamp(min=1)


def _reduce(losses: Tensor, weights: Tensor | None, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        message = f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}"
        raise ValueError(message)
    if reduction == "none":
        return losses
    if weights is None:
        return losses.mean(-1) if reduction == "mean" else losses.sum(-1)
    total = (weights * losses).sum(-1)
    return total / weights.sum(-1) if reduction == "mean" else total
