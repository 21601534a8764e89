"""The bytes of a model file: a zip that is sealed with a checksum and read without trust.

It is not compressed, so that reading needs no more memory than the file has bytes. Its last 64
bytes, as the zip's comment, are the SHA-256 of all before them: any byte that changed is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
StrPath = str | os.PathLike[str]

HEADER = "header.json"
# In a zip, the name of the first file begins at byte 30.
BEGINNING = 30 + len(HEADER)
SEAL_LENGTH = 64
# Objects made of JSON, or of the zip's list of its parts, take many times their bytes.
LARGEST_HEADER = 16 * 2**20
LARGEST_LIST = 2**14
# The end of a zip, and what stands before it in one of more than 2 GB.
END_LENGTH, LOCATOR_LENGTH = 22, 20


class ModelFileError(ValueError):
    """A file that is no model, is damaged, or was written by a newer amclust."""


def damaged(path: StrPath, reason: str) -> ModelFileError:
    """Return the error to raise for a file that cannot be right."""
    return ModelFileError(
        f"{os.fspath(path)} is damaged: {reason}. Take another copy, or fit the model again."
    )


def sealed_bytes(header: Mapping[str, object], arrays: dict[str, Array]) -> bytes:
    """Return the content of a model file; the same for the same model."""
    text = json.dumps(header, indent=1, allow_nan=False).encode("ascii")
    if len(text) > LARGEST_HEADER:
        msg = (
            f"The names and parameters of this model take {len(text):,} bytes as text; a model "
            f"file holds at most {LARGEST_HEADER:,}."
        )
        raise ValueError(msg)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.comment = b" " * SEAL_LENGTH
        archive.writestr(zipfile.ZipInfo(HEADER), text)
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue())
    content = buffer.getvalue()[:-SEAL_LENGTH]
    return content + hashlib.sha256(content).hexdigest().encode("ascii")


def read_sealed(
    path: StrPath, check_header: Callable[[Any], None]
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file that may come from a stranger.

    `check_header` looks at the header before anything else is read, since the rest of a newer
    format may be different.
    """
    with open(path, "rb") as file:
        size = _check_seal(file, path)
        _check_list(file, size, path)
        try:
            with zipfile.ZipFile(file) as archive:
                header = json.loads(_read_part(archive, HEADER, min(size, LARGEST_HEADER)))
                check_header(header)
                return header, _read_arrays(archive, size)
        except ModelFileError:
            raise
        except (  # what the parts of a file made on purpose can raise
            ArithmeticError,
            AttributeError,
            EOFError,
            LookupError,
            MemoryError,
            RuntimeError,
            TypeError,
            ValueError,
            struct.error,
            zipfile.BadZipFile,
        ) as error:
            raise damaged(path, f"{type(error).__name__}: {error}") from error


def begins_a_model(beginning: bytes) -> bool:
    """Whether a file that begins so is a model file, damaged or not."""
    name = HEADER.encode("ascii")
    return beginning.startswith(b"PK\x03\x04") and beginning[:BEGINNING].endswith(name)


def _check_seal(file: IO[bytes], path: StrPath) -> int:
    """Refuse what is no model file, or one of which any byte changed; return the size."""
    beginning = file.read(BEGINNING)
    if not begins_a_model(beginning):
        found = ": it is empty" if not beginning else ", as amclust fit -o and ClAM.save write them"
        msg = f"{os.fspath(path)} is not a model file of amclust{found}."
        raise ModelFileError(msg)
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - SEAL_LENGTH))
    seal = file.read()
    file.seek(0)
    code, left = hashlib.sha256(), size - SEAL_LENGTH
    if seal.isalnum():  # a file cut short need not be read
        while left > 0 and (block := file.read(min(left, 2**20))):
            code.update(block)
            left -= len(block)
    if seal != code.hexdigest().encode("ascii"):
        reason = "its bytes do not match its checksum, so it was cut short or changed"
        raise damaged(path, reason)
    file.seek(0)
    return size


def _check_list(file: IO[bytes], size: int, path: StrPath) -> None:
    """Refuse a list of parts that is longer than that of any model."""
    file.seek(max(0, size - SEAL_LENGTH - END_LENGTH - LOCATOR_LENGTH))
    locator, end = file.read(LOCATOR_LENGTH), file.read(END_LENGTH)
    (length,) = struct.unpack_from("<L", end, 12) if len(end) == END_LENGTH else (math.inf,)
    is_large = locator.startswith(b"PK\x06\x07")  # its length stands elsewhere
    if length > LARGEST_LIST or (is_large and size < 2**31):
        raise damaged(path, "the list of its parts is too long")
    file.seek(0)


def _read_part(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """Read a part; compressed, a few bytes could fill the memory."""
    part = archive.getinfo(name)
    if part.compress_type != zipfile.ZIP_STORED:
        msg = f"the part {name!r} is compressed"
        raise ValueError(msg)
    if part.file_size > most:
        msg = f"the part {name!r} has {part.file_size:,} bytes, more than {most:,}"
        raise ValueError(msg)
    return archive.read(name)


def _read_arrays(archive: zipfile.ZipFile, size: int) -> dict[str, Array]:
    names = archive.namelist()
    if len(set(names)) != len(names):
        msg = "a part appears twice"
        raise ValueError(msg)
    arrays = {}
    left = size  # parts that overlap could be read many times
    for name in names:
        if name != HEADER:
            content = _read_part(archive, name, left)
            left -= len(content)
            arrays[name.removesuffix(".npy")] = _read_array(content)
    return arrays


def _read_array(content: bytes) -> Array:
    """Read a .npy file whose declared size is that of its bytes."""
    file = io.BytesIO(content)
    if np.lib.format.read_magic(file) != (1, 0):
        msg = "an array has an unknown format"
        raise ValueError(msg)
    shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or fortran_order:
        msg = "an array has objects, or columns first"
        raise ValueError(msg)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        msg = f"an array declares the shape {shape}, which does not fit its bytes"
        raise ValueError(msg)
    # A copy: arrays of a model can be written to.
    return np.frombuffer(content, dtype, offset=file.tell()).reshape(shape).copy()
