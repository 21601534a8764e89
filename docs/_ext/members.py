"""Which methods the page of a class lists."""

from __future__ import annotations

import importlib
from itertools import takewhile


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
