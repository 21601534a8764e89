"""The ClAM estimator: parameters, validation and attributes. The mathematics is in the core."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, Tags, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from amclust._callbacks import CallbackSupportMixin, Task, WatchedBackend
from amclust._categories import MixedTable
from amclust._columns import as_table, fill_table, summary, tell
from amclust._docs import ROWS, documented
from amclust._features import (
    MEAN_ROUNDING,
    TopFeatures,
    check_feature_names,
    check_n_features_told,
    cluster_means,
    tell_apart,
)
from amclust._fitting import Fitting, Learned
from amclust._frames import as_plain, fill_frame, like_frame
from amclust._kinds import device_of, in_kind, plain
from amclust._metrics import METRICS, Metric
from amclust._network import Network
from amclust._parameters import PARAMETERS, Constraints, NamedParameters
from amclust._progress import finish
from amclust._recipe import Recipe
from amclust._rows import TableSource, observed_weights
from amclust._runs import Fit, OptimizerState, TrainedRun, single_run, unmoved
from amclust._size_limits import check_unlimited, given_limits
from amclust._threads import n_threads, single_threaded_blas
from amclust._training import COLLAPSED_SHARE
from amclust._validation import (
    check_numeric_columns,
    check_sample_weight,
    check_some_observed,
    tell_empty_rows,
    validate_rows,
)
from amclust._warnings import EmptyRowsWarning, warn
from amclust.backends import TrainingSet, find_backend


@documented(ROWS)
class ClAM(
    NamedParameters,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Clustering with a dense associative memory.

    `n_clusters` memories are learned by gradient descent so that the attractor dynamics of a
    memory network carries every row to exactly one of them. Rows may have missing values (NaN).
    With `n_memories` a cluster is an assembly of several memories, and may have any shape.

    Parameters
    ----------
    n_clusters : int, "auto", range or sequence of int, default=8
        Number of clusters. Anything but an int has it estimated from the rows:
        among the given numbers, or for "auto" from 1 (no clusters) to 20. Resamples of at most
        2,000 distinct rows vote for the silhouette that stands out most from chance. Of
        `sample_weight`, the estimate only heeds which weights are 0. `partial_fit` estimates from
        its first rows. With `n_memories`, the number is that of the pieces which these make, where
        it is clear (a gap in the eigenvalues of their graph); if it is not, a number of memories
        makes one cluster, and "auto" has the resamples vote.

    n_memories : None, "auto" or int, default=None
        Number of memories. None: one for each cluster, so that clusters are round. An int of at
        least `n_clusters` (100, say): clusters are assemblies of memories, of any shape. Memories
        are learned that cover the rows, those belong together between which many rows lie (a
        normalised cut of that graph says which), and a row has the cluster of the memory that it
        falls to. Give five rows or more for each; fewer than three are warned of. "auto" takes 100
        (8 per cluster where that is more, at most one for five rows) and compares: assemblies are
        kept where they cut through far fewer rows than round clusters do, and otherwise each
        cluster has one memory. With objective="auto" these memories are learned by
        "reconstruction", from one start, on at most 256 rows for each (16,384 at least).

    objective : {"auto", "silhouette", "completion", "reconstruction"} or callable, default="auto"
        What is minimised. "silhouette" maximises a differentiable silhouette, anchored by the
        scatter inside the clusters. "completion" is the loss of the paper: hide some entries of
        every row and compare what the network completes. "reconstruction" hides nothing: what the
        network recalls of a row is compared with the row. With ``beta="auto"`` beta is large, rows
        are recalled as their nearest memory, and training goes by exact steps (assign, average,
        move memories that are hardly needed to where they are): a better k-means, the choice for
        codebooks. (`batch_size`, `learning_rate` and `patience` say nothing about these steps; they
        end where one gains less than a hundredth of `tol`, of few clusters and rows less than a
        ten-thousandth. With `weights` or a `beta` there are none.) "auto" is "silhouette"; with a
        single cluster, and with `contamination`, "reconstruction". But for "completion", missing
        values are completed first, at the means of what they are likely to be; of 4,096 rows or
        more, for training only, by draws of it. With ``backend="torch"`` a function is a loss of
        one's own (the page on torch has its signature).

    beta : "auto" or float, default="auto"
        Inverse temperature, in units of the scaled columns. Large: a row falls to its nearest
        memory. Small: memories attract together. "auto" takes it from the distances between the
        rows and the initial memories (and makes it larger where a cluster would end up empty).

    n_steps : int, default=10
        Steps of the dynamics.

    step_size : float, default=0.5
        Part of the way to the memories that a step goes, in (0, 1]. The paper has 1 / n_steps.

    mask_prob : float, default=0.15
        Part of the entries of a row that "completion" hides, in (0, 1).

    mask_value : {"mean", "min", "max"} or float, default="mean"
        Where hidden and missing entries start in training with "completion": a statistic of their
        column, or a number. (Afterwards missing entries start where the observed ones point, except
        in `complete`, which goes on from the mask value.)

    weights : None, "learn" or array-like of shape (n_clusters,), default=None
        Weights of the memories in the energy; None weighs them equally.

    metric : {"euclidean", "cosine", "mahalanobis", "manhattan", "epanechnikov", "kernel", \
            "weighted"} or Energy, default="euclidean"
        What draws rows to memories. "cosine" works on directions (rows scaled to unit length), for
        text for example. "mahalanobis" whitens by the covariance that the memories share (of as
        many as there are clusters; learned on at most 4,096 rows), for clusters that are stretched
        in the same way. The others need ``backend="torch"``: "manhattan" sums absolute differences,
        "epanechnikov" has memories of bounded reach (rows beyond all of them are noise, label -1),
        "kernel" has random features of an RBF kernel, "weighted" learns the memories' strengths; an
        object of :mod:`amclust.torch.energies`, or of a subclass of its `Energy`, acts on rows in
        core units (columns centred and scaled, their mean variance 1), and what it can learn is
        learned with the memories.

    scale : {"standard", "robust", None}, default="standard"
        What columns are divided by before distances are taken, so that a table may have mixed
        units: their standard deviation, the distance between their quartiles (outliers do not
        count; 1.35 of it is a standard deviation), or nothing: use None where columns have the
        same units, pixels for example. Memories and completed values are in original units;
        distances, energies and `beta` are in those of the scaled columns. With "robust" values
        count up to one distance between the quartiles beyond these, and those beyond three as
        missing, wherever rows are read. Not for `metric="cosine"`, which takes rows as they are,
        nor "mahalanobis", which has its own way.

    categorical_features : "from_dtype", None or array-like, default="from_dtype"
        Which columns are categories: "from_dtype" takes columns of a data frame that hold
        categories, text or truth values; an array-like has names, indices, or a truth value for
        each column (of frames and arrays; ``[True, False, ...]``); None: all columns are numbers. A
        memory has a share for each level of a category; a category weighs in distances as a number
        does, whatever its levels. None, NaN and NA are missing values, and so are levels that `fit`
        has not seen (a warning names them). Not for the metrics "cosine" and "mahalanobis".

    feature_weights : None, mapping or array-like of shape (`n_features_in_`,), default=None
        What squared differences in columns are multiplied with after scaling; None: all count the
        same. A mapping has weights by column name, and columns that it does not name weigh 1. With
        0 a column is left out of distances; its values are still completed, and centres have the
        means of their rows. With `metric="cosine"` rows are weighted before they are scaled to unit
        length. Not for "mahalanobis", which no scale of the columns changes.

    contamination : None or float, default=None
        The part of the rows (of `sample_weight`) that belong nowhere, in [0, 0.5): as many as
        that get the label -1, those of the highest energy for the memory that they fall to. They
        do not count in training, nor in silhouettes. `predict` marks new rows of no less energy.
        None: all rows belong to a cluster. `partial_fit` marks the rows of each call by the
        energies of the rows so far.

    size_min, size_max : None or int, default=None
        Every cluster has at least and at most so many rows of the fit, or so much of their
        `sample_weight` (rows are not split). Exactly: of all partitions within the limits,
        `labels_` has the least sum of squared distances for the memories, which move to the means
        of their rows. Each of the trained restarts is brought within the limits, and the one with
        the least sum is kept, whatever `selection` says. Without `size_min` a cluster has a row at
        least. The limits are held by the weights of the memories, `weights_`; `predict` goes by
        these too, so that it says what `labels_` has but near ties; but it decides row by row,
        however many there are: it holds no limits. Of several `n_clusters` those are left out that
        cannot meet them. Not with `n_memories`, an array as `weights`, metric="epanechnikov",
        `partial_fit` and tables of Dask.

    init : {"auto", "k-means++", "ward", "random"} or {array-like, sparse matrix} of shape \
            (n_clusters, n_features), default="auto"
        Initial memories: k-means++ (greedy), the clusters of a Ward tree of up to 1,024 rows, or
        random rows. With "auto" restarts take turns: the first has a tree, the second k-means++,
        and so on (k-means++ alone for more than 512 clusters). An array may not contain NaN, and
        is used for a single restart.

    n_init : int, default=10
        Number of restarts; `selection` chooses among them. On 1,000 rows or more the starts with
        the best silhouettes are trained, four of ten, two for `metric="cosine"` (see `runs_`).

    batch_size : "auto" or int, default="auto"
        Rows per gradient step. "auto" takes 1,024, and above 12 clusters 128 per cluster (64 beyond
        16,384 rows; 32 with ``metric="cosine"``): every batch has to know all clusters. When one
        batch holds all rows, training does not depend on their order, and a row of weight 2 is the
        same as two rows.

    max_epochs : int, default=200
        Maximal number of epochs of a restart. On more than 16,384 rows an epoch is a part of the
        data of that size, or of two batches.

        Of more than 262,144 rows (256 for each memory, where that is more; fewer where they have
        over 33 million values) as many are drawn, evenly and by `random_state`, to be trained on.
        Units and the labels are those of all rows, and exact steps (`objective="reconstruction"`)
        end with some over all of them; quartiles, whitening, `n_clusters="auto"`, losses and
        `runs_` are of the rows that were drawn.

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
        Stop a restart when lowering the learning rate has not helped for several times; or, where
        the clusters are well separated at the start already (a loss of the silhouette below -0.5,
        or hardly a row near a border), after two epochs that better nothing. With
        ``metric="cosine"`` and more than 4,096 columns (words) ten epochs are enough.

    selection : {"silhouette", "loss"}, default="silhouette"
        How the best restart is chosen: by silhouette (exact up to 10,000 rows, on a fixed sample
        above) or by training loss. A restart with empty clusters never wins over one without. Exact
        steps (`objective="reconstruction"`) are always compared by their loss.

    record_epochs : None or sequence of int, default=None
        Epochs after which `fit` keeps a copy of the memories, to look at their evolution; 0 is
        before the first. The result of the fit is the same.

    backend : {"native", "torch"}, default="native"
        What trains. "native" is the compiled core. "torch" (``pip install "amclust[torch]"``)
        trains all restarts as one stack of tensors, on any `device`, where it keeps the rows dense
        in float32 (of sparse rows, for "silhouette" with the Euclidean or the cosine metric, only
        the entries of a batch, one restart after the other), with any energy as `metric` and any
        objective that has a torch function. Both
        draw the same and go the same way up to rounding, which long training may amplify. Seeding,
        ranking and what a fitted network is asked are native with both (the latter only for the
        metrics that the core has; others are answered by torch on the CPU).

    device : str or torch.device, default=None
        Where `backend="torch"` trains: "cpu", "cuda", "cuda:1", "mps", ... None is where `X` is, if
        it is a tensor of torch, else "cpu". Not for `backend="native"`.

    n_jobs : int, default=None
        Number of threads. None: as many as what surrounds the call allows, joblib, threadpoolctl,
        OMP_NUM_THREADS or the cores of this process, the nearest of these (see
        :doc:`/manners`). Results do not depend on it.

    random_state : int, RandomState instance or None, default=None
        Determines seeding, masks and the order of rows.

    verbose : int, default=0
        1 shows progress on standard error, 2 every epoch.

    Attributes
    ----------
    n_clusters_ : int
        Number of clusters, given or estimated.

    n_clusters_evidence_ : structured ndarray of shape (n_candidates,)
        Only where the number was estimated by votes, one row per candidate: n_clusters, silhouette
        (mean over the resamples, by distances to centres), reference (the same for rows without
        clusters), adjusted (0 for chance, 1 for perfect; for a single cluster the level that
        several have to exceed), votes, chosen.

    cluster_centers_ : ndarray of shape (`n_clusters_`, n_features)
        The memory of each cluster (unit vectors for `metric="cosine"`), or the mean of its
        memories, weighted by their rows. `sparse_centers` has them sparse. A category has as many
        features as levels, and centres have their shares: `network_.geometry.feature_names` names
        them, like "colour=red".

    cluster_summary_ : pandas.DataFrame of shape (`n_clusters_`, 1 + n_columns)
        What the clusters are, by the columns of the table: their size, centres of numbers, and of a
        category its most likely level and the share of it ("colour" and "colour share"), as
        `cluster_centers_` have them: a little smoothed, where a cluster has few rows. Made when it
        is asked for; needs pandas.

    memories_ : ndarray of shape (n_memories, n_features)
        The memories; without `n_memories` the same as `cluster_centers_`.

    memory_labels_ : ndarray of shape (n_memories,)
        The cluster of each memory.

    shape_evidence_ : ShapeEvidence
        Only with `n_memories`: the candidates (round clusters, assemblies) with their cuts, as a
        table that can be drawn.

    merge_tree_ : ndarray of shape (`n_clusters_` - 1, 4)
        Only with `n_memories`, where memories are enough to tell: which clusters join first, in the
        format of `scipy.cluster.hierarchy`. Heights are 1 minus the part of their rows that two
        share; `MergeTreeDisplay` draws it.

    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of the training data; the same as `predict` gives, or with `size_min` or
        `size_max` the labels within these limits (rows of weight 0, which do not count, go by the
        weights of the memories). -1 for rows that belong nowhere: with `contamination`, or a metric
        whose memories have a bounded reach.

    weights_ : ndarray of shape (n_memories,)
        Weights of the memories; with `size_min` or `size_max` those that hold the sizes: large
        where a cluster would have too few rows, small where it would have too many.

    beta_ : float
        Inverse temperature of the chosen restart.

    loss_ : float
        Loss of the chosen restart's best epoch. (Where rows are many batches, memories are the mean
        over some more epochs.) Of a table with categories whose memories were made likelier after
        training, what training itself reached.

    loss_curve_ : ndarray of shape (`n_iter_`,)
        Mean loss of every epoch of the chosen restart.

    silhouette_ : float
        Silhouette of the chosen restart (NaN with a single cluster).

    inertia_ : float
        Only after exact steps (``objective="reconstruction"`` with ``beta="auto"``) or within
        limits of size, on complete rows, not for `metric="cosine"` and not with `n_memories`: sum
        of the squared distances of the rows to the memory of their cluster, weighted by
        `sample_weight`, as `transform` has distances.

    n_iter_ : int
        Epochs of the chosen restart.

    network_ : Network
        The fitted network itself: memories, temperature and units in one frozen value, which
        answers whatever the methods below answer.

    optimizer_state_ : OptimizerState
        What `partial_fit` goes on from.

    runs_ : structured ndarray of shape (n_init,)
        One row per restart: seed, beta, loss, silhouette, living_clusters, n_iter, converged,
        chosen. ``pandas.DataFrame(model.runs_)`` shows it as a table. On 1,000 rows or more only
        the restarts whose starts have the best silhouettes are trained (see `n_init`); the others
        have ``n_iter`` 0 and the silhouette of their start, on at most 2,048 rows. Of a table with
        categories whose memories were made likelier after training, the chosen restart has the beta
        and silhouette of these memories; all else is of training.

    recorded_epochs_ : ndarray of shape (n_recorded,)
        Only with `record_epochs`: those of them that the chosen restart reached, ascending.

    recorded_memories_ : ndarray of shape (n_recorded, n_memories, n_features)
        Only with `record_epochs`: its memories after these epochs. (The memories in
        `memories_` are those of the epoch with the best loss, not of the last.)

    n_features_in_ : int
        Number of columns seen during fit.

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

    Clusters that are not round are made of several memories:

    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(400, noise=0.05, random_state=0)
    >>> model = ClAM(n_clusters=2, n_memories="auto", random_state=0).fit(X)
    >>> len(model.memories_), bool((model.labels_ == model.labels_[0])[moon == moon[0]].all())
    (80, True)

    Sizes can have limits:

    >>> model = ClAM(n_clusters=8, size_min=45, size_max=55, random_state=0).fit(X)
    >>> sizes = np.bincount(model.labels_)
    >>> bool(sizes.min() >= 45), bool(sizes.max() <= 55)
    (True, True)
    """

    _parameter_constraints: ClassVar[Constraints] = PARAMETERS
    network_: Network
    optimizer_state_: OptimizerState
    runs_: NDArray[np.void]
    labels_: NDArray[np.int32]
    loss_: float
    loss_curve_: NDArray[np.float64]
    silhouette_: float
    n_iter_: int
    n_clusters_: int
    cluster_centers_: NDArray[Any]
    memories_: NDArray[Any]
    memory_labels_: NDArray[np.int32]
    weights_: NDArray[np.float64]
    beta_: float
    n_features_in_: int

    # What the defaults are made of; an experiment subclasses with another one.
    recipe: ClassVar[Recipe] = Recipe()

    def __init__(
        self,
        n_clusters: Any = 8,
        *,
        n_memories: int | str | None = None,
        objective: Any = "auto",
        beta: float | str = "auto",
        n_steps: int = 10,
        step_size: float = 0.5,
        mask_prob: float = 0.15,
        mask_value: float | str = "mean",
        weights: Any = None,
        metric: Any = "euclidean",
        scale: str | None = "standard",
        categorical_features: Any = "from_dtype",
        feature_weights: Any = None,
        contamination: float | None = None,
        size_min: int | None = None,
        size_max: int | None = None,
        init: Any = "auto",
        n_init: int = 10,
        batch_size: int | str = "auto",
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
        self.n_memories = n_memories
        self.objective = objective
        self.beta = beta
        self.n_steps = n_steps
        self.step_size = step_size
        self.mask_prob = mask_prob
        self.mask_value = mask_value
        self.weights = weights
        self.metric = metric
        self.scale = scale
        self.categorical_features = categorical_features
        self.feature_weights = feature_weights
        self.contamination = contamination
        self.size_min = size_min
        self.size_max = size_max
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
        plain = not (isinstance(self.metric, str) and METRICS.get(self.metric, Metric()).whitens)
        tags.input_tags.sparse = plain
        tags.input_tags.allow_nan = True
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

        {y}
        {sample_weight}

        Returns
        -------
        self : ClAM
            The fitted estimator.
        """
        task = Task.of_fit(self, self._n_restarts(), X, y, sample_weight)
        with restored_on_failure(self), single_threaded_blas():
            fitting = self._fitting(X, sample_weight, reset=True)
            if task.watched:
                backend = WatchedBackend(fitting.backend, task, run_attributes)
                fitting = dataclasses.replace(fitting, backend=backend)
            learned = fitting.fit(check_random_state(self.random_state))
            self._keep_learned(learned)
            self._keep_recorded(learned.found)
            self._keep_labels(X)
            self._conclude(learned.found)
            task.end(dict)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ClAM:
        """Go on learning from more rows.

        The first call seeds the memories from its rows, and fixes the units and the temperature.
        Every call goes once through its rows. After `fit`, learning goes on from what it found;
        where that explains a table with categories by likelihood, shares and means move towards the
        new rows, all rows so far counting alike.
        Limits of size (`size_min`, `size_max`) are refused: no call sees all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New rows. The first ones must have as many distinct rows as there are clusters.

        {y}
        {sample_weight}

        Returns
        -------
        self : ClAM
            The fitted estimator.
        """
        check_unlimited(self, "partial_fit")
        task = Task.of_fit(self, 0, X, y, sample_weight)
        with restored_on_failure(self), single_threaded_blas():
            first = not hasattr(self, "network_")
            fitting = self._fitting(X, sample_weight, reset=first)
            if first:
                self._keep_learned(fitting.begin(check_random_state(self.random_state)))
            else:
                self._keep(fitting.go_on(self.network_, self.optimizer_state_).found)
            self._forget_recorded()
            task.end(dict)
        return self

    @in_kind
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> NDArray[np.int32]:
        """Fit and return the labels of the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster.

        {y}
        {sample_weight}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of each row.
        """
        labels: NDArray[np.int32] = self.fit(X, y, sample_weight=sample_weight).labels_
        return labels

    @in_kind
    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit and return the distances of the rows to the clusters.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to cluster.

        {y}
        {sample_weight}

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances to the memories.
        """
        model = self.fit(X, y, sample_weight=sample_weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyRowsWarning)  # the fit has told
            return model.transform(X)

    # --- answers of the network -----------------------------------------------------------------

    @in_kind
    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster that the dynamics carries each row to.

        Parameters
        ----------
        {X}

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Cluster of the memory each row falls to; -1 for rows that belong nowhere: of more energy
            than those of the fit, with `contamination`, or with a metric whose memories have a
            bounded reach. For new rows as for those of the fit, whatever the shape of clusters;
            free of `size_min` and `size_max`, which hold for `labels_`.
        """
        X = validate_rows(self, X)
        return self.network_.labels(X, n_jobs=self.n_jobs)

    @in_kind
    def predict_proba(self, X: Any, *, top: int | None = None) -> Any:
        """Return the memberships of rows: how strongly the memories of each cluster attract them.

        Parameters
        ----------
        {X}
        top : int, default=None
            Keep so many of the largest memberships of every row, and return a sparse matrix: for
            many clusters. None: all of them, dense.

        Returns
        -------
        memberships : {ndarray, CSR array} of shape (n_samples, n_clusters)
            Positive numbers that sum to 1 in every row (all 0 for noise). With `top` the largest of
            them, as they are: rows then sum to at most 1.
        """
        X = validate_rows(self, X)
        return self.network_.memberships(X, top=top, n_jobs=self.n_jobs)

    @in_kind
    def transform(self, X: Any) -> Any:
        """Return the distances of rows to the clusters: to the nearest memory of each.

        Parameters
        ----------
        {X_filled}

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            Distances in the metric of the estimator (for "cosine", 1 - cosine similarity; for
            another energy what it has, the root of it where it is a square).
        """
        X = validate_rows(self, X)
        return self.network_.distances(X, n_jobs=self.n_jobs)

    @in_kind
    def energy(self, X: Any) -> NDArray[Any]:
        """Return the energy of rows: low near a memory, high far from all of them.

        Parameters
        ----------
        {X}

        Returns
        -------
        energy : ndarray of shape (n_samples,)
            ``-1/beta * log(sum_m weight_m * exp(-beta * |rho_m - x|^2))``, with the distance of the
            metric for the square.
        """
        X = validate_rows(self, X)
        return self.network_.energy(X, n_jobs=self.n_jobs)

    @in_kind
    def entropy(self, X: Any) -> NDArray[Any]:
        """Return the entropy of the memberships; 0 means the nearest memory decides alone.

        Parameters
        ----------
        {X}

        Returns
        -------
        entropy : ndarray of shape (n_samples,)
            Between 0 and ``log(n_clusters)``.
        """
        X = validate_rows(self, X)
        return self.network_.entropy(X, n_jobs=self.n_jobs)

    @in_kind
    def recall(self, X: Any, *, return_trajectory: bool = False) -> Any:
        """Let the dynamics act on rows.

        Parameters
        ----------
        {X_filled}
        return_trajectory : bool, default=False
            Also return the states in between.

        Returns
        -------
        states : ndarray of shape (n_samples, n_features)
            Where the rows are after `n_steps` steps.

        trajectory : ndarray of shape (n_steps + 1, n_samples, n_features)
            All states, the start first. Only with ``return_trajectory=True``.
        """
        X = validate_rows(self, X)
        return self.network_.recall(X, return_trajectory=return_trajectory, n_jobs=self.n_jobs)

    @in_kind
    def complete(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill the missing values of rows; all other values stay exactly as they are.

        They are completed by regression on the observed values of their row, inside the range that
        their column was seen to have. (With objective="completion", and of more than 10,000
        columns, by the values of the memories; after a fit to complete rows also of sparse ones and
        of more than 2,000 columns.)

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows with NaN where a value is missing.

        return_std : bool, default=False
            Also return how sure each completed value is. Values that memories complete have none.

        Returns
        -------
        completed : same type as X, of shape (n_samples, n_features)
            A copy of `X` with the NaN filled. A data frame keeps its columns, index and types:
            whole numbers are rounded, and categories have the likeliest level. (Where
            `categorical_features` has them as numbers, truth values are true from 0.5 on, and a
            category of numbers is the nearest one.) A level that `fit` has not seen stays.

        std : {ndarray, data frame} of shape (n_samples, n_features)
            Standard deviations of the completed values, 0 for all others; a data frame where X is
            one. About 95 % of the values lie within 1.96 of them, if what is missing does not hang
            on the missing values themselves. Of a category it is ``sqrt(p * (1 - p))``, where p is
            how likely the level is that was filled in: 0 is sure, 0.5 as sure as a coin. Only with
            ``return_std=True``.

        Examples
        --------
        >>> import numpy as np
        >>> from amclust import ClAM
        >>> X = np.array([[0.0, 0.0], [0.1, 0.1], [5.0, 5.0], [5.1, 4.9]])
        >>> model = ClAM(n_clusters=2, random_state=0).fit(X)
        >>> model.complete([[5.05, np.nan]]).round(0)
        array([[5., 5.]])
        """
        given = X = plain(X)
        frame = X if hasattr(X, "columns") else None
        X = validate_rows(self, X)
        found = self.network_.complete(X, return_std=return_std, n_jobs=self.n_jobs)
        completed, std = found if return_std else (found, None)
        if isinstance(X, MixedTable):
            told = tell(completed, std, X)
            completed = fill_table(as_table(given), told, X)
            std = None if std is None else told.deviations
            if std is not None and frame is not None:
                std = like_frame(frame, std)
            return (completed, std) if return_std else completed
        if frame is not None:
            if hasattr(X, "toarray"):  # of a frame of sparse columns
                X, completed = X.toarray(), completed.toarray()
            completed = fill_frame(frame, completed, np.isnan(X))
            std = None if std is None else like_frame(frame, std)
        return (completed, std) if return_std else completed

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the silhouette of the partition of the rows (higher is better).

        Parameters
        ----------
        {X}
        {y}
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        score : float
            Exact up to 10,000 rows, on a fixed sample of them above; -1 where all rows fall to
            one memory.
        """
        X = validate_rows(self, X)
        weights = check_sample_weight(sample_weight, X)
        value = self.network_.silhouette(X, sample_weight=weights, n_jobs=self.n_jobs)
        return -1.0 if np.isnan(value) else value

    # --- memories that can be read --------------------------------------------------------------

    @property
    def cluster_summary_(self) -> Any:
        """One row a cluster: size, centres of numbers, modes of categories with their shares."""
        check_is_fitted(self)
        return summary(
            self.network_.geometry.categories,
            self.cluster_centers_,
            self._cluster_sizes(),
            getattr(self, "feature_names_in_", None),
        )

    def sparse_centers(self, min_weight: float = 0.0) -> Any:
        """Return `cluster_centers_` as a sparse matrix, for text and other wide sparse rows.

        Parameters
        ----------
        min_weight : float, default=0.0
            Values of less than this size are left out. With 0 only those are that cannot be told
            from 0: memories are held in float32 around the mean of their column, so that a word
            which no row of a cluster has may be left with some 1e-7 of that mean. (Memories are
            learned, they are not exactly the means of their rows: small weights of absent words
            that a training has left are no rounding, and need a `min_weight`.)

        Returns
        -------
        centers : CSR array of shape (`n_clusters_`, n_features)
            In the type of the training data.

        Examples
        --------
        >>> from amclust import ClAM
        >>> from sklearn.feature_extraction.text import TfidfVectorizer
        >>> texts = ["goal of the team", "the team has a goal", "tax on fuel", "a fuel tax"]
        >>> X = TfidfVectorizer().fit_transform(texts)
        >>> model = ClAM(2, scale=None, random_state=0).fit(X)
        >>> model.sparse_centers().shape
        (2, 8)
        >>> model.sparse_centers(min_weight=0.3).nnz < model.sparse_centers().nnz < 16
        True
        """
        check_is_fitted(self)
        return self.network_.sparse_centers(min_weight)

    def top_features(
        self,
        n: int = 10,
        *,
        X: Any = None,
        feature_names: Any = None,
        two_sided: bool = False,
    ) -> TopFeatures:
        """Return the features that tell each cluster most: the top words of texts, for example.

        A feature tells a cluster by what its centre has of it above the mean of all centres, where
        clusters count by their size. (To compare with the mean of the other clusters gives the same
        order.) What is common everywhere, as "the" is in texts, scores 0. Differences are in units
        of the columns as distances are taken: as they are for ``scale=None`` and
        ``metric="cosine"``, else in units of the scaled columns. Ties go by column.

        Parameters
        ----------
        n : int, default=10
            Number of features per cluster; fewer where fewer stand out (none, of one cluster).

        X : {array-like, sparse matrix} of shape (n_samples, n_columns), default=None
            Other columns of the rows of the last fit, in their order, to tell the clusters by: the
            TF-IDF of texts whose embeddings were clustered, for example. Centres are then the means
            of these rows by `labels_`, and differences are compared as they are. None: the memories
            and the features of the fit.

        feature_names : array-like of str of shape (n_features,), default=None
            Names of the columns, ``vectorizer.get_feature_names_out()`` for example. None:
            `feature_names_in_`, or the columns of `X` if it is a data frame, else x0, x1, ...

        two_sided : bool, default=False
            Whether to tell features too that a cluster has less of than the mean, by the size of
            the difference: for measurements, rather than for words. Their score is negative.

        Returns
        -------
        top : TopFeatures
            One entry per cluster, the features that tell most first, with `names` and
            `to_pandas()`.

        Examples
        --------
        >>> from amclust import ClAM
        >>> from sklearn.feature_extraction.text import TfidfVectorizer
        >>> texts = ["goal of the team", "the team has a goal", "the tax on fuel", "the fuel tax"]
        >>> words = TfidfVectorizer()
        >>> X = words.fit_transform(texts)
        >>> model = ClAM(2, scale=None, random_state=0).fit(X)
        >>> top = model.top_features(2, feature_names=words.get_feature_names_out())
        >>> sorted(top.names)
        [['fuel', 'tax'], ['goal', 'team']]
        """
        check_is_fitted(self)
        if X is None:
            sizes = self._cluster_sizes()
            # After `partial_fit` these are of the last rows alone, which may be few.
            known = sizes if sizes.all() else None
            return self.network_.top_features(
                n, sizes=known, feature_names=feature_names, two_sided=two_sided
            )
        n = check_n_features_told(n)
        if feature_names is None and hasattr(X, "columns"):
            feature_names = [str(name) for name in X.columns]
        check_numeric_columns(X)
        X = check_array(
            as_plain(X),
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
        )
        if X.shape[0] != len(self.labels_):
            msg = (
                f"X must have the rows of the last fit, {len(self.labels_):,} of them, got "
                f"{X.shape[0]:,}."
            )
            raise ValueError(msg)
        names = check_feature_names(feature_names, X.shape[1])
        return tell_apart(
            *cluster_means(X, self.labels_, self.n_clusters_),
            n=n,
            names=names,
            rounding=MEAN_ROUNDING,
            two_sided=two_sided,
        )

    # --- networks from elsewhere ----------------------------------------------------------------

    @classmethod
    def from_network(cls, network: Network, X: Any, **params: Any) -> ClAM:
        """Return a fitted estimator of a network, one that was trained in torch for example.

        It answers, saves and reports like any other, and `partial_fit` goes on from it. What only
        training knows is not there: `loss_` is NaN, `loss_curve_` empty.

        Parameters
        ----------
        network : Network
            The network; see `Network.from_torch`.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows that it is for: `labels_` and `silhouette_` are theirs.

        **params
            Parameters of the estimator, for those that do not follow from the network.

        Returns
        -------
        model : ClAM
            The fitted estimator.

        Examples
        --------
        >>> import numpy as np
        >>> from amclust import ClAM
        >>> X = np.array([[0.0, 0.0], [0.1, 0.1], [5.0, 5.0], [5.1, 4.9]])
        >>> network = ClAM(n_clusters=2, random_state=0).fit(X).network_
        >>> model = ClAM.from_network(network, X)
        >>> model.n_clusters_, round(model.silhouette_, 3)
        (2, 0.98)
        """
        if not isinstance(network, Network):
            msg = f"network must be a Network, got {type(network).__name__}."
            raise TypeError(msg)
        model = cls(**(_parameters_of(network) | params))
        model._validate_params()
        model.__dict__.update(columns_of(network), network_=network)
        X = validate_rows(model, X)
        labels = network.labels(X, n_jobs=model.n_jobs)
        silhouette = network.silhouette(X, n_jobs=model.n_jobs)
        model.__dict__.update(
            fitted_attributes(
                network,
                unmoved(network, X, model.objective),
                runs=single_run(network, silhouette, len(np.unique(labels[labels >= 0]))),
                labels=labels,
                loss=float("nan"),
                loss_curve=np.zeros(0),
                silhouette=silhouette,
                inertia=None,
            )
        )
        return model

    # --- files ----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, for :func:`amclust.load`.

        The file holds data, not code: loading one cannot execute anything. It appears whole or not
        at all, and an existing one is replaced. The loaded model predicts bit for bit the same, and
        `partial_fit` goes on from it. A generator in `random_state` is not kept (it becomes None),
        nor is what `set_output` has set.

        Parameters
        ----------
        path : str or path
            Where to write, by habit with the suffix ".amc".

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import amclust
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> model = amclust.ClAM(n_clusters=3, n_init=2, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder, "iris.amc"))
        ...     loaded = amclust.load(Path(folder, "iris.amc"))
        >>> bool((loaded.predict(X) == model.labels_).all())
        True
        """
        from amclust.io.model import save_model

        save_model(self, path)

    def report(
        self,
        X: Any,
        path: str | os.PathLike[str],
        *,
        ids: Any = None,
        feature_names: Any = None,
        title: str | None = None,
        source: str | None = None,
        random_state: Any = 0,
        overwrite: bool = True,
    ) -> Path:
        """Write a page about the clusters: one HTML file that needs no network.

        It shows sizes and what distinguishes each cluster, a projection, basins, silhouettes, the
        least typical rows, completed values, the restarts, and k-means with as many of them. Needs
        jinja2 and plotly (``pip install "amclust[plot]"``).

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to report on, usually those of the fit; NaN where a value is missing. A sparse
            matrix has to be small enough to be held dense.

        path : str or path-like
            Where to write, ``report.html`` for example. The file appears whole or not at all.

        ids : array-like of shape (n_samples,), default=None
            Names of the rows; None: the index of a pandas frame, unless it merely numbers them,
            otherwise their numbers, from 0.

        feature_names : array-like of str of shape (n_features,), default=None
            Names of the columns, ``vectorizer.get_feature_names_out()`` for example; None: those of
            a data frame, or `feature_names_in_`, else x0, x1, ...

        title : str, default=None
            Title of the page.

        source : str, default=None
            Where the rows come from, the name of a file for example.

        random_state : int, RandomState instance or None, default=0
            Determines the restarts of k-means, and the rows that stand for all in large tables.

        overwrite : bool, default=True
            Whether a file at `path` may be replaced.

        Returns
        -------
        path : Path
            Where the page is.

        Examples
        --------
        >>> import tempfile
        >>> from sklearn.datasets import load_iris
        >>> from amclust import ClAM
        >>> X = load_iris(as_frame=True).data
        >>> model = ClAM(n_clusters=3, n_init=2, random_state=0).fit(X)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.report(X, f"{folder}/iris.html", title="Iris").name
        'iris.html'
        """
        from amclust.report import write_report

        return write_report(
            self,
            X,
            path,
            ids=ids,
            feature_names=feature_names,
            title=title,
            source=source,
            random_state=random_state,
            overwrite=overwrite,
        )

    # --- shared ---------------------------------------------------------------------------------

    def _cluster_sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.labels_[self.labels_ >= 0], minlength=self.n_clusters_)

    def _fitting(
        self, X: Any, sample_weight: Any, *, reset: bool, draws_once: bool = True
    ) -> Fitting:
        """Return what a fit to rows is made of; they are validated.

        Whether rows are drawn once only matters where they lie with others.
        """
        device = self.device
        if device is None and self.backend == "torch":
            device = device_of(X)
        X = validate_rows(self, X, reset=reset, trains=True)
        threads = n_threads(self.n_jobs)
        weights, n_empty = observed_weights(X, check_sample_weight(sample_weight, X), threads)
        source = TableSource(X, weights)
        check_some_observed(n_empty, source.n_rows, source.n_counted, sample_weight)
        tell_empty_rows(n_empty, source.n_rows, trained=True)
        backend = find_backend(self.backend, device, self.metric)
        return Fitting(self, source, backend)

    def _n_restarts(self) -> int | None:
        """Return of how many restarts a fit is made; None: it may train some of them again."""
        if self.n_memories is not None or self.contamination or len(self.recipe.stages) > 1:
            return None
        return int(self.n_init) if isinstance(self.init, str) else 1

    def _keep_learned(self, learned: Learned) -> None:
        """Set the fitted attributes; nothing of an earlier fit stays."""
        for name in ("n_clusters_evidence_", "shape_evidence_", "merge_tree_"):
            self.__dict__.pop(name, None)
        if learned.n_clusters_evidence is not None:
            self.n_clusters_evidence_ = learned.n_clusters_evidence
        if learned.shape is not None:
            self.shape_evidence_ = learned.shape.evidence
            if learned.shape.merge_tree is not None:
                self.merge_tree_ = learned.shape.merge_tree
        self._keep(learned.found)

    def _keep(self, found: Fit) -> None:
        """Set the fitted attributes."""
        self.__dict__.pop("inertia_", None)
        self.__dict__.update(
            fitted_attributes(
                found.network,
                found.optimizer,
                runs=found.table,
                labels=found.labels,
                loss=found.best.record.loss,
                loss_curve=found.best.record.loss_curve,
                silhouette=found.best.silhouette,
                inertia=found.inertia,
            )
        )

    def _keep_labels(self, X: Any) -> None:
        """Set the labels where a fit sees some rows only; here it has labelled all of them."""

    def _forget_recorded(self) -> None:
        for name in ("recorded_epochs_", "recorded_memories_"):
            self.__dict__.pop(name, None)

    def _keep_recorded(self, found: Fit) -> None:
        """Set the memories of chosen epochs; nothing of an earlier fit stays."""
        self._forget_recorded()
        if self.record_epochs is not None:
            geometry = found.trained_in or found.network.geometry
            recorded = found.best.recorded
            self.recorded_epochs_ = np.array(list(recorded), dtype=np.int64)
            memories = [geometry.from_core(values) for values in recorded.values()]
            shape = (len(memories), *self.memories_.shape)
            self.recorded_memories_ = np.array(memories, dtype=geometry.dtype).reshape(shape)

    def _chose_freely(self) -> bool:
        """Whether what was found is the data's: nothing led there that the user has given."""
        estimated = "n_clusters_evidence_" in vars(self)
        named = isinstance(self.beta, str) and isinstance(self.init, str)
        return named and not estimated and self.init != "random" and self.n_memories is None

    def _tell_outliers(self, found: Fit) -> None:
        """Warn where one cluster has nearly all rows, before training already."""
        sizes = np.bincount(found.labels[found.labels >= 0])
        largest, n_rows = int(sizes.max()), int(sizes.sum())
        if largest <= COLLAPSED_SHARE * n_rows:
            return
        advice = ""
        if self.scale == "standard" and found.network.geometry.by_column:
            advice = " With scale='robust' extreme values count less."
        warn(
            f"{largest:,} of {n_rows:,} rows are in one of n_clusters={self.n_clusters_} clusters, "
            f"before training already: the other {n_rows - largest:,} may be outliers.{advice}",
        )

    def _conclude(self, found: Fit) -> None:
        """Say, and warn of, what was found."""
        runs, best = found.runs, found.best
        finish(
            self.verbose,
            f"ClAM: chose restart {found.chosen + 1} of {len(runs)}: loss {best.record.loss:.5g}, "
            f"silhouette {best.silhouette:.4f}, {best.n_nonempty} non-empty clusters",
        )
        # A callback may have stopped it before.
        if best.record.improving and best.record.n_epochs >= self.max_epochs:
            trained = [run for run in runs if isinstance(run, TrainedRun)]
            count = sum(run.record.improving for run in trained)
            warn(
                f"{count} of {len(trained)} restarts, the chosen one among them, were still "
                f"improving at max_epochs={self.max_epochs}. Consider a larger max_epochs"
                f"{'' if best.plan.exact else ' or learning_rate'}.",
                ConvergenceWarning,
            )
        if found.collapsed:
            warn(
                f"{best.largest_share:.0%} of the rows are in one cluster, which was not so "
                "before training: the partition has collapsed. Consider a larger beta, "
                "objective='reconstruction', or another metric or scale.",
                ConvergenceWarning,
            )
        elif (
            given_limits(self) is None
            and self._chose_freely()
            and best.n_nonempty == self.n_clusters_ > 1
        ):
            self._tell_outliers(found)
        noise = np.count_nonzero(found.labels < 0)
        if 2 * noise > len(found.labels):
            warn(
                f"{noise} of {len(found.labels)} rows are noise (label -1): out of reach of all "
                "memories, and left out of the silhouette. Consider a smaller beta.",
                ConvergenceWarning,
            )
        if best.n_nonempty < self.n_clusters_:
            warn(
                f"Only {best.n_nonempty} of n_clusters={self.n_clusters_} clusters are non-empty "
                "in the best restart: no row falls to the other memories. Consider fewer clusters, "
                "a larger beta or more restarts.",
                ConvergenceWarning,
            )


