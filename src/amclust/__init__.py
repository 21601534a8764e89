"""Clustering with dense associative memories."""

from amclust._config import show_config
from amclust._estimator import ClAM
from amclust._geometry import Geometry
from amclust._model_file import load
from amclust._network import Network
from amclust._search import ClAMSearch
from amclust._version import __version__

__all__ = ["ClAM", "ClAMSearch", "Geometry", "Network", "__version__", "load", "show_config"]
