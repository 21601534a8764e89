"""A table of points with their classes, and how it is read from CSV and idx files."""

from __future__ import annotations

import csv
import gzip
import io
import math
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

# What reading a damaged file can raise.
DAMAGE = (
    ValueError,
    KeyError,
    EOFError,
    csv.Error,
    gzip.BadGzipFile,
    zlib.error,
    zipfile.BadZipFile,
)

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
    data, texts = np.ascontiguousarray(data), [str(label) for label in labels]
    if not data.size:
        msg = "it has no points"
        raise ValueError(msg)
    if data.ndim != 2 or len(data) != len(texts):
        msg = f"it has {len(texts)} labels for points of the shape {data.shape}"
        raise ValueError(msg)
    target_names, target = np.unique(np.array(texts), return_inverse=True)
    names = list(feature_names) or [f"f{column}" for column in range(data.shape[1])]
    return Table(data, target.ravel(), names, target_names)


def read_csv(path: Path, dtype: DTypeLike = np.float64) -> Table:
    """Read a CSV, gzipped or plain: a header, one row per point, the class in the last column."""
    points, labels = [], []
    # Excel begins its UTF-8 with a byte order mark.
    with io.TextIOWrapper(_open(path), encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file)
        rows = (row for row in reader if len(row) > 1 or "".join(row).strip())
        header = _checked_header(next(rows, []))
        for row in rows:
            if len(row) != len(header):
                msg = f"line {reader.line_num} has {len(row)} values, the header {len(header)}"
                raise ValueError(msg)
            point: list[float] = []
            try:
                point.extend(map(float, row[:-1]))
            except ValueError as error:
                name, text = header[len(point)], row[len(point)]
                msg = f"feature {name!r} is {text!r} in line {reader.line_num}, not a number"
                raise ValueError(msg) from error
            points.append(np.array(point, dtype))
            labels.append(row[-1].strip())
    if not points:
        msg = "it has no points, only a header"
        raise ValueError(msg)
    return make_table(np.stack(points), labels, header[:-1])


def _checked_header(row: list[str]) -> list[str]:
    header = [name.strip() for name in row]
    if len(header) < 2:
        shown = f"its first line is {header[0]!r}" if header else "it is empty"
        msg = f"{shown}, not the names of the features and of the class with commas between them"
        raise ValueError(msg)
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        msg = f"its first line, the header, has the name {name!r} {count} times"
        raise ValueError(msg)
    return header


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
    """Read an idx file of bytes, gzipped or plain; an error names the file."""
    try:
        with _open(path) as file:
            return parse_idx(file.read())
    except DAMAGE as error:
        msg = f"{path.name}: {error}"
        raise ValueError(msg) from error


def read_images(images: Path, classes: Path) -> Table:
    """Read images and their classes from two idx files."""
    return images_table(read_idx(images), read_idx(classes))


def _open(path: Path) -> BinaryIO:
    """Open a file, unpacked on the way if its name ends in ``.gz``."""
    return cast(BinaryIO, gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def images_table(images: NDArray[np.uint8], classes: NDArray[np.uint8]) -> Table:
    """Give flat images of bytes, in float32, and their classes."""
    if (images.ndim, classes.ndim) != (3, 1):
        msg = f"images have three axes and classes one, these {images.ndim} and {classes.ndim}"
        raise ValueError(msg)
    flat = images.reshape(len(images), math.prod(images.shape[1:]))
    return make_table(flat.astype(np.float32), classes)
