"""A deep fit on disk: written whole or not at all, read as plain values, refused if another's."""

from __future__ import annotations

import hashlib
import os
import pickle
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from amclust.io.state import differences, digest

KIND = "amclust.DeepClAM"
# Parameters that change nothing in what is computed.
INDIFFERENT = frozenset({"checkpoint", "checkpoint_every", "device", "random_state", "verbose"})


class Checkpoint:
    """A file that belongs to one fit: of these rows, with these parameters.

    Parameters
    ----------
    path : path-like
        The file. Its folder must exist.
    fingerprint : dict of str
        What the fit depends on, in words.
    """

    def __init__(self, path: str | os.PathLike[str], fingerprint: dict[str, str]) -> None:
        self.path, self.fingerprint = Path(path), fingerprint
        self._name = f"checkpoint={os.fspath(path)!r}"
        if self.path.is_dir():
            msg = f"{self._name} is a folder; name a file."
            raise ValueError(msg)
        if not self.path.parent.is_dir():
            msg = f"{self._name}: there is no folder {self.path.parent}."
            raise ValueError(msg)

    def save(self, state: dict[str, Any]) -> None:
        """Replace the file at once: a process killed meanwhile leaves the old one."""
        part = self.path.with_name(f"{self.path.name}.part")
        try:
            with open(part, "wb") as file:
                torch.save({"kind": KIND, "fingerprint": self.fingerprint, "state": state}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise

    def load(self) -> dict[str, Any] | None:
        """Return the state in the file; None if there is no file yet."""
        if not self.path.exists():
            return None
        try:
            with zipfile.ZipFile(self.path) as archive:  # torch does not look at the checksums
                if (bad := archive.testzip()) is not None:
                    msg = f"{bad} is not what was written"
                    raise ValueError(msg)
            content = torch.load(self.path, map_location="cpu", weights_only=True)
            if content["kind"] != KIND:
                msg = f"it is of kind {content['kind']!r}"
                raise ValueError(msg)
            there, state = dict(content["fingerprint"]), dict(content["state"])
        except (
            AttributeError,
            EOFError,
            IndexError,
            KeyError,
            OSError,
            RuntimeError,
            TypeError,
            ValueError,
            pickle.UnpicklingError,
            zipfile.BadZipFile,
            zlib.error,
        ) as error:
            reason = str(error).partition("\n")[0]
            msg = (
                f"{self._name} is damaged, or no checkpoint of DeepClAM ({reason}). "
                "Delete the file to begin anew, or name another."
            )
            raise ValueError(msg) from error
        if changed := differences(there, self.fingerprint):
            msg = (
                f"{self._name} is of another fit, which differs in: {', '.join(changed)}. "
                "Name another file, or delete this one."
            )
            raise ValueError(msg)
        return state


def fingerprint(
    parameters: dict[str, Any], X: NDArray[np.float32], seed: int | None
) -> dict[str, str]:
    """Return what a fit depends on; ``seed`` is None where chance decides."""
    words = {
        name: _describe(value) for name, value in parameters.items() if name not in INDIFFERENT
    }
    return words | {"X": digest(X), "random_state": str(seed)}


def _describe(value: Any) -> str:
    """Return a parameter in words; modules by their layers and weights."""
    if not isinstance(value, nn.Module):
        return str(value)
    code = hashlib.sha256(repr(value).encode())
    for name, entry in value.state_dict().items():
        code.update(name.encode())
        if isinstance(entry, torch.Tensor):
            code.update(entry.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        else:
            code.update(repr(entry).encode())
    return f"{type(value).__name__} {code.hexdigest()[:12]}"
