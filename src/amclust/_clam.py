"""The ClAM estimator: parameters, validation and attributes. The mathematics is in the core."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, _fit_context
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils._param_validation import Interval, StrOptions

from amclust._fitting import FittingMethods
from amclust._on_disk import DiskMethods
from amclust._restoring import restored_on_failure

# What the core counts with.
MOST = 2**31 - 1


class ClAM(DiskMethods, FittingMethods, ClassNamePrefixFeaturesOutMixin, BaseEstimator):
    """Clustering with a dense associative memory.

    `n_clusters` memories are learned by gradient descent so that the attractor dynamics of a
    memory network carries every row to exactly one of them. Rows may have missing values (NaN).

    Parameters
    ----------
    n_clusters : int, "auto", range or sequence of int, default=8
        Number of memories, and of clusters. Anything but an int has it estimated from the rows:
        among the given numbers, or for "auto" from 1 (no clusters) to 20. Resamples of at most
        2,000 distinct rows vote for the silhouette that stands out most from chance. Of
        `sample_weight`, the estimate only heeds which weights are 0. `partial_fit` estimates from
        its first piece.

    objective : {"auto", "silhouette", "completion", "reconstruction"}, default="auto"
        What is minimised. "silhouette" maximises a differentiable silhouette, anchored by the
        scatter inside the clusters. "completion" is the loss of the paper: hide some entries of
        every row and compare what the network completes. "reconstruction" hides nothing. "auto"
        is "silhouette" for complete rows and "completion" where values are missing (with a
        single cluster, "reconstruction").

    beta : "auto" or float, default="auto"
        Inverse temperature, in units of the scaled columns. Large: a row falls to its nearest
        memory. Small: memories attract together. "auto" takes it from the distances between the
        rows and the initial memories.

    n_steps : int, default=10
        Steps of the dynamics.

    step_size : float, default=0.5
        Part of the way to the memories that a step goes, in (0, 1]. The paper has 1 / n_steps.

    mask_prob : float, default=0.15
        Part of the entries of a row that "completion" hides, in (0, 1).

    mask_value : {"mean", "min", "max"} or float, default="mean"
        Where hidden and missing entries start in training: a statistic of their column, or a
        number. (Afterwards missing entries start where the observed ones point, except in
        `complete` after "completion", which goes on from the mask value.)

    weights : None, "learn" or array-like of shape (n_clusters,), default=None
        Weights of the memories in the energy; None weighs them equally.

    metric : {"euclidean", "cosine", "mahalanobis"}, default="euclidean"
        "cosine" works on directions (rows scaled to unit length), for text for example.
        "mahalanobis" whitens by the covariance of the data (Ledoit-Wolf) and takes no NaN.

    scale : {"standard", "robust", None}, default="standard"
        What columns are divided by before distances are taken, so that a table may have mixed
        units: their standard deviation, the distance between their quartiles (outliers do not
        count; 1.35 of it is a standard deviation), or nothing: use None where columns have the
        same units, pixels for example. Memories and completed values are in the table's own units;
        distances, energies and `beta` are in those of the scaled columns. For
        `metric="euclidean"` only: "cosine" takes rows as they are, "mahalanobis" has its own way.

    init : {"auto", "k-means++", "ward", "random"} or array-like of shape \
            (n_clusters, n_features), default="auto"
        Initial memories: k-means++ (greedy), the clusters of a Ward tree of up to 1,024 rows, or
        random rows. With "auto" restarts take turns: the first has a tree, the second k-means++,
        and so on (k-means++ alone for more than 512 clusters). An array may not contain NaN, and
        is used for a single run.

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

    record_epochs : None or sequence of int, default=None
        Epochs after which `fit` keeps a copy of the memories, to look at their evolution; 0 is
        before the first. The result of the fit is the same.

    backend : {"native", "torch"}, default="native"
        What trains. "native" is the compiled core. "torch" (``pip install "amclust[torch]"``)
        trains all restarts as one stack of tensors, on any `device`, where it keeps the rows dense
        in float32. Both draw the same and go the same way up to rounding, which long training may
        amplify. Seeding, ranking and what a fitted network is asked are native with both.

    device : str or torch.device, default=None
        Where `backend="torch"` trains: "cpu", "cuda", "cuda:1", "mps", ... None is "cpu". Not for
        `backend="native"`.

    n_jobs : int, default=None
        Number of threads. None uses all cores. Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Determines seeding, masks and the order of rows.

    verbose : int, default=0
        1 shows progress on standard error, 2 every epoch.

    Attributes
    ----------
    n_clusters_ : int
        Number of memories, given or estimated.

    n_clusters_evidence_ : structured ndarray of shape (n_candidates,)
        Only where the number was estimated, one row a candidate: n_clusters, silhouette (mean over
        the resamples, by distances to centres), reference (the same for rows without clusters),
        adjusted (0 for chance, 1 for perfect; for a single cluster the level that several have to
        exceed), votes, chosen.

    cluster_centers_ : ndarray of shape (`n_clusters_`, n_features)
        The memories (unit vectors for `metric="cosine"`).

    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of the training data; the same as `predict` gives.

    weights_ : ndarray of shape (`n_clusters_`,)
        Weights of the memories.

    beta_ : float
        Inverse temperature of the chosen restart.

    loss_ : float
        Loss of the chosen restart's best epoch.

    loss_curve_ : ndarray of shape (`n_iter_`,)
        Mean loss of every epoch of the chosen restart.

    silhouette_ : float
        Silhouette of the chosen restart (NaN with a single cluster).

    n_iter_ : int
        Epochs of the chosen restart.

    runs_ : structured ndarray of shape (n_init,)
        One row a restart: seed, beta, loss, silhouette, living_clusters, n_iter, converged,
        chosen. ``pandas.DataFrame(model.runs_)`` shows it as a table.

    recorded_epochs_ : ndarray of shape (n_recorded,)
        Only with `record_epochs`: those of them that the chosen restart reached, ascending.

    recorded_memories_ : ndarray of shape (n_recorded, `n_clusters_`, n_features)
        Only with `record_epochs`: its memories after these epochs. (The memories in
        `cluster_centers_` are those of the epoch with the best loss, not of the last.)

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

    The number of clusters can be left to the data:

    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=4, random_state=1)
    >>> ClAM("auto", random_state=0).fit(X).n_clusters_
    4
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_clusters": [
            StrOptions({"auto"}),
            Interval(Integral, 1, MOST, closed="both"),
            "array-like",
        ],
        "objective": [StrOptions({"auto", "silhouette", "completion", "reconstruction"})],
        "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_steps": [Interval(Integral, 1, 10_000, closed="both")],
        "step_size": [Interval(Real, 0, 1, closed="right")],
        "mask_prob": [Interval(Real, 0, 1, closed="neither")],
        "mask_value": [
            StrOptions({"mean", "min", "max"}),
            Interval(Real, None, None, closed="neither"),
        ],
        "weights": [None, StrOptions({"learn"}), "array-like"],
        "metric": [StrOptions({"euclidean", "cosine", "mahalanobis"})],
        "scale": [StrOptions({"standard", "robust"}), None],
        "init": [StrOptions({"auto", "k-means++", "ward", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, MOST, closed="both")],
        "batch_size": [Interval(Integral, 1, MOST, closed="both")],
        "max_epochs": [Interval(Integral, 1, MOST, closed="both")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "patience": [Interval(Integral, 1, MOST, closed="both")],
        "lr_factor": [Interval(Real, 0, 1, closed="neither")],
        "min_lr": [Interval(Real, 0, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "early_stopping": ["boolean"],
        "selection": [StrOptions({"silhouette", "loss"})],
        "record_epochs": [None, "array-like"],
        "backend": [StrOptions({"native", "torch"})],
        "device": "no_validation",  # by torch
        "n_jobs": [
            None,
            Interval(Integral, 1, MOST, closed="both"),
            Interval(Integral, -MOST, -1, closed="both"),
        ],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        objective: str = "auto",
        beta: float | str = "auto",
        n_steps: int = 10,
        step_size: float = 0.5,
        mask_prob: float = 0.15,
        mask_value: float | str = "mean",
        weights: Any = None,
        metric: str = "euclidean",
        scale: str | None = "standard",
        init: Any = "auto",
        n_init: int = 10,
        batch_size: int = 1024,
        max_epochs: int = 200,
        learning_rate: float = 0.1,
        patience: int = 5,
        lr_factor: float = 0.8,
        min_lr: float = 1e-5,
        tol: float = 1e-3,
        early_stopping: bool = True,
        selection: str = "silhouette",
        record_epochs: Any = None,
        backend: str = "native",
        device: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.objective = objective
        self.beta = beta
        self.n_steps = n_steps
        self.step_size = step_size
        self.mask_prob = mask_prob
        self.mask_value = mask_value
        self.weights = weights
        self.metric = metric
        self.scale = scale
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
        self.record_epochs = record_epochs
        self.backend = backend
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric != "mahalanobis"
        tags.input_tags.allow_nan = self.metric != "mahalanobis"
        # Not a classifier, but scikit-learn looks here for the shape of predict_proba.
        tags.classifier_tags = ClassifierTags(multi_class=self.n_clusters != 2)
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # --- training -------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClAM:
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
        with restored_on_failure(self):
            X = self._validate(X, reset=True)
            problem = self._problem(X, sample_weight)
            self._fit(problem)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClAM:
        """Go on learning from one more piece of data.

        The first call seeds the memories from its rows, and fixes the units and the temperature.
        Every call goes once through its rows. After `fit`, learning goes on from what it found.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows. The first piece must have as many distinct rows as there are clusters.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row's loss.

        Returns
        -------
        self : ClAM
            The fitted estimator.
        """
        with restored_on_failure(self):
            first = not hasattr(self, "cluster_centers_")
            X = self._validate(X, reset=first)
            problem = self._problem(X, sample_weight, None if first else self._units())
            self._partial_fit(problem, first=first)
        return self
