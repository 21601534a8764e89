"""The paper's protocol against k-means with the paper's 1000 restarts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from sklearn.cluster import KMeans

from benchmarks.data import Table, load_table, standardise
from benchmarks.framework import Entry, Line, Target, interleave, seconds_of
from benchmarks.protocol import PROTOCOLS, paper_clam

TARGETS = {"zoo": 0.10, "ecoli": 0.10, "movement_libras": 0.15, "yale": 0.20}
KMEANS_RESTARTS = 1000


def run(options: Namespace) -> Iterator[Entry]:
    """Compare on each of the four data sets."""
    repeats = 1 if options.quick else 5
    for name, limit in TARGETS.items():
        yield _compare(load_table(name, options.data_dir), limit, repeats)


def _compare(table: Table, limit: float, repeats: int) -> Line:
    features = standardise(table.features)
    k = table.n_clusters
    protocol = PROTOCOLS[table.name]
    # The first call of each pays for loading and for starting threads.
    paper_clam(k, protocol, restarts=2, epochs=1).fit(features)
    KMeans(k, n_init=2, random_state=0).fit(features)
    rounds = interleave(
        {
            "ours": lambda seed: paper_clam(k, protocol, random_state=seed).fit(features),
            "peer": lambda seed: KMeans(k, n_init=KMEANS_RESTARTS, random_state=seed).fit(features),
        },
        range(repeats),
    )
    n_samples, n_features = features.shape
    return Line.of_pairs(
        f"{table.name} {n_samples}x{n_features}, 10 restarts x 200 epochs",
        "s",
        seconds_of(rounds["ours"]),
        seconds_of(rounds["peer"]),
        peer_name=f"KMeans(n_init={KMEANS_RESTARTS})",
        target=Target("ratio", "<=", limit),
        note=f"median of {repeats} interleaved pairs; n_iter_ {rounds['ours'][-1].result.n_iter_}",
    )
