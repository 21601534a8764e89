"""A kernel, by random features."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from amclust.torch.energies._base import Energy, minus_square_distances


class Kernel(Energy):
    r"""A radial basis function kernel, by random Fourier features (Rahimi & Recht, 2007).

    :math:`d(a, b) = \|\phi(a) - \phi(b)\|^2 \approx 2 - 2\exp(-\gamma\|a - b\|^2)`. Memories
    live in
    data space; a step follows the gradient there, so a state far from all of them hardly moves.

    Parameters
    ----------
    dim : int
        Number of features.
    gamma : float
        How quickly the kernel falls off.
    n_components : int, default=512
        Number of random features.
    generator : torch.Generator, default=None
        Where they are drawn from.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.energies import Kernel
    >>> energy = Kernel(2, gamma=0.5, generator=torch.Generator().manual_seed(0))
    >>> a, b = torch.tensor([0.0, 0.0]), torch.tensor([1.0, 0.0])
    >>> abs(energy.distance(a, b) - (2 - 2 * torch.exp(torch.tensor(-0.5)))) < 0.1
    tensor(True)
    """

    degree = 0
    frequencies: Tensor
    phases: Tensor

    def __init__(
        self,
        dim: int,
        gamma: float,
        n_components: int = 512,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.dim = dim
        if not gamma > 0:
            message = f"gamma must be positive, got {gamma}"
            raise ValueError(message)
        self.gamma = float(gamma)
        draws = torch.randn(dim, n_components, generator=generator)
        self.register_buffer("frequencies", math.sqrt(2 * gamma) * draws)
        self.register_buffer("phases", 2 * math.pi * torch.rand(n_components, generator=generator))

    def extra_repr(self) -> str:
        """Return the parameters for the printed form."""
        return f"gamma={self.gamma:g}, n_components={self.phases.shape[-1]}"

    def _angles(self, x: Tensor) -> Tensor:
        return x @ self.frequencies + self.phases

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the squared distance of the features."""
        return (self.embed(a) - self.embed(b)).square().sum(-1)

    def attraction(self, state: Tensor, memories: Tensor, seen: Tensor | None = None) -> Tensor:
        """Return minus the squared distances of the features."""
        if seen is not None:
            return super().attraction(state, memories, seen)
        return minus_square_distances(self.embed(state), self.embed(memories))

    def pull(
        self, state: Tensor, memories: Tensor, responsibilities: Tensor, moves: Tensor | None
    ) -> Tensor:
        """Return the gradient of the features' distance, over its largest curvature."""
        angles = self._angles(state)
        scale = math.sqrt(2 / self.phases.shape[-1])
        way = responsibilities @ self.embed(memories) - scale * angles.cos()
        return (-scale * angles.sin() * way) @ self.frequencies.mT / (2 * self.gamma)

    def embed(self, x: Tensor) -> Tensor:
        """Return the random features of the rows."""
        return math.sqrt(2 / self.phases.shape[-1]) * self._angles(x).cos()
