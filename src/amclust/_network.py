"""A fitted network: one frozen value, which answers whatever is asked about rows."""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from amclust import _native
from amclust._categories import Categories, MixedTable, as_dense
from amclust._cluster_mixtures import MAX_COLUMNS
from amclust._columns import as_table, frame_names, read_table
from amclust._docs import ROWS, documented
from amclust._features import (
    MEMORY_ROUNDING,
    TopFeatures,
    check_feature_names,
    check_n_features_told,
    tell_apart,
)
from amclust._geometry import Geometry, read_only
from amclust._rows import Indices, TableRows, empty_rows
from amclust._silhouettes import EXACT_ROWS, judged_rows, sample_rows, silhouettes
from amclust._threads import n_threads
from amclust._validation import check_rows, check_sample_weight
from amclust.backends.base import Answers, Backend, EnergyFunction
from amclust.backends.native import NativeBackend

if TYPE_CHECKING:
    from amclust.torch._dynamics import Backward
    from amclust.torch.layer import AssociativeMemory

Want = _native.Want

# Memberships that are computed at a time where only the largest are kept.
MAX_MEMBERSHIPS = 2**22
# Entries of memories that are brought to original units at a time where only some are kept.
MAX_CENTER_VALUES = 2**20


@documented(ROWS)
@dataclass(frozen=True, eq=False)
class Network:
    """Memories, and the dynamics that carries rows to them.

    A network is what a fit finds: `ClAM` owns one (``model.network_``), and what is saved, plotted,
    reported or sent elsewhere is this and nothing else. It does not change. Rows are given, and
    answers come, in original units; memories and temperature are in core units (`geometry` knows
    both).

    Parameters
    ----------
    memories : float32 ndarray of shape (n_memories, n_features)
        The memories, in core units.

    log_weights : float32 ndarray of shape (n_memories,)
        Logarithms of their weights.

    beta : float
        Inverse temperature, in core units.

    step_size : float
        Part of the way to the memories that a step goes.

    n_steps : int
        Steps of the dynamics.

    geometry : Geometry
        Core units and original units.

    assembly : int32 ndarray of shape (n_memories,)
        The cluster of each memory; by default each is one of its own.

    fills_from_mask : bool
        Whether missing values are completed from the mask value, as a network expects that was
        trained to complete, or from where the observed values point.

    energy_function : Energy or None
        What draws rows to memories, where the core does not have it: an energy of
        `amclust.torch.energies`, in core units.

    sizes : float64 ndarray of shape (n_memories,) or None
        How many rows each memory had when assemblies were made of them (or their weight): what the
        means of an assembly are weighted by. None: all count the same. Of a table with categories
        whose memories are by likelihood, how many rows these stand for when learning goes on.

    max_energy : float64 ndarray of shape (n_memories,) or None
        How high a row that falls to each memory may lie above the ground, in core units (see
        `heights`); one that lies higher has the label -1. None: all rows belong to a cluster.

    ignored_means : float64 ndarray of shape (n_memories, n_ignored) or None
        Means of the memories' rows, in original units, in the columns of weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> from amclust import ClAM
    >>> X = np.array([[0.0, 0.0], [0.1, 0.1], [5.0, 5.0], [5.1, 4.9]])
    >>> network = ClAM(n_clusters=2, random_state=0).fit(X).network_
    >>> network.n_memories, network.n_features
    (2, 2)
    >>> bool((network.labels(X)[:2] != network.labels(X)[2:]).all())
    True
    """

    memories: NDArray[np.float32]
    log_weights: NDArray[np.float32]
    beta: float
    step_size: float
    n_steps: int
    geometry: Geometry
    assembly: NDArray[np.int32]
    fills_from_mask: bool = False
    energy_function: EnergyFunction | None = None
    sizes: NDArray[np.float64] | None = None
    max_energy: NDArray[np.float64] | None = None
    ignored_means: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        return f"Network({self.n_memories} memories, {self.geometry.n_features} columns)"

    def __post_init__(self) -> None:
        k = len(self.memories)
        assembly = np.asarray(self.assembly)
        if assembly.dtype.kind in "iu":
            object.__setattr__(self, "assembly", assembly.astype(np.int32))
        if not (np.isfinite(self.beta) and self.beta > 0 and self.n_steps >= 1):
            msg = (
                "beta must be positive and n_steps at least 1, got "
                f"beta={self.beta} and n_steps={self.n_steps}."
            )
            raise ValueError(msg)
        clusters = np.unique(assembly)
        if (
            assembly.shape != (k,)
            or assembly.dtype.kind not in "iu"
            or not np.array_equal(clusters, np.arange(len(clusters)))
        ):
            msg = (
                f"assembly must have a cluster for each of {k} memories, numbered from 0 without a "
                f"gap, got {self.assembly}."
            )
            raise ValueError(msg)
        sizes = np.zeros(k) if self.sizes is None else np.asarray(self.sizes)
        if sizes.shape != (k,) or not (np.isfinite(sizes) & (sizes >= 0)).all():
            msg = f"sizes must be {k} finite numbers of at least 0, one for each memory."
            raise ValueError(msg)
        highest = np.zeros(k) if self.max_energy is None else np.asarray(self.max_energy)
        if highest.shape != (k,) or not (highest >= 0).all():
            msg = f"max_energy must be {k} numbers of at least 0, one for each memory."
            raise ValueError(msg)
        names = ("memories", "log_weights", "assembly", "sizes", "max_energy", "ignored_means")
        for name in names:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, read_only(getattr(self, name)))

    @property
    def n_memories(self) -> int:
        """Number of memories."""
        return len(self.memories)

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.assembly.max()) + 1

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.geometry.n_features

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the memories."""
        return np.exp(self.log_weights.astype(np.float64))

    @property
    def centers(self) -> NDArray[Any]:
        """The memories in original units (unit vectors for directions), in the table's type."""
        centers = self.geometry.centers(self.memories)
        if self.ignored_means is not None:
            centers[:, self.geometry.ignored] = self.ignored_means
        return centers.astype(self.geometry.dtype)

    @property
    def cluster_centers(self) -> NDArray[Any]:
        """The clusters in original units: the memory of each, or the mean of its memories."""
        if self.is_plain:
            return self.centers
        centers = self.geometry.centers(self._means)
        if self.ignored_means is not None:
            centers[:, self.geometry.ignored] = self._shares @ self.ignored_means
        return centers.astype(self.geometry.dtype)

    @property
    def _shares(self) -> Any:
        """The part that each memory has of the mean of its cluster, (n_clusters, n_memories)."""
        parts = np.ones(self.n_memories) if self.sizes is None else np.array(self.sizes)
        totals = np.bincount(self.assembly, parts)
        # A cluster without rows is where its memories are.
        parts[totals[self.assembly] == 0] = 1.0
        parts /= np.bincount(self.assembly, parts)[self.assembly]
        return sparse.csr_array((parts, (self.assembly, np.arange(self.n_memories))))

    @property
    def _means(self) -> NDArray[np.float32]:
        """The clusters in core units."""
        if self.is_plain:
            return self.memories
        means: NDArray[np.float64] = self._shares @ self.memories.astype(np.float64)
        if self.geometry.spherical:
            means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-30)
        return means.astype(np.float32)

    # --- elsewhere ------------------------------------------------------------------------------

    def to_torch(
        self, *, learn_beta: bool = False, learn_weights: bool = False, backward: Backward = "store"
    ) -> AssociativeMemory:
        """Return the network as a layer of torch that can be trained further.

        Needs ``pip install "amclust[torch]"``. The layer takes rows in original units, NaN where
        values are missing, and answers as the network does. Of a table with categories the rows are
        what `features` gives.

        Parameters
        ----------
        learn_beta, learn_weights : bool, default=False
            Whether the temperature and the strengths of the memories are learned with the memories.

        backward : {"store", "checkpoint", "implicit"}, default="store"
            How gradients get through the steps.

        Returns
        -------
        layer : amclust.torch.AssociativeMemory
            A copy: training it does not change the network.

        Examples
        --------
        The same labels, of tensors::

            layer = model.network_.to_torch()
            (layer.assign(torch.tensor(X)).numpy() == model.predict(X)).all()
        """
        from amclust.torch.layer import AssociativeMemory

        return AssociativeMemory.from_network(
            self, learn_beta=learn_beta, learn_weights=learn_weights, backward=backward
        )

    @classmethod
    def from_torch(cls, layer: AssociativeMemory) -> Network:
        """Return what a layer of torch has become as a network; the way back from `to_torch`.

        A layer that was not made of a network has rows in the units of its memories.

        Parameters
        ----------
        layer : amclust.torch.AssociativeMemory
            The layer; it is copied.

        Returns
        -------
        network : Network
            `ClAM.from_network` makes an estimator of it.

        Examples
        --------
        There and back, with training in between::

            layer = model.network_.to_torch()
            ...
            tuned = ClAM.from_network(Network.from_torch(layer), X)
        """
        from amclust.torch.layer import AssociativeMemory

        if not isinstance(layer, AssociativeMemory):
            kind = type(layer).__name__
            msg = f"layer must be an AssociativeMemory of amclust.torch, got {kind}."
            raise TypeError(msg)
        return cls(**layer.network_parts())

    def to_onnx(
        self, path: str | os.PathLike[str] | None = None, *, dtype: str | None = None
    ) -> Any:
        """Write the network as an ONNX model, which other programs run without amclust.

        Needs ``pip install "amclust[onnx]"``. Its input "X" has rows in original units, NaN where
        values are missing; its outputs are "labels", as `labels` gives them, and "memberships". Of
        a table with categories "X" has the numbers, and an input "codes" the places of the levels
        (see `amclust.onnx.inputs`), -1 where they are missing.

        Parameters
        ----------
        path : str or path, default=None
            Where to write it; None: nowhere.

        dtype : {"float32", "float64"}, default=None
            Type of the rows; None: that of the table of the fit.

        Returns
        -------
        model : onnx.ModelProto
            The model.

        Raises
        ------
        ValueError
            If the network has an energy of one's own, which ONNX cannot hold.

        Examples
        --------
        Labels without amclust::

            model.network_.to_onnx("model.onnx")
            session = onnxruntime.InferenceSession("model.onnx")
            (labels,) = session.run(["labels"], {"X": X})
        """
        from amclust.onnx import export

        return export(self, path, dtype=dtype)

    def features(self, X: Any) -> NDArray[Any]:
        """Return rows as a layer of torch takes them: a matrix of the network's features.

        Categories have a feature for each level, 1 where a row has it and 0 elsewhere. Numbers
        stay as they are.

        Parameters
        ----------
        {X}

        Returns
        -------
        features : ndarray of shape (n_samples, n_features)
            NaN where values are missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from amclust import ClAM
        >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.1], "kind": ["a", "a", "b", None]})
        >>> ClAM(2, random_state=0).fit(table).network_.features(table)
        array([[1. , 1. , 0. ],
               [1.1, 1. , 0. ],
               [5. , 0. , 1. ],
               [5.1, nan, nan]])
        """
        found: NDArray[Any] = as_dense(self._table(X).X)
        return found

    # --- memories that can be read --------------------------------------------------------------

    def sparse_centers(self, min_weight: float = 0.0) -> Any:
        """Return the centres of the clusters, in original units, as a sparse matrix.

        Parameters
        ----------
        min_weight : float, default=0.0
            Values of less than this size are left out. With 0 those are that cannot be told from 0:
            memories are held in float32 around the mean of their column, so that a word which no
            row of a cluster has may be left with some 1e-7 of that mean.

        Returns
        -------
        centers : CSR array of shape (n_clusters, n_features)
            In the type of the table, columns ascending.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> from amclust import ClAM
        >>> X = csr_array([[1.0, 0.5, 0.0], [1.0, 0.6, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.9]])
        >>> network = ClAM(2, scale=None, random_state=0).fit(X).network_
        >>> network.sparse_centers().nnz
        3
        """
        if isinstance(min_weight, bool) or not isinstance(min_weight, Real):
            valid = False
        else:
            valid = 0 <= min_weight < np.inf
        if not valid:
            msg = f"min_weight must be a finite number of at least 0, got {min_weight!r}."
            raise ValueError(msg)
        step = max(1, MAX_CENTER_VALUES // self.n_features)
        chunks, means = [], self._means
        for first in range(0, self.n_clusters, step):
            values = self.geometry.centers(means[first : first + step])
            size = np.abs(values)
            rounding = MEMORY_ROUNDING * np.abs(values - self.geometry.center)
            kept = (size >= min_weight) & (size > rounding)
            chunks.append(sparse.csr_array(np.where(kept, values, 0.0).astype(self.geometry.dtype)))
        return sparse.vstack(chunks, format="csr")

    def top_features(
        self,
        n: int = 10,
        *,
        sizes: Any = None,
        feature_names: Any = None,
        two_sided: bool = False,
    ) -> TopFeatures:
        """Return the features that tell each cluster most, as `ClAM.top_features` does.

        Parameters
        ----------
        n : int, default=10
            Number of features per cluster; fewer where fewer stand out.

        sizes : array-like of shape (n_clusters,), default=None
            Number of rows in each cluster, or their weight; None: all count the same.

        feature_names : array-like of str of shape (n_features,), default=None
            Names of the columns; None: those of the table that the network was fitted to, or x0,
            x1, ... where it has none.

        two_sided : bool, default=False
            Whether to tell features below the mean too.

        Returns
        -------
        top : TopFeatures
            One entry per cluster.

        Examples
        --------
        >>> import numpy as np
        >>> from amclust import ClAM
        >>> X = np.array([[3.0, 0, 1], [4, 0, 1], [0, 2, 1], [0, 4, 1]])
        >>> network = ClAM(2, scale=None, random_state=0).fit(X).network_
        >>> sorted(network.top_features(2).names)
        [['x0'], ['x1']]
        """
        n, geometry = check_n_features_told(n), self.geometry
        if feature_names is None:
            feature_names = geometry.feature_names
        names = check_feature_names(feature_names, self.n_features)
        weights = np.ones(self.n_clusters) if sizes is None else np.asarray(sizes, dtype=np.float64)
        if weights.shape != (self.n_clusters,) or not (weights >= 0).all():
            msg = (
                f"sizes must be None or {self.n_clusters} numbers of at least 0, one per cluster, "
                f"got {sizes!r}."
            )
            raise ValueError(msg)
        if not weights.sum() > 0:  # all rows are noise
            weights = np.ones(self.n_clusters)
        means = self._means
        shares = weights / weights.sum()
        if geometry.log_levels:  # the mean of logarithms is not that of shares
            mean = shares @ geometry.centers(means)
        else:
            mean = geometry.from_core((shares @ means)[None])[0]
        centers = (geometry.centers(means[[cluster]])[0] for cluster in range(self.n_clusters))
        return tell_apart(
            centers,
            mean,
            n=n,
            names=names,
            factors=geometry.column_scale,
            origin=geometry.center,
            rounding=MEMORY_ROUNDING,
            two_sided=two_sided,
        )

    # --- answers --------------------------------------------------------------------------------

    def labels(self, X: Any, *, n_jobs: int | None = None) -> NDArray[np.int32]:
        """Return the cluster that the dynamics carries each row to.

        Parameters
        ----------
        {X}
        {n_jobs}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            -1 for rows that belong nowhere: out of reach of all memories, where these have a
            bounded reach, or of more than `max_energy`.
        """
        return self.core_labels(self.read(self._table(X), n_jobs=n_jobs), n_jobs=n_jobs)

    def memberships(self, X: Any, *, top: int | None = None, n_jobs: int | None = None) -> Any:
        """Return how strongly each cluster attracts each row.

        Parameters
        ----------
        {X}
        top : int, default=None
            Keep so many of the largest memberships of every row, in a sparse matrix; None: all.

        {n_jobs}

        Returns
        -------
        memberships : {ndarray, CSR array} of shape (n_samples, n_clusters)
            Positive numbers that sum to 1 in every row (0 out of reach of all memories).
        """
        rows = self._table(X)
        if top is None:
            return self._memberships(self.read(rows, n_jobs=n_jobs), rows, None, n_jobs)
        if isinstance(top, bool) or not isinstance(top, Integral) or top < 1:
            msg = f"top must be an int of at least 1, or None, got {top!r}."
            raise ValueError(msg)
        core, chunks = self.read(rows, n_jobs=n_jobs), []
        step = max(1, MAX_MEMBERSHIPS // self.n_memories)
        for first in range(0, rows.n_rows, step):
            chunk = np.arange(first, min(first + step, rows.n_rows))
            found = self._memberships(core, rows, chunk, n_jobs)
            chunks.append(_largest(found, min(int(top), self.n_clusters)))
        return sparse.vstack(chunks, format="csr")

    def _memberships(
        self, core: _native.Rows, rows: TableRows, indices: Indices | None, n_jobs: int | None
    ) -> NDArray[Any]:
        parts = self.infer(core, Want.MEMBERSHIPS, indices=indices, n_jobs=n_jobs).memberships
        if not self.is_plain:
            members = np.zeros((self.n_memories, self.n_clusters), np.float32)
            members[np.arange(self.n_memories), self.assembly] = 1.0
            parts = parts @ members
        return parts.astype(rows.dtype, copy=False)

    def distances(self, X: Any, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the distances of rows to the nearest memory of each cluster.

        Parameters
        ----------
        {X_filled}
        {n_jobs}

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            In the metric of the network (for directions, 1 - cosine similarity; distances that
            are squares have their root taken).
        """
        rows = self._table(X)
        found = self._ask(rows, Want.SQUARE_DISTANCES, n_jobs).square_distances
        if not self.is_plain:
            found = np.stack(
                [found[:, self.assembly == c].min(axis=1) for c in range(self.n_clusters)], axis=1
            )
        found = found.astype(rows.dtype, copy=False)
        if self.geometry.degree == 2:  # squares
            return np.sqrt(found) * found.dtype.type(self.geometry.length)
        if self.geometry.spherical:  # 1 - similarity, which rounding takes below 0
            return np.maximum(found, 0)
        return found * self._distance_unit(found)

    def energy(self, X: Any, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the energy of rows: low near a memory, high far from all of them.

        Parameters
        ----------
        {X}
        {n_jobs}

        Returns
        -------
        energy : ndarray of shape (n_samples,)
            In units of squared distances.
        """
        rows = self._table(X)
        return self._energies(self._ask(rows, Want.ENERGY, n_jobs).energy.astype(rows.dtype))

    def entropy(self, X: Any, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the entropy of the memberships; 0 means that one cluster decides alone.

        Parameters
        ----------
        {X}
        {n_jobs}

        Returns
        -------
        entropy : ndarray of shape (n_samples,)
            Between 0 and ``log(n_clusters)``.
        """
        if not self.is_plain:
            parts = self.memberships(X, n_jobs=n_jobs)
            logs = np.log(parts, out=np.zeros_like(parts), where=parts > 0)
            found: NDArray[Any] = -(parts * logs).sum(axis=1)
            return found
        rows = self._table(X)
        return self._ask(rows, Want.ENTROPY, n_jobs).entropy.astype(rows.dtype, copy=False)

    def recall(self, X: Any, *, return_trajectory: bool = False, n_jobs: int | None = None) -> Any:
        """Let the dynamics act on rows.

        Parameters
        ----------
        {X_filled}
        return_trajectory : bool, default=False
            Also return the states in between.

        {n_jobs}

        Returns
        -------
        states : ndarray of shape (n_samples, n_features)
            Where the rows are after `n_steps` steps.

        trajectory : ndarray of shape (n_steps + 1, n_samples, n_features)
            All states, the start first. Only with ``return_trajectory=True``.
        """
        rows = self._table(X)
        if not return_trajectory:
            return self._points(self._ask(rows, Want.STATE, n_jobs).state, rows)
        trajectory = self._points(self._ask(rows, Want.TRAJECTORY, n_jobs).trajectory, rows)
        return trajectory[-1].copy(), trajectory

    def complete(self, X: Any, *, return_std: bool = False, n_jobs: int | None = None) -> Any:
        """Fill the missing values of rows; all other values stay exactly as they are.

        Parameters
        ----------
        {X}
        return_std : bool, default=False
            Also return how sure each value is.

        {n_jobs}

        Returns
        -------
        completed : {ndarray, CSR matrix} of shape (n_samples, n_features)
            A copy of the rows; of categories, how likely each level is.

        std : ndarray of shape (n_samples, n_features)
            Standard deviations of the values that were missing, 0 for all others. Only with
            ``return_std=True``.
        """
        completion, threads = self.geometry.completion, n_threads(n_jobs)
        if return_std:
            self.check_sure()
        table = self._table(X)
        check_rows(table, self.geometry.metric, self.geometry.feature_names, threads)
        X = table.X
        dense = as_dense(X)
        missing = np.isnan(dense)
        incomplete = np.flatnonzero(missing.any(axis=1))
        completed = np.array(dense)
        std = np.zeros(dense.shape, dense.dtype) if return_std else None
        if not len(incomplete):
            completed = X.copy() if sparse.issparse(X) else completed
        elif completion is not None:
            seen = X if self.geometry.limits is None else self.geometry.limits.apply(X)
            seen = as_dense(seen)
            found = completion.complete(TableRows(seen), self.geometry.range, threads)
            asked = missing[np.isnan(seen)]  # what is only not believed stays
            completed[missing] = found[0][asked]
            if std is not None:
                std[missing] = found[1][asked]
        else:
            completed[incomplete] = self._recalled(table, incomplete, missing, n_jobs)
        if len(incomplete) and sparse.issparse(X):
            completed = type(X)(completed)
        return completed if std is None else (completed, std)

    def deviations(self, X: Any, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Return how sure the completed values of rows are, as `complete` tells it.

        Parameters
        ----------
        {X}
        {n_jobs}

        Returns
        -------
        std : ndarray of shape (n_samples, n_features)
            Standard deviations of the values that were missing, 0 for all others.
        """
        std: NDArray[Any] = self.complete(X, return_std=True, n_jobs=n_jobs)[1]
        return std

    def check_sure(self) -> None:
        """Refuse a network that does not know how sure completed values are."""
        if self.geometry.completion is None:
            msg = (
                "return_std=True needs a network that has learned what missing values are likely "
                "to be: not one with objective='completion', nor of complete rows that are sparse "
                f"or have more than {MAX_COLUMNS:,} columns."
            )
            raise ValueError(msg)

    def _recalled(
        self, table: TableRows, incomplete: Indices, missing: NDArray[np.bool_], n_jobs: int | None
    ) -> NDArray[Any]:
        """Return rows whose missing values are where the dynamics carries them."""
        rows, want = self.read(table, n_jobs=n_jobs), Want.FILLED | Want.ROW_SCALE
        found = self.infer(rows, want, indices=incomplete, n_jobs=n_jobs, complete=True)
        filled = found.filled
        if self.geometry.spherical:
            filled = filled * found.row_scale[:, None]
        dense = as_dense(table.take(incomplete))
        values = self.geometry.centers(filled)
        if self.ignored_means is not None:
            memories = self.infer(rows, Want.LABELS, indices=incomplete, n_jobs=n_jobs).labels
            values[:, self.geometry.ignored] = self.ignored_means[memories]
        values = np.clip(values, *self.geometry.range)
        return np.where(missing[incomplete], values.astype(dense.dtype), dense)

    def answers(
        self, X: Any, *, n_jobs: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
        """Return labels, energies and entropies of rows from one pass over them.

        Parameters
        ----------
        {X}
        {n_jobs}

        Returns
        -------
        labels, energy, entropy : ndarrays of shape (n_samples,)
            As the methods of these names give them.
        """
        rows = self.read(self._table(X), n_jobs=n_jobs)
        found = self.infer(rows, Want.LABELS | Want.ENERGY | Want.ENTROPY, n_jobs=n_jobs)
        energy = self._energies(found.energy.astype(np.float64))
        entropy = found.entropy.astype(np.float64)
        if not self.is_plain:
            entropy = self.entropy(X, n_jobs=n_jobs).astype(np.float64)
        labels = self._clusters(found.labels)
        if self.max_energy is not None:
            labels = self.core_labels(rows, n_jobs=n_jobs)
        return labels, energy, entropy

    # --- silhouettes ----------------------------------------------------------------------------

    def silhouette(self, X: Any, *, sample_weight: Any = None, n_jobs: int | None = None) -> float:
        """Return the silhouette of the partition of rows; NaN where all fall to one cluster.

        Parameters
        ----------
        {X}
        sample_weight : array-like of shape (n_samples,), default=None
            How many rows each stands for.

        {n_jobs}

        Returns
        -------
        silhouette : float
            Exact up to 10,000 rows, of a fixed sample of them above.
        """
        table = self._table(X)
        rows = self.read(table, n_jobs=n_jobs)
        judged = judged_rows(table, check_sample_weight(sample_weight, table.X))
        labels = self.core_labels(rows, indices=judged.indices, n_jobs=n_jobs)
        (value,) = silhouettes(rows, judged, labels[None], n_threads(n_jobs))
        return float(value)

    def silhouettes(self, X: Any, partitions: Any, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the silhouettes of any partitions of rows, by the distances of the core.

        These are those of the metric; for an energy that only torch has, Euclidean ones between
        scaled rows (cosine for directions).

        Parameters
        ----------
        {X}
        partitions : array-like of shape (n_partitions, n_samples)
            Labels from 0; rows of label -1 are left out.

        {n_jobs}

        Returns
        -------
        silhouettes : ndarray of shape (n_partitions,)
            NaN for a partition of a single cluster.
        """
        table = self._table(X)
        labels = np.asarray(partitions)
        if labels.ndim != 2 or labels.shape[1] != table.n_rows or labels.dtype.kind not in "iu":
            msg = (
                f"partitions must be whole numbers of shape (n_partitions, {table.n_rows}), one "
                f"for each row of X, got {labels.dtype} of shape {labels.shape}."
            )
            raise ValueError(msg)
        judged = judged_rows(table, None)
        rows = self.read(table, n_jobs=n_jobs)
        return silhouettes(rows, judged, labels[:, judged.indices], n_threads(n_jobs))

    def silhouette_values(
        self, X: Any, labels: Any = None, *, max_rows: int = EXACT_ROWS, n_jobs: int | None = None
    ) -> NDArray[np.float64]:
        """Return the silhouette of each row, by the distances that `silhouettes` takes.

        Parameters
        ----------
        {X}
        labels : array-like of shape (n_samples,), default=None
            Any partition of the rows (that of k-means, say), -1 for rows to leave out; None: that
            of the network.

        max_rows : int, default=10_000
            With more rows than this, a fixed sample of 2,048 of them (at most `max_rows`) stands
            for all; the values of the others are NaN.

        {n_jobs}

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Between -1 and 1; 0 for a row alone in its cluster, and where there is only one cluster;
            NaN for rows that are left out, and for those without any value.
        """
        table = self._table(X)
        labels = self.labels(X, n_jobs=n_jobs) if labels is None else np.asarray(labels)
        if labels.shape != (table.n_rows,):
            msg = (
                f"labels must have shape ({table.n_rows},), one for each row of X, got "
                f"{labels.shape}."
            )
            raise ValueError(msg)
        judged = sample_rows(table.n_rows, max_rows)
        values = np.full(table.n_rows, np.nan)
        judged = judged[labels[judged] != -1]
        judged = np.setdiff1d(judged, empty_rows(table.X))
        if not len(judged):
            return values
        kinds, own = np.unique(labels[judged], return_inverse=True)
        values[judged] = _native.silhouette_values(
            self.read(table, n_jobs=n_jobs),
            judged,
            None,
            own.astype(np.int32),
            len(kinds),
            n_threads(n_jobs),
        )
        return values

    # --- rows -----------------------------------------------------------------------------------

    def read(self, rows: TableRows, *, n_jobs: int | None = None) -> _native.Rows:
        """Return rows as the core reads them, in core units; refuse bad ones.

        Parameters
        ----------
        rows : TableRows
            Rows in original units.

        {n_jobs}

        Returns
        -------
        rows : _native.Rows
            The same rows, for `infer`.
        """
        geometry, threads = self.geometry, n_threads(n_jobs)
        # Nothing to refuse, and quickly seen.
        plain = _native.are_plain(rows.read(), not geometry.spherical, threads)
        has_missing = False
        if not plain:
            stats = check_rows(rows, geometry.metric, geometry.feature_names, threads)
            has_missing = stats.missing > 0
        if geometry.limits is not None:
            has_missing = bool(geometry.lacks_values(rows, threads).any())
        return geometry.read(rows, has_missing=has_missing, threads=threads)

    def core_labels(
        self, rows: _native.Rows, *, indices: Indices | None = None, n_jobs: int | None = None
    ) -> NDArray[np.int32]:
        """Return the clusters of rows that are in core units already.

        Parameters
        ----------
        rows : _native.Rows
            What `read` gives.

        indices : ndarray of int, default=None
            The rows that are meant; None: all.

        {n_jobs}

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            As `labels` gives them.
        """
        if self.max_energy is None:
            found = self.infer(rows, Want.LABELS, indices=indices, n_jobs=n_jobs)
            return self._clusters(found.labels)
        memories, heights = self.heights(rows, indices=indices, n_jobs=n_jobs)
        labels = self._clusters(memories)
        return np.where(heights > self.max_energy[memories], np.int32(-1), labels)

    def heights(
        self, rows: _native.Rows, *, indices: Indices | None = None, n_jobs: int | None = None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the memory that each row falls to, and how high above the ground it lies.

        That is its energy, less the lowest that there can be. The energy of a row that lacks values
        is that of the others, times the number of columns over the number of these. Values that
        are so far away that they count as missing elsewhere do count here.

        Parameters
        ----------
        rows : _native.Rows
            What `read` gives.

        indices : ndarray of int, default=None
            The rows that are meant; None: all.

        {n_jobs}

        Returns
        -------
        memories : ndarray of shape (n_rows,)
            -1 for rows out of reach of all memories.

        heights : ndarray of shape (n_rows,)
            In core units, at least 0.
        """
        found = self.infer(rows, Want.LABELS | Want.ENERGY, indices=indices, n_jobs=n_jobs)
        logs = self.log_weights.astype(np.float64)
        ground = -(logs.max() + np.log(np.sum(np.exp(logs - logs.max())))) / self.beta
        if self.geometry.spherical and self.energy_function is None:
            ground -= 1.0  # the energy of a direction is minus a cosine
        heights = found.energy.astype(np.float64) - ground
        partly, factors = self.geometry.incomplete(rows, indices, n_threads(n_jobs))
        if len(partly):
            places = partly if indices is None else indices[partly]
            observed = rows.as_observed()
            energy = self.infer(observed, Want.ENERGY, indices=places, n_jobs=n_jobs).energy
            heights[partly] = (energy.astype(np.float64) - ground) * factors
        return found.labels, np.maximum(heights, 0.0)

    def infer(
        self,
        rows: _native.Rows,
        want: _native.Want,
        *,
        indices: Indices | None = None,
        n_jobs: int | None = None,
        complete: bool = False,
    ) -> Answers:
        """Ask about rows in core units; answers come in core units, by memory.

        Parameters
        ----------
        rows : _native.Rows
            What `read` gives.

        want : _native.Want
            What to ask, one or more of them.

        indices : ndarray of int, default=None
            The rows that are meant; None: all.

        {n_jobs}
        complete : bool, default=False
            Whether missing values start where training had them start.

        Returns
        -------
        answers : _native.Answers
            An attribute for each thing that was asked.
        """
        return self._backend().infer(
            self,
            rows,
            want,
            indices=indices,
            threads=n_threads(n_jobs),
            fill_from_observed=not (complete and self.fills_from_mask),
        )

    def _backend(self) -> Backend:
        if self.energy_function is None:
            return NativeBackend()
        from amclust.backends.torch import TorchBackend

        return TorchBackend("cpu")

    def _table(self, X: Any) -> TableRows:
        layout = self.geometry.categories
        if layout is not None:
            width = X.shape[1] if isinstance(X, np.ndarray) and X.ndim == 2 else 0
            if width == layout.n_features > layout.n_columns and X.dtype.kind == "f":
                # Points between rows, as memories are: shares in the place of levels.
                return TableRows(np.ascontiguousarray(X))
            return TableRows(X if isinstance(X, MixedTable) else self._mixed(X, layout))
        if hasattr(X, "columns") and hasattr(X, "to_numpy"):
            self._check_names([str(name) for name in X.columns])
        if hasattr(X, "isetitem"):  # pandas, which has missing values of its own
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if isinstance(X, np.ma.MaskedArray):
            X = np.where(np.ma.getmaskarray(X), np.nan, X.data)
        X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            msg = f"X must have {self.n_features} columns, got an array of shape {X.shape}."
            raise ValueError(msg)
        if X.dtype not in (np.float32, np.float64):
            if X.dtype.kind not in "biufO":
                msg = f"X must contain real numbers, got {X.dtype}."
                raise ValueError(msg)
            X = X.astype(np.float64)
        return TableRows(X if sparse.issparse(X) else np.ascontiguousarray(X))

    def _mixed(self, X: Any, layout: Categories) -> MixedTable:
        X = as_table(X)
        if X.shape[1] != layout.n_columns:
            msg = f"X must have {layout.n_columns} columns, got a table of shape {X.shape}."
            raise ValueError(msg)
        names = frame_names(X)
        if None not in (names, layout.names) and names != layout.names:
            msg = (
                f"X must have the columns of the fit, {list(layout.names or ())}, in this order, "
                f"got {list(names or ())}."
            )
            raise ValueError(msg)
        return read_table(X, layout)

    def _check_names(self, names: list[str]) -> None:
        """Refuse a frame whose columns are not those of the fit, in their order."""
        known = self.geometry.feature_names
        if known is not None and len(names) == len(known) and names != list(known):
            msg = f"X must have the columns of the fit, {list(known)}, in this order, got {names}."
            raise ValueError(msg)

    def _ask(self, rows: TableRows, want: _native.Want, n_jobs: int | None) -> Answers:
        return self.infer(self.read(rows, n_jobs=n_jobs), want, n_jobs=n_jobs)

    @property
    def is_plain(self) -> bool:
        """Whether every memory is a cluster of its own."""
        return np.array_equal(self.assembly, np.arange(self.n_memories))

    def _clusters(self, memory_labels: NDArray[np.int32]) -> NDArray[np.int32]:
        if self.is_plain:
            return memory_labels
        return np.where(memory_labels < 0, memory_labels, self.assembly[memory_labels])

    def _energies(self, energy: NDArray[Any]) -> NDArray[Any]:
        return energy * self._distance_unit(energy)

    def _distance_unit(self, values: NDArray[Any]) -> Any:
        return values.dtype.type(self.geometry.distance_unit)

    def _points(self, values: NDArray[np.float32], rows: TableRows) -> NDArray[Any]:
        """Bring states of the dynamics back to original units, in the type of the rows."""
        values = values.astype(rows.dtype, copy=False)
        return self.geometry.centers(values).astype(values.dtype, copy=False)


def _largest(values: NDArray[Any], top: int) -> Any:
    """Return the largest values of every row as a CSR array, columns ascending."""
    n, k = values.shape
    columns = np.sort(np.argpartition(-values, top - 1, axis=1)[:, :top], axis=1)
    kept = np.take_along_axis(values, columns, axis=1)
    columns = columns.astype(np.int32)
    starts = np.arange(0, n * top + 1, top, dtype=np.int32)  # at most MAX_MEMBERSHIPS, or one row
    found = sparse.csr_array((kept.ravel(), columns.ravel(), starts), shape=(n, k))
    found.eliminate_zeros()
    return found
