"""The mathematics of the design, written plainly in torch, for autograd to differentiate.

Rows with holes come as `X` with any number at the holes and a boolean `missing`. All tensors are
float64.
"""

from typing import NamedTuple

import torch


class Network(NamedTuple):
    memories: torch.Tensor  # (k, d); need not be unit vectors for "cosine"
    log_weights: torch.Tensor  # (k,)
    beta: float
    step_size: float
    n_steps: int
    metric: str

    @property
    def patterns(self):
        """The memories that act: for "cosine" on the unit sphere."""
        if self.metric == "euclidean":
            return self.memories
        return self.memories / self.memories.norm(dim=1, keepdim=True)


def memberships(v, net):
    if net.metric == "euclidean":
        attraction = -((v[:, None] - net.patterns) ** 2).sum(-1)
    else:
        attraction = v @ net.patterns.T
    return torch.softmax(net.log_weights + net.beta * attraction, dim=1)


def dynamics(v, net, moves=None):
    """Carry states on; `moves` (n, d) is 1 where a coordinate may move, None: everywhere.

    Free states stay on the sphere ("cosine"); where some coordinates are held, only the others
    follow the pull.
    """
    for _ in range(net.n_steps):
        pull = memberships(v, net) @ net.patterns
        if moves is None and net.metric == "cosine":
            v = v + net.step_size * pull
            v = v / v.norm(dim=1, keepdim=True)
        else:
            v = v + net.step_size * (1.0 if moves is None else moves) * (pull - v)
    return v


def weighted_mean(values, weights):
    return (weights * values).sum() / weights.sum()


def completion(X, missing, hidden, fill, weights, net):
    """Hidden and missing entries start at `fill` and move; the hidden ones are compared."""
    moves = hidden | missing
    state = dynamics(torch.where(moves, fill, X), net, moves.double())
    squares = torch.where(hidden, (state - X) ** 2, 0.0)
    return weighted_mean(squares.sum(1) / hidden.sum(1).clamp(min=1), weights)


def reconstruction(X, missing, fill, weights, net):
    """Everything moves; the observed entries are compared."""
    start = torch.where(missing, fill, X)
    state = dynamics(start, net)
    squares = torch.where(missing, 0.0, (state - X) ** 2)
    return weighted_mean(squares.sum(1) / (~missing).sum(1), weights)


def filled(X, missing, fill, net):
    """Missing entries where the dynamics carries them, the observed ones as they were.

    They start where the memories have them that the observed entries alone attract to.
    """
    seen = (~missing).double()
    if net.metric == "euclidean":
        attraction = -(((X[:, None] - net.patterns) * seen[:, None]) ** 2).sum(-1)
    else:
        attraction = (X * seen) @ net.patterns.T
    pull = torch.softmax(net.log_weights + net.beta * attraction, dim=1) @ net.patterns
    start = torch.where(missing, pull, X)
    state = dynamics(start, net, missing.double())
    return torch.where(missing, state, X)


def silhouette(X, missing, fill, weights, net, anchor, tie):
    """Minus the soft silhouette, plus the scatter inside the soft clusters (the anchor) and the
    distance of the memories from the clusters' centres (the tie).

    Missing values are filled by the memories and then held constant. One copy of a row, of weight
    at most 1, is left out of its own cluster. A cluster with next to no weight is nobody's cluster
    and nobody's neighbour.
    """
    with torch.no_grad():
        X = filled(X, missing, fill, net)
    p = memberships(X, net)
    wp = weights[:, None] * p
    size = wp.sum(0)
    centre = wp.T @ X / size[:, None]
    square_norm = (X**2).sum(1)
    mean_square = square_norm @ wp / size
    r2 = square_norm[:, None] - 2 * X @ centre.T + mean_square
    own = weights.clamp(max=1)[:, None] * p
    inside = (r2 * size / (size - own)).sqrt()
    empty = size < 1e-6 * weights.sum()
    no_neighbour = torch.eye(len(size), dtype=torch.bool) | empty
    outside = torch.where(no_neighbour, torch.inf, r2.sqrt()[:, None]).min(-1).values
    value = torch.where(empty, 0.0, (outside - inside) / torch.maximum(inside, outside))
    soft = weighted_mean((p * (1 - own / size) * value).sum(1), weights)
    scatter = mean_square - (centre**2).sum(1)
    distance = ((net.patterns - centre) ** 2).sum(1)
    return -soft + weighted_mean(anchor * scatter + tie * distance, size)
