"""Where k-means is used with many centres: colours, codebooks, labels, round clusters."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import product
from math import nan
from statistics import fmean
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from amclust import ClAM
from benchmarks.data import (
    PHOTOGRAPHS,
    FloatArray,
    Table,
    load_photograph,
    make_round,
    sample_of,
    spread_centers,
)
from benchmarks.framework.lines import (
    Entry,
    Line,
    Target,
    Timed,
    interleave,
    seconds_of,
    timed,
)
from benchmarks.partitions import inertia, living_clusters, silhouette
from benchmarks.speed.k_means_peers import (
    FAISS,
    FAISS_ALL,
    INTEL,
    K_MEANS,
    MINI_BATCH,
    PEERS,
    SUPER,
    Cluster,
    Found,
    fit,
    warm_up,
)

OURS, RECONSTRUCTION = "ClAM", 'objective="reconstruction"'
# Rows as they are: an inertia is of the columns that the peers see.
_CLAM: dict[str, Cluster] = {
    OURS: partial(fit, partial(ClAM, scale=None)),
    RECONSTRUCTION: partial(fit, partial(ClAM, scale=None, objective="reconstruction")),
}
_SAMPLE_SIZE = 10_000
_BOX = 20.0  # where centres are drawn from, in standard deviations of a cluster


class Runs(NamedTuple):
    """What a method found with every seed, and what is said of it."""

    rounds: list[Timed[Found]]
    n_clusters: int

    @property
    def seconds(self) -> list[float]:
        return seconds_of(self.rounds)

    @property
    def living(self) -> int:
        """The fewest clusters that have rows, over the seeds."""
        return min(living_clusters(one.result.labels) for one in self.rounds)

    @property
    def valid(self) -> bool:
        return self.living == self.n_clusters and all(one.converged for one in self.rounds)

    @property
    def note(self) -> str:
        if self.valid:
            return f"{len(self.rounds)} interleaved seeds"
        return f"DOES NOT COUNT: not converged, or {self.living} of {self.n_clusters} clusters"

    def scores(self, score: Callable[[Found], float]) -> list[float]:
        return [score(one.result) for one in self.rounds]


class Bounds(NamedTuple):
    """What the time may be of a peer's, and what is asked of the ratio of inertias."""

    seconds: float | None = None
    inertia: Target = Target("ratio")


def _run(
    methods: Mapping[str, Cluster], features: FloatArray, n_clusters: int, seeds: int
) -> dict[str, Runs]:
    calls = {name: partial(cluster, features, n_clusters) for name, cluster in methods.items()}
    rounds = interleave(calls, range(seeds))
    return {name: Runs(found, n_clusters) for name, found in rounds.items()}


def _time(what: str, ours: Runs, peers: Mapping[str, Runs], peer: str, limit: float | None) -> Line:
    return Line.of_pairs(
        f"{what}, one fit with labels",
        "s",
        ours.seconds,
        peers[peer].seconds,
        peer_name=peer,
        target=Target("ratio") if limit is None else Target("ratio", "<=", limit),
        valid=ours.valid,
        note=ours.note,
    )


def _as_codebooks(
    what: str,
    features: FloatArray,
    ours: Runs,
    peers: Mapping[str, Runs],
    bounds: Mapping[str, Bounds],
) -> Iterator[Line]:
    """Compare time and inertia with those of every peer, about the centres that each gives."""

    def error(found: Found) -> float:
        return inertia(features, found.labels, found.centers)

    errors = ours.scores(error)
    for peer, runs in peers.items():
        seconds, target = bounds.get(peer, Bounds())
        yield _time(what, ours, peers, peer, seconds)
        theirs = runs.scores(error)
        yield Line(
            f"{what}, inertia",
            fmean(errors),
            fmean(theirs),
            peer,
            value=fmean(errors) / fmean(theirs),
            target=target,
            valid=ours.valid,
            note="mean over the seeds, about the centres that each gives",
            samples={"ours": errors, "peer": theirs},
        )


# --- colours --------------------------------------------------------------------------------------


