"""What the default fit costs, beside k-means and beside the single-objective fit it grew from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from sklearn.cluster import KMeans

from amclust import ClAM
from benchmarks.data import Table
from benchmarks.machine import QUIET_LOAD, describe_machine
from benchmarks.records import Line, Target
from benchmarks.timing import interleave, median_ratio, seconds_of, timed

ROUNDS = 3
KMEANS_RESTARTS = 100

# The default fit of the first release: one objective from k-means++ rows, every default as it was.
FIRST_RELEASE: dict[str, Any] = {
    "objective": "silhouette",
    "beta": "auto",
    "n_steps": 10,
    "step_size": 0.5,
    "init": "k-means++",
    "n_init": 10,
    "batch_size": 1024,
    "max_epochs": 200,
    "learning_rate": 0.1,
    "patience": 5,
    "lr_factor": 0.8,
    "min_lr": 1e-5,
    "tol": 1e-3,
    "early_stopping": True,
    "selection": "silhouette",
}


def measure_cost(table: Table) -> dict[str, Any]:
    """Time the three fits in turn, with all cores.

    Parameters
    ----------
    table : Table
        Standardised data.

    Returns
    -------
    dict
        "load": the machine's load average before; "seconds": for "clam", "single" and "kmeans"
        those of every round.
    """
    load = describe_machine().load_average
    k, features = table.n_clusters, table.features
    # The first call of each pays for loading and for starting threads.
    timed(lambda: ClAM(k, n_init=2, max_epochs=1, random_state=0).fit(features))
    timed(lambda: KMeans(k, n_init=2, random_state=0).fit(features))
    rounds = interleave(
        {
            "clam": lambda seed: ClAM(k, random_state=seed).fit(features),
            "single": lambda seed: ClAM(k, **FIRST_RELEASE, random_state=seed).fit(features),
            "kmeans": lambda seed: KMeans(k, n_init=KMEANS_RESTARTS, random_state=seed).fit(
                features
            ),
        },
        range(ROUNDS),
    )
    return {
        "load": load,
        "seconds": {name: seconds_of(entries) for name, entries in rounds.items()},
    }


def cost_lines(name: str, cost: Mapping[str, Any]) -> Iterator[Line]:
    """Compare the default fit of a set with the two others."""
    seconds, load = cost["seconds"], cost["load"]
    peers = (
        ("single", "silhouette objective alone", 3.0),
        ("kmeans", f"KMeans(n_init={KMEANS_RESTARTS})", 1.0),
    )
    for peer, title, limit in peers:
        ratio = median_ratio(seconds["clam"], seconds[peer])
        yield Line(
            what=f"{name}: cost of the default fit",
            unit="s",
            ours=median(seconds["clam"]),
            peer=median(seconds[peer]),
            peer_name=title,
            value=ratio,
            ratio=ratio,
            target=Target("ratio", "<=", limit),
            note=f"on a busy machine, load {load:.1f}" if load and load > QUIET_LOAD else "",
        )
