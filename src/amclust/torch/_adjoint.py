"""The dynamics of stacked networks with a gradient written by hand: few large operations a step.

With p the memberships of a state, g the loss's gradient by the state after a step and h = a g (a:
how far each coordinate follows the pull), a step gives back

    dR += p'h,   u = p (hR' - sum p hR'),   dR += f u'v,   g <- g - h + f uR

where f is 2 beta (Euclidean; what the memories' norms add comes last) or beta (cosine). The
products over rows are taken once for all steps. Autograd gives the same with four times the work.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def logit_factor(beta: Tensor, *, cosine: bool) -> Tensor:
    """Return the logits' derivative by the products of state and memory, (runs, 1, 1)."""
    return (beta if cosine else 2 * beta)[:, None, None]


def logit_bias(memories: Tensor, log_weights: Tensor, beta: Tensor, *, cosine: bool) -> Tensor:
    """Return the part of the logits that no state changes, (runs, 1, k)."""
    bias = log_weights if cosine else log_weights - beta[:, None] * memories.square().sum(-1)
    return bias[:, None]


class _Recall(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        start: Tensor,
        memories: Tensor,
        log_weights: Tensor,
        beta: Tensor,
        amount: Tensor | float,
        n_steps: int,
        cosine: bool,
    ) -> tuple[Tensor, Tensor]:
        on_sphere = cosine and not isinstance(amount, Tensor)
        factor = logit_factor(beta, cosine=cosine)
        bias = logit_bias(memories, log_weights, beta, cosine=cosine)
        towards = (factor * memories).mT
        states, shares, lengths = [start], [], []
        for _ in range(n_steps):
            state = states[-1]
            share = torch.softmax(torch.baddbmm(bias, state, towards), dim=-1)
            shares.append(share)
            if on_sphere:
                state = torch.baddbmm(state, share, memories, alpha=amount)
                length = state.norm(dim=-1, keepdim=True).clamp_(min=1e-15)
                lengths.append(length)
                states.append(state / length)
            else:
                states.append(torch.lerp(state, torch.bmm(share, memories), amount))
        ctx.save_for_backward(memories, beta, towards, factor)
        ctx.steps = states, shares, lengths, amount, cosine
        ctx.mark_non_differentiable(shares[-1])
        return states[-1], shares[-1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        memories, beta, towards, factor = ctx.saved_tensors
        states, shares, lengths, amount, cosine = ctx.steps
        pulls, changes = [], []
        for t in reversed(range(len(shares))):
            if lengths:  # through the normalisation
                after = states[t + 1]
                grad = (grad - (grad * after).sum(-1, keepdim=True) * after) / lengths[t]
            pull = grad * amount
            change = torch._softmax_backward_data(
                torch.bmm(pull, memories.mT), shares[t], -1, pull.dtype
            )
            pulls.append(pull)
            changes.append(change)
            if t > 0 or ctx.needs_input_grad[0]:
                rest = grad if lengths else grad - pull
                grad = torch.baddbmm(rest, change, towards.mT)
        change = torch.cat(changes, dim=1)
        by_log_weights = change.sum(dim=1)
        by_memories = torch.bmm(
            torch.cat([*reversed(shares), factor * change], dim=1).mT,
            torch.cat([*pulls, *reversed(states[:-1])], dim=1),
        )
        if not cosine:
            by_memories -= factor * by_log_weights[..., None] * memories
        by_start = grad if ctx.needs_input_grad[0] else None
        return by_start, by_memories, by_log_weights, None, None, None, None


def recall(
    start: Tensor,
    memories: Tensor,
    log_weights: Tensor,
    beta: Tensor,
    *,
    amount: Tensor | float,
    n_steps: int,
    cosine: bool,
) -> tuple[Tensor, Tensor]:
    """Carry states on, and return them with the memberships that led the last step.

    Parameters
    ----------
    start : Tensor of shape (runs, n, d)
        First states.
    memories : Tensor of shape (runs, k, d)
        The memories; unit vectors for the cosine energy.
    log_weights : Tensor of shape (runs, k)
        Logarithms of their weights.
    beta : Tensor of shape (runs,)
        Inverse temperatures; there is no gradient by them.
    amount : float or Tensor of shape (runs, n, d)
        Part of the way to the pull that a step goes. A number: all coordinates move, and states
        of the cosine energy stay on the sphere.
    n_steps : int
        Number of steps.
    cosine : bool
        Whether the energy is that of the cosine; else it is the Euclidean one.
    """
    state, share = _Recall.apply(start, memories, log_weights, beta, amount, n_steps, cosine)
    return state, share
