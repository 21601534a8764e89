"""A table whose groups anything finds, and options for a quick fit."""

import numpy as np

FAST = ("--restarts", "1", "--epochs", "40", "--threads", "1", "--quiet")
FAST_STREAM = FAST[4:]  # restarts and epochs do not count


def rows(n=40, seed=0):
    """Three clear groups, in any order."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % 3
    return np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 50.0]])[groups] + rng.normal(size=(n, 2)), groups
