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


_CLAM = _costs(0.01, 0.05, 0.15, 0.5, 3.0, 0.3, 0.4, 0.3, 1.5, 20.0)
# A single run of the method; see `Method.weight` for what a configuration counts.
FIT_SECONDS: dict[str, dict[str, float]] = {
    "kmeans": _costs(0.001, 0.002, 0.005, 0.01, 0.02, 0.01, 0.01, 0.01, 0.05, 4.0),
    "spectral": _costs(0.5, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 60.0),
    "agglomerative": _costs(0.01, 0.01, 0.01, 0.02, 0.02, 0.05, 0.2, 0.2, 0.4, 30.0),
    "clam": _CLAM,
    "clam-unmasked": _CLAM,
    "clam-weighted": _CLAM,
    "clam-default": _CLAM,
}
# Judging a partition.
SCORE_SECONDS = _costs(0.001, 0.001, 0.002, 0.005, 0.01, 0.01, 0.02, 0.02, 0.1, 10.0)
