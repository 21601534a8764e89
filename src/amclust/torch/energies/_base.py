"""What an energy is, and the log-sum-exp that most of them share."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# Lengths are not divided by less.
TINY = 1e-12


class Energy(nn.Module):
    r"""Base of the log-sum-exp energies.

    .. math::
        E(v) = -\tfrac{1}{\beta} \log \sum_\mu \exp(\omega_\mu - \beta\, d(v, \rho_\mu))

    A subclass defines the distance d, and where it matters how the distances to all memories are
    had without a (rows, memories, features) array (:meth:`attraction`) and where a step leads
    (:meth:`pull`). A step goes to the minimum of an upper bound of the energy,
    :math:`\sum_\mu p_\mu d(v, \rho_\mu)`, or part of the way, so the energy never rises.

    States are (..., n, d), memories (..., k, d), ``beta`` is a number or a tensor of the shape of
    the leading dimensions, ``log_weights`` (..., k). Leading dimensions broadcast.
    """

    # Whether a state may be out of reach of all memories.
    compact = False
    # How many features it is made for; None: any.
    dim: int | None = None
    # Whether states and memories are directions, of unit length.
    spherical = False
    # How distances grow with the units of rows: as their square, as they do (1), not at all (0).
    degree: float = 2

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the distance between points, pair by pair: the last dimension goes away.

        ``a`` and ``b`` broadcast: between n states and k memories they are (..., n, 1, d) and
        (..., 1, k, d), and the distances (..., n, k). Not all pairs, as ``torch.cdist`` has them.
        """
        raise NotImplementedError

    def attraction(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return minus the distance of every state to every memory, (..., n, k).

        Coordinates that are not ``seen`` (..., n, d) are taken to agree with the memory.
        """
        a, b = state.unsqueeze(-2), memories.unsqueeze(-3)
        if seen is not None:
            a = torch.where(seen.unsqueeze(-2), a, b)
        found = self.distance(a, b)
        expected = torch.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        if found.shape != expected:
            message = (
                f"{type(self).__name__}.distance must give one number for each pair of points that "
                f"broadcast: of {tuple(a.shape)} and {tuple(b.shape)} {tuple(expected)}, got "
                f"{tuple(found.shape)}. Sum over the last dimension, (a - b).abs().sum(-1) say; "
                "products of all pairs belong into attraction"
            )
            raise ValueError(message)
        return -found

    def distances(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return the distance of every state to every memory, (..., n, k): 0 where they agree."""
        return -self.attraction(state, memories, seen)

    def logits(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the logarithms of the memories' attractions, (..., n, k)."""
        logits = over(beta, 2) * self.attraction(state, memories, seen)
        return logits if log_weights is None else logits + log_weights.unsqueeze(-2)

    def forward(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
    ) -> Tensor:
        """Return the energy of every state, (..., n)."""
        logits = self.logits(state, memories, beta, log_weights)
        return -logits.logsumexp(-1) / over(beta, 1)

    def memberships(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return how much every state belongs to every memory, (..., n, k)."""
        return self.logits(state, memories, beta, log_weights, seen).softmax(-1)

    def responsibilities(
        self,
        state: Tensor,
        memories: Tensor,
        beta: float | Tensor,
        log_weights: Tensor | None = None,
        seen: Tensor | None = None,
    ) -> Tensor:
        """Return the parts that the memories have in a step, (..., n, k)."""
        return self.memberships(state, memories, beta, log_weights, seen)

    def pull(
        self, state: Tensor, memories: Tensor, responsibilities: Tensor, moves: Tensor | None
    ) -> Tensor:
        """Return what a whole step adds to the state; ``moves``: where the others are held."""
        return responsibilities @ memories - state

    def length(self, x: Tensor, missing: Tensor | None = None) -> Tensor | None:
        """Return what rows are divided by, (..., n, 1); None: they are taken as they are."""
        return None

    def place(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        """Return rows where states live (on the unit sphere, say)."""
        length = self.length(x, missing)
        return x if length is None else x / length

    def embed(self, x: Tensor) -> Tensor:
        """Return coordinates whose squared Euclidean distances are the energy's."""
        return x


def keep(module: nn.Module, name: str, value: Tensor | None, *, learn: bool) -> None:
    """Keep a tensor in a module: as a parameter if it is learned, else as a buffer."""
    if learn and value is not None:
        module.register_parameter(name, nn.Parameter(value))
    else:
        module.register_buffer(name, value)


def over(beta: float | Tensor, dims: int) -> float | Tensor:
    """Return beta with so many more dimensions at the end, if it has any."""
    if not isinstance(beta, Tensor) or beta.ndim == 0:
        return beta
    return beta[(...,) + (None,) * dims]


def exact_product(state: Tensor, memories: Tensor) -> Tensor:
    """Return the inner products, in single precision at least (distances are small differences)."""
    wide = torch.promote_types(torch.promote_types(state.dtype, memories.dtype), torch.float32)
    state, memories = state.to(wide), memories.to(wide)
    kind = state.device.type
    if not (torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind)):
        return state @ memories.mT
    with torch.autocast(kind, enabled=False):
        return state @ memories.mT


def minus_square_distances(state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
    """Return minus the squared Euclidean distances, over the ``seen`` coordinates.

    Far from the origin the products would cancel, so they are taken around the memories' mean.
    """
    middle = memories.detach().mean(-2, keepdim=True)
    state, memories = state - middle, memories - middle
    if seen is not None:
        state = torch.where(seen, state, 0.0)
    products = exact_product(state, memories)
    squares = memories.to(products.dtype).square()
    if seen is None:
        norms = squares.sum(-1).unsqueeze(-2)
    else:
        norms = exact_product(seen.to(products.dtype), squares)
    own = state.to(products.dtype).square().sum(-1, keepdim=True)
    return (2 * products - norms - own).clamp(max=0.0)
