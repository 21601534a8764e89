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

from amclust._files import atomic_write
from amclust._search import TABLE_DTYPE, State
from amclust._validation import as_numbers

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
    arrays |= _pack([*state.records.values(), state.best_record])
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
        *records, best_record = _unpack(arrays)
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


def _pack(records: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """Put each entry of all records into one array, beside an array of their shapes."""
    packed = {}
    for name in records[0]:
        values = [np.asarray(record[name]) for record in records]
        packed[f"record.{name}"] = np.concatenate([value.ravel() for value in values])
        shapes = np.array([value.shape for value in values], dtype=np.int64)
        packed[f"shapes.{name}"] = shapes.reshape(len(values), -1)
    return packed


def _unpack(arrays: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = [{} for _ in range(len(arrays["places"]) + 1)]
    for key in arrays:
        kind, _, name = key.partition(".")
        if kind != "shapes":
            continue
        ends = np.cumsum(np.prod(arrays[key], axis=1, dtype=np.int64))
        pieces = np.split(arrays[f"record.{name}"], ends[:-1])
        for record, piece, shape in zip(records, pieces, arrays[key], strict=True):
            # The core takes numbers of Python and arrays that are whole.
            record[name] = piece.reshape(shape).copy() if len(shape) else piece.item()
    return records
