"""Warnings that point at whoever called, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

# Frames of these are not the caller's: this package, and what scikit-learn wraps its methods in.
INSIDE = ("amclust", "sklearn")


class EmptyRowsWarning(UserWarning):
    """Rows have no value at all."""


class UnseenLevelsWarning(UserWarning):
    """Categories have levels that they did not have in fit."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the line that called the library."""
    files = (sys.modules[name].__file__ for name in INSIDE if name in sys.modules)
    inside = tuple(str(Path(file).parent) for file in files if file)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
