"""Checkpoints: a search or a deep fit on disk, refused if it is another's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from amclust import _native
from amclust._halving import TABLE_DTYPE, State
from amclust._validation import as_numbers
from amclust.io.container import Array, Header, Kind, StrPath, checked, read, write

# It may be a file of the user's, named by mistake: no word of deleting it.
SEARCH = Kind("search", "a checkpoint of a search", "Name another file.")
# What is too long to show in messages.
DIGESTS = ("X", "sample_weight", "space")
# The parts of a record, as `_native.Record` gives and takes them.
PARTS = ("counts", "values", "curve", "rates")


def digest(values: Any) -> str:
    """Return a fingerprint of a matrix, an array or None."""
    if values is None:
        return "None"
    parts = [values.data, values.indices, values.indptr] if sparse.issparse(values) else [values]
    code = hashlib.sha256(str(values.shape).encode())
    for part in parts:
        code.update(np.ascontiguousarray(part).data)
    return code.hexdigest()


def describe(name: str, value: Any) -> str:
    """Return a parameter in words; modules by their layers and weights."""
    if value is None or isinstance(value, str | Real):
        return str(value)
    if not hasattr(value, "state_dict"):
        return digest(as_numbers(name, value))
    import torch

    code = hashlib.sha256(repr(value).encode())
    for key, part in value.state_dict().items():
        code.update(key.encode())
        if isinstance(part, torch.Tensor):
            code.update(part.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        else:
            code.update(repr(part).encode())
    return f"{type(value).__name__} {code.hexdigest()[:12]}"


class Checkpoint:
    """A file that belongs to one computation: all that it depends on is in the fingerprint."""

    def __init__(self, path: StrPath, kind: Kind, fingerprint: Mapping[str, str]) -> None:
        self.path, self.kind, self.fingerprint = Path(path), kind, dict(fingerprint)
        self.shown = f"checkpoint={os.fspath(path)!r}"
        if self.path.is_dir():
            msg = f"{self.shown} is a folder; name a file."
            raise ValueError(msg)
        if not self.path.parent.is_dir():
            msg = f"{self.shown}: there is no folder {self.path.parent}."
            raise ValueError(msg)

    def save(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Replace the file at once: a process killed meanwhile leaves the old one."""
        write(self.path, self.kind, {"fingerprint": self.fingerprint, **header}, arrays)

    def load(self) -> tuple[Header, dict[str, Array]] | None:
        """Return what was saved; None if there is no file yet."""
        if not self.path.exists():
            return None
        header, arrays = read(self.path, self.kind, self.shown)
        with checked(self.kind, self.shown):
            there, here = header["fingerprint"], self.fingerprint
            changed = [
                name
                if name in DIGESTS
                else f"{name} ({there.get(name)} there, {here.get(name)} here)"
                for name in sorted(there.keys() | here.keys())
                if there.get(name) != here.get(name)
            ]
        if changed:
            msg = (
                f"{self.shown} is of another {self.kind.name}, which differs in: "
                f"{', '.join(changed)}. Name another file, or delete this one."
            )
            raise ValueError(msg)
        return header, arrays


def save_search(file: Checkpoint, state: State) -> None:
    """Write how far a search has come."""
    header = {
        "config_seed": state.config_seed,
        "sample_seed": state.sample_seed,
        "rung": state.rung,
        "best": state.best,
    }
    arrays = {name: getattr(state, name) for name in ("seeds", "runs", "judged", "alive")}
    arrays["places"] = np.array(list(state.records), dtype=np.int64)
    best = [] if state.best_record is None else [state.best_record]
    file.save(header, arrays | _pack([*state.records.values(), *best]))


def load_search(file: Checkpoint) -> State | None:
    """Return how far a search has come; None if there is no file yet."""
    if (found := file.load()) is None:
        return None
    header, arrays = found
    with checked(file.kind, file.shown):
        records = _unpack(arrays)
        best_record = records.pop() if len(records) > len(arrays["places"]) else None
        return State(
            header["config_seed"],
            header["sample_seed"],
            arrays["seeds"],
            arrays["runs"].astype(TABLE_DTYPE, casting="no"),
            arrays["judged"].astype(TABLE_DTYPE, casting="no"),
            header["rung"],
            arrays["alive"],
            dict(zip(arrays["places"].tolist(), records, strict=True)),
            header["best"],
            best_record,
        )


def _pack(records: list[_native.Record]) -> dict[str, Array]:
    """Put each part of all records into one array, beside an array of their lengths."""
    packed: dict[str, Array] = {}
    states = [record.__getstate__() for record in records]
    if not states:  # stopped before anything was trained
        return packed
    for name, parts in zip(PARTS, zip(*states, strict=True), strict=True):
        packed[f"record.{name}"] = np.concatenate(parts)
        packed[f"lengths.{name}"] = np.array([len(part) for part in parts], dtype=np.int64)
    return packed


def _unpack(arrays: dict[str, Array]) -> list[_native.Record]:
    if "record.counts" not in arrays:
        return []
    parts = [
        np.split(arrays[f"record.{name}"], np.cumsum(arrays[f"lengths.{name}"])[:-1])
        for name in PARTS
    ]
    records = []
    for state in zip(*parts, strict=True):
        record = _native.Record.__new__(_native.Record)
        record.__setstate__(state)
        records.append(record)
    return records
