"""What the sections of the page tell, computed from the subject; the words are in templates/."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_rand_score

from amclust._features import TopFeatures
from amclust._judging import order_runs
from amclust._k_means import k_means_restarts
from amclust._rows import empty_rows
from amclust._version import __version__
from amclust.report._numbers import NOTHING, ColumnFormat, column_formats, share, shorten
from amclust.report._subject import Floats, Subject

MAX_CLUSTERS, MAX_UNUSUAL, MAX_CELLS = 40, 12, 20
# Features told of a cluster and of a row, and from which difference on, as a part of the typical
# spread of a (scaled) column.
FEATURES_OF_CLUSTER, FEATURES_OF_ROW, MIN_TOLD = 5, 3, 0.1
# With more columns than this, as text has, a cluster is told by more features in less room.
MANY_COLUMNS, TOP_FEATURES = 50, 12
# A model of a thousand restarts is compared with this many of k-means.
MAX_RESTARTS = 50
MAX_PARAMETER = 100
MAX_CODE_LINES, MAX_CODE_WIDTH = 40, 200
PACKAGES = ("numpy", "scipy", "scikit-learn", "plotly")


class Departure(NamedTuple):
    """A feature that departs from what is usual."""

    column: int
    name: str
    value: str
    usual: str
    scaled: float  # the difference, in scaled units


@dataclass(frozen=True)
class Profiles:
    """What distinguishes memories from all rows, and rows from their memory.

    Values are in original units; for "cosine", where memories are directions, they are those of
    rows of length 1.
    """

    names: list[str]
    formats: Sequence[ColumnFormat]
    memories: Floats
    mean: Floats
    factors: Floats  # turn a difference into scaled units; 0 for constant columns
    min_told: float
    spherical: bool
    top: TopFeatures | None  # of the clusters, where there are many columns
    columns: NDArray[np.int64]  # the column that each feature is of

    @classmethod
    def of(cls, subject: Subject) -> Profiles:
        """Take the profiles of a model's memories beside the rows."""
        geometry, columns = subject.network.geometry, subject.columns
        mean, std, constant, formats = columns.mean, columns.std, columns.constant, columns.formats
        if geometry.spherical:
            directions = subject.scaled.astype(np.float64)
            mean, std = directions.mean(axis=0), directions.std(axis=0)
            constant, formats = std == 0, column_formats(directions, std)
        scale = geometry.column_scale if geometry.by_column else 1 / np.where(std > 0, std, 1.0)
        if subject.layout is not None:  # levels count by how their shares differ
            scale = np.where(subject.layout.are_levels, 1.0 / np.where(std > 0, std, 1.0), scale)
        return cls(
            subject.names,
            formats,
            np.asarray(subject.network.cluster_centers, dtype=np.float64),
            mean,
            np.where(constant, 0.0, scale),
            MIN_TOLD * (geometry.length if geometry.by_column else 1.0),
            geometry.spherical,
            subject.network.top_features(
                TOP_FEATURES,
                sizes=subject.sizes,
                feature_names=subject.names,
                two_sided=geometry.mixed_units,
            )
            if len(subject.names) > MANY_COLUMNS
            else None,
            np.arange(len(subject.names))
            if subject.layout is None
            else subject.layout.spread(np.arange(subject.n_columns)),
        )

    def of_cluster(self, cluster: int) -> list[Departure]:
        """Return the features in which a memory departs most from the mean of all rows.

        Of many columns, from the mean of all memories, as `ClAM.top_features` has it.
        """
        if self.top is not None:
            return [
                Departure(
                    feature.column,
                    feature.name,
                    self.formats[feature.column](feature.weight),
                    self.formats[feature.column](feature.mean),
                    feature.score,
                )
                for feature in self.top[cluster]
            ]
        return self._departures(self.memories[cluster], self.mean)[:FEATURES_OF_CLUSTER]

    def of_row(self, row: NDArray[Any], cluster: int) -> list[Departure]:
        """Return the features in which a row departs most from the memory of a cluster."""
        values = np.asarray(row, dtype=np.float64)
        if self.spherical:
            values = values / (np.sqrt(np.nansum(values**2)) or 1.0)
        return self._departures(values, self.memories[cluster])[:FEATURES_OF_ROW]

    def _departures(self, values: Floats, usual: Floats) -> list[Departure]:
        scaled = np.nan_to_num((values - usual) * self.factors)
        order = np.argsort(-np.abs(scaled), kind="stable")
        _, first = np.unique(self.columns[order], return_index=True)  # a level tells its category
        order = order[np.sort(first)][:FEATURES_OF_CLUSTER]
        return [
            Departure(
                int(j),
                self.names[j],
                self.formats[j](values[j]),
                self.formats[j](usual[j]),
                scaled[j],
            )
            for j in order
            if abs(scaled[j]) >= self.min_told
        ]


