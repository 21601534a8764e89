"""What tells clusters apart: the features in which their centres stand out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]

# Parts of a number below which a difference is rounding: of memories, which float32 holds, and of
# means of rows, which are summed in float64.
MEMORY_ROUNDING, MEAN_ROUNDING = 16 * float(np.finfo(np.float32).eps), 1e-12


class TopFeature(NamedTuple):
    """A feature that tells a cluster."""

    name: str
    weight: float  # what the cluster's centre has of it, in original units
    mean: float  # the mean over all clusters, by their sizes
    score: float  # the difference, in units of scaled columns
    column: int


@dataclass(frozen=True)
class TopFeatures(Sequence[tuple[TopFeature, ...]]):
    """The features that tell each cluster most, the strongest first.

    A sequence with one entry per cluster: a tuple of features, each a named tuple of `name`,
    `weight` (what the cluster's centre has of it), `mean` (the mean over the clusters, by their
    sizes), both in original units, `score` (the difference of the two, in units of the scaled
    columns) and `column`. :meth:`amclust.ClAM.top_features` makes one; ``print`` shows the names.

    Parameters
    ----------
    clusters : tuple of tuples of named tuples
        The features of each cluster.

    Attributes
    ----------
    names : list of lists of str
        Only their names.

    Examples
    --------
    >>> import numpy as np
    >>> from amclust import ClAM
    >>> X = np.array([[3.0, 0, 1], [4, 0, 1], [0, 2, 1], [0, 4, 1]])
    >>> top = (
    ...     ClAM(2, scale=None, random_state=0)
    ...     .fit(X)
    ...     .top_features(2, feature_names=["ball", "vote", "the"])
    ... )
    >>> sorted(top.names)
    [['ball'], ['vote']]
    >>> vote = next(features[0] for features in top if features[0].name == "vote")
    >>> round(vote.weight, 2), round(vote.mean, 2)
    (3.0, 1.5)
    >>> top.to_pandas().columns.tolist()
    ['cluster', 'name', 'weight', 'mean', 'score', 'column']
    """

    clusters: tuple[tuple[TopFeature, ...], ...]

    @property
    def names(self) -> list[list[str]]:
        """The names of the features of each cluster."""
        return [[feature.name for feature in features] for features in self.clusters]

    def to_pandas(self) -> Any:
        """Return one row per cluster and feature.

        Returns
        -------
        frame : pandas.DataFrame
            With the columns cluster, name, weight, mean, score and column.
        """
        try:
            from pandas import DataFrame
        except ImportError as error:
            msg = "to_pandas() needs pandas: pip install 'amclust[table]'."
            raise ImportError(msg) from error
        rows = [(m, *feature) for m, features in enumerate(self.clusters) for feature in features]
        return DataFrame(rows, columns=["cluster", *TopFeature._fields])

    def __len__(self) -> int:
        return len(self.clusters)

    @overload
    def __getitem__(self, index: int) -> tuple[TopFeature, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[tuple[TopFeature, ...], ...]: ...

    def __getitem__(self, index: int | slice) -> Any:
        return self.clusters[index]

    def __str__(self) -> str:
        return "\n".join(f"{m}: {', '.join(names)}" for m, names in enumerate(self.names))


def tell_apart(
    centers: Iterable[Floats],
    mean: Floats,
    *,
    n: int,
    names: Sequence[str],
    factors: Floats | float = 1.0,
    origin: Floats | float = 0.0,
    rounding: float,
    two_sided: bool,
) -> TopFeatures:
    """Return the features in which centres stand out most from their mean.

    Parameters
    ----------
    centers : iterable of ndarrays of shape (n_features,)
        The centres in original units, one after the other: all of them need not be held.

    mean : ndarray of shape (n_features,)
        What they are compared with.

    n : int
        Number of features told of each centre, at most.

    names : sequence of str
        Names of the features.

    factors : ndarray of shape (n_features,) or float, default=1.0
        What differences are multiplied with to be compared.

    origin : ndarray of shape (n_features,) or float, default=0.0
        What values were computed relative to: their rounding is in proportion to the distance.

    rounding : float
        Part of that distance below which differences are none.

    two_sided : bool
        Whether features below the mean are told too.

    Returns
    -------
    top : TopFeatures
        Those of each centre by their score; ties by column.
    """
    found = []
    size_of_mean = np.abs(mean - origin)
    for center in centers:
        difference = center - mean
        differs = np.abs(difference) > rounding * (np.abs(center - origin) + size_of_mean)
        score = np.where(differs, difference * factors, 0.0)
        size = np.abs(score) if two_sided else score
        columns = _largest(size, n)
        found.append(
            tuple(
                TopFeature(str(names[j]), float(center[j]), float(mean[j]), float(score[j]), int(j))
                for j in columns
            )
        )
    return TopFeatures(tuple(found))


def _largest(values: Floats, n: int) -> NDArray[np.int64]:
    """Return where the n largest positive values are, the largest first, ties by place."""
    least = np.partition(values, -n)[-n] if n < len(values) else 0.0
    places = np.flatnonzero((values >= least) & (values > 0))
    return places[np.argsort(-values[places], kind="stable")[:n]]


class ClusterMeans(NamedTuple):
    """Means of rows, by cluster and over all clusters."""

    centers: Iterator[Floats]
    mean: Floats


def cluster_means(X: Any, labels: NDArray[Any], n_clusters: int) -> ClusterMeans:
    """Return the means of the rows of each cluster, over their observed values.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n_samples, n_features)
        Rows; NaN where a value is missing.

    labels : ndarray of int of shape (n_samples,)
        The clusters of the rows; -1 for rows to leave out.

    n_clusters : int
        Number of clusters.

    Returns
    -------
    means : ClusterMeans
        Means; of a cluster without a value in a column, and so of an empty one, that of all.
    """
    rows = np.flatnonzero(labels >= 0)
    members = sparse.csr_array(
        (np.ones(len(rows)), (labels[rows], rows)), shape=(n_clusters, X.shape[0])
    )
    values = X.data if sparse.issparse(X) else X
    missing = np.isnan(values)
    sizes = np.asarray(members.sum(axis=1)).ravel()
    lacking = None
    if missing.any():
        if sparse.issparse(X):
            lacking = members @ sparse.csr_array((missing * 1.0, X.indices, X.indptr), X.shape)
            X = sparse.csr_array((np.where(missing, 0.0, values), X.indices, X.indptr), X.shape)
        else:
            lacking, X = members @ (missing * 1.0), np.where(missing, 0.0, X)
    sums = members @ X
    absent = 0.0 if lacking is None else np.asarray(lacking.sum(axis=0)).ravel()
    mean = np.asarray(sums.sum(axis=0)).ravel() / np.maximum(sizes.sum() - absent, 1.0)

    def centers() -> Iterator[Floats]:
        for m in range(n_clusters):
            seen = sizes[m] - (0.0 if lacking is None else _row(lacking, m))
            total = _row(sums, m)
            yield np.where(seen > 0, total / np.maximum(seen, 1.0), mean)

    return ClusterMeans(centers(), mean)


def _row(matrix: Any, index: int) -> Floats:
    row = matrix[[index]]
    return np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()


def check_n_features_told(n: Any) -> int:
    """Return a number of features to tell of each cluster."""
    if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
        msg = f"n must be an int of at least 1, got {n!r}."
        raise ValueError(msg)
    return int(n)


def check_feature_names(feature_names: Any, n_features: int) -> Sequence[str]:
    """Return names for the columns as they are given; None: x0, x1, ..."""
    if feature_names is None:
        return [f"x{index}" for index in range(n_features)]
    wanted = f"feature_names must be None or {n_features:,} strings, one per column"
    if isinstance(feature_names, Mapping | Set):  # the vocabulary of a vectorizer, say
        kind = type(feature_names).__name__
        msg = f"{wanted} and in their order, got a {kind}, which has another."
        raise ValueError(msg)
    if isinstance(feature_names, str | bytes) or not isinstance(feature_names, Iterable):
        msg = f"{wanted}, got {feature_names!r}."
        raise ValueError(msg)
    names = list(feature_names)
    if len(names) != n_features:
        msg = f"{wanted}, got {len(names):,}."
        raise ValueError(msg)
    for index, name in enumerate(names):
        if not isinstance(name, str):
            msg = f"{wanted}, got {name!r} ({type(name).__name__}) at place {index}."
            raise ValueError(msg)
    return names