def colours(options: Namespace) -> Iterator[Entry]:
    """Quantise the colours of two photographs.

    The peers without a target minimise the inertia, so they stand beside the objective that does.
    """
    sizes, seeds = ((16,), 1) if options.quick else ((16, 64, 256), 3)
    for name in PHOTOGRAPHS:
        pixels = load_photograph(name)
        if options.quick:
            pixels = pixels[sample_of(len(pixels), 2 * _SAMPLE_SIZE)]
        peers = {peer: PEERS[peer] for peer in (K_MEANS, MINI_BATCH, INTEL, SUPER, FAISS)}
        methods = yield from warm_up(name, _CLAM | peers, pixels)
        for k in sizes:
            yield from _colours(f"{name}, k={k}", pixels, _run(methods, pixels, k, seeds))


def _colours(what: str, pixels: FloatArray, runs: dict[str, Runs]) -> Iterator[Line]:
    ours, codebook = runs.pop(OURS), runs.pop(RECONSTRUCTION)
    sample = sample_of(len(pixels), _SAMPLE_SIZE)

    def on_sample(found: Found) -> float:
        return silhouette(pixels[sample], found.labels[sample])

    yield _time(what, ours, runs, K_MEANS, 0.7)
    yield Line.of_means(
        f"{what}, silhouette",
        ours.scores(on_sample),
        runs[K_MEANS].scores(on_sample),
        peer_name=K_MEANS,
        target=Target("difference", ">=", 0.0),
        valid=ours.valid,
        note=f"mean over the seeds on one sample of {_SAMPLE_SIZE}",
    )
    yield Line(
        f"{what}, clusters that are not empty",
        ours.living,
        runs[K_MEANS].living,
        K_MEANS,
        value=ours.living,
        target=Target("clusters", ">=", ours.n_clusters),
        note="fewest over the seeds",
    )
    bounds = {K_MEANS: Bounds(0.5, Target("ratio", "<=", 1.0))}
    yield from _as_codebooks(f"{what}, reconstruction", pixels, codebook, runs, bounds)


# --- codebooks ------------------------------------------------------------------------------------


class Blobs(NamedTuple):
    """Made rows, what the time may be of that of some peers, and what the ARI must reach."""

    n_samples: int
    n_features: int
    n_clusters: int
    limits: Mapping[str, float] = MappingProxyType({})
    ari: float | None = None


BLOBS = (
    Blobs(100_000, 32, 1_000, {K_MEANS: 0.5, FAISS: 2.0}, 0.99),
    Blobs(200_000, 128, 100, {INTEL: 0.3, FAISS: 4.0}, 0.99),
    Blobs(1_000_000, 14, 9, {FAISS: 2.0}),
    Blobs(1_000_000, 50, 20, {FAISS: 2.0}),
)
LARGEST = Blobs(300_000, 64, 10_000)


def codebooks(options: Namespace) -> Iterator[Entry]:
    """Cluster made rows with the default objective; build the largest codebook."""
    shrink, seeds = (50, 1) if options.quick else (1, 3)
    for blobs in BLOBS:
        table = _made(blobs, shrink)
        peers = {OURS: partial(fit, ClAM)} | PEERS
        methods = yield from warm_up(table.name, peers, table.features)
        runs = _run(methods, table.features, table.n_clusters, seeds)
        yield from _recovered(blobs, table, runs)
    yield from _largest(_made(LARGEST, shrink))


