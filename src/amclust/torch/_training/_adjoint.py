"""The dynamics of stacked networks, and its gradient written by hand.

With p the memberships of a state, g the loss's gradient by the state after a step and h = a g (a:
how far each coordinate follows the pull), a step gives back

    dR += p'h,   u = p (hR' - sum p hR'),   dw += sum u,   dR += f u'v,   g <- g - h + f uR

where f is 2 beta (Euclidean; what the memories' norms add comes last) or beta (cosine). The
products over rows are taken once for all steps. Compared with autograd this is half the operations,
and for small networks time goes by their number. For the same reason states are columns: a softmax
over few memories is quicker that way.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from amclust.torch.energies import Energy


class Networks(NamedTuple):
    """Stacked networks of one size: what differs between them is a tensor."""

    memories: Tensor  # (runs, k, d); unit vectors for the cosine energy
    log_weights: Tensor  # (runs, k)
    beta: Tensor  # (runs,)
    factor: Tensor  # (runs, 1, 1): f above
    step_size: float
    n_steps: int
    cosine: bool  # whether rows and memories are directions
    energy: Energy  # where it is another than the Euclidean or the cosine one, no closed form holds

    def logit_parts(self) -> tuple[Tensor, Tensor]:
        """Return what the logits are made of: bias (runs, k, 1) + pattern (runs, k, d) x state."""
        patterns = self.factor * self.memories
        bias = self.log_weights
        if not self.cosine:  # minus beta times the squared norm
            bias = torch.sub(bias, (patterns * self.memories).sum(-1), alpha=0.5)
        return bias[..., None], patterns


class Trajectory(NamedTuple):
    """The states of stacked networks over the steps, (runs, d, n), and what led from each."""

    net: Networks
    patterns: Tensor
    columns: Tensor  # the memories, (runs, d, k)
    amount: Tensor | float
    states: list[Tensor]
    memberships: list[Tensor]  # (runs, k, n)
    lengths: list[Tensor]  # (runs, 1, n), of the states before they were put on the sphere

    def gradient(self, by_state: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients by memories and log-weights, given that by the final state."""
        net, grad = self.net, by_state
        pulls, changes = [], []
        for t in range(net.n_steps - 1, -1, -1):
            if self.lengths:  # through the normalisation
                after = self.states[t + 1]
                grad = (grad - (grad * after).sum(1, keepdim=True) * after) / self.lengths[t]
            pull = grad * self.amount
            change = torch._softmax_backward_data(  # f u
                torch.bmm(self.patterns, pull), self.memberships[t], 1, pull.dtype
            )
            pulls.append(pull)
            changes.append(change)
            if t > 0:
                grad = (grad if self.lengths else grad - pull).baddbmm_(self.columns, change)
        left = torch.cat([*changes, *self.memberships[::-1]], dim=2)
        right = torch.cat([*self.states[-2::-1], *pulls], dim=2)
        by_memories = torch.bmm(left, right.mT)
        by_bias = left[..., : left.shape[2] // 2].sum(2, keepdim=True)  # times f
        if not net.cosine:
            by_memories.addcmul_(by_bias, net.memories, value=-1)
        return by_memories, (by_bias / net.factor)[..., 0]


def recall(net: Networks, start: Tensor, amount: Tensor | float) -> Trajectory:
    """Carry states (runs, d, n) on, one a column.

    A step goes ``amount`` of the way to the pull, a number or a tensor like ``start``. With a
    number all coordinates move, and states of the cosine energy stay on the sphere.
    """
    bias, patterns = net.logit_parts()
    bias = bias.expand(-1, -1, start.shape[2]).contiguous()
    columns = net.memories.mT.contiguous()
    states, memberships, lengths = [start], [], []
    for _ in range(net.n_steps):
        state = states[-1]
        p = torch.softmax(torch.baddbmm(bias, patterns, state), dim=1)
        memberships.append(p)
        if net.cosine and not isinstance(amount, Tensor):
            state = torch.baddbmm(state, columns, p, alpha=amount)
            lengths.append(state.norm(dim=1, keepdim=True).clamp_(min=1e-15))
            states.append(state / lengths[-1])
        else:
            states.append(torch.lerp(state, torch.bmm(columns, p), amount))
    return Trajectory(net, patterns, columns, amount, states, memberships, lengths)