def columns_of(network: Network) -> dict[str, Any]:
    """Return the attributes of a fitted ClAM that tell the columns of its table."""
    layout, names = network.geometry.categories, network.geometry.feature_names
    if layout is not None:
        names = layout.names
    found: dict[str, Any] = {}
    found["n_features_in_"] = network.n_features if layout is None else layout.n_columns
    if names is not None:
        found["feature_names_in_"] = np.array(names, dtype=object)
    return found


def _parameters_of(network: Network) -> dict[str, Any]:
    """Return the parameters of an estimator that follow from its network."""
    geometry = network.geometry
    objective = "silhouette" if network.n_clusters > 1 else "reconstruction"
    found = {
        "n_clusters": network.n_clusters,
        "n_memories": None if network.is_plain else network.n_memories,
        "objective": "completion" if network.fills_from_mask else objective,
        "n_steps": network.n_steps,
        "step_size": network.step_size,
        "metric": geometry.metric,
        "scale": geometry.scaling,
    }
    if geometry.categories is not None:
        found["categorical_features"] = (geometry.categories.n_levels > 0).tolist()
    return found if geometry.is_native else found | {"backend": "torch"}


@contextmanager
def restored_on_failure(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was when a fit fails or is interrupted."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def fitted_attributes(
    network: Network,
    optimizer: OptimizerState,
    *,
    runs: NDArray[np.void],
    labels: NDArray[np.int32],
    loss: float,
    loss_curve: NDArray[np.float64],
    silhouette: float,
    inertia: float | None,
) -> dict[str, Any]:
    """Return the attributes of a fitted ClAM: what was found, and what follows from it."""
    some = {} if inertia is None else {"inertia_": inertia}
    return (
        some
        | network_attributes(network)
        | {
            "optimizer_state_": optimizer,
            "runs_": runs,
            "labels_": labels,
            "loss_": loss,
            "loss_curve_": loss_curve,
            "silhouette_": silhouette,
            "n_iter_": len(loss_curve),
        }
    )


def run_attributes(run: TrainedRun, data: TrainingSet) -> dict[str, Any]:
    """Return what an estimator answers by that stopped where a restart is."""
    record = run.record
    return network_attributes(run.network(data.geometry)) | {
        "loss_": record.loss,
        "loss_curve_": record.loss_curve,
        "n_iter_": record.n_epochs,
    }


def network_attributes(network: Network) -> dict[str, Any]:
    """Return the attributes that follow from a network."""
    return {
        "network_": network,
        "n_clusters_": network.n_clusters,
        "_n_features_out": network.n_clusters,
        "cluster_centers_": network.cluster_centers,
        "memories_": network.centers,
        "memory_labels_": np.array(network.assembly),
        "weights_": network.weights,
        "beta_": network.beta / network.geometry.distance_unit,
    }