class Cluster(NamedTuple):
    """A cluster in numbers."""

    number: int
    size: int
    silhouette: float  # the mean of its sampled rows
    departures: list[Departure]
    typical_row: str  # the one of least energy; "" for an empty cluster


class UnusualRow(NamedTuple):
    """A row of high energy, or of noise."""

    name: str
    cluster: int  # of noise, that of the nearest memory
    measure: float  # energy; of noise, the distance to the nearest memory
    departures: list[Departure]


class CompletedCell(NamedTuple):
    """A missing value and what the model puts in its place, in original units."""

    row: str
    column: str
    value: str
    memory: str  # what the memory of the row's cluster has there
    cluster: int


class Comparison(NamedTuple):
    """The model's partition beside one of k-means, of the same (sampled) rows."""

    restarts: int
    silhouette: float  # of the model's partition
    k_means_silhouette: float
    sizes: NDArray[np.int64]
    k_means_sizes: NDArray[np.int64]
    agreement: float  # adjusted Rand index
    k_means_labels: NDArray[np.int32]


@dataclass(frozen=True)
class Facts:
    """The facts of every section, each computed when a template asks for it."""

    subject: Subject

    @cached_property
    def profiles(self) -> Profiles:
        """What distinguishes clusters and rows."""
        return Profiles.of(self.subject)

    @property
    def in_deviations(self) -> bool:
        """Whether scaled differences are standard deviations; else the columns share a unit."""
        geometry = self.subject.network.geometry
        return not geometry.by_column or geometry.scaling is not None

    @cached_property
    def silhouettes(self) -> Floats:
        """The silhouettes that are known: of sampled rows in clusters."""
        return self.subject.silhouettes[np.isfinite(self.subject.silhouettes)]

    @cached_property
    def clusters(self) -> list[Cluster]:
        """The clusters in their order; of very many, the largest."""
        subject = self.subject
        shown = np.arange(subject.n_clusters)
        if subject.n_clusters > MAX_CLUSTERS:
            shown = np.argsort(-subject.sizes, kind="stable")[:MAX_CLUSTERS]
        by_energy = self._in_clusters(np.argsort(subject.energy, kind="stable"))
        labels, first = np.unique(subject.labels[by_energy], return_index=True)
        typical = dict(zip(labels, by_energy[first], strict=True))
        sampled = subject.labels[subject.sample]
        return [
            Cluster(
                int(m),
                int(subject.sizes[m]),
                _known_mean(subject.silhouettes[sampled == m]),
                self.profiles.of_cluster(int(m)),
                subject.row_name(typical[m]) if m in typical else "",
            )
            for m in shown
        ]

    @property
    def share_undecided(self) -> float:
        """The share of the rows in clusters whose memberships have an entropy above log 2."""
        return float(np.mean(self.subject.entropy[self.subject.clustered] > np.log(2)))

    @property
    def median_energy(self) -> float | None:
        """The median energy of the rows in clusters; None where they are too few."""
        energy = self.subject.energy[self.subject.clustered]
        return float(np.median(energy)) if len(energy) > 1 else None

    @cached_property
    def unusual(self) -> list[UnusualRow]:
        """The rows in clusters with the highest energy."""
        rows = self._in_clusters(np.argsort(-self.subject.energy, kind="stable"))[:MAX_UNUSUAL]
        return self._unusual_rows(rows, self.subject.labels[rows], self.subject.energy[rows])

    @cached_property
    def noise(self) -> list[UnusualRow]:
        """The rows in no cluster, the farthest from all memories first."""
        subject = self.subject
        rows = np.flatnonzero(~subject.clustered)
        if not len(rows):
            return []
        distances = subject.network.distances(subject.rows[rows], n_jobs=subject.model.n_jobs)
        least = distances.min(axis=1)
        first = np.argsort(-least, kind="stable")[:MAX_UNUSUAL]
        return self._unusual_rows(rows[first], distances.argmin(axis=1)[first], least[first])

    def _in_clusters(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Leave out noise, and rows without any value, which neither typify nor stand out."""
        some = rows[self.subject.clustered[rows]]
        return some[~np.isin(some, empty_rows(self.subject.rows))]

    def _unusual_rows(
        self, rows: Iterable[int], clusters: Iterable[int], measures: Iterable[float]
    ) -> list[UnusualRow]:
        subject = self.subject
        return [
            UnusualRow(subject.row_name(i), m, value, self.profiles.of_row(subject.cells[i], m))
            for i, m, value in zip(rows, clusters, measures, strict=True)
        ]

    @cached_property
    def incomplete_columns(self) -> NDArray[np.int64]:
        """The columns that lack values, those that lack most first."""
        missing = self.subject.missing
        return np.argsort(-missing, kind="stable")[: np.count_nonzero(missing)]

    @cached_property
    def completed(self) -> list[CompletedCell]:
        """The first missing values from the top of the table, completed."""
        subject, network = self.subject, self.subject.network
        lacking = np.isnan(subject.cells)
        rows = np.flatnonzero(lacking.any(axis=1))[:MAX_CELLS]
        if not len(rows):
            return []
        completed = network.complete(subject.rows[rows], n_jobs=subject.model.n_jobs)
        memories = np.asarray(network.cluster_centers[subject.labels[rows]], dtype=np.float64)
        memories[~subject.clustered[rows]] = np.nan
        if network.geometry.spherical:  # a memory is a direction: shown at the length of the row
            memories = memories * np.linalg.norm(completed, axis=1, keepdims=True)
        first = np.arange(subject.n_columns) if subject.layout is None else subject.layout.starts
        cells = np.argwhere(lacking[rows][:, first])[:MAX_CELLS]
        return [
            CompletedCell(
                subject.row_name(rows[i]),
                subject.column_names[j],
                self._value(completed[i], int(j)),
                self._value(memories[i], int(j)),
                subject.labels[rows[i]],
            )
            for i, j in cells
        ]

    def _value(self, features: NDArray[Any], column: int) -> str:
        """Write the value of a column; of a category its likeliest level, and how likely it is."""
        layout, formats = self.subject.layout, self.subject.columns.formats
        if layout is None:
            return formats[column](features[column])
        block, levels = layout.block(column), layout.levels[column]
        if levels is None:
            return formats[block.start](features[block.start])
        shares = np.maximum(features[block], 0.0)
        if not shares.sum() > 0:
            return NOTHING
        place = int(shares.argmax())
        return f"{shorten(str(levels[place]))} ({share(shares[place], shares.sum())})"

    @cached_property
    def restarts(self) -> list[int]:
        """The places of the restarts in ``runs_``, the chosen one first, then the best."""
        model, runs = self.subject.model, self.subject.model.runs_
        empty = -runs["living_clusters"]
        order = order_runs(empty, runs["silhouette"], runs["loss"], model.selection)
        return sorted(order.tolist(), key=lambda i: not runs["chosen"][i])

    @cached_property
    def comparison(self) -> Comparison | None:
        """k-means on the rows as the model measures them; None where it cannot be run.

        With as many restarts, and the same rule of choice. Both partitions are judged by the
        silhouette that ranks the model's own restarts: where values are missing, distances are
        taken over the features that two rows have in common. k-means knows no noise, so both are
        partitions of the rows in clusters only.
        """
        subject, n_clusters = self.subject, self.subject.n_clusters
        kept = subject.clustered[subject.sample]
        rows, sample = subject.scaled[kept], subject.sample[kept]
        if n_clusters < 2 or len(rows) < n_clusters:
            return None
        restarts = min(len(subject.model.runs_), MAX_RESTARTS)
        fitted = k_means_restarts(rows, n_clusters, restarts, subject.random_state)
        partitions = np.stack([subject.labels[sample], *(run.labels_ for run in fitted)])
        silhouettes = subject.network.silhouettes(
            subject.rows[sample], partitions, n_jobs=subject.model.n_jobs
        )
        if subject.model.selection == "silhouette":
            best = 1 + int(np.argmax(np.nan_to_num(silhouettes[1:], nan=-1.0)))
        else:
            best = 1 + int(np.argmin([run.inertia_ for run in fitted]))
        sizes, k_means_sizes = (
            np.sort(np.bincount(partitions[i], minlength=n_clusters))[::-1] for i in (0, best)
        )
        return Comparison(
            restarts,
            float(silhouettes[0]),
            float(silhouettes[best]),
            sizes,
            k_means_sizes,
            float(adjusted_rand_score(partitions[0], partitions[best])),
            partitions[best],
        )

    @property
    def code(self) -> str:
        """What fits the model again; cut, because parameters may be large arrays."""
        code = f"from amclust import ClAM\n\nmodel = {self.subject.model!r}\nmodel.fit(X)"
        return "\n".join(line[:MAX_CODE_WIDTH] for line in code.splitlines()[:MAX_CODE_LINES])

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the model; arrays by their shape."""
        return {
            key: f"array of shape {value.shape}"
            if isinstance(value, np.ndarray)
            else shorten(repr(value), MAX_PARAMETER)
            for key, value in sorted(self.subject.model.get_params().items())
        }

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what computed this."""
        packages = {package: metadata.version(package) for package in PACKAGES}
        return {"amclust": __version__, "Python": platform.python_version(), **packages}


def _known_mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
