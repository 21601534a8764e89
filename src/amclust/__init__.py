"""Clustering with dense associative memories."""

from amclust._clam import ClAM
from amclust._config import show_config
from amclust._version import __version__

__all__ = ["ClAM", "__version__", "show_config"]
