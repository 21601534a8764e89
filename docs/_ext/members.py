"""Which methods the page of a class lists."""

from __future__ import annotations

import importlib
from itertools import takewhile
from typing import Any


def own_methods(module: str, name: str) -> list[str]:
    """Give the public methods that amclust defines for a class, in the order in which it does.

    Those of a public base class have their page, and those of scikit-learn's and torch's base
    classes are documented there.
    """
    home = importlib.import_module(module)
    kind = getattr(home, name)
    bases = takewhile(lambda base: base.__name__ not in home.__all__, kind.__mro__[1:])
    owners = [kind, *(base for base in bases if base.__module__.startswith("amclust"))]
    names = [
        attribute
        for owner in owners
        for attribute, value in vars(owner).items()
        if not attribute.startswith("_") and (callable(value) or isinstance(value, classmethod))
    ]
    return list(dict.fromkeys(names))


def _lend(app: Any) -> None:
    app.config.autosummary_context["own_methods"] = own_methods


def _take_back(app: Any) -> None:
    # A configuration with a function in it cannot be stored, and all pages would be read anew.
    del app.config.autosummary_context["own_methods"]


def setup(app: Any) -> dict[str, bool]:
    """Lend the function to the templates while autosummary writes its pages (priority 500)."""
    app.connect("builder-inited", _lend, priority=400)
    app.connect("builder-inited", _take_back, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
