"""The values that were missing, and what the model puts in their place."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust.report._subject import FloatArray, Subject


class FilledCell(NamedTuple):
    """One value that was missing, in original units."""

    row: int
    column: int
    value: float
    cluster: int
    memory: float  # what the memory of the cluster has there; NaN for noise


def first_filled_cells(subject: Subject, count: int) -> list[FilledCell]:
    """Return the first cells that were missing, from the top of the table."""
    rows = first_incomplete_rows(subject, count)
    completed = subject.rows[rows]
    if len(rows):
        completed = subject.network.complete(completed, n_jobs=subject.n_jobs)
    cells = [
        FilledCell(int(row), int(j), float(values[j]), int(subject.labels[row]), float(memory[j]))
        for row, values, memory in zip(
            rows, completed, memories_of(subject, rows, completed), strict=True
        )
        for j in np.flatnonzero(np.isnan(subject.rows[row]))
    ]
    return cells[:count]


def memories_of(
    subject: Subject, rows: NDArray[np.int64], completed: FloatArray
) -> NDArray[np.float64]:
    """Return the memory that each row falls to; for "cosine", at the length of the row.

    Noise falls to none: NaN.
    """
    memories = np.asarray(subject.network.centers[subject.labels[rows]], dtype=np.float64)
    memories[~subject.clustered[rows]] = np.nan
    if subject.geometry.spherical:
        memories = memories * np.linalg.norm(completed, axis=1, keepdims=True)
    return memories


def first_incomplete_rows(subject: Subject, count: int) -> NDArray[np.int64]:
    """Return the numbers of the first rows in which a value is missing."""
    return np.flatnonzero(np.isnan(subject.rows).any(axis=1))[:count]
