"""Associative memories as PyTorch tensors and modules. Needs ``pip install "amclust[torch]"``."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    message = 'amclust.torch needs PyTorch: pip install "amclust[torch]"'
    raise ModuleNotFoundError(message, name="torch") from error

from amclust._objectives import Objective, register_objective
from amclust.torch import autoencoders, energies, functional
from amclust.torch._training import register_torch_objective
from amclust.torch.deep import DeepClAM
from amclust.torch.layer import AssociativeMemory

__all__ = [
    "AssociativeMemory",
    "DeepClAM",
    "Objective",
    "autoencoders",
    "energies",
    "functional",
    "register_objective",
    "register_torch_objective",
]
