"""k-means with restarts, to stand beside ClAM in the report, in plots and in `amclust bench`."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

if TYPE_CHECKING:
    from sklearn.cluster import KMeans


def k_means_restarts(
    rows: NDArray[Any], n_clusters: int, restarts: int, random_state: Any
) -> list[KMeans]:
    """Return single runs of k-means from different seeds; the choice among them is the caller's."""
    from sklearn.cluster import KMeans

    seeds = check_random_state(random_state).randint(2**31 - 1, size=restarts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of rows that repeat
        return [KMeans(n_clusters, n_init=1, random_state=int(s)).fit(rows) for s in seeds]
