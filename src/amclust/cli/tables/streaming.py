"""Learning from a table in chunks whatever order its rows come in: a sample, and turns.

Rows that are sorted would teach a model its beginning first and its end last, which it would know
best. So it begins with a sample of all rows, goes on with rows that are shuffled within a
window, and sees as many rows of the sample beside them. Memory holds the sample and the window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f as f_distribution

Floats = NDArray[np.float64]

# The sample and the window have as many rows as so many chunks; a sample of more rows is no better.
SAMPLE_CHUNKS = WINDOW_CHUNKS = 4
MAX_SAMPLE = 2**15
# Chunks differ more than chance where an analysis of variance is so sure, for any of the columns,
# and they hold so large a part of a column's variance.
MAX_CHANCE, MIN_PART = 1e-6, 0.05


class Sample:
    """Some rows of a stream, each as likely as any other; the same for the same seed.

    Of a column that has a value in none of them, the first row that has one is kept too.
    """

    def __init__(self, chunk_rows: int, rng: np.random.Generator) -> None:
        self._size, self._rng = max(chunk_rows, min(SAMPLE_CHUNKS * chunk_rows, MAX_SAMPLE)), rng
        self._rows: list[Floats] = []
        self._first: dict[int, Floats] = {}
        self._seen = 0

    def add(self, values: Floats) -> None:
        """Offer rows."""
        lacking = set(range(values.shape[1])) - set(self._first)
        for column in lacking:
            known = np.flatnonzero(~np.isnan(values[:, column]))
            if len(known):
                self._first[column] = values[known[0]].copy()
        numbers = self._seen + np.arange(len(values))
        places = self._rng.integers(0, numbers + 1)  # for each row, that of one so far
        self._seen += len(values)
        places = np.where(numbers < self._size, numbers, places)
        for index in np.flatnonzero(places < self._size):
            if numbers[index] < self._size:
                self._rows.append(values[index].copy())
            else:
                self._rows[places[index]] = values[index].copy()

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> Floats:
        """Return the sample in a random order, with a value in each column that has any."""
        values = np.array(self._rows)[self._rng.permutation(len(self._rows))]
        lacking = np.flatnonzero(np.isnan(values).all(axis=0))
        more = [self._first[int(j)] for j in lacking if int(j) in self._first]
        return np.concatenate([values, *(row[None] for row in more)])

    def draw(self, count: int) -> Floats:
        """Draw so many rows; only where there are fewer, some of them repeatedly."""
        chosen = self._rng.choice(len(self._rows), count, replace=count > len(self._rows))
        return np.array([self._rows[place] for place in chosen])


class Order:
    """Whether chunks differ more than rows in a random order would."""

    def __init__(self) -> None:
        self._middle: Floats | None = None
        self._sums: list[tuple[Any, Any, Any]] = []

    def add(self, values: Floats) -> None:
        """Take a chunk into account."""
        known = ~np.isnan(values)
        if self._middle is None:  # so that squares do not cancel
            sums = np.where(known, values, 0.0).sum(axis=0)
            self._middle = sums / np.maximum(known.sum(axis=0), 1)
        centred = np.where(known, values - self._middle, 0.0)
        sums = known.sum(axis=0), centred.sum(axis=0), (centred**2).sum(axis=0)
        self._sums.append(sums)

    def part(self) -> tuple[int, float] | None:
        """Return the column that tells chunks apart best, and the part of its variance they hold.

        None where that may be chance.
        """
        if len(self._sums) < 2:
            return None
        counts, sums, squares = (
            np.array(each, dtype=np.float64) for each in zip(*self._sums, strict=False)
        )
        with np.errstate(all="ignore"):
            n, chunks = counts.sum(axis=0), (counts > 0).sum(axis=0)
            correction = sums.sum(axis=0) ** 2 / n
            between = np.where(counts > 0, sums**2 / counts, 0.0).sum(axis=0) - correction
            total = squares.sum(axis=0) - correction
            within = np.maximum(total - between, 0.0)
            ratio = (between / (chunks - 1)) / (within / (n - chunks))
            chance = f_distribution.sf(ratio, chunks - 1, n - chunks) * len(n)
            parts = np.where((chance < MAX_CHANCE) & (total > 0), between / total, 0.0)
        column = int(np.nan_to_num(parts).argmax())
        part = float(np.nan_to_num(parts)[column])
        return (column, min(part, 1.0)) if part > MIN_PART else None


def in_turns(
    chunks: Iterable[Floats], sample: Sample, rng: np.random.Generator, rows: int
) -> Iterator[Floats]:
    """Yield chunks of so many rows, shuffled within windows, each with rows of the sample.

    Parameters
    ----------
    chunks : iterable of ndarray of shape (n_rows, n_features)
        The rows as they come.

    sample : Sample
        What each chunk sees as many rows of.

    rng : Generator
        Where chance comes from.

    rows : int
        Rows of a chunk, without those of the sample.
    """
    for window in _windows(chunks):
        shuffled = window[rng.permutation(len(window))]
        for first in range(0, len(shuffled), rows):
            own = shuffled[first : first + rows]
            both = np.concatenate([own, sample.draw(len(own))])
            yield both[rng.permutation(len(both))]


def _windows(chunks: Iterable[Floats]) -> Iterator[Floats]:
    waiting: list[Floats] = []
    for chunk in chunks:
        if len(chunk):
            waiting.append(chunk)
        if len(waiting) == WINDOW_CHUNKS:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)
