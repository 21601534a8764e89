"""The DeepClAM estimator: parameters, documentation, and what a fitted network says about rows."""

from __future__ import annotations

import copy
import os
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted, validate_data
from torch import Tensor, nn

from amclust._estimator import restored_on_failure
from amclust._parameters import Constraints
from amclust._progress import ProgressLine, finish
from amclust._validation import check_numeric_columns
from amclust.io.state import Checkpoint
from amclust.torch.deep._checkpoint import FIT, fingerprint, load_fit, save_fit
from amclust.torch.deep._network import (
    DeepNetwork,
    choose_device,
    latent_length,
    make_pair,
    silhouette,
)
from amclust.torch.deep._seeding import SEEDINGS
from amclust.torch.deep._training import Plan, Schedule, Training, history_table
from amclust.torch.layer import AssociativeMemory

__all__ = ["DeepClAM"]

# An autoencoder whose loss is so many times the variance of the rows has gone astray.
BAD_RECONSTRUCTION = 10.0


class DeepClAM(TransformerMixin, ClusterMixin, ClassNamePrefixFeaturesOutMixin, BaseEstimator):
    """Deep clustering with an associative memory in the latent space of an autoencoder.

    An autoencoder is pre-trained, memories are placed among the latent rows, and then all is
    trained together so that a row can be told from what the memory recalls of it:
    ``|x - decoder(recall(encoder(x)))|^2``, beside the autoencoder's own loss and agreement with
    the clusters of the seeding. Of the trained epochs the one with the best latent silhouette is
    kept, among those in which the autoencoder has not become much worse and all clusters live; its
    own loss counts more after epochs in which it came near that bound.

    Rows are taken as they are: scale columns of different units first. Values around 1 in size
    suit the learning rates. All is computed in float32, whatever the type of the rows. NaN is a
    missing value: the encoder sees the mean of its column, and no loss compares it with anything.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of memories, and of clusters.

    encoder : {"mlp", "convolutional", "residual"}, tuple of int or torch.nn.Module, default="mlp"
        How rows come to latent space. "mlp" is the usual network of layers of 500, 500 and 2000;
        a tuple has other widths. "convolutional" needs `image_shape`. A module takes rows
        ``(n, n_features)`` to ``(n, latent_dim)``, for any latent_dim; it is copied, never changed.
        If it is trained already, set ``pretrain_epochs=0``.

    decoder : torch.nn.Module, default=None
        The way back; only with an encoder that is a module.

    latent_dim : int, default=10
        Dimensions of the latent space. A module has its own.

    image_shape : tuple of int, default=None
        Shape of the image that a row is, ``(height, width)`` or ``(channels, height, width)``.
        With a pair of modules, these get and return images of this shape instead of flat rows.

    pretrain_epochs : int, default=50
        Epochs of pre-training on the autoencoder's own loss.

    max_epochs : int, default=15
        Most epochs of training with the memory. 0 leaves it at the pre-trained autoencoder with
        the initial memories in its latent space.

    batch_size : int, default=256
        Rows per gradient step.

    pretrain_lr : float, default=1e-3
        Learning rate of Adam in pre-training.

    corruption : float, default=0.0
        Part of the entries of a row that is set to 0 in pre-training (a denoising autoencoder).

    encoder_lr, decoder_lr : float, default=7e-4
        Initial learning rates of Adam in training; they fall to 0 over `max_epochs`.

    memory_lr : float, default=1e-2
        The same for the memories, in units of the latent rows' root mean square deviation.

    seeding : {"auto", "graph", "assemblies", "clam"}, default="auto"
        Where the memories start. "graph" finds clusters in the graph of neighbours among the latent
        rows, which may have any shape there, and has training make them compact. "assemblies" finds
        such clusters too, as assemblies of memories (`n_memories` of :class:`amclust.ClAM`), in
        time linear in the rows. "clam" finds compact clusters among the latent rows as they are.
        "auto" is "graph" up to 20,000 rows and "assemblies" above.

    beta : "auto" or float, default="auto"
        Inverse temperature, in units of latent space. "auto" takes it from the distances between
        latent rows and initial memories.

    n_steps : int, default=5
        Steps of the dynamics.

    step_size : float, default=0.2
        Part of the way to the memories that a step goes, in (0, 1].

    deepen : float, default=0.5
        Part of `max_epochs` over which the recall that is trained deepens from one step to
        `n_steps`, in [0, 1].

    max_reconstruction : float, default=1.1
        Bound on the reconstruction loss of the epoch that is kept, as a multiple of the loss after
        pre-training; infinity for none.

    patience : int, default=5
        Stop after this many epochs of full depth without a better one to keep.

    checkpoint : path-like, default=None
        File that the state of the fit is kept in. A fit that finds its file there goes on from it,
        to the same result as if it had not been stopped; a file of other rows or parameters is
        refused.

    checkpoint_every : int, default=1
        Epochs between two writes of that file.

    device : str or torch.device, default=None
        Where to compute; None: where the given modules are, else on the CPU.

    random_state : int, RandomState instance or None, default=None
        Determines initial weights, seeding and the order of rows.

    verbose : int, default=0
        1 shows progress on standard error, 2 every epoch.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row of the training data; the same as `predict` gives.

    encoder_, decoder_ : torch.nn.Module
        From rows ``(n, n_features)`` to latent rows, and back.

    memory_ : AssociativeMemory
        The memories in latent space.

    cluster_centers_ : ndarray of shape (n_clusters, latent_dim)
        The memories as an array.

    prototypes_ : ndarray of shape (n_clusters, n_features)
        The memories as the decoder shows them.

    beta_ : float
        Inverse temperature.

    history_ : structured ndarray of shape (`n_iter_` + 1,)
        One row an epoch, the first for what pre-training and seeding gave: epoch, n_steps, loss,
        reconstruction, recalled_reconstruction, silhouette, living_clusters, chosen.
        ``pandas.DataFrame(model.history_)`` shows it as a table.

    loss_ : float
        Mean squared error an entry of ``decoder(recall(encoder(x)))`` in the epoch kept.

    loss_curve_ : ndarray of shape (`n_iter_`,)
        Mean of what was minimised in every epoch of training.

    reconstruction_loss_ : float
        Mean squared error an entry of ``decoder(encoder(x))`` in the epoch kept.

    pretrained_reconstruction_loss_ : float
        The same after pre-training.

    pretrain_loss_curve_ : ndarray of shape (pretrain_epochs,)
        Mean loss of every epoch of pre-training.

    silhouette_ : float
        Silhouette of the clusters in the encoder's latent space (NaN with a single cluster); exact
        up to 10,000 rows, on a fixed sample above.

    recalled_silhouette_ : float
        The same in the space of recalled latent rows.

    n_iter_ : int
        Epochs of training.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, where `X` has names that are strings.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from amclust.torch import DeepClAM
    >>> X = load_digits().data[:300] / 16
    >>> model = DeepClAM(10, (64,), latent_dim=5, pretrain_epochs=10, max_epochs=3, random_state=0)
    >>> _ = model.fit(X)
    >>> model.transform(X).shape, model.prototypes_.shape
    ((300, 5), (10, 64))
    >>> bool(model.reconstruction_loss_ <= 1.1 * model.pretrained_reconstruction_loss_)
    True
    """

    _parameter_constraints: ClassVar[Constraints] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "encoder": [StrOptions({"mlp", "convolutional", "residual"}), tuple, list, nn.Module],
        "decoder": [None, nn.Module],
        "latent_dim": [Interval(Integral, 1, None, closed="left")],
        "image_shape": [None, tuple, list],
        "pretrain_epochs": [Interval(Integral, 0, None, closed="left")],
        "max_epochs": [Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "pretrain_lr": [Interval(Real, 0, None, closed="neither")],
        "corruption": [Interval(Real, 0, 1, closed="left")],
        "encoder_lr": [Interval(Real, 0, None, closed="left")],
        "decoder_lr": [Interval(Real, 0, None, closed="left")],
        "memory_lr": [Interval(Real, 0, None, closed="left")],
        "seeding": [StrOptions(set(SEEDINGS))],
        "beta": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "n_steps": [Interval(Integral, 1, None, closed="left")],
        "step_size": [Interval(Real, 0, 1, closed="right")],
        "deepen": [Interval(Real, 0, 1, closed="both")],
        "max_reconstruction": [Interval(Real, 1, None, closed="both")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "checkpoint": [None, str, os.PathLike],
        "checkpoint_every": [Interval(Integral, 1, None, closed="left")],
        "device": [None, str, torch.device],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        encoder: Any = "mlp",
        decoder: nn.Module | None = None,
        *,
        latent_dim: int = 10,
        image_shape: Any = None,
        pretrain_epochs: int = 50,
        max_epochs: int = 15,
        batch_size: int = 256,
        pretrain_lr: float = 1e-3,
        corruption: float = 0.0,
        encoder_lr: float = 7e-4,
        decoder_lr: float = 7e-4,
        memory_lr: float = 1e-2,
        seeding: str = "auto",
        beta: float | str = "auto",
        n_steps: int = 5,
        step_size: float = 0.2,
        deepen: float = 0.5,
        max_reconstruction: float = 1.1,
        patience: int = 5,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 1,
        device: str | torch.device | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.encoder = encoder
        self.decoder = decoder
        self.latent_dim = latent_dim
        self.image_shape = image_shape
        self.pretrain_epochs = pretrain_epochs
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.pretrain_lr = pretrain_lr
        self.corruption = corruption
        self.encoder_lr = encoder_lr
        self.decoder_lr = decoder_lr
        self.memory_lr = memory_lr
        self.seeding = seeding
        self.beta = beta
        self.n_steps = n_steps
        self.step_size = step_size
        self.deepen = deepen
        self.max_reconstruction = max_reconstruction
        self.patience = patience
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Not a classifier, but scikit-learn looks here for the shape of predict_proba.
        tags.classifier_tags = ClassifierTags(multi_class=self.n_clusters != 2)
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.input_tags.allow_nan = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Bring the network to the CPU: a pickle can be read where there is no other device."""
        state: dict[str, Any] = super().__getstate__()
        if "_network" not in state:
            return state
        network = copy.deepcopy(self._network).cpu()
        return state | _modules(network)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> DeepClAM:
        """Train the autoencoder and the memories.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to cluster.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        self : DeepClAM
            The fitted estimator.
        """
        with restored_on_failure(self):
            X = self._read(X, reset=True)
            self._fill = _observed_means(X)
            if len(X) < self.n_clusters:
                msg = f"n_clusters={self.n_clusters} must be at most n_samples={len(X)}."
                raise ValueError(msg)
            seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            training = self._new_training(X, seed)
            self._run(training, X, seed)
            self._keep(training, X)
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster that the dynamics carries each latent row to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Index of the memory each row falls to.
        """
        X = self._validate(X)
        return self._network.ask(_assign, X)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the memberships of rows: how strongly each memory attracts their latent rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        memberships : ndarray of shape (n_samples, n_clusters)
            Numbers that sum to 1 in every row.
        """
        X = self._validate(X)
        return self._network.ask(lambda net, rows: net.memory.memberships(net.encoder(rows)), X)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the latent rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        latents : ndarray of shape (n_samples, latent_dim)
            What the encoder makes of the rows.
        """
        X = self._validate(X)
        return self._network.ask(lambda net, rows: net.encoder(rows), X)

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """Return the rows that latent rows stand for.

        Parameters
        ----------
        X : array-like of shape (n_samples, latent_dim)
            Latent rows.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features)
            What the decoder makes of them.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=np.float32, input_name="X", estimator=self)
        if X.shape[1] != self._network.memory.dim:
            msg = f"X has {X.shape[1]} columns, latent rows have {self._network.memory.dim}."
            raise ValueError(msg)
        return self._network.ask(lambda net, latents: net.decoder(latents), X)

    def recall(self, X: Any) -> NDArray[Any]:
        """Return what is left of rows after the memory: ``decoder(recall(encoder(x)))``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        recalled : ndarray of shape (n_samples, n_features)
            Rows close to the prototypes of their clusters.
        """
        X = self._validate(X)
        return self._network.ask(lambda net, rows: net.decoder(net.memory(net.encoder(rows))), X)

    def complete(self, X: Any) -> NDArray[Any]:
        """Fill the missing values of rows with what the autoencoder makes of the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, NaN where values are missing.

        Returns
        -------
        completed : ndarray of shape (n_samples, n_features)
            A copy of the rows.
        """
        X = self._read(X)
        filled = self._filled(X)
        made = self._network.ask(lambda net, rows: net.decoder(net.encoder(rows)), filled)
        found: NDArray[Any] = np.where(np.isnan(X), made, X)
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """Return the silhouette of the clusters of the rows in latent space (higher is better).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        y : Ignored
            Not used, present for API consistency.

        Returns
        -------
        score : float
            Exact up to 10,000 rows, on a fixed sample of them above; -1 where all rows fall to
            one memory.
        """
        X = self._validate(X)
        latents = self._network.ask(lambda net, rows: net.encoder(rows), X)
        labels = self._network.ask(lambda net, latents: net.memory.assign(latents), latents)
        value = silhouette(latents, labels)
        return -1.0 if np.isnan(value) else value

    def _validate(self, X: Any) -> NDArray[np.float32]:
        """Return rows as the encoder of the fitted network sees them."""
        return self._filled(self._read(X))

    def _read(self, X: Any, *, reset: bool = False) -> NDArray[np.float32]:
        """Return rows with NaN where values are missing."""
        if not reset:
            check_is_fitted(self)
        check_numeric_columns(X)
        found: NDArray[np.float32] = validate_data(
            self, X, reset=reset, dtype=np.float32, order="C", ensure_all_finite="allow-nan"
        )
        return found

    def _filled(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return rows as the encoder sees them, with means of columns for missing values."""
        missing = np.isnan(X)
        return np.where(missing, self._fill, X) if missing.any() else X

    def _new_training(self, X: NDArray[np.float32], seed: int) -> Training:
        """Build the network and what trains it."""
        generator = torch.Generator().manual_seed(seed)
        encoder, decoder = make_pair(
            self.encoder,
            self.decoder,
            int(self.latent_dim),
            self.image_shape,
            X.shape[1],
            generator,
        )
        device = choose_device(self.device, encoder)
        encoder.to(device, torch.float32)
        decoder.to(device, torch.float32)
        rows = torch.tensor(self._filled(X), device=device)
        missing = np.isnan(X)
        observed = torch.tensor(~missing, device=device) if missing.any() else None
        memory = AssociativeMemory(
            int(self.n_clusters),
            latent_length(encoder, decoder, rows[:2]),
            n_steps=int(self.n_steps),
            step_size=float(self.step_size),
            generator=generator,
            device=device,
        )
        # Plain numbers, which a checkpoint can hold.
        given = {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in self.get_params(deep=False).items()
        }
        schedule = Schedule(**{name: given[name] for name in Schedule._fields})
        shared = {name: value for name, value in given.items() if name in Plan._fields}
        plan = Plan(schedule=schedule, **shared)
        return Training(DeepNetwork(encoder, decoder, memory), rows, plan, seed, observed)

    def _run(self, training: Training, X: NDArray[np.float32], seed: int) -> None:
        """Train to the end, with progress and checkpoints."""
        line, file = ProgressLine() if self.verbose else None, None
        if self.checkpoint is not None:
            chance = self.random_state is None
            words = fingerprint(self.get_params(deep=False), X, None if chance else seed)
            file = Checkpoint(self.checkpoint, FIT, words)
            if load_fit(file, training):
                path = os.fspath(self.checkpoint)
                finish(self.verbose, f"DeepClAM: goes on from {path}: {training.describe()}")
        unsaved = 0

        def after_epoch() -> None:
            nonlocal unsaved
            unsaved += 1
            if file is not None and (unsaved >= self.checkpoint_every or training.is_finished):
                save_fit(file, training)
                unsaved = 0
            if line is not None and (self.verbose > 1 or line.is_due()):
                line.show(f"DeepClAM: {training.describe()}")

        training.run(after_epoch)
        kept = training.describe(training.plan.schedule.best(training.history))
        finish(self.verbose, f"DeepClAM: kept {kept} ({len(training.history) - 1} trained)")

    def _keep(self, training: Training, X: NDArray[np.float32]) -> None:
        """Set the fitted attributes."""
        network = training.network
        self.__dict__.update(_modules(network))
        chosen = training.plan.schedule.best(training.history)
        kept = training.history[chosen]
        found, X = network.evaluate(training.rows, training.observed), self._filled(X)
        self.labels_ = network.ask(_assign, X)
        self.cluster_centers_ = network.memory.memories.detach().cpu().numpy().copy()
        self.prototypes_ = network.ask(
            lambda net, latents: net.decoder(latents), self.cluster_centers_
        )
        self.beta_ = float(network.memory.beta)
        self.history_ = history_table(training.history, chosen)
        self.loss_ = kept.recalled_reconstruction
        self.loss_curve_ = self.history_["loss"][1:].copy()
        self.reconstruction_loss_ = kept.reconstruction
        self.pretrained_reconstruction_loss_ = training.history[0].reconstruction
        self.pretrain_loss_curve_ = np.array(training.pretrain_losses)
        self.silhouette_ = kept.silhouette
        self.recalled_silhouette_ = silhouette(found.recalled.cpu().numpy(), self.labels_)
        self.n_iter_ = len(self.loss_curve_)
        self._n_features_out = network.memory.dim
        spread = float(np.var(X, axis=0, dtype=np.float64).mean())
        if self.pretrained_reconstruction_loss_ > BAD_RECONSTRUCTION * spread:
            warnings.warn(
                f"The autoencoder has learned nothing: its reconstruction loss is "
                f"{self.pretrained_reconstruction_loss_:.3g}, the mean variance of the columns "
                f"{spread:.3g}. Scale X to values around 1, or change pretrain_lr and "
                "pretrain_epochs.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if kept.living_clusters < self.n_clusters:
            warnings.warn(
                f"Only {kept.living_clusters} of n_clusters={self.n_clusters} clusters are "
                "non-empty: no row falls to the other memories. Consider fewer clusters, a larger "
                "beta or a smaller encoder_lr.",
                ConvergenceWarning,
                stacklevel=4,
            )


def _observed_means(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the means of columns; refuse those without a value."""
    seen = ~np.isnan(X)
    counts = seen.sum(axis=0)
    if not counts.all():
        column = int(np.argmin(counts))
        msg = f"No observed value in column {column} (all NaN). Drop such columns before fitting."
        raise ValueError(msg)
    sums = np.where(seen, X, 0.0).sum(axis=0, dtype=np.float64)
    return (sums / counts).astype(np.float32)


def _modules(network: DeepNetwork) -> dict[str, nn.Module]:
    """Return the attributes of the estimator that are modules."""
    return {
        "_network": network,
        "encoder_": network.encoder,
        "decoder_": network.decoder,
        "memory_": network.memory,
    }


def _assign(network: DeepNetwork, rows: Tensor) -> Tensor:
    """Return the memory that every row falls to."""
    return network.memory.assign(network.encoder(rows)).to(torch.int32)
