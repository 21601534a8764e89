"""A table of points with their classes, and its two forms on disk: CSV and idx, both gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from amclust._files import atomic_write

# What reading a damaged file can raise.
DAMAGE = (ValueError, EOFError, csv.Error, gzip.BadGzipFile, zlib.error)

_ROWS_A_CHUNK = 8192
_IDX_OF_BYTES = b"\x00\x00\x08"


class Table(NamedTuple):
    """Points, their classes as codes into `target_names`, and the names of the features."""

    data: NDArray[np.floating[Any]]
    target: NDArray[np.intp]
    feature_names: list[str]
    target_names: NDArray[np.str_]


def make_table(
    data: NDArray[np.floating[Any]], labels: Iterable[Any], feature_names: Sequence[str] = ()
) -> Table:
    """Make a table of points and labels; unnamed features are ``f0``, ``f1``, ..."""
    target_names, target = np.unique(
        np.array([str(label) for label in labels]), return_inverse=True
    )
    names = list(feature_names) or [f"f{column}" for column in range(data.shape[1])]
    return Table(np.ascontiguousarray(data), target.ravel(), names, target_names)


def read_csv(path: Path, dtype: DTypeLike = np.float64) -> Table:
    """Read a gzipped CSV: a header, one row a point, the class in the last column."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        header = next(csv.reader(file), [])
        first = file.readline()
        if len(header) < 2 or not first.strip():
            msg = "it has no points"
            raise ValueError(msg)
        names = header[:-1]
        rows = np.loadtxt(
            itertools.chain([first], file),
            dtype=[("point", dtype, (len(names),)), ("label", object)],
            delimiter=",",
            quotechar='"',
            comments=None,
            ndmin=1,
        )
    return make_table(rows["point"], rows["label"], names)


def write_csv(table: Table, path: Path) -> None:
    """Write what `read_csv` reads, every number so that it is read as the same."""
    with (
        atomic_write(path, overwrite=True) as file,
        _gzip(file) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*table.feature_names, "label"])
        for start in range(0, len(table.data), _ROWS_A_CHUNK):
            chunk = slice(start, start + _ROWS_A_CHUNK)
            labels = table.target_names[table.target[chunk]].tolist()
            points = table.data[chunk].tolist()
            writer.writerows([*point, label] for point, label in zip(points, labels, strict=True))


def parse_idx(content: bytes) -> NDArray[np.uint8]:
    """Give the array of bytes in an idx file: its shape, big-endian, is in the header."""
    if content[:3] != _IDX_OF_BYTES or len(content) < 4 + 4 * content[3]:
        msg = "it is not an idx file of bytes"
        raise ValueError(msg)
    shape = struct.unpack_from(f">{content[3]}I", content, 4)
    values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * len(shape))
    if values.size != math.prod(shape):
        msg = f"its header says {math.prod(shape)} values, there are {values.size}"
        raise ValueError(msg)
    return values.reshape(shape)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read a gzipped idx file of bytes."""
    with gzip.open(path) as file:
        return parse_idx(file.read())


def write_idx(values: NDArray[np.uint8], path: Path) -> None:
    """Write what `read_idx` reads."""
    header = _IDX_OF_BYTES + struct.pack(f">B{values.ndim}I", values.ndim, *values.shape)
    with (
        atomic_write(path, overwrite=True) as file,
        _gzip(file) as packed,
    ):
        packed.write(header + np.ascontiguousarray(values).tobytes())


def _gzip(file: BinaryIO) -> gzip.GzipFile:
    # Without a time in it, the same content gives the same bytes. Numbers hardly pack better at
    # a higher level.
    return gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=1, mtime=0)


def images_table(images: NDArray[np.uint8], classes: NDArray[np.uint8]) -> Table:
    """Give flat images of bytes, in float32, and their classes."""
    if len(images) != len(classes):
        msg = f"there are {len(images)} images and {len(classes)} classes"
        raise ValueError(msg)
    return make_table(images.reshape(len(images), -1).astype(np.float32), classes)
