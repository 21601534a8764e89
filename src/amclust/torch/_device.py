"""The device to compute on."""

from __future__ import annotations

from typing import Any

import torch

from amclust._threads import torch_left_behind


def find_device(device: Any) -> torch.device:
    """Return a device by its name, None being the CPU; refuse what there is not."""
    refuse_forked()
    names = available_devices()
    try:
        found = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(_refusal(device, names)) from error
    if found.type != "cpu" and str(found) not in names:
        raise ValueError(_refusal(device, names))
    return found


def refuse_forked() -> None:
    """Refuse to compute where torch would hang."""
    if torch_left_behind() and torch.get_num_threads() > 1:
        msg = (
            "This process was forked from one that had torch already, whose threads stay behind: "
            "it would wait for them for ever. Start processes with joblib's loky or the start "
            "method 'spawn' or 'forkserver', or give torch one thread here: "
            "torch.set_num_threads(1)."
        )
        raise RuntimeError(msg)


def available_devices() -> list[str]:
    """Return the names of the devices that torch can use here."""
    names = ["cpu"]
    if torch.accelerator.is_available():
        kind = torch.accelerator.current_accelerator()
        assert kind is not None
        count = torch.accelerator.device_count()
        names += [kind.type, *(f"{kind.type}:{index}" for index in range(count))]
    return names


def _refusal(device: Any, names: list[str]) -> str:
    return f"device must be None or one of {names} (what torch has here), got {device!r}."
