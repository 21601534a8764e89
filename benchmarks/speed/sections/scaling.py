"""How the cost of a fit grows with n, d, k and T: the slope of time against size, log-log."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from amclust import ClAM
from benchmarks.data import FloatArray, make_mixture
from benchmarks.framework import Entry, Line, Target, timed

_EPOCHS = 20
_LARGEST_EXPONENT = 1.05


@dataclass(frozen=True)
class Size:
    """The size of one fit."""

    n: int = 65_536
    d: int = 64
    k: int = 16
    T: int = 5

    def features(self) -> FloatArray:
        """Make data of this size."""
        return make_mixture(self.n, self.d, self.k)


SWEEPS: Mapping[str, tuple[Size, tuple[int, ...]]] = {
    # Above 16,384 rows an epoch is a part of the data, and the exponent would only be smaller.
    "n": (Size(), (2_048, 4_096, 8_192, 16_384)),
    "d": (Size(n=32_768), (64, 128, 256, 512, 1024)),
    "k": (Size(), (16, 32, 64, 128, 256)),
    "T": (Size(), (4, 8, 16, 32, 64)),
}


# The default as it comes, and the paper's with everything fixed that could follow the size.
OBJECTIVES: Mapping[str, Mapping[str, Any]] = {
    "auto": {},
    "completion": {"mask_prob": 0.125, "batch_size": 256},
}


def run(options: Namespace) -> Iterator[Entry]:
    """Fit the exponents for the default objective and for the paper's."""
    repeats = 1 if options.quick else 3
    shrink = 16 if options.quick else 1
    for objective in OBJECTIVES:
        for axis, (base, values) in SWEEPS.items():
            sizes = [replace(base, **{axis: value}) for value in values]
            sizes = [replace(size, n=size.n // shrink) for size in sizes]
            yield _exponent(objective, axis, sizes, repeats)


def _exponent(objective: str, axis: str, sizes: list[Size], repeats: int) -> Line:
    """Fit a line to the logarithms of the shortest times; sweeps are repeated as a whole."""
    seconds = np.full(len(sizes), np.inf)
    for _ in range(repeats):
        sweep = [_fit_seconds(objective, size) for size in sizes]
        seconds = np.minimum(seconds, sweep)
    values = [getattr(size, axis) for size in sizes]
    slope = float(np.polyfit(np.log(values), np.log(seconds), deg=1)[0])
    return Line(
        what=f'exponent of fit time in {axis}, objective="{objective}"',
        ours=slope,
        peer=1.0,
        peer_name="linear",
        value=slope,
        target=Target("exponent", "<=", _LARGEST_EXPONENT),
        note=f"{axis} = {values}: {', '.join(f'{value:.3g}' for value in seconds)} s, "
        f"{_EPOCHS} epochs, shortest of {repeats}",
        samples={axis: values, "seconds": seconds.tolist()},
    )


def _fit_seconds(objective: str, size: Size) -> float:
    features = size.features()
    model = ClAM(
        size.k,
        objective=objective,
        n_steps=size.T,
        max_epochs=_EPOCHS,
        early_stopping=False,
        n_init=1,
        random_state=0,
        **OBJECTIVES[objective],
    )
    return timed(lambda: model.fit(features)).seconds
