"""An estimator whose fit fails is as it was before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def restored_on_failure(estimator: Any) -> Iterator[None]:
    """Leave the estimator as it was when a fit fails or is interrupted."""
    before = estimator.__dict__.copy()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise
