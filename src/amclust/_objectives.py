"""What may be minimised: one description an objective, which all that deals with objectives reads.

The code of an objective is in the core (`_core/objectives/`, one file each) and, for other devices,
in torch (`torch/_training/_objectives.py`); docs/extending.md shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

AUTO = "auto"


@dataclass(frozen=True)
class Objective:
    """One objective.

    Attributes
    ----------
    name : str
        What users call it.

    summary : str
        What it does, in a line for lists of choices.

    min_clusters, min_features : int
        What it needs.

    needs : str
        Why it needs more than one of them.

    beta_by_gap : bool
        Whether the temperature follows from the gap between the two nearest memories (it compares
        clusters), or from the distance to the nearest (it compares a row with what is recalled).

    fills_from_mask : bool
        Whether the network learns to complete from the mask value; others complete from where the
        observed values point.

    exact : bool
        Whether it has exact steps where beta is large: with beta="auto" it is trained by these.

    native : bool
        Whether the core has it; others are trained with ``backend="torch"``.
    """

    name: str
    summary: str
    min_clusters: int = 1
    min_features: int = 1
    needs: str = ""
    beta_by_gap: bool = False
    fills_from_mask: bool = False
    exact: bool = False
    native: bool = False

    def check(self, n_clusters: Any, n_features: int) -> None:
        """Refuse a number of clusters or features for which it makes no sense."""
        if n_clusters < self.min_clusters:
            msg = (
                f"objective={self.name!r} needs n_clusters of at least {self.min_clusters}, got "
                f"{n_clusters}."
            )
            raise ValueError(msg)
        if n_features < self.min_features:
            msg = (
                f"objective={self.name!r} {self.needs}: X has {n_features} feature(s), at least "
                f"{self.min_features} are required."
            )
            raise ValueError(msg)


OBJECTIVES: dict[str, Objective] = {}
# The losses that were given in the place of a name, by the names that they got.
OWN: dict[str, Callable[..., Any]] = {}


def register_objective(objective: Objective) -> None:
    """Make an objective known; its name must be new."""
    if objective.name in OBJECTIVES or objective.name == AUTO:
        msg = f"There is an objective {objective.name!r} already."
        raise ValueError(msg)
    OBJECTIVES[objective.name] = objective


register_objective(
    Objective(
        "silhouette",
        "maximise a differentiable silhouette, anchored by the scatter inside the clusters",
        min_clusters=2,
        beta_by_gap=True,
        native=True,
    )
)
register_objective(
    Objective(
        "completion",
        "the paper's loss: hide values and compare what the network completes",
        min_features=2,
        needs="hides a feature and predicts it from the others",
        fills_from_mask=True,
        native=True,
    )
)
register_objective(
    Objective(
        "reconstruction",
        "let the network recall rows and compare; with beta='auto' a better k-means",
        exact=True,
        native=True,
    )
)


def objective_name(objective: str | Callable[..., Any]) -> str:
    """Return the name of an objective; a loss of one's own is known by that of its function.

    The function that had this name before, in a notebook for example, has it no longer.
    """
    if isinstance(objective, str):
        return objective
    own = getattr(objective, "__qualname__", type(objective).__qualname__)
    name = f"{getattr(objective, '__module__', '')}.{own}"
    if name not in OBJECTIVES:
        register_objective(Objective(name, "a loss of one's own"))
    OWN[name] = objective
    return name


def find_objective(objective: str | Callable[..., Any]) -> Objective:
    """Return the objective of a name that is not "auto", or of a loss of one's own."""
    from sklearn.utils._param_validation import InvalidParameterError  # not for --help

    name = objective_name(objective)
    if name not in OBJECTIVES:
        names = ", ".join(repr(known) for known in (AUTO, *OBJECTIVES))
        msg = f"The 'objective' parameter of ClAM must be one of {names}. Got {name!r} instead."
        raise InvalidParameterError(msg)
    return OBJECTIVES[name]


def choose_objective(
    name: str,
    *,
    n_clusters: int,
    n_features: int,
    has_missing: bool,
    leaves_out: bool,
    resumed: str | None,
) -> Objective:
    """Return the objective to train with, which suits rows and clusters; "auto" is decided here.

    `leaves_out` says whether rows of high energy are left out: what trains the others is their
    energy, too. `resumed` is the objective of the training that goes on here, whether or not these
    rows lack values.
    """
    if name == AUTO:
        if resumed is not None:
            name = resumed
        elif n_clusters == 1 or (leaves_out and not has_missing):
            name = "reconstruction"
        else:
            name = "completion" if has_missing and n_features > 1 else "silhouette"
    objective = find_objective(name)
    objective.check(n_clusters, n_features)
    return objective
