"""The methods, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from benchmarks.deep.baselines.dcec import dcec
from benchmarks.deep.baselines.dec import dec, dec_random
from benchmarks.deep.baselines.fitted import Fitted
from benchmarks.deep.baselines.graph import autoencoder_graph
from benchmarks.deep.baselines.idec import idec
from benchmarks.deep.baselines.kmeans import autoencoder_k_means
from benchmarks.deep.deepclam import deep_clam, defaults
from benchmarks.deep.pretrained import Autoencoder
from benchmarks.deep.settings import Settings, short_hash


@dataclass(frozen=True)
class Method:
    """A way to cluster with an autoencoder.

    Attributes
    ----------
    title : str
        Its name in tables.
    fit : callable
        Called with an autoencoder of its own, the rows, the number of clusters, a seed and the
        settings.
    autoencoder : str or None
        The kind of autoencoder that it is defined with; None: any.
    parameters : callable
        Gives, as plain values, what the settings do not say.
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
    K_MEANS: Method("autoencoder + k-means", autoencoder_k_means),
    DEC: Method("DEC", dec),
    "dec-random": Method("DEC, random seeds", dec_random),
    "idec": Method("IDEC", idec),
    DCEC: Method("DCEC", dcec, autoencoder="convolutional"),
    "graph": Method("autoencoder + DeepClAM's seeding", autoencoder_graph),
    DEEP_CLAM: Method("DeepClAM", deep_clam, parameters=defaults),
}


def definition(name: str, kind: str, settings: Settings) -> str:
    """Name what a result depends on, apart from the code."""
    values = {**settings.as_json(), "epochs": settings.epochs[kind]}
    return short_hash([name, kind, values, METHODS[name].parameters()])
