"""The ClAM estimator: parameters, validation and attributes. The mathematics is in the core."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from amclust import _native
from amclust._config import n_threads
from amclust._network import NetworkMethods
from amclust._progress import finish, reporter
from amclust._training import (
    Problem,
    TrainedRun,
    choose_run,
    judge_runs,
    run_table,
    seed_runs,
    train_runs,
)
from amclust._units import Units, Whitening, choose_units, make_dataset
from amclust._validation import check_statistics, check_weights

if TYPE_CHECKING:
    from collections.abc import Iterator

# The anchor's weight: how much scatter inside the clusters one unit of silhouette is worth.
ANCHOR = 1.0
# How much a memory's distance from the centre of its cluster is worth, likewise.
TIE = 0.3


class ClAM(NetworkMethods, ClassNamePrefixFeaturesOutMixin, BaseEstimator):
    """Clustering with a dense associative memory.

    `n_clusters` memories are learned by gradient descent so that the attractor dynamics of a
    memory network carries every row to exactly one of them. Rows may have missing values (NaN).

    Parameters
    ----------
    n_clusters : int, default=8
        Number of memories, and of clusters.

    objective : {"auto", "silhouette", "completion", "reconstruction"}, default="auto"
        What is minimised. "silhouette" maximises a differentiable silhouette, anchored by the
        scatter inside the clusters. "completion" is the loss of the paper: hide some entries of
        every row and compare what the network completes. "reconstruction" hides nothing. "auto"
        is "silhouette" for complete rows and "completion" where values are missing (with a
        single cluster, "reconstruction").

    beta : "auto" or float, default="auto"
        Inverse temperature. Large: a row falls to its nearest memory. Small: memories attract
        together. "auto" takes it from the distances between the rows and the initial memories.

    n_steps : int, default=10
        Steps of the dynamics.

    step_size : float, default=0.3
        Part of the way to the memories that a step goes, in (0, 1]. The paper has 1 / n_steps.

    mask_prob : float, default=0.15
        Part of the entries of a row that "completion" hides, in (0, 1).

    mask_value : {"mean", "min", "max"} or float, default="mean"
        Where hidden and missing entries start: a statistic of their column, or a number.

    weights : None, "learn" or array-like of shape (n_clusters,), default=None
        Weights of the memories in the energy; None weighs them equally.

    metric : {"euclidean", "cosine", "mahalanobis"}, default="euclidean"
        "cosine" works on directions (rows scaled to unit length), for text for example.
        "mahalanobis" whitens by the covariance of the data (Ledoit-Wolf) and takes no NaN.

    init : {"k-means++", "random"} or array-like of shape (n_clusters, n_features), \
            default="k-means++"
        Initial memories. An array may not contain NaN.

    n_init : int, default=10
        Number of restarts; `selection` chooses among them. All are trained in one call.

    batch_size : int, default=1024
        Rows per gradient step. When one batch holds all rows, training does not depend on their
        order, and a row of weight 2 is the same as two rows.

    max_epochs : int, default=200
        Most epochs of a run. On more than 16,384 rows an epoch is a part of the data of that size.

    learning_rate : float, default=0.1
        Initial learning rate of Adam, in units of the columns' root mean square deviation.

    patience : int, default=5
        Epochs without improvement after which the learning rate is lowered.

    lr_factor : float, default=0.8
        Factor by which it is lowered, in (0, 1).

    min_lr : float, default=1e-5
        Lowest learning rate.

    tol : float, default=1e-3
        Relative change of the loss that counts as an improvement.

    early_stopping : bool, default=True
        Stop a run when lowering the learning rate has not helped for several times.

    selection : {"silhouette", "loss"}, default="silhouette"
        How the best restart is chosen: by silhouette (exact up to 10,000 rows, on a fixed sample
        above) or by training loss. A restart with dead clusters never wins over one without.

    n_jobs : int, default=None
        Number of threads. None uses all cores. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Determines seeding, masks and the order of rows.

    verbose : int, default=0
        1 shows progress on standard error, 2 every epoch.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The memories (unit vectors for `metric="cosine"`).

    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of the training data; the same as `predict` gives.

    weights_ : ndarray of shape (n_clusters,)
        Weights of the memories.

    beta_ : float
        Inverse temperature of the chosen restart.

    loss_ : float
        Loss of the chosen restart's best epoch.

    loss_curve_ : ndarray of shape (n_iter_,)
        Mean loss of every epoch of the chosen restart.

    silhouette_ : float
        Silhouette of the chosen restart (NaN with a single cluster).

    n_iter_ : int
        Epochs of the chosen restart.

    runs_ : structured ndarray of shape (n_init,)
        One row a restart: seed, beta, loss, silhouette, living_clusters, n_iter, converged,
        chosen. ``pandas.DataFrame(model.runs_)`` shows it as a table.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where `X` has names that are strings.

    References
    ----------
    .. [1] B. Saha, D. Krotov, M. J. Zaki, P. Ram. "End-to-end Differentiable Clustering with
       Associative Memories", ICML 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from amclust import ClAM
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, np.nan]])
    >>> model = ClAM(n_clusters=2, random_state=0).fit(X)
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[5])
    True
    >>> model.predict([[0, 0], [np.nan, 3], [12, 3]]).shape
    (3,)
    """

    _parameter_constraints = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "objective": [StrOptions({"auto", "silhouette", "completion", "reconstruction"})],
        "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "step_size": [Interval(Real, 0, 1, closed="right")],
        "mask_prob": [Interval(Real, 0, 1, closed="neither")],
        "mask_value": [StrOptions({"mean", "min", "max"}), Interval(Real, None, None, closed="neither")],
        "weights": [None, StrOptions({"learn"}), "array-like"],
        "metric": [StrOptions({"euclidean", "cosine", "mahalanobis"})],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "lr_factor": [Interval(Real, 0, 1, closed="neither")],
        "min_lr": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "selection": [StrOptions({"silhouette", "loss"})],
        "n_jobs": [
            None,
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        objective="auto",
        beta="auto",
        n_steps=10,
        step_size=0.3,
        mask_prob=0.15,
        mask_value="mean",
        weights=None,
        metric="euclidean",
        init="k-means++",
        n_init=10,
        batch_size=1024,
        max_epochs=200,
        learning_rate=0.1,
        patience=5,
        lr_factor=0.8,
        min_lr=1e-5,
        tol=1e-3,
        early_stopping=True,
        selection="silhouette",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.objective = objective
        self.beta = beta
        self.n_steps = n_steps
        self.step_size = step_size
        self.mask_prob = mask_prob
        self.mask_value = mask_value
        self.weights = weights
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.learning_rate = learning_rate
        self.patience = patience
        self.lr_factor = lr_factor
        self.min_lr = min_lr
        self.tol = tol
        self.early_stopping = early_stopping
        self.selection = selection
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "mahalanobis"
        tags.input_tags.allow_nan = self.metric != "mahalanobis"
        # Not a classifier, but scikit-learn looks here for the shape of predict_proba.
        tags.classifier_tags = ClassifierTags(multi_class=self.n_clusters != 2)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- training -------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Learn the memories.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster; NaN where a value is missing. float32 and float64 are read in place.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's loss.

        Returns
        -------
        self : ClAM
            The fitted estimator.
        """
        with self._restored_on_failure():
            X = self._validate(X, reset=True)
            problem = self._problem(X, sample_weight)
            self._fit(problem)
        return self

    def _fit(self, problem):
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_init).astype(np.int64)
        sample_seed = int(rng.randint(np.iinfo(np.int32).max))
        settings = self._settings(problem)
        units = problem.units
        seedings = seed_runs(problem, self._init(units), seeds, sample_seed)
        progress = reporter(self.verbose, self.n_init, self.max_epochs)
        runs = train_runs(problem, seedings, seeds, self._beta_inward(units), settings, progress)
        judge_runs(problem, runs, settings, sample_seed)
        chosen = choose_run(runs, self.selection)
        self._keep(problem, runs[chosen], seedings[chosen])
        self.runs_ = run_table(runs, chosen, units)
        self.labels_ = self._infer(problem.data, ["labels"])["labels"]
        best = self.runs_[chosen]
        finish(
            self.verbose,
            f"ClAM: chose run {chosen + 1} of {self.n_init}: loss {best['loss']:.5g}, "
            f"silhouette {best['silhouette']:.4f}, {best['living_clusters']} living clusters",
        )
        self._warn(runs, runs[chosen])

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Go on learning from one more piece of data.

        The first call seeds the memories from its rows, and fixes the units and the temperature.
        Every call goes once through its rows. After `fit`, learning goes on from the memories found.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows. The first piece must have `n_clusters` distinct rows.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's loss.

        Returns
        -------
        self : ClAM
            The fitted estimator.
        """
        with self._restored_on_failure():
            first = not hasattr(self, "cluster_centers_")
            X = self._validate(X, reset=first)
            problem = self._problem(X, sample_weight, None if first else self._units())
            self._partial_fit(problem, first)
        return self

    def _partial_fit(self, problem, first):
        settings = self._settings(problem)
        if first:
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            beta = self._beta_inward(problem.units)
            (seeding,) = seed_runs(problem, self._init(problem.units), np.array([seed]), seed)
        else:
            seed = int(self.runs_["seed"][self.runs_["chosen"]][0])
            beta = self._beta
            seeding = {"memories": self._memories, "mean_square": self._spread, "median_gap": 0.0}
            settings.update(self._optimizer_state())
        seen = settings.get("steps", 0)
        settings.update(
            max_epochs=-(-problem.n_rows // _native.EPOCH_ROWS),
            early_stopping=False,
            reseed=False,
            keep_last=True,
            # Steps get smaller as more is seen, so that the memories settle.
            learning_rate=max(self.min_lr, self.learning_rate / np.sqrt(1 + seen / 20)),
        )
        # A new piece is shuffled and masked anew: the draws hang on the steps made so far.
        (run,) = train_runs(problem, [seeding], np.array([seed + seen]), beta, settings, None)
        run.seed = seed
        judge_runs(problem, [run], settings, seed)
        self._keep(problem, run, seeding)
        self.runs_ = run_table([run], 0, problem.units)
        self.labels_ = self._infer(problem.data, ["labels"])["labels"]

    @contextmanager
    def _restored_on_failure(self) -> Iterator[None]:
        """Leave the estimator as it was when a fit fails or is interrupted."""
        before = self.__dict__.copy()
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _objective(self, problem: Problem) -> str:
        """Return the objective by name; "auto" is decided here."""
        if self.objective != "auto":
            return self.objective
        if self.n_clusters == 1:
            return "reconstruction"
        return "completion" if problem.data.has_missing and self.n_features_in_ > 1 else "silhouette"

    def _settings(self, problem: Problem) -> dict[str, Any]:
        """Return what all runs have in common, as the core takes it."""
        objective = self._objective(problem)
        if objective == "silhouette" and self.n_clusters < 2:
            msg = "objective='silhouette' needs n_clusters of at least 2, got 1."
            raise ValueError(msg)
        if objective == "completion" and self.n_features_in_ < 2:
            msg = (
                "objective='completion' hides a feature and predicts it from the others: X has "
                "1 feature(s), at least 2 are required."
            )
            raise ValueError(msg)
        fixed = None
        if self.weights is not None and not isinstance(self.weights, str):
            fixed = check_weights(self.weights, self.n_clusters)
        return {
            "objective": objective,
            "mask_prob": float(self.mask_prob),
            "anchor": ANCHOR,
            "tie": TIE,
            "step_size": float(self.step_size),
            "n_steps": int(self.n_steps),
            "log_weights": fixed,
            "learn_weights": isinstance(self.weights, str),
            "batch_size": int(min(self.batch_size, np.iinfo(np.int32).max)),
            "max_epochs": int(self.max_epochs),
            "patience": int(self.patience),
            "learning_rate": float(self.learning_rate),
            "lr_factor": float(self.lr_factor),
            "min_lr": float(self.min_lr),
            "tol": float(self.tol),
            "early_stopping": bool(self.early_stopping),
            "reseed": True,
            "keep_last": False,
        }

    def _problem(self, X, sample_weight, units=None) -> Problem:
        """Return the rows as the core takes them, with weights and units (chosen here if not given)."""
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float32, ensure_non_negative=True
            )
            if not sample_weight.any():
                msg = "sample_weight must have at least one positive weight, got only zeros."
                raise ValueError(msg)
        data = make_dataset(X)
        threads = n_threads(self.n_jobs)
        rows, weights = None, sample_weight
        if data.rows <= self.batch_size:
            rows, weights = _native.distinct_rows(data, sample_weight)
        elif sample_weight is not None and (sample_weight == 0).any():
            rows = np.flatnonzero(sample_weight)
            weights = np.ascontiguousarray(sample_weight[rows])
        if self.metric == "mahalanobis":
            X = self._whitenable(X)
            if units is None:
                self._whitening = Whitening.of(X if rows is None else X[rows], weights)
            data = make_dataset(self._whitening.apply(X))
        stats = _native.statistics(data, rows, weights, threads)
        names = getattr(self, "feature_names_in_", None)
        check_statistics(stats, names, data.rows, self.metric, fitting=units is None)
        if units is None:
            units = choose_units(stats, self.metric, self.mask_value)
        data.has_missing = stats["missing"] > 0
        data.set_units(units.metric, units.offset, units.scale)
        return Problem(data, units, self.n_clusters, rows, weights, threads)

    def _init(self, units: Units) -> str | np.ndarray:
        if isinstance(self.init, str):
            return self.init
        init = np.asarray(self.init, dtype=np.float64)
        expected = (self.n_clusters, self.n_features_in_)
        if init.shape != expected:
            msg = f"init must have shape (n_clusters, n_features) = {expected}, got {init.shape}."
            raise ValueError(msg)
        if not np.isfinite(init).all():
            msg = "init must be finite, got an array with NaN or infinity."
            raise ValueError(msg)
        if self.metric == "mahalanobis":
            init = self._whitening.apply(init)
        return units.inward(init)

    def _beta_inward(self, units: Units) -> float | None:
        return None if self.beta == "auto" else float(self.beta) * units.length**2

    def _keep(self, problem: Problem, run: TrainedRun, seeding: dict[str, Any]) -> None:
        """Set the fitted attributes from a run."""
        record, units = run.record, problem.units
        log_weights = record["log_weights"].astype(np.float64)
        if isinstance(self.weights, str):  # only ratios matter: make the mean weight 1
            log_weights -= np.log(np.mean(np.exp(log_weights)))
        self._log_weights = log_weights.astype(np.float32)
        self._memories, self._beta = record["memories"], run.beta
        self._offset, self._scale, self._fill = units.offset, units.scale, units.fill
        self._moments, self._weight_moments = record["moments"], record["weight_moments"]
        self._steps, self._spread = int(record["steps"]), float(seeding["mean_square"])
        self.weights_ = np.exp(log_weights)
        self.beta_ = run.beta / units.length**2
        self.cluster_centers_ = self._outward(self._memories).astype(self._dtype)
        self.loss_ = float(record["loss"])
        self.loss_curve_ = record["loss_curve"]
        self.n_iter_ = len(self.loss_curve_)
        self.silhouette_ = run.silhouette
        self._n_features_out = self.n_clusters

    def _optimizer_state(self) -> dict[str, Any]:
        return {
            "log_weights": self._log_weights,
            "moments": self._moments,
            "weight_moments": self._weight_moments,
            "steps": self._steps,
        }

    def _warn(self, runs: list[TrainedRun], chosen: TrainedRun) -> None:
        if chosen.record["improving"]:
            count = sum(run.record["improving"] for run in runs)
            warnings.warn(
                f"{count} of {len(runs)} runs, the chosen one among them, were still improving at "
                f"max_epochs={self.max_epochs}. Consider a larger max_epochs or learning_rate.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if chosen.living < self.n_clusters:
            warnings.warn(
                f"Only {chosen.living} of n_clusters={self.n_clusters} clusters are living in the "
                "best run: no row falls to the other memories. Consider fewer clusters, a larger "
                "beta or more restarts.",
                ConvergenceWarning,
                stacklevel=4,
            )
