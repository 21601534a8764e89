"""Optional peers and data sets: what is not installed is reported, never guessed."""

from __future__ import annotations

import importlib
from typing import Any


class UnavailableError(RuntimeError):
    """A peer or a data set that a benchmark needs is not on this machine."""


def optional_module(name: str, package: str) -> Any:
    """Import a peer, or say which package brings it.

    Parameters
    ----------
    name : str
        Name of the module.
    package : str
        Name to install it by.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    UnavailableError
        If the module cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        message = f"{name} is not installed (pip install {package}): {error}"
        raise UnavailableError(message) from error
