"""The attractor dynamics: a network that carries states, and how gradients get back through it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from amclust._warnings import warn
from amclust.torch.energies import Energy, find_energy

Advance = Callable[[Tensor], Tensor]
Backward = Literal["store", "checkpoint", "implicit"]

# The implicit gradient is solved for until it changes by no more than this part.
IMPLICIT_TOLERANCE = 1e-7
# Up to this part of the way as the last step, implicit gradients were within 1 % where measured.
MAX_LAST_STEP = 5e-3


class Dynamics(NamedTuple):
    """How far states are carried, and how gradients get back."""

    n_steps: int = 10
    step_size: float = 0.5
    backward: str = "store"


class Network(NamedTuple):
    """Memories, the energy that they make, and the dynamics on it."""

    memories: Tensor
    beta: float | Tensor
    energy: Energy
    log_weights: Tensor | None
    dynamics: Dynamics

    def memberships(self, state: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return how much states belong to memories."""
        return self.energy.memberships(state, self.memories, self.beta, self.log_weights, seen)

    def step(self, state: Tensor, moves: Tensor | None, step_size: float | None = None) -> Tensor:
        """Return the states a step later, of the dynamics' size if no other is given."""
        size = self.dynamics.step_size if step_size is None else step_size
        parts = self.energy.responsibilities(state, self.memories, self.beta, self.log_weights)
        pull = self.energy.pull(state, self.memories, parts.to(state.dtype), moves)
        if moves is None:
            return self.energy.place(state + size * pull)
        return state + size * torch.where(moves, pull, 0.0)

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

    def carried(self, x: Tensor, moves: Tensor | None = None) -> Tensor:
        """Return where the dynamics carries states; ``moves``: these coordinates only."""

        def advance(state: Tensor) -> Tensor:
            return self.step(state, moves)

        return BACKWARD[self.dynamics.backward](advance, x, self.dynamics.n_steps, moves)

    def completed(self, x: Tensor, missing: Tensor) -> Tensor:
        """Return placed rows with their missing values filled in."""
        known = torch.where(missing, 0.0, x)
        there = self.memberships(known, ~missing).to(known.dtype)
        start = there @ self.energy.place(self.memories)
        return self.carried(torch.where(missing, start, known), missing)


def make_network(
    x: Tensor,
    memories: Tensor,
    beta: float | Tensor,
    energy: Energy | str | None,
    log_weights: Tensor | None,
    dynamics: Dynamics = Dynamics(),  # noqa: B008
    hidden: Tensor | None = None,
    missing: Tensor | None = None,
    moves: Tensor | None = None,
) -> Network:
    """Return the network of what the functions are given, if all of it fits the rows."""
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
    if dynamics.n_steps < 0:
        message = f"n_steps must be at least 0, got {dynamics.n_steps}"
        raise ValueError(message)
    if not 0 < dynamics.step_size <= 1:
        message = f"step_size must be in (0, 1], got {dynamics.step_size}"
        raise ValueError(message)
    if dynamics.backward not in BACKWARD:
        message = f"backward must be one of {list(BACKWARD)}, got {dynamics.backward!r}"
        raise ValueError(message)
    for name, mask in (("hidden", hidden), ("missing", missing), ("moves", moves)):
        if mask is not None and (mask.dtype != torch.bool or mask.shape[-2:] != x.shape[-2:]):
            message = (
                f"{name} must be a bool tensor of x's shape {tuple(x.shape)}, got {mask.dtype} of "
                f"shape {tuple(mask.shape)}"
            )
            raise ValueError(message)
    return Network(memories, beta, found, log_weights, dynamics)


# --- how gradients get back: three trades of memory for time --------------------------------------


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
        _check_converged(start, fixed, out, n_steps)
        out.register_hook(lambda gradient: _solve(after, inner, gradient, n_steps))
    return out


@torch.no_grad()
def _check_converged(start: Tensor, before: Tensor, after: Tensor, n_steps: int) -> None:
    """Warn where the last step was long: the gradient of a fixed point is another one then."""
    if torch.compiler.is_compiling() or not start.numel():
        return
    step = float((after - before).norm(dim=-1).max())
    way = float((after - start).norm(dim=-1).max())
    if step > MAX_LAST_STEP * way:
        warn(
            "backward='implicit' takes the gradient of a fixed point, but the dynamics has not "
            f"converged: the last of n_steps={n_steps} steps was {step / way:.1%} of the way. The "
            "gradient may be far off; use more steps, or backward='checkpoint'.",
            ConvergenceWarning,
        )


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
