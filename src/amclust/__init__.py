"""Clustering with dense associative memories."""

from typing import TYPE_CHECKING, Any

from amclust._version import __version__

if TYPE_CHECKING:
    from amclust._assemblies import ShapeEvidence
    from amclust._config import show_config
    from amclust._estimator import ClAM
    from amclust._features import TopFeatures
    from amclust._geometry import Geometry
    from amclust._network import Network
    from amclust._search import ClAMSearch
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
# Where public names are. They are imported when they are asked for: scikit-learn takes a second,
# which ``amclust --help`` has not.
_MODULES = {
    "ClAM": "_estimator",
    "ClAMSearch": "_search",
    "Geometry": "_geometry",
    "Network": "_network",
    "ShapeEvidence": "_assemblies",
    "TopFeatures": "_features",
    "load": "io.model",
    "show_config": "_config",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
