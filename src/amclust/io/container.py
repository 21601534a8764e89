"""The one file format of models and checkpoints: arrays and a JSON header, as safetensors.

The header is the only entry of the file's metadata, so the same content always gives the same
bytes. It begins with the SHA-256 of the whole file, taken with zeros in the checksum's place: any
byte that changed is noticed. Reading executes nothing, and trusts nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy
import scipy
import sklearn
from numpy.typing import NDArray

from amclust._version import __version__
from amclust.io.files import atomic_write

Array = NDArray[Any]
Header = dict[str, Any]  # JSON, whose values are checked where they are used
StrPath = str | os.PathLike[str]

# 2: what is known of missing values.
FORMAT_VERSION = 2
# Objects made of JSON take many times its bytes.
MAX_HEADER = 16 * 2**20

# What files begin with, after 8 bytes that tell the length of safetensors' own header.
MAGIC = b'{"__metadata__":{"amclust":"{\\"sha256\\": \\"'
BEGINNING = 8 + len(MAGIC)
CHECKSUM = slice(BEGINNING, BEGINNING + 64)
BLANK = "0" * 64


class FileFormatError(ValueError):
    """A file that is of another kind, is damaged, or was written by a newer amclust."""


class Kind(NamedTuple):
    """A kind of file: how its header names it, what messages call it and advise if it is bad."""

    name: str
    title: str
    remedy: str


def begins_a_model(beginning: bytes) -> bool:
    """Whether a file that begins so has this format, damaged or not."""
    return beginning[8:BEGINNING] == MAGIC


def write(
    path: StrPath,
    kind: Kind,
    header: Mapping[str, Any],
    arrays: Mapping[str, Array],
    *,
    overwrite: bool = True,
) -> None:
    """Write a file, whole or not at all; a structured array becomes one array per field."""
    tensors: dict[str, Array] = {}
    tables: dict[str, tuple[str, ...]] = {}
    for name, array in arrays.items():
        if array.dtype.names:
            tables[name] = array.dtype.names
            tensors |= {f"{name}.{field}": array[field] for field in array.dtype.names}
        else:
            tensors[name] = array
    for name, array in tensors.items():
        if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
            msg = f"{name} has the type {array.dtype}; a file holds numbers of up to 64 bits."
            raise ValueError(msg)
        tensors[name] = np.asarray(array, order="C")  # safetensors takes the memory as it is
    versions = {
        "amclust": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
    own = {"kind": kind.name, "format_version": FORMAT_VERSION, "versions": versions}
    first = {"sha256": BLANK}
    text = json.dumps(first | dict(header) | own | {"tables": tables} | first)
    content = safetensors.numpy.save(tensors, {"amclust": text})
    length = int.from_bytes(content[:8], "little")
    if length > MAX_HEADER:
        msg = f"Names and parameters take {length:,} bytes; a file holds at most {MAX_HEADER:,}."
        raise ValueError(msg)
    if not begins_a_model(content) or content[CHECKSUM] != BLANK.encode("ascii"):
        msg = (
            f"safetensors {safetensors.__version__} writes headers in another way than amclust "
            f"{__version__} reads them, so nothing was written. Install another safetensors."
        )
        raise RuntimeError(msg)
    with atomic_write(path, overwrite=overwrite) as file:
        file.write(content[: CHECKSUM.start])
        file.write(_checksum(content))
        file.write(memoryview(content)[CHECKSUM.stop :])


def read(path: StrPath, kind: Kind, shown: str) -> tuple[Header, dict[str, Array]]:
    """Return the header and the arrays of a file that may come from a stranger.

    Errors are FileFormatError, and call the file what `shown` says.
    """
    with open(path, "rb") as file:
        beginning = file.read(CHECKSUM.stop)
        if not begins_a_model(beginning):
            reason = "it has another format" if beginning else "it is empty"
            msg = f"{shown} is not {kind.title}: {reason}."
            raise FileFormatError(msg)
        with checked(kind, shown):
            header, content = _read_sealed(file, beginning)
            found, version = header["kind"], header["format_version"]
            writer = header["versions"]["amclust"]
            if found != kind.name:
                msg = f"{shown} is not {kind.title}: it is the file of a {found}."
                raise FileFormatError(msg)
            if version > FORMAT_VERSION:
                reason = f"format {version}, this version ({__version__}) reads formats up to"
                raise newer(shown, writer, f"{reason} {FORMAT_VERSION}")
            return header, _arrays(content, header["tables"])


@contextmanager
def checked(kind: Kind, shown: str) -> Iterator[None]:
    """Call a file damaged where its content raises anything, as one made on purpose can."""
    try:
        yield
    except FileFormatError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RuntimeError,
        TypeError,
        ValueError,
        safetensors.SafetensorError,
    ) as error:
        reason = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            reason = "its header cannot be read, so it was cut short or changed"
        msg = f"{shown} is damaged: {reason.removesuffix('.')}. {kind.remedy}"
        raise FileFormatError(msg) from error


def require(condition: bool, otherwise: str) -> None:
    """Raise what is wrong with a file, for `checked`."""
    if not condition:
        raise ValueError(otherwise)


def check_arrays(
    arrays: Mapping[str, Array], wanted: Mapping[str, tuple[Any, str]], lengths: dict[str, int]
) -> None:
    """Refuse arrays that are not those wanted, or not of their types and shapes.

    A shape is a letter per axis. Axes of the same letter have the same length, that in `lengths`
    if it is known, to which the others are added.
    """
    require(set(arrays) == set(wanted), "arrays are missing, or there are others")
    for name, (kind, letters) in wanted.items():
        array = arrays[name]
        fits = array.ndim == len(letters) and all(
            lengths.setdefault(letter, length) == length
            for letter, length in zip(letters, array.shape, strict=True)
        )
        require(fits, f"{name} has the shape {array.shape}")
        require(array.dtype == np.dtype(kind), f"{name} has the type {array.dtype}")


def newer(shown: str, writer: str, reason: str) -> FileFormatError:
    """Return the error to raise for a file that a newer amclust, the `writer`, wrote."""
    return FileFormatError(
        f"{shown} was written by a newer amclust ({writer}): it has {reason}. "
        "Upgrade: pip install --upgrade amclust"
    )


def _read_sealed(file: BinaryIO, beginning: bytes) -> tuple[Header, bytes]:
    """Return the header and all bytes; of a file longer than its header says, few are read."""
    length = int.from_bytes(beginning[:8], "little")
    if length > MAX_HEADER:
        msg = f"its header has {length:,} bytes, more than {MAX_HEADER:,}"
        raise ValueError(msg)
    content = beginning + file.read(max(0, 8 + length - len(beginning)))
    outer = json.loads(content[8 : 8 + length], object_pairs_hook=_unique)
    text = outer.pop("__metadata__")["amclust"]
    end = max([0, *(tensor["data_offsets"][1] for tensor in outer.values())])
    content += file.read(end + 1)
    if content[CHECKSUM] != _checksum(content):
        msg = "its bytes do not match its checksum, so it was cut short or changed"
        raise ValueError(msg)
    return json.loads(text, object_pairs_hook=_unique), content


def _checksum(content: bytes) -> bytes:
    code = hashlib.sha256(content[: CHECKSUM.start])
    code.update(BLANK.encode("ascii"))
    code.update(memoryview(content)[CHECKSUM.stop :])
    return code.hexdigest().encode("ascii")


def _unique(pairs: list[tuple[str, Any]]) -> Header:
    """Return a JSON object, in which no name may appear twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        msg = "a name appears twice"
        raise ValueError(msg)
    return found


def _arrays(content: bytes, tables: dict[str, list[str]]) -> dict[str, Array]:
    """Return the arrays, which can be written to; safetensors checks offsets and shapes."""
    arrays: dict[str, Array] = safetensors.numpy.load(content)
    for name, array in arrays.items():
        if array.dtype.kind not in "biuf":
            msg = f"{name} has the type {array.dtype}"
            raise ValueError(msg)
    for name, fields in tables.items():
        columns = {field: arrays.pop(f"{name}.{field}") for field in fields}
        shapes = {column.shape for column in columns.values()}
        if name in arrays or len(shapes) != 1:
            msg = f"{name} is no table"
            raise ValueError(msg)
        dtype = [(field, column.dtype) for field, column in columns.items()]
        arrays[name] = np.empty(shapes.pop(), dtype)
        for field, column in columns.items():
            arrays[name][field] = column
    return arrays