def _made(blobs: Blobs, shrink: int = 1) -> Table:
    """Draw centres in a box and rows about them, fewer of both for a quick run."""
    generator = np.random.default_rng(0)
    k = max(blobs.n_clusters // shrink, min(blobs.n_clusters, 10))
    centers = generator.uniform(0.0, _BOX, (k, blobs.n_features))
    return make_round(centers, blobs.n_samples // shrink, generator)


def _recovered(blobs: Blobs, table: Table, runs: dict[str, Runs]) -> Iterator[Line]:
    what, ours = table.name, runs.pop(OURS)

    def ari(found: Found) -> float:
        return float(adjusted_rand_score(table.classes, found.labels))

    found = ours.scores(ari)
    yield Line(
        f"{what}, ARI",
        fmean(found),
        nan,
        "",
        value=fmean(found),
        target=Target("ARI") if blobs.ari is None else Target("ARI", ">=", blobs.ari),
        note=ours.note,
        samples={"ours": found},
    )
    for peer, theirs in runs.items():
        yield _time(what, ours, runs, peer, blobs.limits.get(peer))
        yield Line.of_means(
            f"{what}, ARI",
            found,
            theirs.scores(ari),
            peer_name=peer,
            target=Target("difference"),
            note="mean over the seeds",
        )


def _largest(table: Table) -> Iterator[Entry]:
    what, features = f"{table.name}, reconstruction", table.features
    # As shipped, faiss takes all rows here too: they are fewer than 256 a centre.
    peers = {peer: PEERS[peer] for peer in (FAISS_ALL, SUPER)}
    ours = {RECONSTRUCTION: _CLAM[RECONSTRUCTION]}
    methods = yield from warm_up(what, ours | peers, features)
    # One seed: a fit takes a minute or more.
    runs = _run(methods, features, table.n_clusters, 1)
    bounds = {FAISS_ALL: Bounds(2.0, Target("ratio", "<", 1.0))}
    yield from _as_codebooks(what, features, runs.pop(RECONSTRUCTION), runs, bounds)


# --- labels ---------------------------------------------------------------------------------------

# Numbers of clusters and of rows.
LABELLED = ((10, 100_000), (100, 100_000), (1_000, 100_000), (10_000, 20_000))


def predict(options: Namespace) -> Iterator[Entry]:
    """Time labels alone, from models that rows drawn at random and one pass made."""
    repeats, sizes = (3, LABELLED[:2]) if options.quick else (9, LABELLED)
    for (k, n_samples), dtype in product(sizes, (np.float32, np.float64)):
        features = _made(Blobs(n_samples, 32, k)).features
        yield _labels(k, features.astype(dtype), repeats)


def _labels(k: int, features: FloatArray, repeats: int) -> Line:
    start = features[sample_of(len(features), k)]
    once: dict[str, Any] = {"init": start, "n_init": 1, "random_state": 0}
    # Fits that are meant to be short warn of it; `timed` keeps that quiet.
    ours = timed(lambda: ClAM(k, max_epochs=1, **once).fit(features)).result
    k_means = timed(lambda: KMeans(k, max_iter=1, **once).fit(features)).result
    calls: dict[str, Callable[[int], Any]] = {
        "ours": lambda _: ours.predict(features),
        "peer": lambda _: k_means.predict(features),
    }
    interleave(calls, range(1))
    rounds = interleave(calls, range(repeats))
    n_samples, n_features = features.shape
    return Line.of_pairs(
        f"{n_samples}x{n_features} {features.dtype}, k={k}, predict",
        "s",
        seconds_of(rounds["ours"]),
        seconds_of(rounds["peer"]),
        peer_name="KMeans.predict",
        target=Target("ratio", "<=", 1.2),
        note=f"median of {repeats} interleaved pairs",
    )


# --- round clusters -------------------------------------------------------------------------------

_ROUND_RESTARTS = 10
_ROWS_A_CLUSTER = 50
_OVERLAP = 0.03


def round_clusters(options: Namespace) -> Iterator[Entry]:
    """Compare with k-means on round clusters that overlap a little."""
    draws = 2 if options.quick else 10
    cases = list(product((2, 4, 8, 16), (15,) if options.quick else (15, 30, 60)))
    means: dict[str, list[float]] = {"ours": [], "peer": []}
    peer = f"KMeans(n_init={_ROUND_RESTARTS})"
    for d, k in cases:
        scores = [_round_scores(d, k, seed) for seed in range(draws)]
        found = {name: [one[name] for one in scores] for name in means}
        for name, values in found.items():
            means[name].append(fmean(values))
        yield Line.of_means(
            f"{d} dimensions, k={k}, ARI",
            **found,
            peer_name=peer,
            target=Target("difference", ">=", 0.0),
            note=f"mean of {draws} draws, {_ROUND_RESTARTS} restarts for both",
        )
    yield Line.of_means(
        "round clusters, mean ARI",
        **means,
        peer_name=peer,
        target=Target("difference", ">", 0.0),
        note=f"mean over the {len(cases)} kinds",
    )


def _round_scores(d: int, k: int, seed: int) -> dict[str, float]:
    generator = np.random.default_rng([seed, d, k])
    centers = spread_centers(k, d, _OVERLAP, generator)
    table = make_round(centers, _ROWS_A_CLUSTER * k, generator)
    chosen: dict[str, Any] = {"n_init": _ROUND_RESTARTS, "random_state": seed}
    models = {"ours": ClAM(k, **chosen), "peer": KMeans(k, **chosen)}
    # Warnings of runs that still improve are not the subject here.
    labels = {name: timed(partial(one.fit_predict, table.features)) for name, one in models.items()}
    return {
        name: float(adjusted_rand_score(table.classes, found.result))
        for name, found in labels.items()
    }
