"""Progress of a fit on standard error, when asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

Progress = Callable[[int, int, float], None]


def reporter(verbose: int, n_runs: int, max_epochs: int) -> Progress | None:
    """Return what the core calls after every epoch, or None when nothing is to be shown."""
    if not verbose:
        return None
    done = [0] * n_runs
    stream = sys.stderr
    on_terminal = stream.isatty()
    last = [0.0]

    def report(run: int, epoch: int, loss: float) -> None:
        done[run] = epoch + 1
        now = time.monotonic()
        if verbose < 2 and now - last[0] < (0.1 if on_terminal else 2.0):
            return
        last[0] = now
        share = sum(done) / (n_runs * max_epochs)
        text = f"ClAM: run {run + 1} of {n_runs}, epoch {epoch + 1}, loss {loss:.5g} ({share:.0%})"
        stream.write(f"\r\x1b[K{text}" if on_terminal else f"{text}\n")
        stream.flush()

    return report


def finish(verbose: int, text: str) -> None:
    """End the progress line with a summary."""
    if verbose:
        sys.stderr.write(("\r\x1b[K" if sys.stderr.isatty() else "") + text + "\n")
        sys.stderr.flush()
