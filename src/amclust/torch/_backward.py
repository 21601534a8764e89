"""How gradients get back through the steps of the dynamics: three trades of memory for time."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

Advance = Callable[[Tensor], Tensor]

# The implicit gradient is solved for until it changes by no more than this part.
IMPLICIT_TOLERANCE = 1e-7


def carry(
    advance: Advance, start: Tensor, n_steps: int, backward: str, moves: Tensor | None = None
) -> Tensor:
    """Carry states ``n_steps`` on, with gradients by the way that is named."""
    return BACKWARD[backward](advance, start, n_steps, moves)


def _store(advance: Advance, start: Tensor, n_steps: int, moves: Tensor | None) -> Tensor:
    state = start
    for _ in range(n_steps):
        state = advance(state)
    return state


def _checkpoint(advance: Advance, start: Tensor, n_steps: int, moves: Tensor | None) -> Tensor:
    """Keep the state after every √n_steps steps; the backward pass makes the others anew."""
    length = max(1, math.isqrt(n_steps))
    state = start
    for first in range(0, n_steps, length):
        steps = min(length, n_steps - first)
        state = checkpoint(_store, advance, state, steps, moves, use_reentrant=False)
    return state


def _implicit(advance: Advance, start: Tensor, n_steps: int, moves: Tensor | None) -> Tensor:
    """Differentiate the fixed point v = advance(v): solve u = g + uJ for the gradient g."""
    if n_steps == 0:
        return start
    with torch.no_grad():
        fixed = _store(advance, start, n_steps - 1, moves)
    if not torch.is_grad_enabled():
        return advance(fixed)
    inner = fixed.detach().requires_grad_()
    # What is held comes from the start, and gradients reach it there.
    after = advance(inner if moves is None else torch.where(moves, inner, start))
    fixed = fixed if moves is None else torch.where(moves, fixed, start)
    out = advance(fixed)
    if out.requires_grad:
        out.register_hook(lambda gradient: _solve(after, inner, gradient, n_steps))
    return out


def _solve(after: Tensor, inner: Tensor, gradient: Tensor, n_steps: int) -> Tensor:
    """Sum the series g + gJ + gJJ + ..., of as many terms as steps were made.

    Where the dynamics has converged, that is enough; where it has not, more might diverge.
    """
    solution = gradient
    for _ in range(n_steps - 1):
        (back,) = torch.autograd.grad(after, inner, solution, retain_graph=True)
        new = gradient + back
        change = (new - solution).abs().max()
        solution = new
        if change <= IMPLICIT_TOLERANCE * solution.abs().max():
            break
    return solution


BACKWARD: dict[str, Callable[[Advance, Tensor, int, Tensor | None], Tensor]] = {
    "store": _store,
    "checkpoint": _checkpoint,
    "implicit": _implicit,
}
