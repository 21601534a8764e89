"""Associative memories as PyTorch tensors and modules. Needs ``pip install "amclust[torch]"``."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = 'amclust.torch needs PyTorch: pip install "amclust[torch]"'
    raise ModuleNotFoundError(message, name="torch") from error

from amclust.torch import energies, functional
from amclust.torch.layer import AssociativeMemory

__all__ = ["AssociativeMemory", "energies", "functional"]
