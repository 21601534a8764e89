"""Clustering with dense associative memories."""

from amclust._assemblies import ShapeEvidence
from amclust._config import show_config
from amclust._estimator import ClAM
from amclust._features import TopFeatures
from amclust._geometry import Geometry
from amclust._network import Network
from amclust._search import ClAMSearch
from amclust._version import __version__
from amclust.io.model import load

__all__ = [
    "ClAM",
    "ClAMSearch",
    "Geometry",
    "Network",
    "ShapeEvidence",
    "TopFeatures",
    "__version__",
    "load",
    "show_config",
]
