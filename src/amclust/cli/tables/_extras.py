"""Whether the packages for tables are there; imported before all that needs them."""

from __future__ import annotations

import importlib


def require(package: str) -> None:
    """Refuse to go on without a package, and name the extra that brings it."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        msg = f'reading and writing tables needs {package}: pip install "amclust[table]"'
        raise ModuleNotFoundError(msg, name=package) from error


for _package in ("pandas", "pyarrow"):
    require(_package)
