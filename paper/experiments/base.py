"""What an experiment is: its runs, what defines each, and how one is made."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from benchmarks.store import write_text
from paper.runs import UNREADABLE, Run, as_lines, describe, warn
from paper.settings import Settings

_SECONDS_BETWEEN_WRITES = 15.0


class Unfinished:
    """What a run has found so far, kept on disk so that an interrupt costs seconds.

    Parameters
    ----------
    path : Path
        File to keep it in.
    data : str, optional
        Fingerprint of the run's data; what was found on others is not gone on with.

    Attributes
    ----------
    state : dict or None
        What an interrupted run left; None at a fresh start.
    """

    def __init__(self, path: Path, data: str | None = None) -> None:
        self._path, self._data = path, data
        self.state: dict[str, Any] | None = None
        self._before = 0.0
        if path.is_file():
            self._restore()
        self._began = self._written = time.perf_counter()

    @property
    def folder(self) -> Path:
        """Where larger things may be kept until all is done."""
        return self._path.parent

    @property
    def seconds(self) -> float:
        """What the run has taken, its interrupted part included."""
        return self._before + time.perf_counter() - self._began

    def keep(self, state: dict[str, Any]) -> None:
        """Write the state, unless it was written a moment ago."""
        if time.perf_counter() - self._written > _SECONDS_BETWEEN_WRITES:
            content = {"seconds": self.seconds, "data": self._data, "state": state}
            write_text(self._path, as_lines(content))
            self._written = time.perf_counter()

    def _restore(self) -> None:
        """Take up what an interrupted run left, unless it is damaged or of other data."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            before, state = float(kept["seconds"]), dict(kept["state"])
            data = kept.get("data")
        except UNREADABLE as error:
            warn(f"{self._path} is damaged, its run starts anew", describe(error))
            return
        if None in (data, self._data) or data == self._data:
            self._before, self.state = before, state


class Experiment(Protocol):
    """A part of the evaluation.

    Attributes
    ----------
    name : str
        Folder of its records.
    alone : bool
        Whether its runs must have the machine for themselves, because they are timed.
    methods, protocols : tuple of str
        What its runs may have by these names.
    """

    name: str
    alone: bool
    methods: tuple[str, ...]
    protocols: tuple[str, ...]

    def runs(self, settings: Settings) -> Iterator[Run]:
        """List the runs, cheap and telling ones first."""

    def definition(self, run: Run, settings: Settings) -> dict[str, Any]:
        """Say everything that is chosen about a run, as plain values."""

    def perform(self, run: Run, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
        """Do it, and give what was found as plain values."""

    def expected_seconds(self, run: Run, settings: Settings) -> float:
        """Guess what it takes on one core of the machine that the plan was made for."""
