"""What a fit takes, in seconds on one core: measured in small trials, for the plan alone."""

from __future__ import annotations

_SETS = (
    "zoo",
    "ecoli",
    "movement_libras",
    "yale",
    "nci9",
    "mice_protein",
    "ctg",
    "segment",
    "usps_test",
    "fashion_mnist",
)


def _costs(*seconds: float) -> dict[str, float]:
    return dict(zip(_SETS, seconds, strict=True))


_CLAM = _costs(0.009, 0.022, 0.08, 0.26, 0.8, 0.16, 0.19, 0.18, 0.75, 12.0)
_DEC = _costs(0.08, 0.6, 0.15, 2.0, 2.0, 0.4, 0.8, 0.7, 0.6, 30.0)
# A single run of the method; see `Method.weight` for what a configuration counts.
FIT_SECONDS: dict[str, dict[str, float]] = {
    "kmeans": _costs(0.003, 0.002, 0.004, 0.007, 0.008, 0.005, 0.007, 0.003, 0.026, 4.0),
    "spectral": _costs(0.08, 0.1, 0.15, 0.1, 0.06, 0.3, 0.5, 0.5, 0.5, 0.8),
    "agglomerative": _costs(0.01, 0.01, 0.01, 0.01, 0.01, 0.03, 0.11, 0.14, 0.28, 20.0),
    "dcec": _costs(0, 0, 0, 120.0, 0, 0, 0, 0, 120.0, 300.0),
    "dec": _DEC,
    "dec-random": _DEC,
    "clam": _CLAM,
    "clam-unmasked": {name: 1.2 * seconds for name, seconds in _CLAM.items()},
    "clam-weighted": _CLAM,
    "clam-default": _costs(0.05, 0.1, 0.3, 1.0, 4.0, 0.6, 0.8, 0.7, 2.5, 60.0),
}
# Judging a partition.
SCORE_SECONDS = _costs(0.001, 0.001, 0.001, 0.004, 0.005, 0.006, 0.015, 0.015, 0.07, 3.0)
