"""Dense associative memories as pure functions of tensors.

Rows and states are (..., n, d), memories (..., k, d): leading dimensions broadcast, so that many
networks are one call. All functions are differentiable, draw only from the generator they are
given, and take any :class:`~amclust.torch.energies.Energy`.
"""

from amclust.torch._dynamics import assign, complete, energy, entropy, memberships, recall, step
from amclust.torch._objectives import (
    completion_loss,
    draw_hidden,
    reconstruction_loss,
    silhouette_loss,
)

__all__ = [
    "assign",
    "complete",
    "completion_loss",
    "draw_hidden",
    "energy",
    "entropy",
    "memberships",
    "recall",
    "reconstruction_loss",
    "silhouette_loss",
    "step",
]
