"""How long fits take, beside k-means, faiss and a plain PyTorch loop, and how that grows."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from amclust import ClAM
from benchmarks.data import (
    FloatArray,
    IntArray,
    Table,
    load_fashion_mnist,
    load_set,
    load_table,
    make_mixture,
    standardise,
)
from benchmarks.framework.environment import UnavailableError, optional_module
from benchmarks.framework.lines import Entry, Line, Skipped, Target, interleave, seconds_of, timed
from benchmarks.partitions import silhouette
from benchmarks.protocol import EPOCHS, PROTOCOLS, RESTARTS, paper_clam
from benchmarks.speed.k_means_peers import FAISS_ITERATIONS, faiss_all_rows

# The paper's protocol: k-means' restarts, and the ratio of times to stay below.
KMEANS_RESTARTS = 1000
PAPER_TARGETS = {"zoo": 0.10, "ecoli": 0.10, "movement_libras": 0.15, "yale": 0.20}

_SAMPLE_SIZE = 10_000
_WARM_UP_ROWS = 2_000

_SCALING_EPOCHS = 20
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

# --- the paper's protocol -------------------------------------------------------------------------


def paper(options: Namespace) -> Iterator[Entry]:
    """Compare with k-means of the paper's 1000 restarts, on four data sets."""
    for name, limit in PAPER_TARGETS.items():
        yield _beside_k_means(load_table(name, options.data_dir), limit, 1 if options.quick else 5)


def _beside_k_means(table: Table, limit: float, repeats: int) -> Line:
    features, k, protocol = standardise(table.features), table.n_clusters, PROTOCOLS[table.name]
    # The first call of each pays for loading and for starting threads.
    paper_clam(k, protocol, restarts=2, epochs=1).fit(features)
    KMeans(k, n_init=2, random_state=0).fit(features)
    calls = {
        "ours": lambda seed: paper_clam(k, protocol, random_state=seed).fit(features),
        "peer": lambda seed: KMeans(k, n_init=KMEANS_RESTARTS, random_state=seed).fit(features),
    }
    rounds = interleave(calls, range(repeats))
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


def beside_loop(options: Namespace, backend: str, speed_up: float) -> Iterator[Entry]:
    """Time fits on zoo before and after the one long run of a loop as a researcher writes it.

    With the backend torch all restarts are one stack of tensors.
    """
    stacked = backend == "torch"
    each_side = 1 if stacked and options.quick else 3
    torch = optional_module("torch", "torch")
    train = optional_module("benchmarks.speed.torch_loop", "torch").train
    table = load_table("zoo", options.data_dir)
    features, k, protocol = standardise(table.features), table.n_clusters, PROTOCOLS["zoo"]
    restarts, epochs = (1, 20) if options.quick else (RESTARTS, EPOCHS)
    scale = RESTARTS * EPOCHS / (restarts * epochs)

    def fit(n_epochs: int = EPOCHS) -> float:
        model = paper_clam(k, protocol, epochs=n_epochs).set_params(backend=backend)
        return timed(lambda: model.fit(features)).seconds

    # Batches of eight leave a second thread nothing to do but wait, on a busy machine for long.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    fit(1)
    train(features, k, protocol, restarts=1, epochs=1)
    ours = [fit() for _ in range(each_side)]
    loop = timed(lambda: train(features, k, protocol, restarts, epochs)).seconds
    ours += [fit() for _ in range(each_side)]
    torch.set_num_threads(threads)
    extrapolated = f", extrapolated x{scale:g}" if scale != 1.0 else ", run in full"
    yield Line(
        "zoo, 10 restarts x 200 epochs" + (', backend="torch"' if stacked else ""),
        median(ours),
        loop * scale,
        "natural PyTorch loop",
        value=loop * scale / median(ours),
        target=Target("speed-up", ">=", speed_up, "x"),
        unit="s",
        note=f"loop: {restarts} restart(s) x {epochs} epochs in {loop:.1f} s"
        f"{extrapolated}, one torch thread" + (" for both" if stacked else ""),
        samples={"ours": ours, "peer": [loop]},
    )


# --- small tables ---------------------------------------------------------------------------------

SMALL_SETS = ("wine", "breast_cancer", "digits", "segment", "usps_test")


def restarts(options: Namespace) -> Iterator[Entry]:
    """Compare the default fit, which has ten restarts, with k-means of as many."""
    repeats = 1 if options.quick else 5
    for name in SMALL_SETS:
        try:
            table = load_set(name, options.data_dir)
        except UnavailableError as error:
            yield Skipped(name, str(error))
            continue
        yield from _as_many_restarts(table, repeats)


def _as_many_restarts(table: Table, repeats: int) -> Iterator[Line]:
    features, k, peer = table.features, table.n_clusters, f"KMeans(n_init={RESTARTS})"
    calls: dict[str, Callable[[int], Any]] = {
        "ours": lambda seed: ClAM(k, n_init=RESTARTS, random_state=seed).fit(features),
        "peer": lambda seed: KMeans(k, n_init=RESTARTS, random_state=seed).fit(features),
    }
    interleave(calls, range(1))
    rounds = interleave(calls, range(repeats))
    note = f"{repeats} interleaved seeds"
    yield Line.of_pairs(
        f"{table.name} {features.shape[0]}x{features.shape[1]}, {RESTARTS} restarts",
        "s",
        seconds_of(rounds["ours"]),
        seconds_of(rounds["peer"]),
        peer_name=peer,
        target=Target("ratio", "<=", 1.0),
        note=note,
    )
    scores = {
        name: [silhouette(features, one.result.labels_) for one in found]
        for name, found in rounds.items()
    }
    yield Line.of_means(
        f"{table.name}, silhouette",
        **scores,
        peer_name=peer,
        target=Target("difference", ">=", 0.0),
        note=note,
    )


