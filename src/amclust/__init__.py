"""Clustering with dense associative memories."""

from amclust._estimator import ClAM
from amclust._config import show_config
from amclust._model_file import load
from amclust._version import __version__
from amclust._search import ClAMSearch

__all__ = ["ClAM", "ClAMSearch", "__version__", "load", "show_config"]
