"""The metrics of `ClAM` by name: what each one is, for all that need not know more.

The core has three of them; the others are energies of `amclust.torch`, and so is any of one's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# What columns are divided by before distances are taken; the default first.
SCALES = ("standard", "robust")


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes
    ----------
    native : bool
        Whether the core computes it; others need ``backend="torch"``.

    degree : float
        How its distances grow with the units of the table: as their square (2), as they do (1), or
        not at all (0).

    spherical : bool
        Whether rows and memories are directions, of unit length.

    whitens : bool
        Whether rows are whitened first, which takes dense rows.
    """

    native: bool = False
    degree: float = 2
    spherical: bool = False
    whitens: bool = False

    @property
    def scales(self) -> bool:
        """Whether columns are scaled one by one."""
        return not (self.spherical or self.whitens)


METRICS: dict[str, Metric] = {
    "euclidean": Metric(native=True),
    "cosine": Metric(native=True, degree=0, spherical=True),
    "mahalanobis": Metric(native=True, whitens=True),
    "manhattan": Metric(degree=1),
    "epanechnikov": Metric(),
    "kernel": Metric(degree=0),
    "weighted": Metric(),
}
NATIVE_METRICS = tuple(name for name, metric in METRICS.items() if metric.native)


def find_metric(metric: Any) -> Metric:
    """Return what a metric is: that of a name, or what an energy says of itself."""
    if isinstance(metric, str):
        return METRICS[metric]
    degree, spherical = getattr(metric, "degree", 2), getattr(metric, "spherical", False)
    return Metric(degree=float(degree), spherical=bool(spherical))


def check_metric(metric: Any, backend: str | None = None, owner: str = "ClAM") -> None:
    """Refuse a metric that there is not, or that the backend does not have."""
    from sklearn.utils._param_validation import InvalidParameterError  # not for --help

    if isinstance(metric, str) and metric not in METRICS:
        names = ", ".join(repr(name) for name in METRICS)
        msg = (
            f"The 'metric' parameter of {owner} must be one of {names}, or an Energy of "
            f"amclust.torch. Got {metric!r} instead."
        )
        raise InvalidParameterError(msg)
    if backend == "native" and metric not in NATIVE_METRICS:
        names = ", ".join(repr(name) for name in NATIVE_METRICS)
        msg = (
            f"The 'metric' parameter of {owner} must be one of {names} with backend='native'. Got "
            f"{name_metric(metric)} instead, which needs backend='torch'."
        )
        raise InvalidParameterError(msg)


def name_metric(metric: Any) -> str:
    """Return a metric in a word or two, for messages."""
    return repr(metric) if isinstance(metric, str) else f"an energy ({type(metric).__name__})"
