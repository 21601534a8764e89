"""What an experiment is: its runs, what defines each, and how one is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from benchmarks.framework import Unfinished
from paper.records import Run
from paper.settings import Settings


class Experiment(ABC):
    """A part of the evaluation.

    Attributes
    ----------
    name : str
        Of the file of its records.
    methods, protocols : tuple of str
        What its runs may have by these names.
    alone : bool
        Whether its runs must have the machine for themselves, because they are timed.
    """

    name: str
    methods: tuple[str, ...]
    protocols: tuple[str, ...]
    alone = False

    @abstractmethod
    def runs(self, settings: Settings) -> Iterator[Run]:
        """List the runs, cheap and telling ones first."""

    @abstractmethod
    def definition(self, run: Run, settings: Settings) -> dict[str, Any]:
        """Say everything that is chosen about a run, as plain values."""

    @abstractmethod
    def perform(self, run: Run, settings: Settings, unfinished: Unfinished) -> dict[str, Any]:
        """Do it, and give what was found as plain values."""
