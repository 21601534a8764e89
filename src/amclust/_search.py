"""ClAMSearch: configurations of ClAM, and numbers of clusters, under a stated budget."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, Tags, check_random_state, get_tags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from amclust._callbacks import CallbackSupportMixin, Task
from amclust._docs import ROWS, documented
from amclust._estimator import ClAM
from amclust._fitting import Fitting
from amclust._halving import Rung, Search, State, make_rungs, max_run_epochs, plan_rungs
from amclust._kinds import in_kind
from amclust._objectives import AUTO, find_objective
from amclust._parameters import (
    MAX_INT,
    PARAMETERS,
    Constraints,
    NamedParameters,
    check_parameters,
)
from amclust._progress import SearchBar, finish
from amclust._space import PRESETS, Config, Space
from amclust._version import __version__
from amclust._warnings import warn
from amclust.io.state import SEARCH, Checkpoint, describe, load_search, save_search

# A checkpoint is written at the end of every rung, and inside a long one every so many seconds.
CHECKPOINT_SECONDS = 30.0


def _delegated(name: str) -> Callable[..., Any]:
    """Return a method that asks the best estimator."""

    @functools.wraps(getattr(ClAM, name))
    def method(self: ClAMSearch, *args: Any, **kwargs: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(*args, **kwargs)

    return method


def _of_best(name: str, doc: str) -> Any:
    """Return a property that is an attribute of the best estimator."""

    def attribute(self: ClAMSearch) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)

    return property(attribute, doc=doc)


@documented(ROWS)
class ClAMSearch(
    NamedParameters, CallbackSupportMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Search for the best ClAM under a budget, by successive halving.

    Many configurations, each from several seeds, are trained for a few epochs. The best part of
    these runs goes on from where it stopped, the best part of those again, and so on until the
    last ones are fully trained. Runs are compared by silhouette, and one with empty clusters ranks
    below every one without: a collapsed partition is never chosen while another
    exists, however well it scores.

    Parameters
    ----------
    n_clusters : int or array-like of int, default=8
        Number of clusters, or several to try. Each gets the same part of the budget.

    space : {"default", "paper"}, dict or list of dicts, default="default"
        What to search: for each parameter of ClAM a list of values, or a distribution with an
        `rvs` method to draw from. A list of dicts is several such spaces. `"beta_factor"` stands
        for multiples of ``beta="auto"``, and the step size `"1/n_steps"` for the paper's.
        Parameters that change distances cannot be searched, since runs could not be compared.
        "default" varies the objective, its temperature and the learning rate around ClAM's
        defaults; "paper" is the full grid of [1]_ (for features with mean 0 and variance 1).

    budget : int or None, default=20_000
        Maximal number of run-epochs to train (one run-epoch is one epoch of one run); a fit of
        ClAM with 10 restarts of 200 epochs takes 2,000. It is never exceeded. If it allows, all
        configurations are begun, with as little halving as possible; else as many as it allows,
        drawn at random. None trains the entire grid to the end.

    estimator : ClAM, default=None
        Holds the parameters that are not searched (`metric`, for example). Its `n_clusters`,
        `n_init`, `max_epochs`, `selection`, `record_epochs`, `n_jobs`, `random_state` and `verbose`
        do not count. Runs are compared without its limits of size; the best is then brought within
        them.

    n_init : int, default=10
        Seeds of each configuration. Runs with the same seed begin with the same memories.

    max_epochs : int, default=200
        Maximal number of epochs of a run.

    min_epochs : int, default=10
        Minimal number of epochs before a run is given up.

    eta : int, default=3
        One run in `eta` goes on, for `eta` times as many epochs.

    checkpoint : str or path, default=None
        File to keep the search in. If it exists, the search goes on from there; one of another
        search is refused. Without it, a search that was interrupted goes on at the next `fit` of
        the same object with the same parameters and data.

    n_jobs : int, default=None
        Number of threads, as of :class:`ClAM`. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Determines the configurations drawn and all runs.

    verbose : int, default=0
        1 shows a progress bar on standard error, 2 also what every rung gave.

    Attributes
    ----------
    best_estimator_ : ClAM
        The best run as a fitted estimator, with the parameters that made it. If a run was better
        at the end of an earlier rung, it is as it was then.

    best_params_ : dict
        Its number of clusters and searched parameters; a multiple of the automatic beta is given
        as the beta it came to.

    best_score_ : float
        Its silhouette (before limits of size; ``best_estimator_.silhouette_`` is that within them).

    best_index_ : int
        Its row in `results_`.

    best_collapsed_index_ : int or None
        Row with the highest silhouette of those with empty clusters (None: there are none). A
        choice by silhouette alone would take it if that is above `best_score_`.

    results_ : pandas.DataFrame
        One row for each rung (from 0) that trained a run: run, config (their numbers), n_clusters,
        seed, every searched parameter, beta, rung, epochs, loss, silhouette, living_clusters,
        largest_share (of the rows, in the largest cluster), converged, chosen.

    results_dict_ : dict of ndarrays
        The same, for those who do not have pandas.

    budget_used_ : int
        Run-epochs trained.

    rungs_ : structured ndarray
        Runs of every rung (`n_runs`), and up to which of their `epochs` it trains them.

    n_configs_ : int
        Number of configurations begun.

    n_candidates_ : int or None
        Number of configurations in the space (None: without end, it has distributions). Where it
        is larger than `n_configs_`, these were drawn at random.

    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of the training data in the best run.

    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The memories of the best run.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where `X` has names that are strings.

    See Also
    --------
    ClAM : The estimator whose configurations are searched.

    References
    ----------
    .. [1] B. Saha, D. Krotov, M. J. Zaki, P. Ram. "End-to-end Differentiable Clustering with
       Associative Memories", ICML 2023.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from amclust import ClAMSearch
    >>> X = load_iris().data
    >>> search = ClAMSearch([2, 3], budget=1000, n_init=2, random_state=0).fit(X)
    >>> search.budget_used_ <= 1000
    True
    >>> search.best_params_["n_clusters"]
    2
    >>> search.predict(X[:3]).shape
    (3,)
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_clusters": [Interval(Integral, 1, MAX_INT, closed="both"), "array-like"],
        "space": [StrOptions(set(PRESETS)), dict, list],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "estimator": [ClAM, None],
        "n_init": [Interval(Integral, 1, MAX_INT, closed="both")],
        "max_epochs": [Interval(Integral, 1, MAX_INT, closed="both")],
        "min_epochs": [Interval(Integral, 1, MAX_INT, closed="both")],
        "eta": [Interval(Integral, 2, MAX_INT, closed="both")],
        "checkpoint": [str, os.PathLike, None],
        "n_jobs": PARAMETERS["n_jobs"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        space: Any = "default",
        budget: int | None = 20_000,
        estimator: ClAM | None = None,
        n_init: int = 10,
        max_epochs: int = 200,
        min_epochs: int = 10,
        eta: int = 3,
        checkpoint: str | os.PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.space = space
        self.budget = budget
        self.estimator = estimator
        self.n_init = n_init
        self.max_epochs = max_epochs
        self.min_epochs = min_epochs
        self.eta = eta
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = get_tags(ClAM() if self.estimator is None else self.estimator)
        two = isinstance(self.n_clusters, Integral) and self.n_clusters == 2
        tags.classifier_tags = ClassifierTags(multi_class=not two)
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClAMSearch:
        """Search, or go on with a search that was interrupted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster; NaN where a value is missing.

        {y}
        {sample_weight}

        Returns
        -------
        self : ClAMSearch
            The search, with the best estimator fitted.
        """
        n_clusters = self._numbers_of_clusters()
        space = Space(self.space)
        model = self._model(max(n_clusters))
        fitting = model._fitting(X, sample_weight, reset=True, draws_once=False)
        source = fitting.source
        self._check_objectives(n_clusters, source.n_features, space)
        fitting.check_sizes(n_clusters)
        rungs = self._rungs(space, model.n_init, len(n_clusters))
        n_configs = rungs[0].n_runs // model.n_init
        fingerprint = self._fingerprint(n_clusters, space, fitting)
        file = None if self.checkpoint is None else Checkpoint(self.checkpoint, SEARCH, fingerprint)
        state = self._unfinished_state(fingerprint, file, rungs, model.n_init, n_clusters)
        if state is None:
            rng = check_random_state(self.random_state)
            state = State.new(rng, model.n_init, n_configs, n_clusters)
        configs = space.draw(n_configs, state.config_seed)
        search = Search(fitting, configs, rungs, state)
        self._announce(space, configs, rungs, len(n_clusters))
        task = Task.of_fit(self, len(rungs), X, y, sample_weight)
        self._run(search, fingerprint, file, len(n_clusters), task)
        self._keep(search, space)
        self.best_estimator_._keep_labels(X)
        task.end(dict)
        return self

    fit_predict = in_kind(ClusterMixin.fit_predict)
    predict = _delegated("predict")
    predict_proba = _delegated("predict_proba")
    transform = _delegated("transform")
    energy = _delegated("energy")
    entropy = _delegated("entropy")
    recall = _delegated("recall")
    complete = _delegated("complete")
    score = _delegated("score")
    sparse_centers = _delegated("sparse_centers")
    top_features = _delegated("top_features")
    get_feature_names_out = _delegated("get_feature_names_out")
    save = _delegated("save")
    report = _delegated("report")

    labels_: NDArray[np.int32] = _of_best("labels_", "Cluster of each row of the training data.")
    cluster_centers_: NDArray[Any] = _of_best("cluster_centers_", "The memories of the best run.")
    n_features_in_: int = _of_best("n_features_in_", "Number of features seen during fit.")
    feature_names_in_: NDArray[np.object_] = _of_best("feature_names_in_", "Names of features.")

    @property
    def results_(self) -> Any:
        """One row for each rung that trained a run, as a pandas.DataFrame."""
        check_is_fitted(self)
        try:
            from pandas import DataFrame, Series
        except ImportError as error:
            msg = (
                "results_ is a pandas.DataFrame: pip install 'amclust[table]', or take "
                "results_dict_, which has the same columns as arrays."
            )
            # What the HTML view of a fitted model takes for an attribute that is not there.
            raise AttributeError(msg) from error
        # As they are: pandas would make NaN of None.
        columns = {
            name: Series(column, dtype=column.dtype) for name, column in self.results_dict_.items()
        }
        return DataFrame(columns)

    # --- what is searched -----------------------------------------------------------------------

    def _numbers_of_clusters(self) -> list[int]:
        numbers = list(np.asarray(self.n_clusters).ravel().tolist())
        if not numbers or not all(type(k) is int and k >= 1 for k in numbers):
            msg = (
                "n_clusters must be an int of at least 1, or several of them in a list, got "
                f"{self.n_clusters!r}."
            )
            raise ValueError(msg)
        return list(dict.fromkeys(numbers))

    def _check_objectives(self, numbers: list[int], n_features: int, space: Space) -> None:
        """Refuse rows and numbers of clusters that an objective which is searched does not take."""
        own = AUTO if self.estimator is None else self.estimator.objective
        for name in space.values("objective", own):
            if name == AUTO:
                continue
            try:
                find_objective(name).check(min(numbers), n_features)
            except ValueError as error:
                where = f"space={self.space!r}" if isinstance(self.space, str) else "space"
                msg = f"{where} searches objective {name!r}, which does not suit: {error}"
                raise ValueError(msg) from error

    def _model(self, n_clusters: int) -> ClAM:
        """Return the estimator with the parameters that do not vary."""
        model: ClAM = ClAM() if self.estimator is None else clone(self.estimator)
        if model.n_memories is not None:
            msg = (
                "estimator must have n_memories=None: a search compares round clusters, got "
                f"n_memories={model.n_memories!r}."
            )
            raise ValueError(msg)
        model.set_params(
            n_clusters=n_clusters,
            # As in ClAM, given memories are used for a single run.
            n_init=self.n_init if isinstance(model.init, str) else 1,
            max_epochs=self.max_epochs,
            selection="silhouette",
            record_epochs=None,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        given = model.get_params(deep=False)
        check_parameters({name: given[name] for name in given if name in PARAMETERS})
        return model

    def _rungs(self, space: Space, n_init: int, parts: int) -> list[Rung]:
        if self.budget is not None:
            limits = self.max_epochs, self.min_epochs, self.eta
            return plan_rungs(space.size, n_init, self.budget, parts, *limits)
        if space.size is None:
            msg = (
                "budget=None trains every configuration of the space, which has no end where "
                "values are drawn from a distribution: set budget, or give lists of values."
            )
            raise ValueError(msg)
        return make_rungs(space.size * n_init, 1, self.max_epochs, self.eta)

    def _fingerprint(self, n_clusters: list[int], space: Space, fitting: Fitting) -> dict[str, str]:
        """Return all that decides the results, in words."""
        seed, model = self.random_state, fitting.model
        params = model.get_params() | {
            "n_clusters": str(n_clusters),
            "budget": self.budget,
            "min_epochs": self.min_epochs,
            "eta": self.eta,
            # The state of a generator moves on: what was drawn from it is in the checkpoint.
            "random_state": type(seed).__name__ if hasattr(seed, "randint") else seed,
            "amclust": __version__,
            "recipe": str(model.recipe),
        }
        for name in ("n_jobs", "verbose", "client"):  # no matter where it is computed
            params.pop(name, None)
        words = {name: describe(name, value) for name, value in params.items()}
        return words | {
            **fitting.source.digests(),
            "space": space.describe(),
        }

    # --- running, and going on ------------------------------------------------------------------

    def _unfinished_state(
        self,
        fingerprint: dict[str, str],
        file: Checkpoint | None,
        rungs: list[Rung],
        n_init: int,
        n_clusters: list[int],
    ) -> State | None:
        """Return where an interrupted search stood, from this object or from the checkpoint."""
        state = None if file is None else load_search(file, rungs, n_init, n_clusters)
        of, kept = getattr(self, "_unfinished", (None, None))
        return kept if of == fingerprint else state

    def _announce(self, space: Space, configs: list[Config], rungs: list[Rung], parts: int) -> None:
        drawn = (
            ""
            if len(configs) == space.size
            else f" drawn at random from {space.size or 'infinitely many'}"
        )
        finish(
            self.verbose,
            f"ClAMSearch: {len(configs)} configurations{drawn}, {parts * rungs[0].n_runs} runs in "
            f"{len(rungs)} rung(s), at most {parts * max_run_epochs(rungs)} run-epochs",
        )

    def _run(
        self,
        search: Search,
        fingerprint: dict[str, str],
        file: Checkpoint | None,
        parts: int,
        task: Task,
    ) -> None:
        bar = SearchBar(parts * max_run_epochs(search.rungs)) if self.verbose else None
        saved = time.monotonic()

        def save() -> None:
            nonlocal saved
            if file is not None:
                save_search(file, search.state)
                saved = time.monotonic()

        def on_step(rung_ended: bool) -> None:
            if rung_ended or time.monotonic() - saved > CHECKPOINT_SECONDS:
                save()
            if bar is not None and rung_ended:
                # Runs that stopped early leave a part of the plan unused.
                bar.done = parts * max_run_epochs(search.rungs[: search.state.rung])
            if rung_ended and self.verbose > 1:
                self._report_rung(search)

        if bar is not None:
            bar.done = int(search.state.runs["epochs"].sum())
        try:
            search.run(bar, on_step, task)
        except BaseException as error:
            # An interrupt keeps even the seeds drawn; what fails at once would fail again.
            if len(search.state.judged) or isinstance(error, KeyboardInterrupt):
                self._unfinished = fingerprint, search.state
                save()
                finish(self.verbose, "ClAMSearch: stopped; another fit goes on from here")
            raise
        self.__dict__.pop("_unfinished", None)

    def _report_rung(self, search: Search) -> None:
        judged, rung = search.state.judged, search.state.rung
        trained = judged[judged["rung"] == rung - 1]
        whole = np.count_nonzero(trained["living_clusters"] == trained["n_clusters"])
        finish(
            self.verbose,
            f"ClAMSearch: rung {rung} of {len(search.rungs)}: trained {len(trained)} runs to epoch "
            f"{search.rungs[rung - 1].epochs}, {whole} without empty clusters; best silhouette "
            f"so far {judged['silhouette'][search.state.best]:.4f}",
        )

    def _keep(self, search: Search, space: Space) -> None:
        """Set the fitted attributes."""
        table, best = search.state.judged, search.state.best
        self.best_estimator_ = search.best_estimator()
        self.best_index_ = best
        self.best_score_ = float(table["silhouette"][best])
        names = [name.replace("beta_factor", "beta") for name in space.names]
        self.best_params_ = {
            name: getattr(self.best_estimator_, name)
            for name in dict.fromkeys(["n_clusters", *names])
        }
        collapsed = np.flatnonzero(
            (table["living_clusters"] < table["n_clusters"]) & ~np.isnan(table["silhouette"])
        )
        self.best_collapsed_index_ = (
            int(collapsed[table["silhouette"][collapsed].argmax()]) if len(collapsed) else None
        )
        self.budget_used_ = int(search.state.runs["epochs"].sum())
        self.n_configs_ = len(search.configs)
        self.n_candidates_ = space.size
        parts = len(np.unique(table["n_clusters"]))
        self.rungs_ = np.array(
            [(parts * rung.n_runs, rung.epochs) for rung in search.rungs],
            dtype=[("n_runs", np.int64), ("epochs", np.int64)],
        )
        self.results_dict_ = search.columns(space.names)
        self._conclude(search, best)

    def _conclude(self, search: Search, best: int) -> None:
        """Say, and warn of, what was found."""
        row = search.state.judged[best]
        text = f"ClAMSearch: best silhouette {row['silhouette']:.4f} in run {row['run']}"
        if self.best_collapsed_index_ is not None:
            worse = search.state.judged[self.best_collapsed_index_]
            text += (
                f"; the best collapsed run has {worse['silhouette']:.4f} with "
                f"{worse['living_clusters']} of {worse['n_clusters']} clusters non-empty"
            )
        finish(self.verbose, f"{text}; {self.budget_used_} run-epochs")
        if row["living_clusters"] < row["n_clusters"]:
            warn(
                f"Every run has empty clusters; the best has {row['living_clusters']} non-empty "
                f"ones of {row['n_clusters']}. Consider fewer clusters, a larger beta or more "
                "budget.",
                ConvergenceWarning,
            )
