"""A deep fit on disk: its tensors as arrays, all else as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from amclust._rows import digest
from amclust.io.container import Array, Kind, checked
from amclust.io.state import Checkpoint, describe
from amclust.torch.deep._training import Training

FIT = Kind("deep fit", "a checkpoint of DeepClAM", "Name another file.")
# Parameters that change nothing in what is computed.
INDIFFERENT = frozenset({"checkpoint", "checkpoint_every", "device", "random_state", "verbose"})


def save_fit(file: Checkpoint, training: Training) -> None:
    """Write where a fit stands."""
    arrays: dict[str, Array] = {}
    file.save({"state": _encode(training.state_dict(), "state", arrays)}, arrays)


def load_fit(file: Checkpoint, training: Training) -> bool:
    """Let a fit go on from its file; return whether there was one."""
    if (found := file.load()) is None:
        return False
    header, arrays = found
    with checked(file.kind, file.shown):
        training.load_state_dict(_decode(header["state"], arrays))
    return True


def _encode(value: Any, name: str, arrays: dict[str, Array]) -> Any:
    """Return a tree of values as JSON has it; its tensors go to `arrays`, by their places."""
    if isinstance(value, Tensor):
        try:
            arrays[name] = value.detach().cpu().numpy()
        except TypeError as error:  # a type or a layout that NumPy does not have
            words = f"a tensor of {value.dtype}, {value.layout}"
            msg = f"A checkpoint holds dense tensors of NumPy's types, got {words} in {name}."
            raise TypeError(msg) from error
        return {"tensor": name}
    if isinstance(value, dict):  # as pairs, since an optimizer numbers its parameters
        return {"items": [[key, _encode(v, f"{name}/{key}", arrays)] for key, v in value.items()]}
    if isinstance(value, list | tuple):
        return [_encode(entry, f"{name}/{place}", arrays) for place, entry in enumerate(value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    msg = f"A checkpoint holds tensors, numbers and text, got a {type(value).__name__} in {name}."
    raise TypeError(msg)


def _decode(value: Any, arrays: dict[str, Array]) -> Any:
    if isinstance(value, list):
        return [_decode(entry, arrays) for entry in value]
    if isinstance(value, dict):
        if "tensor" in value:
            return torch.from_numpy(arrays[value["tensor"]])
        return {key: _decode(entry, arrays) for key, entry in value["items"]}
    return value


def fingerprint(
    parameters: dict[str, Any], X: NDArray[np.float32], seed: int | None
) -> dict[str, str]:
    """Return what a fit depends on; ``seed`` is None where chance decides."""
    words = {
        name: describe(name, value) if isinstance(value, nn.Module) else str(value)
        for name, value in parameters.items()
        if name not in INDIFFERENT
    }
    return words | {"X": digest(X), "random_state": str(seed)}
