"""Progress of a fit on standard error, when asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[int, int, float], None]


class ProgressLine:
    """One line that is written over on a terminal; now and then a new one elsewhere."""

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._on_terminal = self._stream.isatty()
        self._last = 0.0

    def is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last < (0.1 if self._on_terminal else 2.0):
            return False
        self._last = now
        return True

    def show(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text}" if self._on_terminal else f"{text}\n")
        self._stream.flush()


def reporter(verbose: int, n_runs: int, max_epochs: int) -> Progress | None:
    """Return what the core calls after every epoch, or None when nothing is to be shown."""
    if not verbose:
        return None
    done = [0] * n_runs
    line = ProgressLine()

    def report(run: int, epoch: int, loss: float) -> None:
        done[run] = epoch + 1
        if verbose < 2 and not line.is_due():
            return
        share = sum(done) / (n_runs * max_epochs)
        line.show(
            f"ClAM: run {run + 1} of {n_runs}, epoch {epoch + 1}, loss {loss:.5g} ({share:.0%})"
        )

    return report


class SearchBar:
    """The bar of a search: how many of the run-epochs planned are behind."""

    def __init__(self, total: int) -> None:
        self.done, self._total = 0, total
        self._line = ProgressLine()

    def __call__(self, run: int, epoch: int, loss: float) -> None:
        """Count an epoch; this is what the core calls after each."""
        self.done += 1
        if self._line.is_due():
            share = self.done / self._total
            bar = "#" * int(30 * share)
            counted = f"{self.done:,} of {self._total:,} run-epochs"
            self._line.show(f"ClAMSearch: [{bar:30}] {share:4.0%}, {counted}")


def finish(verbose: int, text: str) -> None:
    """End the progress line with a summary."""
    if verbose:
        sys.stderr.write(("\r\x1b[K" if sys.stderr.isatty() else "") + text + "\n")
        sys.stderr.flush()
