"""The methods, and the cases: one set, one autoencoder, one method, one seed."""

import math
import time
import warnings
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from torch import Tensor

from amclust.torch import DeepClAM
from benchmarks.data import IntArray, load_images
from benchmarks.deep import peers
from benchmarks.deep.peers import Fitted
from benchmarks.deep.pretrained import FULL, QUICK, Autoencoder, Settings, Shelf
from benchmarks.framework.cases import Case, pack_labels
from benchmarks.framework.pages import say
from benchmarks.framework.running import Unfinished
from benchmarks.partitions import living_clusters, silhouettes

_DIGITS = 6


def deep_clam(
    autoencoder: Autoencoder, X: Tensor, n_clusters: int, seed: int, settings: Settings
) -> Fitted:
    """Train with the estimator's defaults, on no more batches than the others."""
    n_batches = math.ceil(len(X) / settings.batch_size)
    model = DeepClAM(
        n_clusters,
        autoencoder.encoder,
        autoencoder.decoder,
        pretrain_epochs=0,
        batch_size=settings.batch_size,
        random_state=seed,
    )
    model.max_epochs = min(model.max_epochs, settings.updates // n_batches)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X.numpy())
    trained = Autoencoder(model.encoder_, model.decoder_)
    with torch.no_grad():
        recalled = model.memory_(trained.latent(X))
    centers = torch.from_numpy(model.cluster_centers_)
    return Fitted(model.labels_, trained, centers, recalled, updates=model.n_iter_ * n_batches)


def defaults() -> dict[str, Any]:
    """Give the parameters of the estimator, since results change with them."""
    return DeepClAM().get_params()


@dataclass(frozen=True)
class Method:
    """A way to cluster with an autoencoder.

    `autoencoder` is the kind that it is defined with (None: any), `parameters` gives, as plain
    values, what the settings do not say.
    """

    title: str
    fit: Callable[[Autoencoder, Tensor, int, int, Settings], Fitted]
    autoencoder: str | None = None
    parameters: Callable[[], dict[str, Any]] = dict

    def kind(self, chosen: str) -> str:
        """Give the kind of autoencoder it gets where another is chosen for all."""
        return self.autoencoder or chosen


K_MEANS, DEC, DCEC, DEEP_CLAM = "kmeans", "dec", "dcec", "deepclam"
METHODS = {
    K_MEANS: Method("autoencoder + k-means", peers.autoencoder_k_means),
    DEC: Method("DEC", peers.dec),
    "dec-random": Method("DEC, random seeds", peers.dec_random),
    "idec": Method("IDEC", peers.idec),
    DCEC: Method("DCEC", peers.dcec, autoencoder="convolutional"),
    "graph": Method("autoencoder + DeepClAM's seeding", peers.autoencoder_graph),
    DEEP_CLAM: Method("DeepClAM", deep_clam, parameters=defaults),
}


class Key(NamedTuple):
    """What is run; `autoencoder` is the kind that the method really gets."""

    set: str
    autoencoder: str
    method: str
    seed: int


def make_case(key: Key, settings: Settings) -> Case[Key]:
    values = {**asdict(settings), "epochs": settings.epochs[key.autoencoder]}
    parameters = METHODS[key.method].parameters()
    return Case(key, {"settings": values, "parameters": parameters})


def perform(case: Case[Key], unfinished: Unfinished, options: Namespace) -> dict[str, Any]:
    """Take the pre-trained autoencoder from the shelf, run the method on a copy, and score.

    Seconds are those of the method, without pre-training. ``silhouette`` is of the encoder's latent
    space, ``silhouette_recalled`` where the method's dynamics carries its rows (NaN where it has
    none); reconstructions are the mean squared error of decoder(encoder(x)).
    """
    key, settings = case.key, QUICK if options.quick else FULL
    images = load_images(key.set, options.data_dir, settings.rows)
    X = torch.from_numpy(images.features)
    pretrained = Shelf(options.cache, say).pretrained(key.autoencoder, images, key.seed, settings)
    start = time.perf_counter()
    fitted = METHODS[key.method].fit(pretrained.copy(), X, images.n_clusters, key.seed, settings)
    unfinished.seconds = time.perf_counter() - start
    labels = np.asarray(fitted.labels)
    recalled = fitted.recalled
    scores = {
        "nmi": float(normalized_mutual_info_score(images.classes, labels)),
        "ari": float(adjusted_rand_score(images.classes, labels)),
        "accuracy": accuracy(images.classes, labels),
        "silhouette": silhouette(fitted.autoencoder.latent(X), labels),
        "silhouette_recalled": math.nan if recalled is None else silhouette(recalled, labels),
        "reconstruction_before": pretrained.error(X),
        "reconstruction": fitted.autoencoder.error(X),
    }
    return {
        "n_clusters": images.n_clusters,
        "living": living_clusters(labels),
        **{name: round(value, _DIGITS) for name, value in scores.items()},
        "updates": fitted.updates,
        "labels": pack_labels(labels),
    }


def accuracy(classes: IntArray, labels: IntArray) -> float:
    """Give the share of rows in the right class, clusters and classes matched at their best."""
    counts = contingency_matrix(classes, labels)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / len(labels))


def silhouette(latent: Tensor, labels: IntArray) -> float:
    """Give the exact silhouette of a partition of latent rows; NaN for a single cluster."""
    rows = np.ascontiguousarray(latent.numpy(), dtype=np.float64)
    return float(silhouettes(rows, labels[None])[0])
