"""How ClAM is fitted: from validated rows to attributes. No mathematics, no documentation."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from amclust import _native
from amclust._config import n_threads
from amclust._n_clusters import candidate_numbers, estimate_n_clusters
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
from amclust._units import Units, Whitening, choose_units, column_factors, make_dataset
from amclust._validation import (
    LARGEST,
    as_numbers,
    check_distinct,
    check_epochs,
    check_statistics,
    check_weights,
)

# An initial memory farther than this (in standard deviations) would never come back.
FARTHEST = 1e9
# What float32 holds, with room for distances (beta in the core's units).
MIN_BETA, MAX_BETA = 1e-20, 1e20


class FittingMethods(NetworkMethods):
    """The private half of ClAM that trains. Its parameters and attributes are documented there."""

    n_init: int
    batch_size: int
    max_epochs: int
    random_state: Any
    verbose: int
    beta: float | str
    objective: str
    selection: str
    learning_rate: float
    min_lr: float
    weights: Any
    init: Any
    mask_prob: float
    mask_value: float | str
    scale: str | None
    patience: int
    lr_factor: float
    tol: float
    early_stopping: bool
    record_epochs: Any
    backend: str
    device: Any

    def _fit(self, problem: Problem) -> None:
        rng = check_random_state(self.random_state)
        n_runs = self.n_init if isinstance(self.init, str) else 1
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_runs).astype(np.int64)
        sample_seed = int(rng.randint(np.iinfo(np.int32).max))
        epochs = check_epochs(self.record_epochs, self.max_epochs)
        self._decide_n_clusters(problem, rng)
        settings = self._settings(problem)
        units = problem.units
        seedings = seed_runs(problem, self._init(units), seeds, sample_seed)
        progress = reporter(self.verbose, n_runs, self.max_epochs)
        beta = self._beta_inward(units)
        runs = train_runs(problem, seedings, seeds, beta, settings, progress, epochs)
        judge_runs(problem, runs, sample_seed)
        chosen = choose_run(runs, self.selection)
        self._keep(problem, runs[chosen], seedings[chosen], settings["objective"])
        self._keep_recorded(runs[chosen])
        self.labels_ = self._infer(problem.data, ["labels"])["labels"]
        self.runs_ = run_table(runs, chosen, units)
        best = self.runs_[chosen]
        finish(
            self.verbose,
            f"ClAM: chose run {chosen + 1} of {n_runs}: loss {best['loss']:.5g}, "
            f"silhouette {best['silhouette']:.4f}, {best['living_clusters']} living clusters",
        )
        self._warn(runs, runs[chosen])

    def _partial_fit(self, problem: Problem, *, first: bool) -> None:
        if first:
            rng = check_random_state(self.random_state)
            seed = int(rng.randint(np.iinfo(np.int32).max))
            self._decide_n_clusters(problem, rng)
        settings = self._settings(problem)
        if first:
            beta = self._beta_inward(problem.units)
            (seeding,) = seed_runs(problem, self._init(problem.units), np.array([seed]), seed)
        else:
            seed = int(self.runs_["seed"][self.runs_["chosen"]][0])
            beta = self._beta
            seeding = {"memories": self._memories, **self._scatter}
            settings.update(self._optimizer_state())
        seen = settings.get("steps", 0)
        settings.update(
            max_epochs=1,
            whole_epochs=True,
            early_stopping=False,
            reseed=False,
            keep_last=True,
            # Steps get smaller as more is seen, so that the memories settle.
            learning_rate=max(self.min_lr, self.learning_rate / np.sqrt(1 + seen / 20)),
        )
        # A new piece is shuffled and masked anew: the draws hang on the steps made so far.
        (run,) = train_runs(problem, [seeding], np.array([seed + seen]), beta, settings, None)
        run.seed = seed
        judge_runs(problem, [run], seed)
        self._keep(problem, run, seeding, settings["objective"])
        self.labels_ = self._infer(problem.data, ["labels"])["labels"]
        self.runs_ = run_table([run], 0, problem.units)

    def _decide_n_clusters(self, problem: Problem, rng: np.random.RandomState) -> None:
        """Set the number of clusters: as given, or estimated from the rows."""
        candidates = candidate_numbers(self.n_clusters, self.objective)
        self.__dict__.pop("n_clusters_evidence_", None)
        if candidates is not None:
            seed = int(rng.randint(np.iinfo(np.int32).max))
            found = estimate_n_clusters(problem, candidates, seed)
            problem.n_clusters, self.n_clusters_evidence_ = found
            finish(self.verbose, f"ClAM: {problem.n_clusters} clusters, by the median of the votes")
        self.n_clusters_ = problem.n_clusters

    def _objective(self, problem: Problem) -> str:
        """Return the objective by name; "auto" is decided here."""
        if self.objective != "auto":
            return self.objective
        if problem.resumed is not None:
            return problem.resumed
        if problem.n_clusters == 1:
            return "reconstruction"
        return (
            "completion" if problem.data.has_missing and self.n_features_in_ > 1 else "silhouette"
        )

    def _settings(self, problem: Problem) -> dict[str, Any]:
        """Return what all runs have in common, as the core takes it."""
        objective = self._objective(problem)
        if objective == "silhouette" and problem.n_clusters < 2:
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
            fixed = check_weights(self.weights, problem.n_clusters)
        return {
            "objective": objective,
            "mask_prob": float(self.mask_prob),
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
            "whole_epochs": False,
            "keep_last": False,
        }

    def _problem(self, X: Any, sample_weight: Any, units: Units | None = None) -> Problem:
        """Return the rows as the core takes them; the units are chosen here if not given."""
        first = units is None
        device = self._device()
        self._fitted_metric = self.metric if first else self._fitted_metric
        candidates = candidate_numbers(self.n_clusters, self.objective)
        if candidates is None:
            n_clusters = int(self.n_clusters)
        else:  # the fewest there may be, until they are estimated
            self._check_estimable()
            n_clusters = candidates[0] if first else self.n_clusters_
        if not first and (self.metric, n_clusters) != (self._fitted_metric, self.n_clusters_):
            msg = (
                f"metric={self.metric!r} and n_clusters={self.n_clusters} cannot change while "
                f"learning goes on: the first piece had {self._fitted_metric!r} and "
                f"{self.n_clusters_}."
            )
            raise ValueError(msg)
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
            check_distinct(len(rows), n_clusters, data.rows, first=first)
        elif sample_weight is not None and (sample_weight == 0).any():
            rows = np.flatnonzero(sample_weight)
            weights = np.ascontiguousarray(sample_weight[rows])
        names = getattr(self, "feature_names_in_", None)
        stats = everything = _native.statistics(data, rows, weights, threads)
        if sample_weight is not None:  # rows of weight 0 are not trained on, but they get labels
            everything = _native.statistics(data, None, None, threads)
        if self.metric == "mahalanobis":
            X = self._whitenable(X)
        check_statistics(everything, names, data.rows, self.metric, fitting=False)
        check_statistics(stats, names, data.rows, self.metric, fitting=first)
        if self.metric == "mahalanobis":
            if units is None:
                self._whitening = Whitening.of(X if rows is None else X[rows], weights)
            data = make_dataset(self._whitening.apply(X))
            stats = _native.statistics(data, rows, weights, threads)
        if units is None:
            factors = column_factors(self.scale, self.metric, X, stats, rows, weights)
            units = choose_units(stats, self.metric, self.mask_value, self._dtype, factors)
        data.has_missing = everything["missing"] > 0
        data.set_units(units.metric, units.offset, units.scale)
        # Learning goes on with the objective it began with, whether or not this piece has holes.
        resumed = None if first else self._trained_objective
        counts = weights
        if weights is not None:  # only ratios matter to the loss
            weights = np.ascontiguousarray(
                weights / weights.mean(dtype=np.float64), dtype=np.float32
            )
        return Problem(data, units, n_clusters, rows, weights, counts, threads, resumed, device)

    def _device(self) -> Any:
        """Return the torch.device to train on; None: the native core trains."""
        if self.backend == "native":
            if self.device is not None:
                msg = (
                    f"device={self.device!r} needs backend='torch': backend='native' trains on the "
                    "CPU. Set backend='torch', or leave device=None."
                )
                raise ValueError(msg)
            return None
        if importlib.util.find_spec("torch") is None:
            msg = "backend='torch' needs PyTorch: pip install \"amclust[torch]\""
            raise ModuleNotFoundError(msg, name="torch")
        from amclust.torch._device import find_device

        return find_device(self.device)

    def _check_estimable(self) -> None:
        """Refuse arrays that fix the number of clusters while it is to be estimated."""
        for name in ("init", "weights"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                msg = (
                    f"{name} cannot be an array with n_clusters={self.n_clusters!r}: it fixes the "
                    "number of clusters. Give n_clusters as an int."
                )
                raise ValueError(msg)

    def _init(self, units: Units) -> str | NDArray[np.float32]:
        if isinstance(self.init, str):
            return self.init
        init: NDArray[Any] = as_numbers("init", self.init)
        expected = (self.n_clusters_, self.n_features_in_)
        if init.shape != expected:
            msg = f"init must have shape (n_clusters, n_features) = {expected}, got {init.shape}."
            raise ValueError(msg)
        if not np.isfinite(init).all():
            msg = "init must be finite, got an array with NaN or infinity."
            raise ValueError(msg)
        if np.abs(init).max() > LARGEST:
            msg = f"init must be at most {LARGEST:g} in size, got {np.abs(init).max():g}."
            raise ValueError(msg)
        if self.metric == "mahalanobis":
            init = self._whitening.apply(init)
        inward = units.inward(init)
        if np.abs(inward).max() > FARTHEST:
            msg = (
                f"init must be near the data: a memory lies {np.abs(inward).max():g} times their "
                "root mean square deviation away."
            )
            raise ValueError(msg)
        return inward

    def _beta_inward(self, units: Units) -> float | None:
        """Return a given beta in the core's units; None: from the data."""
        if self.beta == "auto":
            return None
        # Beyond float32, memberships are as good as hard, or as good as equal: so are these.
        return float(np.clip(float(self.beta) * units.length**2, MIN_BETA, MAX_BETA))

    def _keep(
        self, problem: Problem, run: TrainedRun, seeding: dict[str, Any], objective: str
    ) -> None:
        """Set the fitted attributes from a run."""
        record, units = run.record, problem.units
        self._trained_objective = objective
        log_weights = record["log_weights"].astype(np.float64)
        if isinstance(self.weights, str):  # only ratios matter: make the mean weight 1
            log_weights -= np.log(np.mean(np.exp(log_weights)))
        self._log_weights = log_weights.astype(np.float32)
        self._memories, self._beta = record["memories"], run.beta
        self._offset, self._scale, self._fill = units.offset, units.scale, units.fill
        self._length = units.length
        self._moments, self._weight_moments = record["moments"], record["weight_moments"]
        self._steps = int(record["steps"])
        self._scatter = {name: float(seeding[name]) for name in ("mean_square", "total_square")}
        self.weights_ = np.exp(log_weights)
        self.beta_ = run.beta / units.length**2
        self.cluster_centers_ = self._outward(self._memories).astype(self._dtype)
        self.loss_ = float(record["loss"])
        self.loss_curve_ = record["loss_curve"]
        self.n_iter_ = len(self.loss_curve_)
        self.silhouette_ = run.silhouette
        self._n_features_out = self.n_clusters_

    def _keep_recorded(self, run: TrainedRun) -> None:
        """Set the memories of chosen epochs; nothing of an earlier fit stays."""
        for name in ("recorded_epochs_", "recorded_memories_"):
            self.__dict__.pop(name, None)
        if self.record_epochs is not None:
            self.recorded_epochs_ = np.array(list(run.recorded), dtype=np.int64)
            memories = [self._outward(memories) for memories in run.recorded.values()]
            shape = (len(memories), *self.cluster_centers_.shape)
            self.recorded_memories_ = np.array(memories, dtype=self._dtype).reshape(shape)

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
                stacklevel=5,
            )
        if chosen.living < self.n_clusters_:
            warnings.warn(
                f"Only {chosen.living} of n_clusters={self.n_clusters_} clusters are living in the "
                "best run: no row falls to the other memories. Consider fewer clusters, a larger "
                "beta or more restarts.",
                ConvergenceWarning,
                stacklevel=5,
            )
