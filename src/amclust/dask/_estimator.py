"""ClAM on Dask: the same estimator, of rows that may lie on many machines."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import dask.dataframe as dd
import numpy as np
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

import amclust
from amclust._columns import is_missing
from amclust._docs import documented
from amclust._fitting import Fitting, Learned
from amclust._parameters import Constraints
from amclust._rows import empty_rows
from amclust._silhouettes import judged_places
from amclust._size_limits import check_unlimited
from amclust._training import MAX_SEED
from amclust._validation import (
    check_metric_of_categories,
    check_some_observed,
    tell_empty_rows,
)
from amclust.backends import find_backend
from amclust.dask._answers import Completion, Question, answer_dtype, ask
from amclust.dask._backend import DaskBackend
from amclust.dask._blocks import Blocks, as_matrix, is_distributed, like_rows, named
from amclust.dask._engine import Engine, find_client
from amclust.dask._levels import learn_categories
from amclust.dask._source import DaskSource, add, tell_unpersisted

# Rows of a table of Dask that a report is about.
REPORT_ROWS = 10_000


def _parameters() -> str:
    """Return what `amclust.ClAM` says of its parameters, but for the first."""
    text = inspect.getdoc(amclust.ClAM) or ""
    _, _, section = text.partition("Parameters\n----------\n")
    section, _, _ = section.partition("\n\nAttributes\n")
    _, _, others = section.partition("\nn_memories :")
    return f"n_memories :{others}"


@documented({"parameters": _parameters()})
class ClAM(amclust.ClAM):
    """Clustering with a dense associative memory, of rows that may lie on many machines.

    The parameters, the methods and what they find are those of :class:`amclust.ClAM`, to the last
    bit: whatever the chunks, the workers and their threads. Rows may also be a ``dask.array``
    (dense, or with blocks of CSR), a ``dask.dataframe``, or a list of delayed frames or arrays; for
    these, answers are not computed before they are asked for, and lie in blocks as the rows do. A
    fit makes one pass over all rows for their statistics and to draw those that it looks at (of up
    to 262,144 rows all, of more about so many). Where there are
    weights, chunk sizes that are not known or rows without any value, it draws in a second one.
    Restarts are tasks of their own.

    Parameters
    ----------
    n_clusters : int, "auto", range or sequence of int, default=8
        Number of clusters.

    {parameters}
    client : distributed.Client, default=None
        Where tasks run. None: the current client, or Dask's local scheduler without one. (Of the
        other parameters, `n_jobs` is the number of threads at the client.)

    Attributes
    ----------
    labels_ : dask.array, series or list of Delayed
        Cluster of each row of the training data, not computed yet. (An array where the rows were in
        memory.)

    n_samples_ : int
        Number of rows; only after `fit` to rows of Dask.

    n_missing_ : ndarray of shape (n_features,)
        Number of missing values in each column; likewise.

    See Also
    --------
    amclust.ClAM : The same for rows in memory; it lists all parameters and attributes.

    Examples
    --------
    >>> import dask.array as da
    >>> from amclust.dask import ClAM
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(2000, centers=3, random_state=0)
    >>> rows = da.from_array(X, chunks=(500, 2))
    >>> model = ClAM(n_clusters=3, random_state=0).fit(rows)
    >>> model.labels_
    dask.array<clam-label, shape=(2000,), dtype=int32, chunksize=(500,), chunktype=numpy.ndarray>
    >>> import amclust
    >>> local = amclust.ClAM(n_clusters=3, random_state=0).fit(X)
    >>> bool((model.labels_.compute() == local.labels_).all())
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        **amclust.ClAM._parameter_constraints,
        "client": [Client, None],
    }

    def __init__(
        self, n_clusters: Any = 8, *, client: Client | None = None, **parameters: Any
    ) -> None:
        super().__init__(n_clusters, **parameters)
        self.client = client

    def __sklearn_clone__(self) -> ClAM:
        from sklearn.base import clone

        given = self.get_params(deep=False)
        client = given.pop("client")  # stays what it is: a connection cannot be copied
        return type(self)(client=client, **{k: clone(v, safe=False) for k, v in given.items()})

    def __copy__(self) -> ClAM:
        copied = type(self).__new__(type(self))
        copied.__dict__.update(vars(self))  # the client too, which no other process can have
        return copied

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state["client"] = None
        return state

    # --- training -------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClAM:
        """Learn the memories.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows to cluster, of shape (n_samples, n_features); NaN where a value is missing. Blocks
            may be empty, and their lengths need not be known.

        y : None
            Ignored.

        sample_weight : dask.array, series or array-like of shape (n_samples,), default=None
            Weight of each row, in the blocks of `X`.

        Returns
        -------
        self : ClAM
            The fitted estimator.
        """
        super().fit(X, sample_weight=sample_weight)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClAM:
        """Go on learning from more rows, one block after the other.

        Unlike what `fit` finds, this depends on the blocks: each is gone through once, as
        `amclust.ClAM.partial_fit` would.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            New rows. The first block must have as many distinct rows as there are clusters.

        y : None
            Ignored.

        sample_weight : dask.array, series or array-like of shape (n_samples,), default=None
            Weight of each row, in the blocks of `X`.

        Returns
        -------
        self : ClAM
            The fitted estimator.
        """
        if not is_distributed(X):
            super().partial_fit(X, sample_weight=sample_weight)
            return self
        check_unlimited(self, "partial_fit")
        blocks, engine = Blocks.of(X), self._engine()
        model: Any = self.to_local() if hasattr(self, "network_") else self._local()
        if not isinstance(model.random_state, Integral):  # a task that is run again draws the same
            model.random_state = int(check_random_state(model.random_state).randint(MAX_SEED))
        weights = blocks.weights(sample_weight)
        for at, (block, values) in enumerate(zip(blocks.blocks, weights, strict=True)):
            model = engine.task("clam-partial-fit", at, go_on, model, block, values, at)
        (model,) = engine.run([model], "blocks")
        if not hasattr(model, "network_"):
            msg = "No row of X has an observed value: at least one needs one, to begin with."
            raise ValueError(msg)
        self._keep_fitted(model)
        self._forget_table()
        self.labels_ = self.predict(X)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit and return the labels of the rows, not computed yet.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows to cluster.

        y : None
            Ignored.

        sample_weight : dask.array, series or array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        labels : dask.array, series, list of Delayed or ndarray
            Cluster of each row.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    def _fitting(
        self, X: Any, sample_weight: Any, *, reset: bool, draws_once: bool = True
    ) -> Fitting:
        backend = find_backend(self.backend, self.device, self.metric)
        self._forget_table()
        if not is_distributed(X):
            return super()._fitting(X, sample_weight, reset=reset, draws_once=draws_once)
        check_unlimited(self, "a fit to a table of Dask")
        engine = self._engine()

        def look(seen: DaskSource) -> None:
            if seen.summary.unseen is not None:  # its values would not count
                msg = f"{seen.summary.unseen} Blocks must be the same in every pass over them."
                raise ValueError(msg)
            check_some_observed(seen.n_empty, seen.n_rows, seen.n_counted, sample_weight)
            tell_empty_rows(seen.n_empty, seen.n_rows, trained=True)
            self.n_samples_, self.n_missing_ = seen.n_rows, seen.n_missing

        source = self._source(X, sample_weight, engine, reset=reset, look=look)
        fitting = DaskFitting(self, source, DaskBackend(backend, engine, self.recipe))
        passes = source.n_passes
        more = fitting.max_full_passes(source.expected)
        often = f"{passes} to {passes + more} times" if more else f"{passes} times"
        if not draws_once:  # besides, some rows tell whether it is the same table
            often = f"at least {passes + 2} times"
        tell_unpersisted(X, "once" if often == "1 times" else often)
        return fitting

    def _forget_table(self) -> None:
        """Forget what is known of the rows of an earlier fit."""
        for name in ("n_samples_", "n_missing_"):
            self.__dict__.pop(name, None)

    def _keep_labels(self, X: Any) -> None:
        if is_distributed(X):
            self.labels_ = self.predict(X)

    def _engine(self) -> Engine:
        return Engine(find_client(self.client), self.verbose)

    def _source(
        self,
        X: Any,
        sample_weight: Any,
        engine: Engine,
        *,
        reset: bool,
        look: Callable[[DaskSource], None] | None = None,
    ) -> DaskSource:
        blocks = Blocks.of(X, beside_series=isinstance(sample_weight, dd.Series))
        weights = blocks.weights(sample_weight)
        if not is_distributed(sample_weight):
            weights = engine.given("clam-statistics", "weights", weights)
        if reset:
            categories = learn_categories(blocks, self.categorical_features, engine)
            if categories is not None:
                check_metric_of_categories(self.metric, categories)
        else:
            categories = self.network_.geometry.categories
        source = DaskSource(blocks, weights, engine, self.metric, look, categories)
        self._check_columns(source.like_rows, reset=reset)
        return source

    def _check_columns(self, like: Any, *, reset: bool) -> None:
        """Keep the number and the names of columns, or refuse others than those of the fit."""
        _check_feature_names(self, like, reset=reset)
        _check_n_features(self, like, reset=reset)

    # --- answers of the network -----------------------------------------------------------------

    def _ask(
        self, X: Any, method: str, columns: Any, dtype: str | None = None, top: int | None = None
    ) -> Any:
        names = None if columns is None else tuple(columns)
        self._check_asked(X)
        return ask(
            Question(method, names, dtype or answer_dtype(X, self.network_), top), X, self.network_
        )

    def _check_asked(self, X: Any) -> None:
        check_is_fitted(self)
        like = like_rows(X)  # blocks of a list are looked at by the workers
        if like is not None:
            self._check_columns(like, reset=False)

    def predict(self, X: Any) -> Any:
        """Return the cluster that the dynamics carries each row to.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows; NaN where a value is missing.

        Returns
        -------
        labels : dask.array, series, list of Delayed or ndarray of shape (n_samples,)
            In the blocks of `X`.
        """
        if not is_distributed(X):
            return super().predict(X)
        return self._ask(X, "labels", None, "int32")

    def predict_proba(self, X: Any, *, top: int | None = None) -> Any:
        """Return the memberships of rows: how strongly the memories of each cluster attract them.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows; NaN where a value is missing.

        top : int, default=None
            Keep so many of the largest memberships of every row, in blocks of CSR; not for frames.

        Returns
        -------
        memberships : dask.array, frame, list of Delayed or ndarray of shape (n_samples, n_clusters)
            In the blocks of `X`.
        """
        if not is_distributed(X):
            return super().predict_proba(X, top=top)
        if top is None:
            return self._ask(X, "memberships", self.get_feature_names_out())
        if isinstance(X, dd.DataFrame):
            msg = f"top={top} makes sparse blocks, which frames cannot have: use top=None."
            raise ValueError(msg)
        return self._ask(X, "memberships", self.get_feature_names_out(), top=top)

    def transform(self, X: Any) -> Any:
        """Return the distances of rows to the clusters: to the nearest memory of each.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows; missing values are filled in first.

        Returns
        -------
        distances : dask.array, frame, list of Delayed or ndarray of shape (n_samples, n_clusters)
            In the blocks of `X`.
        """
        if not is_distributed(X):
            return super().transform(X)
        return self._ask(X, "distances", self.get_feature_names_out())

    def energy(self, X: Any) -> Any:
        """Return the energy of rows: low near a memory, high far from all of them.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows; NaN where a value is missing.

        Returns
        -------
        energy : dask.array, series, list of Delayed or ndarray of shape (n_samples,)
            In the blocks of `X`.
        """
        return self._ask(X, "energy", None) if is_distributed(X) else super().energy(X)

    def entropy(self, X: Any) -> Any:
        """Return the entropy of the memberships; 0 means the nearest memory decides alone.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows; NaN where a value is missing.

        Returns
        -------
        entropy : dask.array, series, list of Delayed or ndarray of shape (n_samples,)
            In the blocks of `X`.
        """
        return self._ask(X, "entropy", None) if is_distributed(X) else super().entropy(X)

    def recall(self, X: Any, *, return_trajectory: bool = False) -> Any:
        """Let the dynamics act on rows.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows; missing values are filled in first.

        return_trajectory : bool, default=False
            Also return the states in between; only for rows in memory.

        Returns
        -------
        states : dask.array, frame, list of Delayed or ndarray of shape (n_samples, n_features)
            In the blocks of `X`.
        """
        if not is_distributed(X):
            return super().recall(X, return_trajectory=return_trajectory)
        if return_trajectory:
            msg = "return_trajectory=True needs rows in memory: pass X.compute(), or some rows."
            raise ValueError(msg)
        check_is_fitted(self)
        layout = self.network_.geometry.categories
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return self._ask(X, "recall", names if layout is None else layout.feature_names)

    def complete(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill the missing values of rows; all other values stay exactly as they are.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows with NaN where a value is missing.

        return_std : bool, default=False
            Also return how sure each completed value is.

        Returns
        -------
        completed : same type as X, of shape (n_samples, n_features)
            In the blocks of `X`; a frame keeps the types of its columns, as in memory.

        std : same kind as X, of shape (n_samples, n_features)
            Standard deviations of the completed values, 0 for all others. Only with
            ``return_std=True``.
        """
        if not is_distributed(X):
            return super().complete(X, return_std=return_std)
        self._check_asked(X)
        if return_std:
            self.network_.check_sure()
        completed = ask(Completion(answer_dtype(X, self.network_)), X, self.network_)
        if not return_std:
            return completed
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return completed, self._ask(X, "deviations", names)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the silhouette of the partition of the rows (higher is better).

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows; NaN where a value is missing.

        y : None
            Ignored.

        sample_weight : dask.array, series or array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            Exact up to 10,000 rows, on a fixed sample of them above; -1 where all rows fall to
            one memory.
        """
        if not is_distributed(X):
            return super().score(X, sample_weight=sample_weight)
        check_is_fitted(self)
        source = self._source(X, sample_weight, self._engine(), reset=False)
        drawn = source.draw_some(judged_places)
        tell_empty_rows(source.n_empty, source.n_rows)
        if not source.n_counted:
            if sample_weight is not None and source.n_empty < source.n_rows:
                msg = "Sample weights must contain at least one non-zero number."
                raise ValueError(msg)
            return -1.0
        value = self.network_.silhouette(
            drawn.rows.X, sample_weight=drawn.sample_weight, n_jobs=self.n_jobs
        )
        return -1.0 if np.isnan(value) else value

    # --- one machine ----------------------------------------------------------------------------

    @classmethod
    def from_local(cls, model: amclust.ClAM, *, client: Client | None = None) -> ClAM:
        """Return a model that was fitted on one machine, or loaded, as one for rows of Dask.

        Parameters
        ----------
        model : amclust.ClAM
            A model; what it was fitted to is kept.

        client : distributed.Client, default=None
            Where tasks run.

        Returns
        -------
        model : ClAM
            It answers as the other one does, for rows of Dask too.

        Examples
        --------
        >>> import amclust, amclust.dask
        >>> import dask.array as da
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> local = amclust.ClAM(n_clusters=3, n_init=2, random_state=0).fit(X)
        >>> model = amclust.dask.ClAM.from_local(local)
        >>> bool((model.predict(da.from_array(X, chunks=(50, 4))).compute() == local.labels_).all())
        True
        """
        given = model.get_params(deep=False)
        made = cls(client=client or given.pop("client", None), **given)
        made._keep_fitted(model)
        return made

    def to_local(self) -> amclust.ClAM:
        """Return the same model as a plain `amclust.ClAM`, for displays and files.

        Returns
        -------
        model : amclust.ClAM
            It answers as this one does. Its `labels_` are empty if they are not computed here:
            `predict` gives them.
        """
        check_is_fitted(self)
        model = self._local()
        model.__dict__.update(_fitted(self))
        if not isinstance(self.labels_, np.ndarray):
            model.labels_ = np.zeros(0, np.int32)
        return model

    def save(self, path: Any) -> None:
        """Write the fitted model to a file, for :func:`amclust.load`, which gives a plain ClAM.

        Parameters
        ----------
        path : str or path
            Where to write, by habit with the suffix ".amc".
        """
        self.to_local().save(path)

    def report(self, X: Any, path: Any, **given: Any) -> Any:
        """Write a page about the clusters, on rows in memory or on some of a table of Dask.

        Parameters
        ----------
        X : dask.array, dask.dataframe, list of Delayed, or rows in memory
            Rows to report on; of Dask at most 10,000 are drawn.

        path : str or path-like
            Where to write, ``report.html`` for example.

        **given : dict
            Keywords of :meth:`amclust.ClAM.report`.

        Returns
        -------
        path : Path
            Where the page is.
        """
        if is_distributed(X):
            X = self._source(X, None, self._engine(), reset=False).sample(REPORT_ROWS)
        return self.to_local().report(X, path, **given)

    def _local(self) -> amclust.ClAM:
        given = self.get_params(deep=False)
        del given["client"]
        model = amclust.ClAM(**given)
        if self.recipe is not model.recipe:
            model.recipe = self.recipe  # type: ignore[misc]
        return model

    def _keep_fitted(self, model: amclust.ClAM) -> None:
        self.__dict__.update(_fitted(model))

    def _cluster_sizes(self) -> NDArray[np.int64]:
        if isinstance(self.labels_, np.ndarray):
            return super()._cluster_sizes()
        engine = self._engine()
        tasks = [
            engine.task("clam-label", f"sizes-{at}", sizes_of, labels, self.n_clusters_)
            for at, labels in enumerate(Blocks.columns_of(self.labels_))
        ]
        found: NDArray[np.int64] = engine.merged("clam-label", tasks, add, "sizes")[0]
        return found


class DaskFitting(Fitting):
    """A fit whose rows lie with workers, which let go of them where it fails."""

    backend: DaskBackend

    def fit(self, rng: np.random.RandomState) -> Learned:
        """Learn memories from several starts."""
        with self.backend.engine.ended_on_failure():
            return super().fit(rng)


def _fitted(model: amclust.ClAM) -> dict[str, Any]:
    """Return what a model has besides its parameters."""
    given = set(model.get_params(deep=False))
    return {name: value for name, value in vars(model).items() if name not in given}


def _signature() -> inspect.Signature:
    """Return the signature of `ClAM`, by which scikit-learn knows parameters and defaults."""
    parent = inspect.signature(amclust.ClAM.__init__)
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    return parent.replace(parameters=[*parent.parameters.values(), client])


ClAM.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
# `set_output` would compute what is lazy; rows in memory go to the method of `amclust.ClAM`.
ClAM.transform = inspect.unwrap(ClAM.transform)  # type: ignore[method-assign]


def go_on(model: amclust.ClAM, block: Any, weights: Any, number: int) -> amclust.ClAM:
    """Return a model that has learned from one more block."""
    if not len(block) if hasattr(block, "columns") else not block.shape[0]:
        return model
    model = copy.copy(model)  # results of tasks are not changed
    with named(number):
        if is_empty(block):
            return model  # there is nothing to learn from
        return model.partial_fit(block, sample_weight=weights)


def is_empty(block: Any) -> bool:
    """Whether no row of a block has a value."""
    if hasattr(block, "columns"):
        return bool(block.isna().to_numpy().all())
    if block.dtype.kind not in "biuf":
        return all(map(is_missing, np.ravel(block)))
    matrix = as_matrix(block, None, None)
    return bool(len(empty_rows(matrix)) == matrix.shape[0])


def sizes_of(labels: Any, n_clusters: int) -> NDArray[np.int64]:
    """Return how many rows of a block each cluster has."""
    values = np.asarray(labels)
    return np.bincount(values[values >= 0], minlength=n_clusters)
