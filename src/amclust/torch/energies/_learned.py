"""The parameters of an energy that are learned with the memories, as one vector."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from amclust.torch.energies._base import Energy


def learned_parameters(energy: Energy) -> list[nn.Parameter]:
    """Return the parameters that are learned."""
    return [parameter for parameter in energy.parameters() if parameter.requires_grad]


def learned_values(energy: Energy) -> NDArray[np.float32]:
    """Return their values, one after the other."""
    parameters = learned_parameters(energy)
    if not parameters:
        return np.zeros(0, np.float32)
    values = parameters_to_vector(parameters).detach().cpu().numpy()
    return np.array(values, dtype=np.float32)


def set_learned_values(energy: Energy, values: NDArray[np.float32]) -> None:
    """Set them."""
    parameters = learned_parameters(energy)
    count = sum(parameter.numel() for parameter in parameters)
    if count != len(values):
        message = f"the energy has {count} parameters, earlier training had {len(values)}"
        raise ValueError(message)
    if parameters:
        vector = torch.from_numpy(np.array(values)).to(parameters[0])
        vector_to_parameters(vector, parameters)
