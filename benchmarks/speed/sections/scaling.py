"""How the cost of a fit grows with n, d, k and T: the slope of time against size, log-log."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import numpy as np

from amclust import ClAM
from benchmarks.data import make_mixture
from benchmarks.framework import Entry, Line, Target, timed

_EPOCHS = 20
_BASE = {"n": 65_536, "d": 64, "k": 16, "T": 5}
SWEEPS: dict[str, list[dict[str, int]]] = {
    # Above 16,384 rows an epoch is a part of the data, and the exponent would only be smaller.
    "n": [_BASE | {"n": n} for n in (2_048, 4_096, 8_192, 16_384)],
    "d": [_BASE | {"n": 32_768, "d": d} for d in (64, 128, 256, 512, 1024)],
    "k": [_BASE | {"k": k} for k in (16, 32, 64, 128, 256)],
    "T": [_BASE | {"T": T} for T in (4, 8, 16, 32, 64)],
}
# The default as it comes, and the paper's with everything fixed that could follow the size.
OBJECTIVES: dict[str, dict[str, Any]] = {
    "auto": {},
    "completion": {"mask_prob": 0.125, "batch_size": 256},
}


def run(options: Namespace) -> Iterator[Entry]:
    """Fit the exponents for the default objective and for the paper's."""
    repeats, shrink = (1, 16) if options.quick else (3, 1)
    for objective in OBJECTIVES:
        for axis, sizes in SWEEPS.items():
            smaller = [size | {"n": size["n"] // shrink} for size in sizes]
            yield _exponent(objective, axis, smaller, repeats)


def _exponent(objective: str, axis: str, sizes: list[dict[str, int]], repeats: int) -> Line:
    """Fit a line to the logarithms of the shortest times; sweeps are repeated as a whole."""
    sweeps = [[_fit_seconds(objective, **size) for size in sizes] for _ in range(repeats)]
    seconds = np.min(sweeps, axis=0)
    values = [size[axis] for size in sizes]
    slope = float(np.polyfit(np.log(values), np.log(seconds), deg=1)[0])
    return Line(
        what=f'exponent of fit time in {axis}, objective="{objective}"',
        ours=slope,
        peer=1.0,
        peer_name="linear",
        value=slope,
        target=Target("exponent", "<=", 1.05),
        note=f"{axis} = {values}: {', '.join(f'{value:.3g}' for value in seconds)} s, "
        f"{_EPOCHS} epochs, shortest of {repeats}",
        samples={axis: values, "seconds": seconds.tolist()},
    )


def _fit_seconds(objective: str, n: int, d: int, k: int, T: int) -> float:
    features = make_mixture(n, d, k)
    length = {"max_epochs": _EPOCHS, "early_stopping": False, "n_init": 1, "n_steps": T}
    model = ClAM(k, objective=objective, **length, **OBJECTIVES[objective], random_state=0)
    return timed(lambda: model.fit(features)).seconds
