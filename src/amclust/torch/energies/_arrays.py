"""What an energy is made of, as arrays: all of it, or what is learned with the memories."""

from __future__ import annotations

from typing import Any

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
    """Return the values of what is learned, one after the other."""
    parameters = learned_parameters(energy)
    if not parameters:
        return np.zeros(0, np.float32)
    values = parameters_to_vector(parameters).detach().cpu().numpy()
    return np.array(values, dtype=np.float32)


def set_learned_values(energy: Energy, values: NDArray[np.float32]) -> None:
    """Set the values of what is learned."""
    parameters = learned_parameters(energy)
    count = sum(parameter.numel() for parameter in parameters)
    if count != len(values):
        message = f"the energy has {count} parameters, earlier training had {len(values)}"
        raise ValueError(message)
    if parameters:
        vector = torch.from_numpy(np.array(values)).to(parameters[0])
        vector_to_parameters(vector, parameters)


def energy_arrays(energy: Any) -> dict[str, NDArray[np.float32]]:
    """Return all that an energy is made of, by name."""
    return {
        name: values.detach().cpu().numpy().astype(np.float32)
        for name, values in energy.state_dict().items()
    }


def set_energy_arrays(energy: Energy, arrays: dict[str, NDArray[Any]]) -> None:
    """Set all that an energy is made of; refuse arrays that do not fit it."""
    wanted = energy.state_dict()
    fits = arrays.keys() == wanted.keys() and all(
        array.dtype == np.float32
        and array.shape == tuple(wanted[name].shape)
        and np.isfinite(array).all()
        for name, array in arrays.items()
    )
    if not fits:
        message = f"these are not the arrays of the energy {type(energy).__name__}"
        raise ValueError(message)
    energy.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
