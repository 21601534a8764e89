"""Is this the published set? Its shape, classes and, where they are known, its values."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from amclust.datasets._registry import DatasetInfo
    from amclust.datasets._table import Table

# Of the standard deviation of all values: sources print them with six digits or more.
_TOLERANCE = 1e-4
_MINUS_ZERO = np.uint32(1 << 31)
_CHUNK_ROWS = 1024


def check_shape(info: DatasetInfo, table: Table) -> None:
    """Raise unless rows, features and classes are as many as were published."""
    found = (*table.data.shape, len(table.target_names))
    published = (info.n_samples, info.n_features, info.n_classes)
    if found != published:
        shown = [
            f"{rows} rows, {columns} features, {k} classes"
            for rows, columns, k in (found, published)
        ]
        msg = f"it has {shown[0]}, but {info.title} has {shown[1]}"
        raise ValueError(msg)
    if not np.isfinite(table.data).all():
        row, column = np.argwhere(~np.isfinite(table.data))[0]
        name, value = table.feature_names[column], table.data[row, column]
        msg = f"feature {name!r} is {value} in row {row}, but {info.title} has no missing values"
        raise ValueError(msg)


def check_values(info: DatasetInfo, table: Table) -> None:
    """Raise unless the classes and values are those of the copy this version was tested with."""
    if info.class_profile:
        found = np.array(sorted(class_profile(table)))
        published = np.array(sorted(info.class_profile))
        if (found[:, 0] != published[:, 0]).any():
            sizes = [np.flip(pairs[:, 0].astype(int)).tolist() for pairs in (found, published)]
            msg = f"its classes have {sizes[0]} rows, but those of {info.title} have {sizes[1]}"
            raise ValueError(msg)
        if np.abs(found[:, 1] - published[:, 1]).max() > _TOLERANCE * _spread(table.data):
            msg = f"the mean values of its classes are not those of {info.title}"
            raise ValueError(msg)
    if info.sha256 and (found_hash := hash_points(table.data)) != info.sha256:
        msg = f"the SHA-256 of its points is {found_hash}, but that of {info.title} {info.sha256}"
        raise ValueError(msg)


def class_profile(table: Table) -> list[tuple[int, float]]:
    """Give rows and mean value of every class: the same for any order of rows and any names."""
    sizes = np.bincount(table.target)
    sums = np.bincount(table.target, weights=table.data.mean(axis=1, dtype=np.float64))
    return [(int(size), float(total / size)) for size, total in zip(sizes, sums, strict=True)]


def _spread(data: NDArray[np.floating[Any]]) -> float:
    # Some rows are enough for a scale; NumPy would make a copy of all of them.
    return float(data[:: 1 + len(data) // 2000].std())


def hash_points(data: NDArray[np.floating[Any]]) -> str:
    """Give the SHA-256 of the points in float32, in whatever order the rows are."""
    values = np.ascontiguousarray(data, dtype="<f4")
    if (values.view("<u4") == _MINUS_ZERO).any():
        values = values + np.float32(0)  # turns -0 into 0
    rows = values.view(f"V{values.itemsize * values.shape[1]}").ravel()
    order = np.argsort(rows)
    digest = hashlib.sha256()
    # Sorting the rows themselves would copy all of them: five times as long on Fashion-MNIST.
    for start in range(0, len(order), _CHUNK_ROWS):
        digest.update(values[order[start : start + _CHUNK_ROWS]].tobytes())
    return digest.hexdigest()
