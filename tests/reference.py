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


def dynamics(v, net, moves):
    """Carry states on, `moves` (n, d) is 1 where a coordinate may move."""
    for _ in range(net.n_steps):
        pull = memberships(v, net) @ net.patterns
        if net.metric == "euclidean":
            v = v + net.step_size * moves * (pull - v)
        else:
            v = v + net.step_size * moves * pull
            v = v / v.norm(dim=1, keepdim=True)
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
    state = dynamics(start, net, torch.ones_like(start))
    squares = torch.where(missing, 0.0, (state - X) ** 2)
    return weighted_mean(squares.sum(1) / (~missing).sum(1), weights)


def filled(X, missing, fill, net):
    """Missing entries where the dynamics carries them, the observed ones as they were."""
    start = torch.where(missing, fill, X)
    state = dynamics(start, net, missing.double())
    if net.metric == "cosine":  # the steps scaled the observed entries too: undo that
        observed = torch.where(missing, 0.0, X)
        state = state * ((observed**2).sum(1) / (observed * state).sum(1))[:, None]
    return torch.where(missing, state, X)


def silhouette(X, missing, fill, weights, net, anchor, tie, scatter_unit):
    """Minus the soft silhouette, plus the scatter inside the soft clusters (the anchor) and the
    distance of the memories from the clusters' centres (the tie).

    Missing values are filled by the memories and then held constant. One copy of a row, of weight
    at most 1, is left out of its own cluster.
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
    not_itself = torch.diag(torch.full((len(size),), torch.inf, dtype=X.dtype))
    outside = (r2.sqrt()[:, None] + not_itself).min(-1).values
    value = (outside - inside) / torch.maximum(inside, outside)
    soft = weighted_mean((p * (1 - own / size) * value).sum(1), weights)
    scatter = mean_square - (centre**2).sum(1)
    distance = ((net.patterns - centre) ** 2).sum(1)
    return -soft + weighted_mean(anchor * scatter + tie * distance, size) / scatter_unit
