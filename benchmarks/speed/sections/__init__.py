"""The sections of the benchmark, by the names ``--only`` takes: title, text of the page, run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.framework import Entry
from benchmarks.speed.sections import (
    flops,
    imports,
    large,
    memory,
    missing,
    paper,
    scaling,
    torch_peer,
)


class Section(NamedTuple):
    """A table of the page; what was done is said where the table alone does not."""

    title: str
    text: str
    run: Callable[[Namespace], Iterator[Entry]]


SECTIONS = {
    "paper": Section(
        "The paper's protocol", "Ten restarts of 200 epochs, beside k-means with 1,000.", paper.run
    ),
    "torch": Section(
        "A plain PyTorch loop",
        "The same protocol, as one would write it at first.",
        torch_peer.run_native,
    ),
    "stacked": Section(
        "The torch backend",
        "All restarts as one stack of tensors, on a CPU.",
        torch_peer.run_stacked,
    ),
    "large": Section("Many rows", "A fit with its labels, `n_init=1` for all.", large.run),
    "flops": Section(
        "Arithmetic", "Beside matrix products of BLAS on the same machine.", flops.run
    ),
    "scaling": Section("Scaling", "The exponent of the time of a fit; 1 is linear.", scaling.run),
    "memory": Section("Memory", "At the peak of a call, beside the table itself.", memory.run),
    "missing": Section(
        "Missing values",
        "Entries removed at random; RMSE is of the completed entries.",
        missing.run,
    ),
    "import": Section("Import", "", imports.run),
}
