"""The sections of the benchmark, by the names ``--only`` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.records import Entry
from benchmarks.speed.sections import (
    flops,
    imports,
    large,
    memory,
    missing,
    paper,
    scaling,
    stacked,
    torch_peer,
)
from benchmarks.speed.settings import Settings

SECTIONS: dict[str, Callable[[Settings], Iterator[Entry]]] = {
    "paper": paper.run,
    "torch": torch_peer.run,
    "stacked": stacked.run,
    "large": large.run,
    "flops": flops.run,
    "scaling": scaling.run,
    "memory": memory.run,
    "missing": missing.run,
    "import": imports.run,
}
