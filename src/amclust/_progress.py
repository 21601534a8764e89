"""Progress of a fit on standard error, when asked for."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable

from amclust._threads import available_cores

Progress = Callable[[int, int, float], None]


class ProgressLine:
    """One line with a bar that is written over on a terminal; now and then a new one elsewhere."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._on_terminal = self._stream.isatty()
        # What is over soon needs no progress in a file.
        self._last = 0.0 if self._on_terminal else time.monotonic()

    def is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last < (0.1 if self._on_terminal else 2.0):
            return False
        self._last = now
        return True

    def share(self, done: float) -> str:
        """Return how much is done, with a bar on a terminal."""
        bar = f"[{'#' * int(30 * done):30}] " if self._on_terminal else ""
        return f"{bar}{done:4.0%}"

    def show(self, text: str) -> None:
        if self._on_terminal:
            # A line that is broken in two could not be written over.
            text = f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}"
        else:
            text = f"{text}\n"
        self._stream.write(text)
        self._stream.flush()

    def clear(self) -> None:
        """Leave the terminal as if nothing had been shown."""
        if self._on_terminal:
            self.show("")


def reporter(verbose: int, n_runs: int, max_epochs: int) -> Progress | None:
    """Return what the core calls after every epoch, or None when nothing is to be shown."""
    if not verbose:
        return None
    done, last_seen, now = [0] * n_runs, [0] * n_runs, 0
    # Runs that are trained at the same time report in turns.
    long_silence = 4 + 4 * min(n_runs, available_cores())
    line = ProgressLine()

    def report(run: int, epoch: int, loss: float) -> None:
        nonlocal now
        now += 1
        done[run], last_seen[run] = epoch + 1, now
        if verbose < 2 and not line.is_due():
            return
        # A run that has been silent for long has stopped early.
        epochs = sum(
            max_epochs if count and now - seen > long_silence else count
            for count, seen in zip(done, last_seen, strict=True)
        )
        share = line.share(epochs / (n_runs * max_epochs))
        line.show(
            f"ClAM: {share}, restart {run + 1} of {n_runs}, epoch {epoch + 1}, loss {loss:.5g}"
        )

    return report


class SearchBar:
    """The progress of a search: how many of the run-epochs planned are behind."""

    def __init__(self, total: int) -> None:
        self.done, self._total = 0, total
        self._line = ProgressLine()

    def __call__(self, run: int, epoch: int, loss: float) -> None:
        """Count an epoch; this is what the core calls after each."""
        self.done += 1
        if self._line.is_due():
            share = self._line.share(self.done / self._total)
            counted = f"{self.done:,} of {self._total:,} run-epochs"
            self._line.show(f"ClAMSearch: {share}, {counted}")


def finish(verbose: int, text: str) -> None:
    """End the progress line with a summary."""
    if verbose:
        sys.stderr.write(("\r\x1b[K" if sys.stderr.isatty() else "") + text + "\n")
        sys.stderr.flush()
