"""A search on disk: written whole or not at all, read without pickle, refused if another's."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native
from amclust._halving import TABLE_DTYPE, State
from amclust._validation import as_numbers
from amclust.io.files import atomic_write

# The parts of a fingerprint that are too long to show.
DIGESTS = ("X", "sample_weight", "space")


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
    """Return a parameter in words."""
    if value is None or isinstance(value, str | Real):
        return str(value)
    if hasattr(value, "state_dict"):  # an energy of torch
        parts = [digest(np.asarray(part.detach().cpu())) for part in value.state_dict().values()]
        return " ".join([repr(value), *parts])
    return digest(as_numbers(name, value))


def differences(there: dict[str, str], here: dict[str, str]) -> list[str]:
    """Return what differs between two fingerprints, in words."""
    return [
        name if name in DIGESTS else f"{name} ({there.get(name)} there, {here.get(name)} here)"
        for name in sorted(there.keys() | here.keys())
        if there.get(name) != here.get(name)
    ]


def save(path: str | os.PathLike[str], fingerprint: dict[str, str], state: State) -> None:
    """Replace the file at once: a process killed meanwhile leaves the old one."""
    arrays: dict[str, Any] = {
        "fingerprint": np.array(json.dumps(fingerprint)),
        "draws": np.array([state.config_seed, state.sample_seed, *state.seeds], dtype=np.int64),
        "runs": state.runs,
        "judged": state.judged,
        "rung": np.array(state.rung),
        "alive": state.alive,
        "places": np.array(list(state.records), dtype=np.int64),
        "best": np.array(state.best),
    }
    best = [] if state.best_record is None else [state.best_record]
    arrays |= _pack([*state.records.values(), *best])
    with atomic_write(path, overwrite=True) as file:
        np.savez(file, **arrays)


def load(path: str | os.PathLike[str]) -> tuple[dict[str, str], State]:
    """Return the fingerprint and the state of a file."""
    if Path(path).is_dir():
        msg = f"checkpoint={os.fspath(path)!r} is a folder; name a file."
        raise ValueError(msg)
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = dict(archive)
        fingerprint = json.loads(str(arrays["fingerprint"]))
        config_seed, sample_seed, *seeds = (int(seed) for seed in arrays["draws"])
        records = _unpack(arrays)
        best_record = records.pop() if len(records) > len(arrays["places"]) else None
        state = State(
            config_seed,
            sample_seed,
            np.array(seeds, dtype=np.int64),
            arrays["runs"].astype(TABLE_DTYPE, casting="no"),
            arrays["judged"].astype(TABLE_DTYPE, casting="no"),
            int(arrays["rung"]),
            arrays["alive"],
            dict(zip(arrays["places"].tolist(), records, strict=True)),
            int(arrays["best"]),
            best_record,
        )
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        # It may be a file of the user's, named by mistake: no word of deleting it.
        msg = (
            f"checkpoint={os.fspath(path)!r} is not a checkpoint of a search, or it is damaged; "
            "name another file."
        )
        raise ValueError(msg) from error
    return fingerprint, state


# The parts of a record, as `_native.Record` gives and takes them.
PARTS = ("counts", "values", "curve", "rates")


def _pack(records: list[_native.Record]) -> dict[str, NDArray[Any]]:
    """Put each part of all records into one array, beside an array of their lengths."""
    packed: dict[str, NDArray[Any]] = {}
    parts = [record.__getstate__() for record in records]
    if not parts:  # stopped before anything was trained
        return packed
    for name, arrays in zip(PARTS, zip(*parts, strict=True), strict=True):
        packed[f"record.{name}"] = np.concatenate(arrays)
        packed[f"lengths.{name}"] = np.array([len(array) for array in arrays], dtype=np.int64)
    return packed


def _unpack(arrays: dict[str, NDArray[Any]]) -> list[_native.Record]:
    if "record.counts" not in arrays:
        return []
    parts = [
        np.split(arrays[f"record.{name}"], np.cumsum(arrays[f"lengths.{name}"])[:-1])
        for name in PARTS
    ]
    records = []
    for counts, values, curve, rates in zip(*parts, strict=True):
        record = _native.Record.__new__(_native.Record)
        record.__setstate__((counts, values, curve, rates))
        records.append(record)
    return records