# --- many rows ------------------------------------------------------------------------------------

Partition = tuple[IntArray, int]  # labels of all points, and how many iterations they took


def large(options: Namespace) -> Iterator[Entry]:
    """Compare fits to convergence on Fashion-MNIST and on made data of one million rows."""
    rows = 100_000 if options.quick else 1_000_000
    load_images = partial(load_fashion_mnist, options.fashion_mnist_dir)
    sets: tuple[tuple[str, int, Callable[[], FloatArray]], ...] = (
        ("Fashion-MNIST 60000x784, k=10", 10, load_images),
        (f"made {rows}x14, k=9", 9, lambda: standardise(make_mixture(rows, 14, 9))),
    )
    for name, k, load in sets:
        try:
            features = load()
        except UnavailableError as error:
            yield Skipped(name, str(error))
            continue
        yield from _beside_peers(name, k, features, 1 if options.quick else 3)


def _beside_peers(name: str, k: int, features: FloatArray, repeats: int) -> Iterator[Entry]:
    """Time all methods in turn, then score every partition on one and the same sample."""
    methods = {"ClAM": partial(_fit, ClAM), "KMeans(n_init=1)": partial(_fit, KMeans)}
    try:
        optional_module("faiss", "faiss-cpu")
        methods[f"faiss, {FAISS_ITERATIONS} iterations"] = _faiss
    except UnavailableError as error:
        yield Skipped(f"{name}, faiss", str(error))
    for cluster in methods.values():
        cluster(features[:_WARM_UP_ROWS], k, 0)
    calls = {title: partial(cluster, features, k) for title, cluster in methods.items()}
    rounds = interleave(calls, range(repeats))
    sample = np.random.default_rng(0).choice(len(features), _SAMPLE_SIZE, replace=False)
    labels = {title: [one.result[0] for one in found] for title, found in rounds.items()}
    iterations = {title: [one.result[1] for one in found] for title, found in rounds.items()}
    sizes = {title: [np.unique(one).size for one in found] for title, found in labels.items()}
    scores = {
        title: [silhouette(features[sample], one[sample]) for one in found]
        for title, found in labels.items()
    }
    converged = all(one.converged for one in rounds["ClAM"])
    ending = "all converged" if converged else "OURS DID NOT CONVERGE: does not count"
    for title in [*methods][1:]:
        yield Line.of_pairs(
            f"{name}, one fit with labels",
            "s",
            seconds_of(rounds["ClAM"]),
            seconds_of(rounds[title]),
            peer_name=title,
            target=Target("ratio", "<=", 1.0),
            valid=converged,
            note=f"{repeats} interleaved seeds; {ending}; iterations ours {iterations['ClAM']}, "
            f"peer {iterations[title]}; faiss: train and search over all points",
        )
        yield Line.of_means(
            f"{name}, silhouette",
            scores["ClAM"],
            scores[title],
            peer_name=title,
            target=Target("difference", ">=", 0.0),
            valid=min(sizes["ClAM"]) == k,
            note=f"mean over {repeats} seeds on one sample of {_SAMPLE_SIZE}; clusters "
            f"ours {sizes['ClAM']}, peer {sizes[title]} (fewer than k do not count)",
        )


def _fit(kind: type, features: FloatArray, n_clusters: int, seed: int) -> Partition:
    model = kind(n_clusters, n_init=1, random_state=seed).fit(features)
    return model.labels_, int(model.n_iter_)


def _faiss(features: FloatArray, n_clusters: int, seed: int) -> Partition:
    return faiss_all_rows(features, n_clusters, seed).labels, FAISS_ITERATIONS


# --- scaling --------------------------------------------------------------------------------------


def scaling(options: Namespace) -> Iterator[Entry]:
    """Fit how the cost grows with n, d, k and T: the slope of time against size, log-log."""
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
        f'exponent of fit time in {axis}, objective="{objective}"',
        slope,
        1.0,
        "linear",
        value=slope,
        target=Target("exponent", "<=", 1.05),
        note=f"{axis} = {values}: {', '.join(f'{value:.3g}' for value in seconds)} s, "
        f"{_SCALING_EPOCHS} epochs, shortest of {repeats}",
        samples={axis: values, "seconds": seconds.tolist()},
    )


def _fit_seconds(objective: str, n: int, d: int, k: int, T: int) -> float:
    features = make_mixture(n, d, k)
    length = {"max_epochs": _SCALING_EPOCHS, "early_stopping": False, "n_init": 1, "n_steps": T}
    model = ClAM(k, objective=objective, **length, **OBJECTIVES[objective], random_state=0)
    return timed(lambda: model.fit(features)).seconds
