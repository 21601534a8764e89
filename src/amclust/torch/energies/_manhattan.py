"""The robust variant that the paper names."""

from __future__ import annotations

from torch import Tensor

from amclust.torch.energies._base import Energy


class Manhattan(Energy):
    r"""The Manhattan distance, which outliers mislead less (the paper's robust variant).

    The corner at 0 is rounded: :math:`d(a, b) = \sum_j \sqrt{(a_j - b_j)^2 + s^2} - s`. A step is
    one of iteratively re-weighted least squares. It takes a (rows, memories, features) array.

    Parameters
    ----------
    smoothing : float, default=1e-3
        The length s under which a difference counts as its square.

    Examples
    --------
    >>> import torch
    >>> from amclust.torch.energies import Manhattan
    >>> Manhattan().distance(torch.tensor([0.0, 3.0]), torch.tensor([4.0, 0.0]))
    tensor(6.9980)
    """

    degree = 1

    def __init__(self, smoothing: float = 1e-3) -> None:
        super().__init__()
        if not smoothing > 0:
            message = f"smoothing must be positive, got {smoothing}"
            raise ValueError(message)
        self.smoothing = float(smoothing)

    def extra_repr(self) -> str:
        """Return the parameters for the printed form."""
        return f"smoothing={self.smoothing:g}"

    def _lengths(self, differences: Tensor) -> Tensor:
        return (differences.square() + self.smoothing**2).sqrt()

    def distance(self, a: Tensor, b: Tensor) -> Tensor:
        """Return the sum of the coordinates' differences, their corners rounded."""
        return (self._lengths(a - b) - self.smoothing).sum(-1)

    def pull(
        self, state: Tensor, memories: Tensor, responsibilities: Tensor, moves: Tensor | None
    ) -> Tensor:
        """Return the way to the mean in which a memory counts less the farther it is."""
        ways = memories.unsqueeze(-3) - state.unsqueeze(-2)
        parts = responsibilities.unsqueeze(-1) / self._lengths(ways)
        return (parts * ways).sum(-2) / parts.sum(-2)
