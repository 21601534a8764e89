"""What DEC and DCEC share: the paper's grid of update intervals, and one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from benchmarks.deep.settings import Settings as DeepSettings
from paper.published import EMBEDDED_GRID

UPDATE_INTERVALS: tuple[int, ...] = EMBEDDED_GRID["update_interval"]
_USUAL_INTERVAL = 140


def some_intervals(count: int | None) -> tuple[int, ...]:
    """Take so many of the paper's intervals, the shortest and the longest among them.

    A single one is that of DCEC's authors: the shortest takes a hundred times as long.
    """
    if count == 1:
        return (_USUAL_INTERVAL,)
    picks = np.linspace(0, len(UPDATE_INTERVALS) - 1, count or len(UPDATE_INTERVALS))
    picks = picks.round().astype(int)
    return tuple(UPDATE_INTERVALS[pick] for pick in picks)


def training(update_interval: int, updates: int) -> DeepSettings:
    """Give the settings of the deep benchmark that say what the paper says."""
    return DeepSettings(
        batch_size=EMBEDDED_GRID["batch_size"],
        updates=updates,
        update_interval=update_interval,
        tolerance=EMBEDDED_GRID["tolerance"],
    )


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread, as all methods of the tables do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
