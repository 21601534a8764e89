"""What distinguishes clusters and rows: the features that depart most, in scaled units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from amclust.report._numbers import ColumnFormat, column_formats
from amclust.report._subject import FloatArray, Subject

# How many features are told of a cluster or row; and from which departure on, as a part of the
# typical spread of a (scaled) column.
FEATURES_SHOWN = 5
MIN_TOLD = 0.1


class Departure(NamedTuple):
    """One feature that departs from what is usual."""

    column: int
    value: float  # in original units
    usual: float
    scaled: float  # the difference in scaled units


@dataclass(frozen=True)
class Profiles:
    """The memories beside all rows, feature by feature.

    For "cosine" these are parts of a row of length 1, since that is what memories are; otherwise
    they are in original units.
    """

    subject: Subject

    @property
    def directions(self) -> bool:
        """Whether memories are directions."""
        return self.subject.geometry.spherical

    @cached_property
    def memories(self) -> NDArray[np.float64]:
        """One row per cluster."""
        return np.asarray(self.subject.network.centers, dtype=np.float64)

    @cached_property
    def usual(self) -> NDArray[np.float64]:
        """The mean of all rows (of "cosine", of the sampled rows at length 1)."""
        if self.directions:
            return self.subject.scaled.mean(axis=0, dtype=np.float64)
        return self.subject.columns.mean

    @cached_property
    def factor(self) -> NDArray[np.float64]:
        """What turns a difference into scaled units; 0 for constant columns."""
        columns = self.subject.columns
        if self.directions:
            spread = self.subject.scaled.std(axis=0, dtype=np.float64)
            return np.where(spread > 0, 1 / np.where(spread > 0, spread, 1), 0.0)
        return np.where(columns.constant, 0.0, columns.factor)

    @property
    def typical(self) -> float:
        """The spread of a typical column, in scaled units: 1, unless nothing was scaled."""
        geometry = self.subject.geometry
        return geometry.length if geometry.by_column else 1.0

    @cached_property
    def formats(self) -> Sequence[ColumnFormat]:
        """How the values of a profile are written, column by column."""
        scaled = self.subject.scaled
        return (
            column_formats(scaled, scaled.std(axis=0, dtype=np.float64))
            if self.directions
            else self.table_formats
        )

    @cached_property
    def table_formats(self) -> Sequence[ColumnFormat]:
        """How the values of the table are written, column by column."""
        subject = self.subject
        return column_formats(subject.rows[subject.sample], subject.columns.spread)

    def of_cluster(self, cluster: int) -> list[Departure]:
        """Return the features in which a memory departs most from all rows."""
        return self._departures(self.memories[cluster], self.usual)

    def of_row(self, values: FloatArray, cluster: int) -> list[Departure]:
        """Return the features in which a row departs most from the memory of a cluster."""
        if self.directions:
            length = np.sqrt(np.nansum(np.square(values, dtype=np.float64)))
            values = values / (length or 1.0)
        return self._departures(np.asarray(values, np.float64), self.memories[cluster])

    def _departures(
        self, values: NDArray[np.float64], usual: NDArray[np.float64]
    ) -> list[Departure]:
        scaled = np.nan_to_num((values - usual) * self.factor)
        least = MIN_TOLD * self.typical
        order = np.argsort(-np.abs(scaled), kind="stable")[:FEATURES_SHOWN]
        return [
            Departure(int(j), float(values[j]), float(usual[j]), float(scaled[j]))
            for j in order
            if abs(scaled[j]) >= least
        ]


def most_typical_rows(subject: Subject) -> dict[int, int]:
    """Return the row of least energy in every cluster that has rows."""
    order = np.argsort(subject.energy, kind="stable")
    order = order[subject.clustered[order]]
    labels, first = np.unique(subject.labels[order], return_index=True)
    return {int(m): int(order[i]) for m, i in zip(labels, first, strict=True)}


def least_typical_rows(subject: Subject, count: int) -> NDArray[np.int64]:
    """Return the rows of most energy in clusters, the least typical first."""
    order = np.argsort(-subject.energy, kind="stable")
    return order[subject.clustered[order]][:count]


class NoiseRow(NamedTuple):
    """A row out of reach of all memories."""

    row: int
    nearest: int  # cluster of the nearest memory
    distance: float


def farthest_noise(subject: Subject, count: int) -> list[NoiseRow]:
    """Return the rows of noise, those farthest from all memories first."""
    rows = np.flatnonzero(~subject.clustered)
    if not len(rows):
        return []
    distances = subject.network.distances(subject.rows[rows], n_jobs=subject.n_jobs)
    nearest, least = distances.argmin(axis=1), distances.min(axis=1)
    return [
        NoiseRow(int(rows[i]), int(nearest[i]), float(least[i]))
        for i in np.argsort(-least, kind="stable")[:count]
    ]
